package organizations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type FoldersAddRequest struct {
	OrganizationID     string      `json:"organizationId" rule:"required,id"`
	CreateOrganization bool        `json:"createOrganization"`
	Folders            []NewFolder `json:"folders" rule:"required,nonempty,max=500" doc:"At most 500; a parent can precede its subfolders"`
}

type NewFolder struct {
	FolderChange
	AccessType *collab.Access `json:"accessType" doc:"The audience of content without a type of its own. Default: as its parent"`
}

// Folder returns the folder for an addition at a time.
func (f *NewFolder) Folder(now collab.Millis) collab.Folder {
	folder := collab.Folder{
		ID: f.FolderID, Name: f.FolderID, Parent: cmp.Or(collab.Deref(f.ParentFolderID), collab.RootFolder),
		Access: collab.Deref(f.AccessType).Canonical(), CreatedAt: now, LastUpdated: now,
	}
	if f.FolderName != nil {
		folder.Name = *f.FolderName
	}
	return folder
}

type FoldersUpdateRequest struct {
	OrganizationID string         `json:"organizationId" rule:"required,id"`
	Folders        []FolderChange `json:"folders" rule:"required,nonempty,max=500" doc:"At most 500, applied in order"`
}

type FolderChange struct {
	FolderID       string  `json:"folderId" rule:"required,id" doc:"The folder; not root"`
	FolderName     *string `json:"folderName" rule:"max=1000" doc:"Its name. Default for a new folder: its id"`
	ParentFolderID *string `json:"parentFolderId" rule:"id" doc:"The parent folder; root: the top, the default for a new folder"`
}

func (f *FolderChange) Validate(m *rpc.Violations) {
	if f.FolderID == collab.RootFolder {
		m.Add("folderId", "must not be root: root is no folder")
	}
}

func (f *NewFolder) Validate(m *rpc.Violations) { f.FolderChange.Validate(m) }

func (r *FoldersAddRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "folders[%d].folderId", r.Folders, func(f *NewFolder) *string { return &f.FolderID })
}

func (r *FoldersUpdateRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "folders[%d].folderId", r.Folders, func(f *FolderChange) *string { return &f.FolderID })
}

// FoldersAdd is POST /v2/organizations/folders/add.
func FoldersAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).FoldersAdd), Requires: collab.AdvancedQueries, Description: `
Add folders.

Adds folders in the order sent: a parent can precede its subfolders in the same request. There are
at most 10 levels. An item fails with ALREADY_EXISTS if the folder already exists, with NOT_FOUND
if its parent does not exist, and with FAILED_PRECONDITION if it would be too deep.`}
}

// FoldersAdd creates folders in the order sent.
func (s *Service) FoldersAdd(ctx context.Context, call *rpc.Call, req *FoldersAddRequest) (rpc.Keyed[rpc.Item], error) {
	org, err := s.Directory.FindOrganization(ctx, call.Account, req.OrganizationID, req.CreateOrganization)
	if err != nil {
		return nil, err
	}
	folders := make([]collab.Folder, len(req.Folders))
	for i, f := range req.Folders {
		folders[i] = f.Folder(call.Millis())
	}
	call.Message = "Folder created successfully."
	ids := idsOf(folders, func(f collab.Folder) string { return f.ID })
	return call.Outcomes(ids, s.Directory.AddFolders(ctx, call.Request, org, folders), "Folder added."), nil
}

// FoldersUpdate is POST /v2/organizations/folders/update.
func FoldersUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/update", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).FoldersUpdate), Requires: collab.AdvancedQueries, Description: `
Update folders.

Renames or moves folders, in the order sent. Absent fields are unchanged. Another parent moves a
folder with its content; inherited access then comes from the new place. An item fails with
NOT_FOUND if the folder or its parent does not exist. It fails with FAILED_PRECONDITION if the
folder would contain itself, or exceed ten levels.`}
}

// FoldersUpdate updates folders in the order sent.
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

type FoldersAccessUpdateRequest struct {
	OrganizationID    string         `json:"organizationId" rule:"required,id"`
	FolderIDs         []string       `json:"folderIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
	AccessType        *collab.Access `json:"accessType" doc:"The audience of content without a type of its own; this or inheritFromParent is required"`
	InheritFromParent *bool          `json:"inheritFromParent" doc:"true: use the parent's type; false: without accessType, keep the effective type"`
}

// Validate requires exactly one of the two fields.
func (r *FoldersAccessUpdateRequest) Validate(m *rpc.Violations) {
	switch {
	case collab.Deref(r.InheritFromParent) && r.AccessType != nil:
		m.Add("accessType", "cannot be combined with inheritFromParent")
	case r.InheritFromParent == nil && r.AccessType == nil:
		m.Add("accessType", "is required")
	}
}

// FolderAccess is the outcome of one folder.
type FolderAccess struct {
	rpc.Outcome
	AccessType        *collab.Access `json:"accessType" doc:"The current or requested type; null for the parent's"`
	InheritFromParent bool           `json:"inheritFromParent,omitempty" doc:"The type comes from its parent"`
}

// FoldersAccessUpdate is POST /v2/organizations/folders/access/update.
func FoldersAccessUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/access/update", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).FoldersAccessUpdate), Description: `
Set folder access.

Sets the access type of folders, for all content without a type of its own. inheritFromParent
removes the type, so that the parent's applies. If inheritFromParent is false and accessType is
absent, a folder keeps its effective type as its own. An item fails with NOT_FOUND if the folder
does not exist.`}
}

// FoldersAccessUpdate sets or removes the access type of folders.
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
			access = above.Access("", id, call.Settings.AccessByDefault())
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
