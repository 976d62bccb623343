package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// memberItem is the item of a user of an organization.
type memberItem struct {
	Name        *string       `dynamodbav:"name,omitempty"`
	Email       *string       `dynamodbav:"mail,omitempty"`
	CreatedAt   collab.Millis `dynamodbav:"ca"`
	LastUpdated collab.Millis `dynamodbav:"lu"`
}

func (m memberItem) of(id string) collab.Member {
	return collab.Member{User: collab.User{UserID: id, Name: m.Name, Email: m.Email}, CreatedAt: m.CreatedAt, LastUpdated: m.LastUpdated}
}

var readMember = reader[collab.Member, memberItem](table.Members)

// ChangeMember changes a user of the organization, or makes one a member, as ChangeOrganization does. The organization is not checked.
func (s *Store) ChangeMember(ctx context.Context, org collab.OrganizationRef, user string, change func(*collab.Member) error) (collab.Member, error) {
	return rewrite(ctx, s, table.Member(org.Account, org.Organization, user), "the member", user, change, func(m collab.Member) memberItem {
		return memberItem{m.Name, m.Email, m.CreatedAt, m.LastUpdated}
	})
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
