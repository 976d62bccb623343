package organizations

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DocumentsGetRequest is the data of POST /v2/organizations/documents/get. Without filters it
// selects all documents of the organization.
type DocumentsGetRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" doc:"Only these, in this order; missing ones are skipped"`
	FolderID       *string  `json:"folderId" rule:"notnull,id" doc:"Directly in this folder; root: in no folder"`
	rpc.PageRequest
}

// Document is a document in a response. Further fields are added to these, which take precedence.
type Document struct {
	ID                      string           `json:"id"`
	DocumentName            string           `json:"documentName" doc:"Its name"`
	Disabled                bool             `json:"disabled"`
	AccessType              collab.Access    `json:"accessType" doc:"The effective access type"`
	InheritAccessFromParent bool             `json:"inheritAccessFromParent" doc:"The access type comes from its folder, or the account's default"`
	FolderID                string           `json:"folderId" doc:"Its folder; root for none"`
	CreatedAt               collab.Timestamp `json:"createdAt"`
	LastUpdated             collab.Timestamp `json:"lastUpdated"`
	rpc.Open
}

// DocumentsGet is POST /v2/organizations/documents/get.
func DocumentsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/get", Grants: rpc.ReadTable | rpc.ReadIndexes,
		Operation: rpc.Method((*Service).DocumentsGet), Requires: collab.AdvancedQueries, Description: `
List documents.

Lists documents, in pages: the existing ones of documentIds in the order asked, without
duplicates; those directly in a folder; or all, by id. Disabled documents are included. A list by
folder can be a second late. The request fails with NOT_FOUND if the folder does not exist.`}
}

// DocumentsGet returns a page of documents: the existing ones of documentIds in the order asked,
// those of a folder, or all, by id.
func (s *Service) DocumentsGet(ctx context.Context, call *rpc.Call, req *DocumentsGetRequest) (*rpc.Page[Document], error) {
	var last string // last document of the previous page
	page, err := rpc.NewPage[Document](call, "document", req.PageRequest, &last)
	if err != nil {
		return nil, err
	}
	page.BothTokens()
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	folder := collab.Deref(req.FolderID)
	if folder != "" {
		if _, err := s.Directory.OpenFolder(ctx, call.Request, org, folder, false); err != nil {
			return nil, err
		}
	}
	var list []collab.Document // the page, and one more
	if ids := rpc.Distinct(req.DocumentIDs); ids != nil {
		list, err = s.Directory.DocumentsByID(ctx, org, ids[slices.Index(ids, last)+1:])
		list = slices.DeleteFunc(list, func(d collab.Document) bool { return folder != "" && d.Folder != folder })
	} else {
		list, err = s.Directory.DocumentsAfter(ctx, org, folder, last, page.Most()+1)
	}
	if err != nil {
		return nil, err
	}
	above, err := s.Directory.FoldersAbove(ctx, org, collab.Map(list, func(d collab.Document) string { return d.Folder }))
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		text := document(d, above.Access(d.Access, d.Folder, call.Settings.AccessByDefault()))
		if !page.AddEncoded(text, rpc.WrappedLen(text)) {
			page.Next(last)
			break
		}
		last = d.ID
	}
	call.Message = "Document(s) retrieved successfully."
	return page, nil
}

// document returns a document in the form of a response, with its effective access type.
func document(d collab.Document, access collab.Access) collab.JSON {
	return rpc.WithFurther(rpc.Keyed[any]{
		{Key: "id", Value: d.ID}, {Key: "documentName", Value: d.Name}, {Key: "disabled", Value: d.Disabled},
		{Key: "accessType", Value: access}, {Key: "inheritAccessFromParent", Value: d.Access == ""}, {Key: "folderId", Value: d.Folder},
		{Key: "createdAt", Value: collab.Timestamp(d.CreatedAt)}, {Key: "lastUpdated", Value: collab.Timestamp(d.LastUpdated)},
	}, d.Metadata.Object())
}
