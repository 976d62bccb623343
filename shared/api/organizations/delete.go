package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
)

// DeleteRequest is the data of POST /v2/organizations/delete.
type DeleteRequest struct {
	OrganizationIDs []string `json:"organizationIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
}

// Delete deletes organizations with all that is in them; one that does not exist fails with NOT_FOUND. A job sweeps what they leave behind.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (_ rpc.Keyed[rpc.Item], err error) {
	if err := call.Raises(true); err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.OrganizationIDs)
	errs := make([]error, len(ids))
	if call.JobID, err = s.Removal.DeleteOrganizations(ctx, call.Request, ids, errs); err != nil {
		return nil, err
	}
	call.Message = "Organization(s) deleted successfully."
	return call.Outcomes(ids, errs, "Deleted Successfully"), nil
}

// DocumentsDeleteRequest is the data of POST /v2/organizations/documents/delete.
type DocumentsDeleteRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=500,each=docid" doc:"At most 500"`
}

// DocumentsDelete deletes documents with all that is in them; one that does not exist fails with NOT_FOUND. A job sweeps what they leave
// behind.
func (s *Service) DocumentsDelete(ctx context.Context, call *rpc.Call, req *DocumentsDeleteRequest) (rpc.Keyed[rpc.Item], error) {
	if err := call.Raises(true); err != nil {
		return nil, err
	}
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.DocumentIDs)
	errs := make([]error, len(ids))
	if call.JobID, err = s.Removal.DeleteDocuments(ctx, call.Request, org, ids, errs); err != nil {
		return nil, err
	}
	call.Message = "Document(s) deleted successfully."
	return call.Outcomes(ids, errs, "Deleted Successfully"), nil
}

// FoldersDeleteRequest is the data of POST /v2/organizations/folders/delete.
type FoldersDeleteRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	FolderID       string `json:"folderId" rule:"required,id" doc:"The folder, with all folders and documents in it"`
}

// FoldersDeleteResult names the job that deletes a folder.
type FoldersDeleteResult struct {
	JobID string `json:"jobId" doc:"The job that sweeps what it leaves behind: see jobs/get"`
}

// FoldersDelete deletes a folder with the folders and documents in it. It fails with NOT_FOUND when it does not exist.
func (s *Service) FoldersDelete(ctx context.Context, call *rpc.Call, req *FoldersDeleteRequest) (FoldersDeleteResult, error) {
	if err := call.Raises(true); err != nil {
		return FoldersDeleteResult{}, err
	}
	org, err := s.Directory.FindOrganization(ctx, call.Account, req.OrganizationID, false)
	if err != nil {
		return FoldersDeleteResult{}, err
	}
	job, err := s.Removal.DeleteFolder(ctx, call.Request, org, req.FolderID)
	call.Items, call.JobID = 1, job
	call.Message = "Folder deletion initiated successfully."
	return FoldersDeleteResult{JobID: job}, err
}
