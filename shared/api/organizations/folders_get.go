package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// FoldersGetRequest is the data of POST /v2/organizations/folders/get. Without folderId it asks for all folders of the organization.
type FoldersGetRequest struct {
	FoldersGetV1Request
	RootFoldersOnly bool   `json:"rootFoldersOnly" doc:"Those at the top alone; not beside folderId; false where it is left out"`
	MaxDepth        *int64 `json:"maxDepth" rule:"min=1,max=10" doc:"With folderId: how many levels of subfolders; 1 where it is left out"`
	rpc.PageRequest
}

// FoldersGetV1Request is the data of POST /v1/organizations/folders/get.
type FoldersGetV1Request struct {
	OrganizationID string  `json:"organizationId" rule:"required,id"`
	FolderID       *string `json:"folderId" rule:"notnull,id" doc:"This folder alone, with the folders directly in it; left out: all folders"`
}

// Validate refuses maxDepth without a folder, and pages of one, or what else lists folders.
func (r *FoldersGetRequest) Validate(m *rpc.Violations) {
	if r.FolderID == nil && r.MaxDepth != nil {
		m.Add("maxDepth", "must stand beside folderId: all folders are listed without their subfolders")
	}
	if r.FolderID != nil && r.RootFoldersOnly {
		m.Add("rootFoldersOnly", "must not stand beside folderId: that asks for one folder")
	}
	if r.FolderID != nil && r.PageToken != "" {
		m.Add("pageToken", "must not stand beside folderId: one folder has one page")
	}
}

// FolderV1 is a folder as it is answered in v1.
type FolderV1 struct {
	FolderFields
	SubFolders *[]FolderV1 `json:"subFolders,omitempty" doc:"The folders directly in it, where one folder was asked for"`
}

// FolderFields are the fields that a folder has in v1 and v2.
type FolderFields struct {
	FolderID       string        `json:"folderId" doc:"The folder"`
	FolderName     string        `json:"folderName" doc:"Its name"`
	OrganizationID string        `json:"organizationId"`
	ParentFolderID string        `json:"parentFolderId" doc:"The folder in which it is; root for none"`
	CreatedAt      collab.Millis `json:"createdAt" schema:"Millis"`
	LastUpdated    collab.Millis `json:"lastUpdated" schema:"Millis"`
}

// Folder is a folder as it is answered.
type Folder struct {
	FolderFields
	APIKey                  string        `json:"apiKey" doc:"The API key of the request"`
	Ancestors               []string      `json:"ancestors" doc:"The folders above it, from root down to its parent"`
	AccessType              collab.Access `json:"accessType" doc:"The type that holds for it"`
	InheritAccessFromParent bool          `json:"inheritAccessFromParent" doc:"That type is its parent's, or the account's default"`
	SubFolders              *[]Folder     `json:"subFolders,omitempty" doc:"The folders in it, to maxDepth levels, where one folder was asked for"`
}

// FoldersGet is POST /v2/organizations/folders/get.
func FoldersGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/get", Grants: rpc.ReadTable | rpc.ReadIndexes,
		Operation: rpc.Method((*Service).FoldersGet), Requires: collab.AdvancedQueries, Description: `
Lists the folders of an organization, in pages, or one with its subfolders. Without folderId the response has all folders by id, or those
at the top, without subFolders; else, in an array of one, the folder of folderId with those in it, to maxDepth levels, each by id. Which folders are in another
may be known a second late. NOT_FOUND when the organization or the folder does not exist (root is none); FAILED_PRECONDITION when one
response of 5 MB does not hold the subfolders, or there are more than 10,000.`}
}

// FoldersGet returns a page of the folders of an organization by id, or an array of the one folder asked for, with its subfolders. It fails
// with NOT_FOUND when the folder does not exist, and with FAILED_PRECONDITION for more subfolders than an answer of 5 MB holds.
func (s *Service) FoldersGet(ctx context.Context, call *rpc.Call, req *FoldersGetRequest) (*rpc.Page[Folder], error) {
	var last string // the last folder of the page before
	page, err := rpc.NewPage[Folder](call, "folder", req.PageRequest, &last)
	if err != nil {
		return nil, err
	}
	org, err := s.Directory.FindOrganization(ctx, call.Account, req.OrganizationID, false)
	if err != nil {
		return nil, err
	}
	if req.FolderID != nil {
		call.Message = "Folder(s) retrieved successfully."
		return page, s.folderWithin(ctx, call, org, req, page)
	}
	var list []collab.Folder
	var next string
	if req.RootFoldersOnly {
		list, next, err = s.Directory.FoldersIn(ctx, org, collab.RootFolder, last, page.Most())
	} else {
		list, err = s.Directory.FoldersAfter(ctx, org, last, page.Most()+1)
	}
	if err != nil {
		return nil, err
	}
	above, err := s.Directory.FoldersAbove(ctx, org, idsOf(list, func(f collab.Folder) string { return f.Parent }))
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if !page.Add(folder(call, org, above, f)) {
			next = last
			break
		}
		last = f.ID
	}
	if next != "" {
		page.Next(next)
	}
	call.Message = "Folders retrieved successfully."
	return page, nil
}

// folderWithin puts the one folder asked for, with its subfolders, on the page.
func (s *Service) folderWithin(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, req *FoldersGetRequest, page *rpc.Page[Folder],
) error {
	tree, err := s.Directory.FoldersAbove(ctx, org, []string{*req.FolderID})
	if err != nil {
		return err
	}
	top, ok := tree[*req.FolderID]
	if !ok {
		return collab.Errorf(collab.NotFound, "folder %q does not exist", *req.FolderID)
	}
	depth := 1
	if req.MaxDepth != nil {
		depth = int(*req.MaxDepth)
	}
	within, err := s.Directory.FoldersWithin(ctx, org, top.ID, depth)
	if err != nil {
		return err
	}
	for _, in := range within {
		for _, f := range in {
			tree[f.ID] = f
		}
	}
	var nest func(f collab.Folder, levels int) Folder
	nest = func(f collab.Folder, levels int) Folder {
		shown := folder(call, org, tree, f)
		if levels > 0 {
			subFolders := make([]Folder, len(within[f.ID]))
			for i, sub := range within[f.ID] {
				subFolders[i] = nest(sub, levels-1)
			}
			shown.SubFolders = &subFolders
		}
		return shown
	}
	if page.Add(nest(top, depth)); page.Room() < 0 {
		return collab.Errorf(collab.FailedPrecondition, "one answer does not hold the folder with its subfolders: ask for fewer levels")
	}
	return nil
}

// folder returns a folder as it is answered; above has those above it.
func folder(call *rpc.Call, org collab.OrganizationRef, above collab.Folders, f collab.Folder) Folder {
	ancestors := []string{collab.RootFolder}
	up := above.Up(f.Parent)
	for i := range up {
		ancestors = append(ancestors, up[len(up)-1-i])
	}
	return Folder{
		FolderFields: folderFields(org, f), APIKey: call.APIKey, Ancestors: ancestors,
		AccessType: above.Access(f.Access, f.Parent, call.Settings.DefaultAccess), InheritAccessFromParent: f.Access == "",
	}
}

func folderFields(org collab.OrganizationRef, f collab.Folder) FolderFields {
	return FolderFields{
		FolderID: f.ID, FolderName: f.Name, OrganizationID: org.Organization, ParentFolderID: f.Parent, CreatedAt: f.CreatedAt, LastUpdated: f.LastUpdated,
	}
}

// FoldersGetV1 is POST /v1/organizations/folders/get.
func FoldersGetV1() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v1/organizations/folders/get", Grants: rpc.ReadTable | rpc.ReadIndexes,
		Operation: rpc.Method((*Service).FoldersGetV1), Requires: collab.AdvancedQueries, Description: `
Lists the folders of an organization in version 1, or one with its subfolders. Without folderId the response has all folders by id, without
subFolders; else, in an array of one, the folder of folderId with the folders directly in it by id. Folders are made by the operator. NOT_FOUND when
the organization or the folder does not exist (root is none); FAILED_PRECONDITION when the organization is disabled, or when one response
of 5 MB does not hold the folders.`}
}

// FoldersGetV1 is FoldersGet in v1: all folders in one answer, or FAILED_PRECONDITION where that does not hold them.
func (s *Service) FoldersGetV1(ctx context.Context, call *rpc.Call, req *FoldersGetV1Request) (*rpc.Page[FolderV1], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	list := rpc.NewList[FolderV1](call, "folder")
	if req.FolderID == nil {
		folders, err := s.Directory.FoldersAfter(ctx, org, "", 0)
		if err != nil {
			return nil, err
		}
		for _, f := range folders {
			if !list.Add(FolderV1{FolderFields: folderFields(org, f)}) {
				return nil, tooLarge(len(folders))
			}
		}
		return list, nil
	}
	found, err := s.Directory.FoldersAbove(ctx, org, []string{*req.FolderID})
	if err != nil {
		return nil, err
	}
	f, ok := found[*req.FolderID]
	if !ok {
		return nil, collab.Errorf(collab.NotFound, "folder %q does not exist", *req.FolderID)
	}
	within, err := s.Directory.FoldersWithin(ctx, org, f.ID, 1)
	if err != nil {
		return nil, err
	}
	in := within[f.ID]
	subFolders := make([]FolderV1, len(in))
	for i := range in {
		subFolders[i] = FolderV1{FolderFields: folderFields(org, in[i])}
	}
	if list.Add(FolderV1{folderFields(org, f), &subFolders}); list.Room() < 0 {
		return nil, tooLarge(len(in))
	}
	call.Message = "1 folder with " + rpc.Count(len(in), "subfolder")
	return list, nil
}

func tooLarge(folders int) error {
	return collab.Errorf(collab.FailedPrecondition, "one answer does not hold these %d folders", folders)
}
