package organizations

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetRequest is the data of POST /v2/organizations/get. Without ids it selects all organizations of
// the account.
type GetRequest struct {
	OrganizationIDs []string `json:"organizationIds" rule:"notnull,nonempty,max=30,each=id"`
	rpc.PageRequest
}

// Organization is an organization in a response. Further fields are added to these, which take
// precedence.
type Organization struct {
	ID               string `json:"id"`
	OrganizationName string `json:"organizationName" doc:"Its name"`
	Disabled         bool   `json:"disabled"`
	rpc.Open
}

// Get is POST /v2/organizations/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/get", Grants: rpc.ReadTable,
		Operation: rpc.Method((*Service).Get), Requires: collab.AdvancedQueries, Description: `
List organizations.

Lists organizations, in pages: the existing ones of organizationIds in the order asked, without
duplicates, or all, by id. Disabled organizations are included. An organization can have further
fields.`}
}

// Get returns a page of organizations: the existing ones of organizationIds in the order asked, or
// all, by id.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (*rpc.Page[Organization], error) {
	var last string // last organization of the previous page
	page, err := rpc.NewPage[Organization](call, "organization", req.PageRequest, &last)
	if err != nil {
		return nil, err
	}
	list := s.Directory.ListOrganizations(ctx, call.Account, last, page.Most())
	if ids := rpc.Distinct(req.OrganizationIDs); ids != nil {
		found, err := s.Directory.Organizations(ctx, call.Account, ids[slices.Index(ids, last)+1:])
		if err != nil {
			return nil, err
		}
		list = func(yield func(collab.Organization, error) bool) {
			for _, o := range found {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
	for o, err := range list {
		if err != nil {
			return nil, err
		}
		text := organization(o)
		if !page.AddEncoded(text, rpc.WrappedLen(text)) {
			page.Next(last)
			break
		}
		last = o.ID
	}
	return page, nil
}

func organization(o collab.Organization) collab.JSON {
	return rpc.WithFurther(rpc.Keyed[any]{
		{Key: "id", Value: o.ID}, {Key: "organizationName", Value: o.Name}, {Key: "disabled", Value: o.Disabled},
	}, o.Metadata.Object())
}
