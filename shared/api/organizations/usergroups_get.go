package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UsergroupsGetRequest is the data of POST /v2/organizations/usergroups/get.
type UsergroupsGetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	rpc.PageRequest
}

// Group is a group of users as it is answered.
type Group struct {
	GroupID   string   `json:"groupId" doc:"The group"`
	GroupName string   `json:"groupName" doc:"Its name"`
	UserIDs   []string `json:"userIds" doc:"At most 500 of its users, by id"`
}

// What one page of groups holds at most.
const (
	maxGroups     = 100 // each of which is a read
	maxGroupUsers = 500 // of one item
)

// UsergroupsGet is POST /v2/organizations/usergroups/get.
func UsergroupsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/usergroups/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).UsergroupsGet), Requires: collab.AdvancedQueries, Description: `
Lists groups of users, with their users, in pages. The response has all by id, each with its users by id. A group with more than 500 users
comes again, each time with the next of them. A page ends after 100 items.`}
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
