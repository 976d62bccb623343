package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// organizationItem is the item of an organization; its shards stand in the same item: see spread.
type organizationItem struct {
	Name        string        `dynamodbav:"name"`
	Disabled    bool          `dynamodbav:"off,omitempty"`
	Metadata    store.JSON    `dynamodbav:"meta,omitempty"`
	CreatedAt   collab.Millis `dynamodbav:"ca"`
	LastUpdated collab.Millis `dynamodbav:"lu"`
}

func (o organizationItem) of(id string) collab.Organization {
	return collab.Organization{
		ID: id, Name: o.Name, Disabled: o.Disabled, Metadata: collab.JSON(o.Metadata), CreatedAt: o.CreatedAt, LastUpdated: o.LastUpdated,
	}
}

var readOrganization = reader[collab.Organization, organizationItem](table.Organizations)

func organizationMissing(id string) error {
	return collab.Errorf(collab.NotFound, "organization %q does not exist", id)
}

// ChangeOrganization changes an organization, or makes it: change is then called with an empty one, CreatedAt 0, that has its id. It
// returns the organization as it is then.
func (s *Store) ChangeOrganization(ctx context.Context, org collab.OrganizationRef, change func(*collab.Organization) error) (collab.Organization, error) {
	k := table.Organization(org.Account, org.Organization)
	return rewrite(ctx, s, k, "the organization", org.Organization, change, func(o collab.Organization) organizationItem {
		return organizationItem{o.Name, o.Disabled, store.JSON(o.Metadata), o.CreatedAt, o.LastUpdated}
	})
}

// makeOrganization makes an organization named by its id. Where another request was faster it checks that one.
func (s *Store) makeOrganization(ctx context.Context, org collab.OrganizationRef) error {
	now := s.Now()
	it, err := store.Encode(table.Organization(org.Account, org.Organization), organizationItem{
		Name: org.Organization, CreatedAt: now.UnixMilli(), LastUpdated: now.UnixMilli(),
	})
	if err != nil {
		return err
	}
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

// ListOrganizations calls take with the account's organizations behind the id after ("" for all), by id, until take answers false or
// most were taken. more reports that there are others behind the last one taken.
func (s *Store) ListOrganizations(ctx context.Context, acct, after string, most int, take func(collab.Organization) bool) (more bool, err error) {
	taken := 0
	q := store.Scan{PK: table.Organization(acct, "").PK, Keys: behind(table.Organizations, after), Limit: most + 1}
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return false, err
		}
		o, err := readOrganization(it)
		if err != nil {
			return false, err
		}
		if taken == most || !take(o) {
			return true, nil
		}
		taken++
	}
	return false, nil
}
