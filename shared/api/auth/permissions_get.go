package auth

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// PermissionsGetRequest is the data of POST /v2/auth/permissions/get.
type PermissionsGetRequest struct {
	OrganizationID                  string   `json:"organizationId" rule:"required,id"`
	UserIDs                         []string `json:"userIds" rule:"required,nonempty,max=30,each=id" doc:"At most 30"`
	FolderIDs                       []string `json:"folderIds" rule:"notnull,nonempty,max=30,each=id" doc:"At most 30"`
	DocumentIDs                     []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" doc:"At most 30"`
	SkipResourceExistenceValidation bool     `json:"skipResourceExistenceValidation" doc:"Answer what does not exist among the others, instead of NOT_FOUND for the call"`
}

// UserPermissions are what a user may do in an organization.
type UserPermissions struct {
	Organization rpc.Keyed[Permission] `json:"organization" doc:"By the id of the organization"`
	Folders      rpc.Keyed[Permission] `json:"folders,omitempty" doc:"By folder id, where folders were asked for"`
	Documents    rpc.Keyed[Permission] `json:"documents,omitempty" doc:"By document id, where documents were asked for"`
}

// Permission is what a user may do with one thing, or why nothing.
type Permission struct {
	AccessRole collab.Role   `json:"accessRole,omitempty" doc:"editor reads and writes, viewer reads"`
	AccessType collab.Access `json:"accessType,omitempty" doc:"Of folders and documents: the type that holds for it"`
	ExpiresAt  int64         `json:"expiresAt,omitempty" doc:"When the grant that says so ends, in seconds since epoch"`
	Error      string        `json:"error,omitempty" doc:"Why the user may do nothing"`
	ErrorCode  string        `json:"errorCode,omitempty" doc:"permission_denied or does_not_exist"`
}

// PermissionsGet is POST /v2/auth/permissions/get.
func PermissionsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/permissions/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).PermissionsGet), Description: `
Says what users may do in an organization, and with its folders and documents. The nearest grant that has not ended counts: on the
thing itself, on its folder, on that one's parent and so on; then, but where access is restricted, that of being a user of the
organization. A user without one may still see and write what is public. NOT_FOUND when a folder or document does not exist: error.details then
has the same answer, with errorCode does_not_exist there; skipResourceExistenceValidation answers that as a success.`}
}

// PermissionsGet returns what users may do in an organization, and with folders and documents of it. It fails with NOT_FOUND, which shows
// the same, when one of these does not exist.
func (s *Service) PermissionsGet(ctx context.Context, call *rpc.Call, req *PermissionsGetRequest) (rpc.Keyed[UserPermissions], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	users, folders, documents := rpc.Distinct(req.UserIDs), rpc.Distinct(req.FolderIDs), rpc.Distinct(req.DocumentIDs)
	of, err := s.Directory.Standings(ctx, org, collab.StandingQuery{
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
			Organization: rpc.Keyed[Permission]{{Key: org.Organization, Value: permission(collab.Standing{Member: of.Members[u]}, call.Millis())}},
			Folders:      each(i, folders, of.Folders), Documents: each(i, documents, of.Documents),
		}}
	}
	call.Items = len(users)
	if missing && !req.SkipResourceExistenceValidation {
		return nil, rpc.WithDetails(collab.Errorf(collab.NotFound, "Folder or document does not exist"), answer)
	}
	call.Message = "User permissions retrieved successfully."
	return answer, nil
}

// permission returns what a standing lets its user do at a time.
func permission(of collab.Standing, now collab.Millis) Permission {
	g := of.Grant(now)
	if g == nil {
		return Permission{AccessType: of.Access, Error: "The user has no access.", ErrorCode: "permission_denied"}
	}
	return Permission{AccessRole: cmp.Or(g.Role, collab.RoleEditor), AccessType: of.Access, ExpiresAt: g.Expires}
}
