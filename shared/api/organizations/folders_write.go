package organizations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// FoldersAddRequest is the data of POST /v2/organizations/folders/add.
type FoldersAddRequest struct {
	OrganizationID     string      `json:"organizationId" rule:"required,id"`
	CreateOrganization bool        `json:"createOrganization"`
	Folders            []NewFolder `json:"folders" rule:"required,nonempty,max=500" doc:"At most 500; a parent may come before in the same call"`
}

// NewFolder is a folder to add.
type NewFolder struct {
	FolderChange
	AccessType *collab.Access `json:"accessType" doc:"The people who may see documents and folders in it that have no type of their own; left out: as its parent"`
}

// FoldersUpdateRequest is the data of POST /v2/organizations/folders/update.
type FoldersUpdateRequest struct {
	OrganizationID string         `json:"organizationId" rule:"required,id"`
	Folders        []FolderChange `json:"folders" rule:"required,nonempty,max=500" doc:"At most 500, carried out one after the other"`
}

// FolderChange is a folder to update.
type FolderChange struct {
	FolderID       string  `json:"folderId" rule:"required,id" doc:"The folder; root is none"`
	FolderName     *string `json:"folderName" rule:"max=1000" doc:"Its name; a new one without has its id for a name"`
	ParentFolderID *string `json:"parentFolderId" rule:"id" doc:"The folder that it is in; root: at the top, where a new one is without"`
}

// Validate refuses root.
func (f *FolderChange) Validate(m *rpc.Violations) {
	if f.FolderID == collab.RootFolder {
		m.Add("folderId", "must not be root: it stands for the top, and is no folder")
	}
}

// Validate is that of FolderChange.
func (f *NewFolder) Validate(m *rpc.Violations) { f.FolderChange.Validate(m) }

// Validate refuses ids given twice.
func (r *FoldersAddRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "folders[%d].folderId", r.Folders, func(f *NewFolder) *string { return &f.FolderID })
}

// Validate refuses ids given twice.
func (r *FoldersUpdateRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "folders[%d].folderId", r.Folders, func(f *FolderChange) *string { return &f.FolderID })
}

// FoldersAdd is POST /v2/organizations/folders/add.
func FoldersAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).FoldersAdd), Requires: collab.AdvancedQueries, Description: `
Adds folders. They are made in the order sent: a parent may come before in the same call. There are at most 10 levels. A folder fails with
ALREADY_EXISTS when it exists, with NOT_FOUND when its parent does not, and with FAILED_PRECONDITION when it would be too deep.`}
}

// FoldersAdd makes folders, in the order sent. One that exists fails with ALREADY_EXISTS, one whose parent does not with NOT_FOUND, and one
// that would be too deep with FAILED_PRECONDITION.
func (s *Service) FoldersAdd(ctx context.Context, call *rpc.Call, req *FoldersAddRequest) (rpc.Keyed[rpc.Item], error) {
	org, err := s.Directory.FindOrganization(ctx, call.Account, req.OrganizationID, req.CreateOrganization)
	if err != nil {
		return nil, err
	}
	folders := make([]collab.Folder, len(req.Folders))
	for i, f := range req.Folders {
		folders[i] = collab.Folder{
			ID: f.FolderID, Name: f.FolderID, Parent: cmp.Or(collab.Deref(f.ParentFolderID), collab.RootFolder),
			Access: collab.Deref(f.AccessType).Canonical(), CreatedAt: call.Millis(), LastUpdated: call.Millis(),
		}
		if f.FolderName != nil {
			folders[i].Name = *f.FolderName
		}
	}
	call.Message = "Folder created successfully."
	ids := idsOf(folders, func(f collab.Folder) string { return f.ID })
	return call.Outcomes(ids, s.Directory.AddFolders(ctx, call.Request, org, folders), "Folder added."), nil
}

// FoldersUpdate is POST /v2/organizations/folders/update.
func FoldersUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/update", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable,
		Operation: rpc.Method((*Service).FoldersUpdate), Requires: collab.AdvancedQueries, Description: `
Renames folders, or moves them. They change one after the other: a field left out stays. Another parent moves a folder with all that is in
it; what inherits its access from above then has that of the new place. A folder fails with NOT_FOUND when it or its parent does not exist,
and with FAILED_PRECONDITION when it would lie in itself, or have levels beyond the tenth.`}
}

// FoldersUpdate changes folders, in the order sent; another parent moves one with all that is in it. One that does not exist, or whose
// parent does not, fails with NOT_FOUND; one that would lie in itself, or be too deep, with FAILED_PRECONDITION.
func (s *Service) FoldersUpdate(ctx context.Context, call *rpc.Call, req *FoldersUpdateRequest) (rpc.Keyed[rpc.Item], error) {
	org, err := s.Directory.FindOrganization(ctx, call.Account, req.OrganizationID, false)
	if err != nil {
		return nil, err
	}
	ids := idsOf(req.Folders, func(f FolderChange) string { return f.FolderID })
	errs := make([]error, len(ids))
	for i, sent := range req.Folders {
		errs[i] = s.Directory.ChangeFolder(ctx, call.Request, org, sent.FolderID, func(f *collab.Folder) {
			f.Parent = cmp.Or(collab.Deref(sent.ParentFolderID), f.Parent)
			if sent.FolderName != nil {
				f.Name = *sent.FolderName
			}
		})
	}
	call.Message = "Folder Updated successfully."
	return call.Outcomes(ids, errs, "Folder Updated."), nil
}

// FoldersAccessUpdateRequest is the data of POST /v2/organizations/folders/access/update.
type FoldersAccessUpdateRequest struct {
	OrganizationID    string         `json:"organizationId" rule:"required,id"`
	FolderIDs         []string       `json:"folderIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
	AccessType        *collab.Access `json:"accessType" doc:"The people who may see documents and folders in them that have no type of their own; required unless inheritFromParent is there"`
	InheritFromParent *bool          `json:"inheritFromParent" doc:"true: they have no type of their own any more, but their parent's; false: without accessType, they keep the type that holds for them"`
}

// Validate refuses both ways of saying the type, and none.
func (r *FoldersAccessUpdateRequest) Validate(m *rpc.Violations) {
	switch {
	case collab.Deref(r.InheritFromParent) && r.AccessType != nil:
		m.Add("accessType", "must not stand beside inheritFromParent")
	case r.InheritFromParent == nil && r.AccessType == nil:
		m.Add("accessType", "is required")
	}
}

// FolderAccess is what became of the access type of one folder.
type FolderAccess struct {
	rpc.Outcome
	AccessType        *collab.Access `json:"accessType" doc:"The one that it has now, or that was asked for; null for the parent's"`
	InheritFromParent bool           `json:"inheritFromParent,omitempty" doc:"Its type is its parent's"`
}

// FoldersAccessUpdate is POST /v2/organizations/folders/access/update.
func FoldersAccessUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/access/update", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable,
		Operation: rpc.Method((*Service).FoldersAccessUpdate), Description: `
Says who may see what is in folders. It gives folders an access type, which holds for everything in them that has none of its own; or takes
it away with inheritFromParent, so that the parent's holds. With inheritFromParent false alone a folder keeps the type that holds for it as
its own. A folder that does not exist fails with NOT_FOUND.`}
}

// FoldersAccessUpdate gives folders an access type of their own, or their parent's; one that does not exist fails with NOT_FOUND.
func (s *Service) FoldersAccessUpdate(
	ctx context.Context, call *rpc.Call, req *FoldersAccessUpdateRequest,
) (rpc.Keyed[FolderAccess], error) {
	org, err := s.Directory.FindOrganization(ctx, call.Account, req.OrganizationID, false)
	if err != nil {
		return nil, err
	}
	ids, inherit := rpc.Distinct(req.FolderIDs), collab.Deref(req.InheritFromParent)
	var above collab.Folders
	if req.AccessType == nil && !inherit {
		if above, err = s.Directory.FoldersAbove(ctx, org, ids); err != nil {
			return nil, err
		}
	}
	items := make(rpc.Keyed[FolderAccess], len(ids))
	for i, id := range ids {
		access := collab.Deref(req.AccessType).Canonical()
		if _, exists := above[id]; exists {
			access = above.Access("", id, call.Settings.DefaultAccess)
		}
		err := s.Directory.ChangeFolder(ctx, call.Request, org, id, func(f *collab.Folder) { f.Access = access })
		answer := FolderAccess{Outcome: call.Outcome(err, "Folder access type updated."), InheritFromParent: inherit}
		if access != "" {
			answer.AccessType = &access
		}
		items[i] = rpc.Member[FolderAccess]{Key: id, Value: answer}
	}
	call.Message = "Updated access for folders successfully."
	return items, nil
}
