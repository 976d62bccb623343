package organizations

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetRequest is the data of POST /v2/organizations/get. Without ids it asks for all organizations of the account.
type GetRequest struct {
	OrganizationIDs []string `json:"organizationIds" rule:"notnull,nonempty,max=30,each=id"`
	PageSize        *int64   `json:"pageSize" rule:"notnull,min=1,max=1000"`
	PageToken       string   `json:"pageToken"`
}

// Get returns a page of organizations: those asked for that exist, in the order asked and each once, or all by id. A page ends at
// pageSize, or before its answer is larger than 5 MB. It fails with FAILED_PRECONDITION where the account's advanced queries are off.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) ([]collab.JSON, error) {
	if err := checkAdvancedQueries(call.Settings); err != nil {
		return nil, err
	}
	var last string // the last organization of the page before
	if err := call.Position(req.PageToken, &last); err != nil {
		return nil, err
	}
	most := collab.MaxPageSize
	if req.PageSize != nil {
		most = int(*req.PageSize)
	}
	var page answer
	more, err := s.list(ctx, call.Account, req.OrganizationIDs, last, most, func(o collab.Organization) bool {
		if !page.add(organization(o)) {
			return false
		}
		last = o.ID
		return true
	})
	if err != nil {
		return nil, err
	}
	if more {
		call.NextPageToken = call.PageToken(last)
	}
	call.Items = len(page.items)
	call.Message = rpc.Count(call.Items, "organization")
	return page.items, nil
}

// list is Store.ListOrganizations, for those of the ids where there are any, in their order.
func (s *Service) list(ctx context.Context, acct string, ids []string, after string, most int, take func(collab.Organization) bool) (more bool, err error) {
	if ids == nil {
		return s.Store.ListOrganizations(ctx, acct, after, most, take)
	}
	all, err := s.Store.Organizations(ctx, acct, ids)
	if err != nil {
		return false, err
	}
	start := slices.IndexFunc(all, func(o collab.Organization) bool { return o.ID == after }) + 1
	for i, o := range all[start:] {
		if i == most || !take(o) {
			return true, nil
		}
	}
	return false, nil
}

// organization returns an organization as it is answered: its metadata stand beside the fields of its own, which win.
func organization(o collab.Organization) collab.JSON {
	fields := rpc.Keyed[any]{
		{Key: "id", Value: o.ID},
		{Key: "organizationName", Value: o.Name},
		{Key: "disabled", Value: o.Disabled},
	}
	for name, value := range rpc.Members(o.Metadata) {
		if !slices.ContainsFunc(fields, func(f rpc.Member[any]) bool { return f.Key == name }) {
			fields = append(fields, rpc.Member[any]{Key: name, Value: value})
		}
	}
	return object(fields)
}
