// Package auth has the operations on the permissions of users, and on the tokens of their pages.
package auth

import (
	"cmp"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"context"
	"fmt"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Service carries out the operations.
type Service struct {
	Directory *directory.Store
	Accounts  *accounts.Store
	Stage     string // that issues tokens
}

// Resource is what a grant is on.
type Resource struct {
	Type           collab.ResourceType `json:"type" rule:"required" doc:"organization, folder or document"`
	ID             string              `json:"id" rule:"required,docid" doc:"The organization, folder or document"`
	OrganizationID string              `json:"organizationId" rule:"id" doc:"The organization of the folder or document; required for these"`
}

// Validate refuses folders and documents without their organization, and organizations with another.
func (r *Resource) Validate(m *rpc.Violations) {
	switch {
	case r.Type == "organization" && r.OrganizationID != "" && r.OrganizationID != r.ID:
		m.Add("organizationId", "must be left out, or be the same as id")
	case r.Type != "organization" && r.Type != "" && r.OrganizationID == "":
		m.Add("organizationId", "is required for a %s", r.Type)
	}
	if r.Type != "document" {
		if err := collab.CheckID(r.ID, collab.MaxID); r.ID != "" && err != nil {
			m.Add("id", "%s", err)
		}
	}
}

func (r Resource) name() collab.ResourceName {
	switch r.Type {
	case "organization":
		return collab.ResourceName{Organization: r.ID}
	case "folder":
		return collab.ResourceName{Organization: r.OrganizationID, Folder: r.ID}
	}
	return collab.ResourceName{Organization: r.OrganizationID, Document: r.ID}
}

// named returns the names of resources, and notes those that are given twice.
func named[T any](m *rpc.Violations, resources []T, of func(*T) *Resource) []collab.ResourceName {
	names := make([]collab.ResourceName, len(resources))
	seen := make(map[collab.ResourceName]bool, len(resources))
	for i := range resources {
		names[i] = of(&resources[i]).name()
		if seen[names[i]] {
			m.Add(fmt.Sprintf("permissions.resources[%d]", i), "must not be the same as an earlier one")
		}
		seen[names[i]] = true
	}
	return names
}

// PermissionsAddRequest is the data of POST /v2/auth/permissions/add.
type PermissionsAddRequest struct {
	User        PermissionsUser `json:"user" rule:"required" doc:"The user who gets the grants"`
	Permissions NewPermissions  `json:"permissions" rule:"required,exact" doc:"The grants"`

	names []collab.ResourceName
}

// PermissionsUser names a user.
type PermissionsUser struct {
	UserID string `json:"userId" rule:"required,id"`
}

// NewPermissions are grants to make.
type NewPermissions struct {
	Resources []NewPermission `json:"resources" rule:"required,nonempty,max=100" doc:"At most 100, all or none"`
}

// NewPermission is a grant to make.
type NewPermission struct {
	Resource
	AccessRole collab.Role `json:"accessRole" doc:"editor reads and writes, viewer reads; editor where it is left out"`
	ExpiresAt  *int64      `json:"expiresAt" rule:"min=0,max=253402300799" doc:"When it ends, in seconds since epoch; never where it is left out"`
}

// Validate is that of Resource.
func (p *NewPermission) Validate(m *rpc.Violations) { p.Resource.Validate(m) }

// Validate refuses resources given twice.
func (r *PermissionsAddRequest) Validate(m *rpc.Violations) {
	r.names = named(m, r.Permissions.Resources, func(p *NewPermission) *Resource { return &p.Resource })
}

// PermissionsAdd is POST /v2/auth/permissions/add.
func PermissionsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/permissions/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).PermissionsAdd), Description: `
Gives a user grants on organizations, folders and documents. All are given or none: on an organization (she is then one of its users), on a
folder with all in it, or on a document. They replace those on the same resources, role and end. An end in the past is accepted, and the
grant is none. NOT_FOUND when a resource does not exist.`}
}

// PermissionsAdd gives a user grants, all or none; they replace those on the same resources. It fails with NOT_FOUND when a resource does
// not exist.
func (s *Service) PermissionsAdd(ctx context.Context, call *rpc.Call, req *PermissionsAddRequest) (collab.JSON, error) {
	on, err := s.Directory.OpenResources(ctx, call.Account, req.names)
	if err != nil {
		return nil, err
	}
	grants := make([]collab.Grant, len(on))
	for i, p := range req.Permissions.Resources {
		grants[i] = collab.Grant{Role: cmp.Or(p.AccessRole, collab.RoleEditor), Expires: collab.Deref(p.ExpiresAt)}
	}
	call.Items = len(on)
	call.Message = "Permissions added successfully."
	return nil, s.Directory.AddGrants(ctx, call.Request, req.User.UserID, on, grants)
}

// PermissionsRemoveRequest is the data of POST /v2/auth/permissions/remove.
type PermissionsRemoveRequest struct {
	UserID      string      `json:"userId" rule:"required,id"`
	Permissions Permissions `json:"permissions" rule:"required,exact" doc:"The resources on which the user has no grant any more"`

	names []collab.ResourceName
}

// Permissions are the resources of grants.
type Permissions struct {
	Resources []Resource `json:"resources" rule:"required,nonempty,max=100" doc:"At most 100, all or none"`
}

// Validate refuses resources given twice.
func (r *PermissionsRemoveRequest) Validate(m *rpc.Violations) {
	r.names = named(m, r.Permissions.Resources, func(p *Resource) *Resource { return p })
}

// PermissionsRemove is POST /v2/auth/permissions/remove.
func PermissionsRemove() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/permissions/remove", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).PermissionsRemove), Description: `
Takes grants from a user. All are taken or none; one that is not there is gone already. NOT_FOUND when a resource does not exist.`}
}

// PermissionsRemove takes grants from a user, all or none; one that is not there is gone already. It fails with NOT_FOUND when a resource
// does not exist.
func (s *Service) PermissionsRemove(ctx context.Context, call *rpc.Call, req *PermissionsRemoveRequest) (collab.JSON, error) {
	on, err := s.Directory.OpenResources(ctx, call.Account, req.names)
	if err != nil {
		return nil, err
	}
	call.Items = len(on)
	call.Message = "Permissions removed successfully."
	return nil, s.Directory.DeleteGrants(ctx, req.UserID, on)
}
