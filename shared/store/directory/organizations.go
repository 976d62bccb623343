package directory

import (
	"context"
	"iter"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

var readOrganization = reader(table.Organizations, func(o *collab.Organization) *string { return &o.ID })

func organizationMissing(id string) error {
	return collab.Errorf(collab.NotFound, "organization %q does not exist", id)
}

// ChangeOrganization changes an organization, or makes it: change is then called with an empty one, CreatedAt 0, that has its id. It
// returns the organization as it is then.
func (s *Store) ChangeOrganization(ctx context.Context, org collab.OrganizationRef, change func(*collab.Organization) error) (collab.Organization, error) {
	k := table.Organization(org.Account, org.Organization)
	return store.Rewrite(ctx, s.Table, k, "the organization", func(o *collab.Organization, _ bool) error {
		o.ID = org.Organization
		return change(o)
	})
}

// makeOrganization makes an organization named by its id. Where another request was faster it checks that one.
func (s *Store) makeOrganization(ctx context.Context, org collab.OrganizationRef) error {
	now := s.Now()
	it := store.ItemOf(table.Organization(org.Account, org.Organization), collab.Organization{
		Name: org.Organization, CreatedAt: now.UnixMilli(), LastUpdated: now.UnixMilli(),
	})
	there, err := s.PutNew(ctx, it)
	if err != nil {
		return err
	}
	if there != nil {
		it = there
	}
	_, err = s.organization(org, it, now)
	return err
}

// Organizations returns those of the ids that exist, in the order asked, repeats once. Strongly consistent.
func (s *Store) Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error) {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = table.Organization(acct, id)
	}
	found, err := s.GetAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	var list []collab.Organization
	for _, k := range keys {
		it := found[k]
		if it == nil {
			continue
		}
		delete(found, k)
		o, err := readOrganization(it)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// ListOrganizations yields the account's organizations behind the id after ("" for all), by id, or an error as the last. Of those to come most
// and one more are read at once. Eventually consistent.
func (s *Store) ListOrganizations(ctx context.Context, acct, after string, most int) iter.Seq2[collab.Organization, error] {
	return list(ctx, s, table.Organization(acct, "").PK, table.Organizations, after, most, readOrganization)
}
