package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// memberItem is the item of a user of an organization.
type memberItem struct {
	Name        *string       `dynamodbav:"name,omitempty"`
	Email       *string       `dynamodbav:"mail,omitempty"`
	CreatedAt   collab.Millis `dynamodbav:"ca"`
	LastUpdated collab.Millis `dynamodbav:"lu"`
}

func (m memberItem) member(id string) collab.Member {
	return collab.Member{User: collab.User{UserID: id, Name: m.Name, Email: m.Email}, CreatedAt: m.CreatedAt, LastUpdated: m.LastUpdated}
}

func readMember(it store.Item) (collab.Member, error) {
	id, err := lastPart(it, table.Members)
	if err != nil {
		return collab.Member{}, err
	}
	var m memberItem
	err = it.Decode(&m)
	return m.member(id), err
}

// ChangeMember changes a user of the organization, or makes one a member, as ChangeOrganization does. The organization is not checked.
func (s *Store) ChangeMember(ctx context.Context, org collab.OrganizationRef, user string, change func(*collab.Member) error) (m collab.Member, err error) {
	k := table.Member(org.Account, org.Organization, user)
	_, err = store.Rewrite(ctx, s.Table, k, "the member", func(it *memberItem, _ bool) error {
		m = it.member(user)
		err := change(&m)
		*it = memberItem{m.Name, m.Email, m.CreatedAt, m.LastUpdated}
		return err
	})
	return m, err
}

// Members returns those of the users who are members of the organization, by user id. Strongly consistent.
func (s *Store) Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error) {
	keys := make([]table.Key, len(users))
	for i, u := range users {
		keys[i] = table.Member(org.Account, org.Organization, u)
	}
	found, err := s.GetAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	members := make(map[string]collab.Member, len(found))
	for _, it := range found {
		m, err := readMember(it)
		if err != nil {
			return nil, err
		}
		members[m.UserID] = m
	}
	return members, nil
}

// ListMembers returns up to most members of the organization behind the user id after ("" for the first), by user id, and whether
// there are more.
func (s *Store) ListMembers(ctx context.Context, org collab.OrganizationRef, after string, most int) (list []collab.Member, more bool, err error) {
	return page(ctx, s, org, table.Members, after, most, readMember)
}

// RemoveMember takes a user out of the organization. One who is not in it is no error.
func (s *Store) RemoveMember(ctx context.Context, org collab.OrganizationRef, user string) error {
	return s.Delete(ctx, table.Member(org.Account, org.Organization, user))
}
