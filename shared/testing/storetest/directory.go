package storetest

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/request"
)

// Directory makes and changes organizations and documents: see package directory, whose Store is one.
type Directory interface {
	Now() time.Time
	ChangeOrganizations(ctx context.Context, req *request.Request, ids []string, create bool, change func(i int, o *collab.Organization) error) []error
	AddDocuments(ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, fill func(i int, d *collab.Document) error) []error
	ChangeDocuments(
		ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, change func(i int, d *collab.Document) error,
	) []error
}

// ChangeOrganization changes an organization, or makes it.
func ChangeOrganization(ctx context.Context, d Directory, org collab.OrganizationRef, change func(*collab.Organization)) error {
	t := Request(d.Now())
	t.Account = org.Account
	return d.ChangeOrganizations(ctx, t, []string{org.Organization}, true, func(_ int, o *collab.Organization) error {
		change(o)
		return nil
	})[0]
}

// ChangeDocument changes a document, or makes it.
func ChangeDocument(ctx context.Context, d Directory, doc collab.DocumentRef, change func(*collab.Document)) error {
	each := func(_ int, d *collab.Document) error {
		change(d)
		return nil
	}
	err := d.AddDocuments(ctx, Request(d.Now()), doc.OrganizationRef, []string{doc.Document}, each)[0]
	if collab.CodeOf(err) == collab.AlreadyExists {
		err = d.ChangeDocuments(ctx, Request(d.Now()), doc.OrganizationRef, []string{doc.Document}, each)[0]
	}
	return err
}
