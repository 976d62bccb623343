package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
)

// UsergroupsDelete is POST /v2/organizations/usergroups/delete.
func UsergroupsDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/usergroups/delete", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).UsergroupsDelete), Description: `
Deletes a group of users. Its users stay users of the organization. A group that does not exist is gone already. FAILED_PRECONDITION, and
nothing is deleted, when it has more than 10,000 users.`}
}

// UsergroupsDeleteRequest is the data of POST /v2/organizations/usergroups/delete.
type UsergroupsDeleteRequest struct {
	OrganizationID          string `json:"organizationId" rule:"required,id"`
	OrganizationUserGroupID string `json:"organizationUserGroupId" rule:"required,id" doc:"The group"`
}

// UsergroupsDeleteResult says which group is gone.
type UsergroupsDeleteResult struct {
	OrganizationUserGroupID string `json:"organizationUserGroupId" doc:"The group"`
}

// UsergroupsDelete deletes a group; one that does not exist is no error.
func (s *Service) UsergroupsDelete(ctx context.Context, call *rpc.Call, req *UsergroupsDeleteRequest) (UsergroupsDeleteResult, error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err == nil {
		err = s.Directory.DeleteGroup(ctx, org, req.OrganizationUserGroupID)
	}
	call.Message, call.Items = "Organization user group deleted successfully.", 1
	return UsergroupsDeleteResult{req.OrganizationUserGroupID}, err
}
