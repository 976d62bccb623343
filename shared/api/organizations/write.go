package organizations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// WriteRequest is the data of POST /v2/organizations/add and update.
type WriteRequest struct {
	Organizations []NewOrganization `json:"organizations" rule:"required,nonempty,max=500" doc:"At most 500, each with any further fields, which are kept and given back"`
}

// NewOrganization is an organization to add or update.
type NewOrganization struct {
	OrganizationID   string  `json:"organizationId" rule:"required,id"`
	OrganizationName *string `json:"organizationName" rule:"max=1000" doc:"Its name; a new one without has its id for a name"`
	rpc.Open
}

// Validate refuses reserved names.
func (o *NewOrganization) Validate(m *rpc.Violations) {
	checkFurther(m, o.Further, "id", "disabled", "createdAt", "lastUpdated")
}

// Validate refuses ids given twice.
func (r *WriteRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "organizations[%d].organizationId", r.Organizations, func(o *NewOrganization) *string { return &o.OrganizationID })
}

// Add is POST /v2/organizations/add.
func Add() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).Add), Description: `
Adds organizations, or updates those that are there. A name or further field that is not sent stays, null takes a further field away. At
most 500, each with any further fields (100,000 bytes of them), which organizations/get returns beside its own; names that the service uses
itself are refused. An organization that was deleted may be added again a few seconds later, and is empty; until then it fails with
UNAVAILABLE.`}
}

// Add makes organizations, or updates those that are there.
func (s *Service) Add(ctx context.Context, call *rpc.Call, req *WriteRequest) (rpc.Keyed[rpc.Item], error) {
	call.Message = "Organization(s) added successfully."
	return s.write(ctx, call, req, true, "Added Successfully")
}

// Update is POST /v2/organizations/update.
func Update() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).Update), Description: `
Updates organizations. As organizations/add, but an organization that does not exist fails with NOT_FOUND.`}
}

// Update changes organizations; one that does not exist fails with NOT_FOUND.
func (s *Service) Update(ctx context.Context, call *rpc.Call, req *WriteRequest) (rpc.Keyed[rpc.Item], error) {
	call.Message = "Organization(s) updated successfully."
	return s.write(ctx, call, req, false, "Updated Successfully")
}

// write changes organizations, and makes those that are missing where create is true. Fields that are not sent stay.
func (s *Service) write(ctx context.Context, call *rpc.Call, req *WriteRequest, create bool, done string) (rpc.Keyed[rpc.Item], error) {
	ids := idsOf(req.Organizations, func(o NewOrganization) string { return o.OrganizationID })
	errs := s.Directory.ChangeOrganizations(ctx, call.Request, ids, create, func(i int, o *collab.Organization) (err error) {
		sent := req.Organizations[i]
		o.Metadata, err = merged(o.Metadata, sent.Further)
		o.Name = cmp.Or(o.Name, o.ID)
		if sent.OrganizationName != nil {
			o.Name = *sent.OrganizationName
		}
		return err
	})
	return call.Outcomes(ids, errs, done), nil
}

// DisableStateUpdateRequest is the data of POST /v2/organizations/access/disablestate/update.
type DisableStateUpdateRequest struct {
	OrganizationIDs []string `json:"organizationIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
	Disabled        bool     `json:"disabled" rule:"required" doc:"true: nobody reads or writes in them; false: they are as before"`
}

// AccessDisablestateUpdate is POST /v2/organizations/access/disablestate/update.
func AccessDisablestateUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/access/disablestate/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).DisableStateUpdate), Description: `
Disables organizations, or enables them again, within 5 seconds. The contents of a disabled one are neither read nor written:
FAILED_PRECONDITION; only operations on organizations and folders go on. One that does not exist fails with NOT_FOUND.`}
}

// DisableStateUpdate disables organizations, or enables them again; one that does not exist fails with NOT_FOUND.
func (s *Service) DisableStateUpdate(ctx context.Context, call *rpc.Call, req *DisableStateUpdateRequest) (rpc.Keyed[rpc.Item], error) {
	ids := rpc.Distinct(req.OrganizationIDs)
	errs := s.Directory.ChangeOrganizations(ctx, call.Request, ids, false, func(_ int, o *collab.Organization) error {
		o.Disabled = req.Disabled
		return nil
	})
	call.Message = "Updated disable state for Organization(s) successfully."
	return call.Outcomes(ids, errs, "Updated disable state for organization Successfully"), nil
}

// idsOf returns the ids of things, in their order.
func idsOf[T any](list []T, id func(T) string) []string {
	ids := make([]string, len(list))
	for i, v := range list {
		ids[i] = id(v)
	}
	return ids
}
