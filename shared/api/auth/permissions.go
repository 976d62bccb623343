// Package auth implements the operations on permissions and on access tokens for pages.
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

// Service runs the operations.
type Service struct {
	Directory *directory.Store
	Accounts  *accounts.Store
	Stage     string // issuer of tokens
}

// Resource is the object of a grant.
type Resource struct {
	Type           collab.ResourceType `json:"type" rule:"required" doc:"organization, folder or document"`
	ID             string              `json:"id" rule:"required,docid" doc:"The organization, folder or document"`
	OrganizationID string              `json:"organizationId" rule:"id" doc:"The organization of the folder or document; required for these"`
}

// Validate requires the organization of a folder or document, and rejects another organization than
// id.
func (r *Resource) Validate(m *rpc.Violations) {
	switch {
	case r.Type == "organization" && r.OrganizationID != "" && r.OrganizationID != r.ID:
		m.Add("organizationId", "must be absent, or equal id")
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

// named returns the names of resources, and rejects duplicates.
func named[T any](m *rpc.Violations, resources []T, resourceOf func(*T) *Resource) []collab.ResourceName {
	names := make([]collab.ResourceName, len(resources))
	seen := make(map[collab.ResourceName]bool, len(resources))
	for i := range resources {
		names[i] = resourceOf(&resources[i]).name()
		if seen[names[i]] {
			m.Add(fmt.Sprintf("permissions.resources[%d]", i), "must not repeat an earlier one")
		}
		seen[names[i]] = true
	}
	return names
}

type PermissionsAddRequest struct {
	User        PermissionsUser `json:"user" rule:"required" doc:"The recipient of the grants"`
	Permissions NewPermissions  `json:"permissions" rule:"required,exact" doc:"The grants"`

	names []collab.ResourceName
}

type PermissionsUser struct {
	UserID string `json:"userId" rule:"required,id"`
}

type NewPermissions struct {
	Resources []NewPermission `json:"resources" rule:"required,nonempty,max=100" doc:"At most 100, all or none"`
}

type NewPermission struct {
	Resource
	AccessRole collab.Role `json:"accessRole" doc:"editor reads and writes, viewer reads. Default: editor"`
	ExpiresAt  *int64      `json:"expiresAt" rule:"min=0,max=253402300799" doc:"Expiry, in seconds since epoch. Default: never"`
}

func (p *NewPermission) Validate(m *rpc.Violations) { p.Resource.Validate(m) }

func (r *PermissionsAddRequest) Validate(m *rpc.Violations) {
	r.names = named(m, r.Permissions.Resources, func(p *NewPermission) *Resource { return &p.Resource })
}

// PermissionsAdd is POST /v2/auth/permissions/add.
func PermissionsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/permissions/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).PermissionsAdd), Description: `
Add permissions.

Adds a user's grants on organizations, folders and documents, all or none. A grant on an
organization makes the user a member; a grant on a folder covers its content. Grants replace
earlier ones on the same resources, with role and expiry. A grant with an expiry in the past has
no effect. The request fails with NOT_FOUND if a resource does not exist.`}
}

// PermissionsAdd adds a user's grants, all or none; they replace earlier ones on the same
// resources.
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

type PermissionsRemoveRequest struct {
	UserID      string      `json:"userId" rule:"required,id"`
	Permissions Permissions `json:"permissions" rule:"required,exact" doc:"The resources of the grants to remove"`

	names []collab.ResourceName
}

type Permissions struct {
	Resources []Resource `json:"resources" rule:"required,nonempty,max=100" doc:"At most 100, all or none"`
}

func (r *PermissionsRemoveRequest) Validate(m *rpc.Violations) {
	r.names = named(m, r.Permissions.Resources, func(p *Resource) *Resource { return p })
}

// PermissionsRemove is POST /v2/auth/permissions/remove.
func PermissionsRemove() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/auth/permissions/remove", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).PermissionsRemove), Description: `
Remove permissions.

Removes a user's grants, all or none. A missing grant is no error. Later tokens of the user give
none of them back: see 'auth/generate_token'. The request fails with NOT_FOUND if a resource does
not exist.`}
}

// PermissionsRemove removes a user's grants, all or none.
func (s *Service) PermissionsRemove(ctx context.Context, call *rpc.Call, req *PermissionsRemoveRequest) (collab.JSON, error) {
	on, err := s.Directory.OpenResources(ctx, call.Account, req.names)
	if err != nil {
		return nil, err
	}
	call.Items = len(on)
	call.Message = "Permissions removed successfully."
	return nil, s.Directory.DeleteGrants(ctx, req.UserID, on)
}
