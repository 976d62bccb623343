package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type UsergroupsGetRequest struct {
	OrganizationID string  `json:"organizationId" rule:"required,id" person:"in"`
	SearchKey      *string `json:"searchKey" rule:"notnull" person:"in" doc:"A prefix of the name or of a word in it, without case and accents; 2 to 100 characters"`
	rpc.PageRequest
}

func (r *UsergroupsGetRequest) Validate(m *rpc.Violations) { m.SearchKey(r.SearchKey) }

// Group is a group of users in a response.
type Group struct {
	GroupID   string   `json:"groupId" person:"out" doc:"The group"`
	GroupName string   `json:"groupName" person:"out" doc:"Its name"`
	UserIDs   []string `json:"userIds" doc:"At most 500 of its users, by id; absent with searchKey"`
}

const (
	maxGroups     = 100 // one read each
	maxGroupUsers = 500 // users in one item

	maxFound    = 30    // groups on a page of a search
	maxSearched = 1_000 // groups examined for a page of a search
)

// UsergroupsGet is POST /v2/organizations/usergroups/get.
func UsergroupsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/usergroups/get", Grants: rpc.ReadTable,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).UsergroupsGet), Requires: collab.AdvancedQueries, Description: `
List groups.

Lists groups of users with their users, in pages. Groups and users are sorted by id. A group with
more than 500 users appears again, with the next users. A page ends after 100 items.

With searchKey, the response has groups without their users, at most 30 on a page. Such a page
examines at most 1,000 groups, and can be short, or empty with a nextPageToken. A person always
gets this form, and no groups unless the person is a member of the organization.`}
}

type groupPosition struct {
	Done string // last completely listed group
	User string // last user of the group after it
}

// UsergroupsGet returns a page of groups with their users, by id.
func (s *Service) UsergroupsGet(ctx context.Context, call *rpc.Call, req *UsergroupsGetRequest) (*rpc.Page[Group], error) {
	var at groupPosition
	page, err := rpc.NewPage[Group](call, "group", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	if call.Person != nil || req.SearchKey != nil {
		return page, s.findGroups(ctx, call, org, collab.Fold(collab.Deref(req.SearchKey)), page, at)
	}
	limit := min(page.Most(), maxGroups)
	groups, err := s.Directory.GroupsAfter(ctx, org, at.Done, limit+1)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(groups); {
		if page.Len() == limit {
			page.Next(at)
			return page, nil
		}
		g := groups[i]
		users, err := s.Directory.GroupUsers(ctx, org, g.ID, at.User, maxGroupUsers+1)
		if err != nil {
			return nil, err
		}
		next := groupPosition{Done: g.ID}
		if len(users) > maxGroupUsers {
			users = users[:maxGroupUsers]
			next = groupPosition{Done: at.Done, User: users[maxGroupUsers-1]}
		} else {
			i++
		}
		if !page.Add(Group{g.ID, g.Name, append([]string{}, users...)}) {
			page.Next(at)
			return page, nil
		}
		at = next
	}
	return page, nil
}

// findGroups adds groups after a position whose folded name matches key, without their users. It
// finds none if the person cannot see groups.
func (s *Service) findGroups(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, key string, page *rpc.Page[Group], at groupPosition,
) error {
	if call.Person != nil {
		if may, err := s.Directory.MayNameGroups(ctx, org, call.Person.UserID, call.Millis()); err != nil || !may {
			return err
		}
	}
	groups, err := s.Directory.GroupsAfter(ctx, org, at.Done, maxSearched)
	limit := min(page.Most(), maxFound)
	for _, g := range groups {
		if collab.HasWord(collab.Fold(g.Name), key) {
			if page.Len() == limit {
				page.Next(at)
				return nil
			}
			page.Add(Group{GroupID: g.ID, GroupName: g.Name, UserIDs: []string{}})
		}
		at.Done = g.ID
	}
	if len(groups) == maxSearched {
		page.Next(at)
	}
	return err
}
