package organizations

import (
	"context"
	"fmt"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// FoldersGetRequest is the data of POST /v1/organizations/folders/get. Without folderId it asks for all folders of the organization.
type FoldersGetRequest struct {
	OrganizationID string  `json:"organizationId" rule:"required,id"`
	FolderID       *string `json:"folderId" rule:"notnull,id"`
}

// FoldersGet returns the folders of an organization by id, or an array of the one folder asked for, with the folders directly in it. It
// fails with FAILED_PRECONDITION where the account's advanced queries are off, NOT_FOUND when the folder does not exist, and
// RESOURCE_EXHAUSTED for an answer larger than 5 MB.
func (s *Service) FoldersGet(ctx context.Context, call *rpc.Call, req *FoldersGetRequest) ([]collab.JSON, error) {
	if err := checkAdvancedQueries(call.Settings); err != nil {
		return nil, err
	}
	org := collab.OrganizationRef{Account: call.Account, Organization: req.OrganizationID}
	if req.FolderID == nil {
		folders, err := s.Store.Folders(ctx, org)
		if err != nil {
			return nil, err
		}
		call.Items = len(folders)
		call.Message = rpc.Count(call.Items, "folder")
		return folderList(org, folders)
	}
	folder, in, err := s.Store.Folder(ctx, org, *req.FolderID)
	if err != nil {
		return nil, err
	}
	subFolders, err := folderList(org, in)
	if err != nil {
		return nil, err
	}
	call.Items = 1 + len(subFolders)
	call.Message = fmt.Sprintf("1 folder with %d subfolders", len(subFolders))
	fields := append(folderFields(org, folder), rpc.Member[any]{Key: "subFolders", Value: subFolders})
	return []collab.JSON{object(fields)}, nil
}

func folderList(org collab.OrganizationRef, folders []collab.Folder) ([]collab.JSON, error) {
	var list answer
	for _, f := range folders {
		if !list.add(object(folderFields(org, f))) {
			return nil, collab.Errorf(collab.ResourceExhausted, "one answer holds no more than %d of these %d folders", len(list.items), len(folders))
		}
	}
	return list.items, nil
}

func folderFields(org collab.OrganizationRef, f collab.Folder) rpc.Keyed[any] {
	return rpc.Keyed[any]{
		{Key: "folderId", Value: f.ID},
		{Key: "folderName", Value: f.Name},
		{Key: "organizationId", Value: org.Organization},
		{Key: "parentFolderId", Value: f.Parent},
		{Key: "createdAt", Value: f.CreatedAt},
		{Key: "lastUpdated", Value: f.LastUpdated},
	}
}
