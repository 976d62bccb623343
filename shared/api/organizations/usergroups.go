package organizations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type UsergroupsAddRequest struct {
	OrganizationID         string     `json:"organizationId" rule:"required,id"`
	CreateOrganization     bool       `json:"createOrganization"`
	OrganizationUserGroups []NewGroup `json:"organizationUserGroups" rule:"required,nonempty,max=500" doc:"At most 500"`
}

type NewGroup struct {
	GroupID   string  `json:"groupId" rule:"required,id" doc:"The group"`
	GroupName *string `json:"groupName" rule:"max=1000" doc:"Its name. Default for a new group: its id"`
}

func (r *UsergroupsAddRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "organizationUserGroups[%d].groupId", r.OrganizationUserGroups, func(g *NewGroup) *string { return &g.GroupID })
}

// UsergroupsAdd is POST /v2/organizations/usergroups/add.
func UsergroupsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/usergroups/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).UsergroupsAdd), Description: `
Add groups.

Adds groups of users. If a group already exists, it is renamed.`}
}

// UsergroupsAdd creates or renames groups of users.
func (s *Service) UsergroupsAdd(ctx context.Context, call *rpc.Call, req *UsergroupsAddRequest) (rpc.Keyed[rpc.Item], error) {
	org, err := s.Directory.OpenOrCreateOrganization(ctx, call.Account, req.OrganizationID, req.CreateOrganization)
	if err != nil {
		return nil, err
	}
	ids := idsOf(req.OrganizationUserGroups, func(g NewGroup) string { return g.GroupID })
	errs := s.Directory.ChangeGroups(ctx, call.Request, org, ids, func(i int, g *collab.UserGroup) {
		g.Name = cmp.Or(g.Name, g.ID)
		if name := req.OrganizationUserGroups[i].GroupName; name != nil {
			g.Name = *name
		}
	})
	call.Message = "Organization User Groups added successfully."
	return call.Outcomes(ids, errs, "Organization user group added."), nil
}

type UsergroupsUsersAddRequest struct {
	OrganizationID          string   `json:"organizationId" rule:"required,id"`
	OrganizationUserGroupID string   `json:"organizationUserGroupId" rule:"required,id" doc:"The group"`
	UserIDs                 []string `json:"userIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500; they need not be users of the organization"`
}

type UsergroupsUsersDeleteRequest struct {
	OrganizationID          string   `json:"organizationId" rule:"required,id"`
	OrganizationUserGroupID string   `json:"organizationUserGroupId" rule:"required,id" doc:"The group"`
	UserIDs                 []string `json:"userIds" rule:"notnull,nonempty,max=500,each=id" doc:"At most 500; this or deleteAll is required"`
	DeleteAll               bool     `json:"deleteAll" doc:"All users of the group, at most 10,000"`
}

// Validate requires exactly one of userIds and deleteAll.
func (r *UsergroupsUsersDeleteRequest) Validate(m *rpc.Violations) {
	switch {
	case r.DeleteAll && r.UserIDs != nil:
		m.Add("deleteAll", "cannot be combined with userIds")
	case !r.DeleteAll && r.UserIDs == nil:
		m.Add("userIds", "is required unless deleteAll is true")
	}
}

// GroupUser is the outcome of one user of a group.
type GroupUser struct {
	rpc.Outcome
	OrganizationUserGroupID string `json:"organizationUserGroupId" doc:"The group"`
}

// UsergroupsUsersAdd is POST /v2/organizations/usergroups/users/add.
func UsergroupsUsersAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/usergroups/users/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).UsergroupsUsersAdd), Description: `
Add users to a group.

Adds users to a group. They need not be users of the organization. The request fails with
NOT_FOUND if the group does not exist.`}
}

// UsergroupsUsersAdd adds users to a group.
func (s *Service) UsergroupsUsersAdd(ctx context.Context, call *rpc.Call, req *UsergroupsUsersAddRequest) (rpc.Keyed[GroupUser], error) {
	org, err := s.openGroup(ctx, call, req.OrganizationID, req.OrganizationUserGroupID)
	if err != nil {
		return nil, err
	}
	users := rpc.Distinct(req.UserIDs)
	errs := s.Directory.AddGroupUsers(ctx, call.Request, org, req.OrganizationUserGroupID, users)
	call.Message = "Added organization users to group successfully."
	return groupUsers(call, req.OrganizationUserGroupID, users, errs, "User added to organization user group."), nil
}

// UsergroupsUsersDelete is POST /v2/organizations/usergroups/users/delete.
func UsergroupsUsersDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/usergroups/users/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).UsergroupsUsersDelete), Description: `
Remove users from a group.

Removes users, or all users, from a group. A user who is not in the group is no error. The request
fails with NOT_FOUND if the group does not exist, and with FAILED_PRECONDITION if deleteAll is
true and the group has more than 10,000 users.`}
}

// UsergroupsUsersDelete removes users, or all users, from a group.
func (s *Service) UsergroupsUsersDelete(
	ctx context.Context, call *rpc.Call, req *UsergroupsUsersDeleteRequest,
) (rpc.Keyed[GroupUser], error) {
	org, err := s.openGroup(ctx, call, req.OrganizationID, req.OrganizationUserGroupID)
	if err != nil {
		return nil, err
	}
	users := rpc.Distinct(req.UserIDs)
	if req.DeleteAll {
		if users, err = s.Directory.GroupUsers(ctx, org, req.OrganizationUserGroupID, "", collab.MaxGroupDelete+1); err != nil {
			return nil, err
		}
		if len(users) > collab.MaxGroupDelete {
			return nil, collab.Errorf(
				collab.FailedPrecondition, "the group has more than %d users: remove some by userIds first", collab.MaxGroupDelete,
			)
		}
	}
	errs := s.Directory.DeleteGroupUsers(ctx, org, req.OrganizationUserGroupID, users)
	call.Message = "Deleted users from group successfully."
	return groupUsers(call, req.OrganizationUserGroupID, users, errs, "User deleted from organization user group."), nil
}

// openGroup opens an organization that contains a group.
func (s *Service) openGroup(ctx context.Context, call *rpc.Call, organization, group string) (collab.OrganizationRef, error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, organization)
	if err == nil {
		_, err = s.Directory.GroupName(ctx, org, group)
	}
	return org, err
}

func groupUsers(call *rpc.Call, group string, users []string, errs []error, done string) rpc.Keyed[GroupUser] {
	items := make(rpc.Keyed[GroupUser], len(users))
	for i, u := range users {
		items[i] = rpc.Member[GroupUser]{Key: u, Value: GroupUser{call.Outcome(errs[i], done), group}}
	}
	return items
}
