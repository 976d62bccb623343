package organizations

import (
	"context"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UsergroupsGetRequest is the data of POST /v2/organizations/usergroups/get.
type UsergroupsGetRequest struct {
	OrganizationID string  `json:"organizationId" rule:"required,id" person:"in"`
	SearchKey      *string `json:"searchKey" rule:"notnull" person:"in" doc:"The first 30 of those whose name, or a word of it, begins with this, whatever the case; 2 to 100 characters"`
	rpc.PageRequest
}

// Validate refuses a searchKey that is too short or too long.
func (r *UsergroupsGetRequest) Validate(m *rpc.Violations) { m.SearchKey(r.SearchKey) }

// Group is a group of users as it is answered.
type Group struct {
	GroupID   string   `json:"groupId" person:"out" doc:"The group"`
	GroupName string   `json:"groupName" person:"out" doc:"Its name"`
	UserIDs   []string `json:"userIds" doc:"At most 500 of its users, by id; none with searchKey"`
}

// Limits of one page of groups.
const (
	maxGroups     = 100 // each of which is a read
	maxGroupUsers = 500 // of one item

	maxFound    = 30    // groups that a search answers
	maxSearched = 1_000 // groups that it looks at
)

// UsergroupsGet is POST /v2/organizations/usergroups/get.
func UsergroupsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/usergroups/get", Grants: rpc.ReadTable,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).UsergroupsGet), Requires: collab.AdvancedQueries, Description: `
Lists groups of users, with their users, in pages. The response has all by id, each with its users by id. A group with more than 500 users
comes again, each time with the next of them. A page ends after 100 items.
With searchKey the response is at most 30 of the first 1,000 groups, without their users. A person is answered so without one, too, and
learns of groups as a member of the organization alone: for others there are none.`}
}

// groupPosition is the item after which a page goes on.
type groupPosition struct {
	Done string // the last group of which all users were listed
	User string // the last user of the group after it
}

// UsergroupsGet returns a page of groups, by id, with their users. It fails with NOT_FOUND when the organization does not exist.
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
		return page, s.findGroups(ctx, call, org, strings.ToLower(collab.Deref(req.SearchKey)), page)
	}
	most := min(page.Most(), maxGroups)
	groups, err := s.Directory.GroupsAfter(ctx, org, at.Done, most+1)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(groups); {
		if page.Len() == most {
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

// findGroups fills a page with groups that a key in lower case finds, without their users. It finds none for a person who may not name groups.
func (s *Service) findGroups(ctx context.Context, call *rpc.Call, org collab.OrganizationRef, key string, page *rpc.Page[Group]) error {
	if call.Person != nil {
		if may, err := s.Directory.MayNameGroups(ctx, org, call.Person.UserID, call.Millis()); err != nil || !may {
			return err
		}
	}
	groups, err := s.Directory.GroupsAfter(ctx, org, "", maxSearched)
	for _, g := range groups {
		if page.Len() < maxFound && collab.HasWord(g.Name, key) {
			page.Add(Group{GroupID: g.ID, GroupName: g.Name, UserIDs: []string{}})
		}
	}
	return err
}
