package storetest

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// Directory creates and changes organizations and documents. The Store of package directory
// implements it.
type Directory interface {
	Now() time.Time
	Create(ctx context.Context, it store.Item) (existing store.Item, err error)
	ChangeOrganizations(ctx context.Context, req *request.Request, ids []string, create bool, change func(i int, o *collab.Organization) error) []error
	ChangeDocuments(
		ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, change func(i int, d *collab.Document) error,
	) []error
}

// ChangeOrganization changes an organization, or adds it in the reference's incarnation.
func ChangeOrganization(ctx context.Context, d Directory, org collab.OrganizationRef, change func(*collab.Organization)) error {
	t := Request(d.Now())
	t.Account = org.Account
	if err := create(ctx, d, keys.Organization(org.Account, org.Organization), org.Incarnation); err != nil {
		return err
	}
	return d.ChangeOrganizations(ctx, t, []string{org.Organization}, true, func(_ int, o *collab.Organization) error {
		change(o)
		return nil
	})[0]
}

// ChangeDocument changes a document, or adds it in the reference's incarnation.
func ChangeDocument(ctx context.Context, d Directory, doc collab.DocumentRef, change func(*collab.Document)) error {
	if err := create(ctx, d, keys.Document(doc.OrganizationRef, doc.Document), doc.Incarnation); err != nil {
		return err
	}
	return d.ChangeDocuments(ctx, Request(d.Now()), doc.OrganizationRef, []string{doc.Document}, func(_ int, d *collab.Document) error {
		change(d)
		return nil
	})[0]
}

// AddDocuments adds an organization and documents in the reference's incarnation.
func AddDocuments(ctx context.Context, d Directory, org collab.OrganizationRef, ids ...string) error {
	err := ChangeOrganization(ctx, d, org, func(*collab.Organization) {})
	for _, id := range ids {
		if err == nil {
			err = ChangeDocument(ctx, d, org.Document(id), func(*collab.Document) {})
		}
	}
	return err
}

// create adds an incarnation's item if it does not exist.
func create(ctx context.Context, d Directory, k keys.Key, incarnation int64) error {
	it := store.NewItem(k)
	if incarnation != 0 {
		it[keys.Incarnation] = store.Number(incarnation)
	}
	_, err := d.Create(ctx, it)
	return err
}
