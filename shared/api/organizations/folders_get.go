package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// FoldersGetRequest is the data of POST /v1/organizations/folders/get. Without folderId it asks for all folders of the organization.
type FoldersGetRequest struct {
	OrganizationID string  `json:"organizationId" rule:"required,id"`
	FolderID       *string `json:"folderId" rule:"notnull,id" doc:"This folder alone, with the folders directly in it; left out: all folders"`
}

// Folder is a folder as it is answered.
type Folder struct {
	FolderID       string        `json:"folderId" doc:"The folder"`
	FolderName     string        `json:"folderName" doc:"Its name"`
	OrganizationID string        `json:"organizationId"`
	ParentFolderID string        `json:"parentFolderId" doc:"The folder in which it is; root for none"`
	CreatedAt      collab.Millis `json:"createdAt" schema:"Millis"`
	LastUpdated    collab.Millis `json:"lastUpdated" schema:"Millis"`
	SubFolders     *[]Folder     `json:"subFolders,omitempty" doc:"The folders directly in it, where one folder was asked for"`
}

// FoldersGet returns the folders of an organization by id, or an array of the one folder asked for, with the folders directly in it. It
// fails with NOT_FOUND when the folder does not exist, and with FAILED_PRECONDITION for an answer larger than 5 MB.
func (s *Service) FoldersGet(ctx context.Context, call *rpc.Call, req *FoldersGetRequest) (*rpc.Page[Folder], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	list := rpc.NewList[Folder](call, "folder")
	if req.FolderID == nil {
		folders, err := s.Directory.Folders(ctx, org)
		if err != nil {
			return nil, err
		}
		for _, f := range folders {
			if !list.Add(folder(org, f)) {
				return nil, tooLarge(len(folders))
			}
		}
		return list, nil
	}
	f, in, err := s.Directory.Folder(ctx, org, *req.FolderID)
	if err != nil {
		return nil, err
	}
	subFolders := make([]Folder, len(in))
	for i := range in {
		subFolders[i] = folder(org, in[i])
	}
	shown := folder(org, f)
	shown.SubFolders = &subFolders
	if list.Add(shown); list.Room() < 0 {
		return nil, tooLarge(len(in))
	}
	call.Message = "1 folder with " + rpc.Count(len(in), "subfolder")
	return list, nil
}

func tooLarge(folders int) error {
	return collab.Errorf(collab.FailedPrecondition, "one answer does not hold these %d folders", folders)
}

func folder(org collab.OrganizationRef, f collab.Folder) Folder {
	return Folder{
		FolderID: f.ID, FolderName: f.Name, OrganizationID: org.Organization, ParentFolderID: f.Parent,
		CreatedAt: f.CreatedAt, LastUpdated: f.LastUpdated,
	}
}
