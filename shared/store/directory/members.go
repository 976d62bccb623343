package directory

import (
	"context"
	"iter"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

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
