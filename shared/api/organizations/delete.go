package organizations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type DeleteRequest struct {
	OrganizationIDs []string `json:"organizationIds" rule:"required,nonempty,max=500,each=id" doc:"At most 500"`
}

// Delete is POST /v2/organizations/delete.
func Delete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.SendEvents,
		Operation: rpc.Method((*Service).Delete), LeavesJob: true, Description: `
Delete organizations.

Deletes organizations with all content: folders, documents, users, groups, grants, comments,
notifications and preferences. They are unavailable at once here, and within 5 seconds everywhere.
jobId is the job that removes the rest: see 'jobs/get'. An item fails with NOT_FOUND if the
organization does not exist. Each deletion is posted to webhooks as 'organization.deleted'. The id
can be reused after a few seconds.`}
}

// Delete deletes organizations with all content; a job removes the rest.
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

type DocumentsDeleteRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=500,each=docid" doc:"At most 500"`
}

// DocumentsDelete is POST /v2/organizations/documents/delete.
func DocumentsDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.SendEvents,
		Operation: rpc.Method((*Service).DocumentsDelete), LeavesJob: true, Description: `
Delete documents.

Deletes documents with all content. They are unavailable at once here, and within 5 seconds
everywhere. jobId is the job that removes the rest: see 'jobs/get'. An item fails with NOT_FOUND
if the document does not exist. Each deletion is posted to webhooks as 'document.deleted'. The id
can be reused after a few seconds.`}
}

// DocumentsDelete deletes documents with all content; a job removes the rest.
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

type FoldersDeleteRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id"`
	FolderID       string `json:"folderId" rule:"required,id" doc:"The folder, with all folders and documents in it"`
}

type FoldersDeleteResult struct {
	JobID string `json:"jobId" doc:"The job that removes the rest: see jobs/get"`
}

// FoldersDelete is POST /v2/organizations/folders/delete.
func FoldersDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/folders/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit | rpc.SendEvents,
		Operation: rpc.Method((*Service).FoldersDelete), Requires: collab.AdvancedQueries, LeavesJob: true, Description: `
Delete a folder.

Deletes a folder with its folders and documents. They are unavailable when the request returns;
beyond 1,000 documents, the job deletes the others within seconds. jobId is this job, which also
removes the rest: see 'jobs/get'. The deletion is posted to webhooks as 'folder.deleted'. The id
can be reused; requests fail with UNAVAILABLE until all content is deleted. The request fails with
NOT_FOUND if the folder does not exist.`}
}

// FoldersDelete deletes a folder with its folders and documents.
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
