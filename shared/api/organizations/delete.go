package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DeleteRequest is the data of POST /v2/organizations/delete.
type DeleteRequest struct {
	OrganizationIDs []string `json:"organizationIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
}

// Delete is POST /v2/organizations/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).Delete), LeavesJob: true, Description: `
Deletes organizations with all that is in them. That is folders, documents, users, groups, grants, comments, notifications and preferences.
They are out of reach at once here, and within 5 seconds everywhere; jobId names what sweeps the rest: see jobs/get. One that does not
exist fails with NOT_FOUND. Each is posted to webhooks as organization.deleted. The same id may be added again a few seconds later: new and
empty.`}
}

// Delete deletes organizations with all that is in them; one that does not exist fails with NOT_FOUND. A job sweeps what they leave behind.
func (s *Service) Delete(ctx context.Context, call *rpc.Call, req *DeleteRequest) (_ rpc.Keyed[rpc.Item], err error) {
	if err := call.Raises(true); err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.OrganizationIDs)
	errs := make([]error, len(ids))
	if call.JobID, err = s.Deletion.DeleteOrganizations(ctx, call.Request, ids, errs); err != nil {
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

// DocumentsDelete is POST /v2/organizations/documents/delete.
func DocumentsDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).DocumentsDelete), LeavesJob: true, Description: `
Deletes documents with all that is in them. They are out of reach at once here, and within 5 seconds everywhere; jobId names what sweeps
the rest: see jobs/get. One that does not exist fails with NOT_FOUND. Each is posted to webhooks as document.deleted. The same id may be
added again a few seconds later: new and empty.`}
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
	if call.JobID, err = s.Deletion.DeleteDocuments(ctx, call.Request, org, ids, errs); err != nil {
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

// FoldersDelete is POST /v2/organizations/folders/delete.
func FoldersDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Operation: rpc.Method((*Service).FoldersDelete), Requires: collab.AdvancedQueries, LeavesJob: true, Description: `
Deletes a folder with the folders and documents in it. They are out of reach when the call answers. Where there are more than a thousand
documents in it, the job deletes the others in seconds. jobId names what does so, and sweeps the rest: see jobs/get. Posted to webhooks as
folder.deleted. The same id may be added again: new and empty; UNAVAILABLE until all that was in it is deleted. NOT_FOUND when the folder
does not exist.`}
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
	job, err := s.Deletion.DeleteFolder(ctx, call.Request, org, req.FolderID)
	call.Items, call.JobID = 1, job
	call.Message = "Folder deletion initiated successfully."
	return FoldersDeleteResult{JobID: job}, err
}
