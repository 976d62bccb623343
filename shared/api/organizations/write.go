package organizations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// WriteRequest is the data of POST /v2/organizations/add and update.
type WriteRequest struct {
	Organizations []NewOrganization `json:"organizations" rule:"required,nonempty,max=500" doc:"At most 500. Further fields are stored and returned"`
}

type NewOrganization struct {
	OrganizationID   string  `json:"organizationId" rule:"required,id"`
	OrganizationName *string `json:"organizationName" rule:"max=1000" doc:"Its name. Default for a new organization: its id"`
	rpc.Open
}

func (o *NewOrganization) Validate(m *rpc.Violations) {
	checkFurther(m, o.Further, "id", "disabled", "createdAt", "lastUpdated")
}

// Apply changes an organization to the fields that are set.
func (o *NewOrganization) Apply(to *collab.Organization) (err error) {
	to.Metadata, err = merged(to.Metadata, o.Further)
	to.Name = cmp.Or(to.Name, to.ID)
	if o.OrganizationName != nil {
		to.Name = *o.OrganizationName
	}
	return err
}

func (r *WriteRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "organizations[%d].organizationId", r.Organizations, func(o *NewOrganization) *string { return &o.OrganizationID })
}

// Add is POST /v2/organizations/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).Add), Description: `
Add organizations.

Adds organizations, or updates existing ones. An absent field is unchanged, and 'null' removes a
further field. Each organization can have further fields of up to 100,000 bytes, which
'organizations/get' returns; reserved names are refused. A deleted organization can be added again
after a few seconds, and is empty; until then the item fails with UNAVAILABLE.`}
}

// Add creates organizations, or updates existing ones.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *WriteRequest) (rpc.Keyed[rpc.Item], error) {
	call.Message = "Organization(s) added successfully."
	return s.write(ctx, call, req, true, "Added Successfully")
}

// Update is POST /v2/organizations/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).Update), Description: `
Update organizations.

As 'organizations/add', except that an item fails with NOT_FOUND if the organization does not
exist.`}
}

// Update updates organizations.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *WriteRequest) (rpc.Keyed[rpc.Item], error) {
	call.Message = "Organization(s) updated successfully."
	return s.write(ctx, call, req, false, "Updated Successfully")
}

// write updates organizations; absent fields are unchanged. If create is true, it creates missing
// ones.
func (s *Service) write(ctx context.Context, call *rpc.Call, req *WriteRequest, create bool, done string) (rpc.Keyed[rpc.Item], error) {
	ids := idsOf(req.Organizations, func(o NewOrganization) string { return o.OrganizationID })
	errs := s.Directory.ChangeOrganizations(ctx, call.Request, ids, create, func(i int, o *collab.Organization) error {
		return req.Organizations[i].Apply(o)
	})
	return call.Outcomes(ids, errs, done), nil
}

type DisableStateUpdateRequest struct {
	OrganizationIDs []string `json:"organizationIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
	Disabled        bool     `json:"disabled" rule:"required" doc:"true: nobody can read or write; false: enabled again"`
}

// AccessDisablestateUpdate is POST /v2/organizations/access/disablestate/update.
func AccessDisablestateUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/access/disablestate/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).DisableStateUpdate), Description: `
Disable or enable organizations.

Disables organizations, or enables them again, within 5 seconds. Requests that read or write the
content of a disabled organization fail with FAILED_PRECONDITION; operations on organizations and
folders continue. An item fails with NOT_FOUND if the organization does not exist.`}
}

// DisableStateUpdate disables or enables organizations.
func (s *Service) DisableStateUpdate(ctx context.Context, call *rpc.Call, req *DisableStateUpdateRequest) (rpc.Keyed[rpc.Item], error) {
	ids := rpc.Distinct(req.OrganizationIDs)
	errs := s.Directory.ChangeOrganizations(ctx, call.Request, ids, false, func(_ int, o *collab.Organization) error {
		o.Disabled = req.Disabled
		return nil
	})
	call.Message = "Updated disable state for Organization(s) successfully."
	return call.Outcomes(ids, errs, "Updated disable state for organization Successfully"), nil
}

func idsOf[T any](list []T, id func(T) string) []string {
	ids := make([]string, len(list))
	for i, v := range list {
		ids[i] = id(v)
	}
	return ids
}
