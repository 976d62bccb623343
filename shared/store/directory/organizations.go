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
	return s.organization(org, it, now)
}

// Organizations returns those of the ids that exist, in the order asked, repeats once. Strongly consistent.
func (s *Store) Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error) {
	key := func(id string) table.Key { return table.Organization(acct, id) }
	return readThose(ctx, s, ids, key, true, readOrganization)
}

// ListOrganizations yields the account's organizations behind the id after ("" for all), by id, or an error as the last. Of those to come most
// and one more are read at once. Eventually consistent.
func (s *Store) ListOrganizations(ctx context.Context, acct, after string, most int) iter.Seq2[collab.Organization, error] {
	return list(ctx, s, table.Organization(acct, "").PK, table.Organizations, after, most, readOrganization)
}

var readMember = reader(table.Members, func(m *collab.Member) *string { return &m.UserID })

// ChangeMember changes a user of the organization, or makes one a member, as ChangeOrganization does. The organization is not checked.
func (s *Store) ChangeMember(ctx context.Context, org collab.OrganizationRef, user string, change func(*collab.Member) error) (collab.Member, error) {
	k := table.Member(org.Account, org.Organization, user)
	return store.Rewrite(ctx, s.Table, k, "the member", func(m *collab.Member, _ bool) error {
		m.UserID = user
		return change(m)
	})
}

// Members returns those of the users who are members of the organization, by user id. Strongly consistent.
func (s *Store) Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error) {
	key := func(user string) table.Key { return table.Member(org.Account, org.Organization, user) }
	list, err := readThose(ctx, s, users, key, true, readMember)
	members := make(map[string]collab.Member, len(list))
	for _, m := range list {
		members[m.UserID] = m
	}
	return members, err
}

// ListMembers yields the members of the organization behind the user id after ("" for all), by user id, as ListOrganizations does.
func (s *Store) ListMembers(ctx context.Context, org collab.OrganizationRef, after string, most int) iter.Seq2[collab.Member, error] {
	return list(ctx, s, table.OrganizationPartition(org.Account, org.Organization), table.Members, after, most, readMember)
}

// RemoveMember takes a user out of the organization. One who is not in it is no error.
func (s *Store) RemoveMember(ctx context.Context, org collab.OrganizationRef, user string) error {
	return s.Delete(ctx, table.Member(org.Account, org.Organization, user))
}
