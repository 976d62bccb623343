package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// FoldersGetRequest is the data of POST /v2/organizations/folders/get. Without folderId it selects
// all folders of the organization.
type FoldersGetRequest struct {
	FoldersGetV1Request
	RootFoldersOnly bool   `json:"rootFoldersOnly" doc:"Only top-level folders; not with folderId"`
	MaxDepth        *int64 `json:"maxDepth" rule:"min=1,max=10" doc:"With folderId: the levels of subfolders. Default: 1"`
	rpc.PageRequest
}

type FoldersGetV1Request struct {
	OrganizationID string  `json:"organizationId" rule:"required,id"`
	FolderID       *string `json:"folderId" rule:"notnull,id" doc:"Only this folder and its direct subfolders. Default: all folders"`
}

// Validate rejects maxDepth without a folder, and paging or rootFoldersOnly with one.
func (r *FoldersGetRequest) Validate(m *rpc.Violations) {
	if r.FolderID == nil && r.MaxDepth != nil {
		m.Add("maxDepth", "requires folderId: a list of all folders has no subfolders")
	}
	if r.FolderID != nil && r.RootFoldersOnly {
		m.Add("rootFoldersOnly", "cannot be combined with folderId")
	}
	if r.FolderID != nil && r.PageToken != "" {
		m.Add("pageToken", "cannot be combined with folderId: one folder has one page")
	}
}

// FolderV1 is a folder in a response of v1.
type FolderV1 struct {
	FolderFields
	SubFolders *[]FolderV1 `json:"subFolders,omitempty" doc:"Its direct subfolders, if the request has a folderId"`
}

// FolderFields are the fields of a folder in v1 and v2.
type FolderFields struct {
	FolderID       string        `json:"folderId" doc:"The folder"`
	FolderName     string        `json:"folderName" doc:"Its name"`
	OrganizationID string        `json:"organizationId"`
	ParentFolderID string        `json:"parentFolderId" doc:"The parent folder; root for none"`
	CreatedAt      collab.Millis `json:"createdAt" schema:"Millis"`
	LastUpdated    collab.Millis `json:"lastUpdated" schema:"Millis"`
}

// Folder is a folder in a response.
type Folder struct {
	FolderFields
	APIKey                  string        `json:"apiKey" doc:"The API key of the request"`
	Ancestors               []string      `json:"ancestors" doc:"The folders above it, from root to its parent"`
	AccessType              collab.Access `json:"accessType" doc:"The effective access type"`
	InheritAccessFromParent bool          `json:"inheritAccessFromParent" doc:"The access type comes from its parent, or the account's default"`
	SubFolders              *[]Folder     `json:"subFolders,omitempty" doc:"Its subfolders, to maxDepth levels, if the request has a folderId"`
}

// FoldersGet is POST /v2/organizations/folders/get.
func FoldersGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/get", Grants: rpc.ReadTable | rpc.ReadIndexes,
		Operation: rpc.Method((*Service).FoldersGet), Requires: collab.AdvancedQueries, Description: `
List folders.

Lists the folders of an organization, in pages, or one folder with its subfolders. Without
folderId, the response has all folders, or the top-level ones, by id, without subFolders. With
folderId, it is an array with this folder and its subfolders, to maxDepth levels, each level by
id. Moves can appear a second late.

The request fails with NOT_FOUND if the organization or the folder does not exist; 'root' is no
folder. It fails with FAILED_PRECONDITION if the response would exceed 5 MB or 10,000 subfolders.`}
}

// FoldersGet returns a page of the folders of an organization by id, or one folder with its
// subfolders.
func (s *Service) FoldersGet(ctx context.Context, call *rpc.Call, req *FoldersGetRequest) (*rpc.Page[Folder], error) {
	var last string // last folder of the previous page
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

// folderWithin adds the requested folder with its subfolders to the page.
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
		return collab.Errorf(collab.FailedPrecondition, "the response would exceed 5 MB: ask for fewer levels")
	}
	return nil
}

// folder returns a folder in the form of a response; above holds its ancestors.
func folder(call *rpc.Call, org collab.OrganizationRef, above collab.Folders, f collab.Folder) Folder {
	ancestors := []string{collab.RootFolder}
	up := above.Up(f.Parent)
	for i := range up {
		ancestors = append(ancestors, up[len(up)-1-i])
	}
	return Folder{
		FolderFields: folderFields(org, f), APIKey: call.APIKey, Ancestors: ancestors,
		AccessType: above.Access(f.Access, f.Parent, call.Settings.AccessByDefault()), InheritAccessFromParent: f.Access == "",
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
List folders (v1).

Lists the folders of an organization, or one folder with its subfolders. Without folderId, the
response has all folders by id, without subFolders. With folderId, it is an array with this folder
and its direct subfolders, by id.

The request fails with NOT_FOUND if the organization or the folder does not exist; 'root' is no
folder. It fails with FAILED_PRECONDITION if the organization is disabled, or if the response
would exceed 5 MB.`}
}

// FoldersGetV1 is FoldersGet in v1: all folders in one response, or FAILED_PRECONDITION if it would
// be too large.
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
	return collab.Errorf(collab.FailedPrecondition, "the response to these %d folders would exceed 5 MB", folders)
}
