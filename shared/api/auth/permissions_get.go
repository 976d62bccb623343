package auth

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type PermissionsGetRequest struct {
	OrganizationID                  string   `json:"organizationId" rule:"required,id"`
	UserIDs                         []string `json:"userIds" rule:"required,nonempty,max=30,each=id" doc:"At most 30"`
	FolderIDs                       []string `json:"folderIds" rule:"notnull,nonempty,max=30,each=id" doc:"At most 30"`
	DocumentIDs                     []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" doc:"At most 30"`
	SkipResourceExistenceValidation bool     `json:"skipResourceExistenceValidation" doc:"Return missing folders and documents as part of a success, not as NOT_FOUND"`
}

// UserPermissions are a user's permissions in an organization.
type UserPermissions struct {
	Organization rpc.Keyed[Permission] `json:"organization" doc:"By the id of the organization"`
	Folders      rpc.Keyed[Permission] `json:"folders,omitempty" doc:"By folder id, if the request has folderIds"`
	Documents    rpc.Keyed[Permission] `json:"documents,omitempty" doc:"By document id, if the request has documentIds"`
}

// Permission is a user's permission on one resource, or the reason for having none.
type Permission struct {
	AccessRole collab.Role   `json:"accessRole,omitempty" doc:"editor reads and writes, viewer reads"`
	AccessType collab.Access `json:"accessType,omitempty" doc:"For folders and documents: the effective access type"`
	ExpiresAt  int64         `json:"expiresAt,omitempty" doc:"Expiry of the effective grant, in seconds since epoch"`
	Error      string        `json:"error,omitempty" doc:"Why the user has no permission"`
	ErrorCode  string        `json:"errorCode,omitempty" doc:"permission_denied or does_not_exist"`
}

// PermissionsGet is POST /v2/auth/permissions/get.
func PermissionsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/permissions/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).PermissionsGet), Description: `
List permissions.

Returns the permissions of users in an organization, and on its folders and documents. The nearest
unexpired grant applies: on the resource, its folder, the folder's parent, and so on; then
membership in the organization, except for restricted resources. A user without any can still read
and write public resources.

The request fails with NOT_FOUND if a folder or document does not exist: then 'error.details' has
the same content, with the errorCode 'does_not_exist' for these. With
skipResourceExistenceValidation the request succeeds.`}
}

// PermissionsGet returns the permissions of users in an organization, and on folders and documents.
func (s *Service) PermissionsGet(ctx context.Context, call *rpc.Call, req *PermissionsGetRequest) (rpc.Keyed[UserPermissions], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	users, folders, documents := rpc.Distinct(req.UserIDs), rpc.Distinct(req.FolderIDs), rpc.Distinct(req.DocumentIDs)
	standings, err := s.Directory.Standings(ctx, org, collab.StandingQuery{
		Users: users, Folders: folders, Default: call.Settings.AccessByDefault(),
		Documents: collab.Map(documents, func(id string) collab.DocumentRef {
			return collab.DocumentRef{OrganizationRef: org, Document: id, Incarnation: collab.AnyIncarnation}
		}),
	})
	if err != nil {
		return nil, err
	}
	missing := false
	each := func(user int, ids []string, standings [][]collab.Standing) rpc.Keyed[Permission] {
		list := make(rpc.Keyed[Permission], len(ids))
		for i, id := range ids {
			list[i].Key = id
			standing := standings[i][user]
			if missing = missing || !standing.There; standing.There {
				list[i].Value = permission(standing, call.Millis())
			} else {
				list[i].Value = Permission{Error: "It does not exist.", ErrorCode: "does_not_exist"}
			}
		}
		return list
	}
	answer := make(rpc.Keyed[UserPermissions], len(users))
	for i, u := range users {
		answer[i] = rpc.Member[UserPermissions]{Key: u, Value: UserPermissions{
			Organization: rpc.Keyed[Permission]{{Key: org.Organization, Value: permission(collab.Standing{Member: standings.Members[u]}, call.Millis())}},
			Folders:      each(i, folders, standings.Folders), Documents: each(i, documents, standings.Documents),
		}}
	}
	call.Items = len(users)
	if missing && !req.SkipResourceExistenceValidation {
		return nil, rpc.WithDetails(collab.Errorf(collab.NotFound, "Folder or document does not exist"), answer)
	}
	call.Message = "User permissions retrieved successfully."
	return answer, nil
}

// permission returns the permission of a standing at a time.
func permission(standing collab.Standing, now collab.Millis) Permission {
	g := standing.Grant(now)
	if g == nil {
		return Permission{AccessType: standing.Access, Error: "The user has no access.", ErrorCode: "permission_denied"}
	}
	return Permission{AccessRole: cmp.Or(g.Role, collab.RoleEditor), AccessType: standing.Access, ExpiresAt: g.Expires}
}
