package organizations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type DocumentsAddRequest struct {
	DocumentsUpdateRequest
	CreateOrganization bool    `json:"createOrganization"`
	FolderID           *string `json:"folderId" rule:"notnull,id" doc:"The folder of the documents. Default: root, no folder"`
	CreateFolder       bool    `json:"createFolder" doc:"Create a missing folder at the top, with its id as name"`
}

type DocumentsUpdateRequest struct {
	OrganizationID string        `json:"organizationId" rule:"required,id"`
	Documents      []NewDocument `json:"documents" rule:"required,nonempty,max=500" doc:"At most 500. Further fields are stored and returned"`
}

// NewDocument is a document to add or update.
type NewDocument struct {
	DocumentID   string  `json:"documentId" rule:"required,docid"`
	DocumentName *string `json:"documentName" rule:"max=1000" doc:"Its name. Default for a new document: its id"`
	rpc.Open
}

func (d *NewDocument) Validate(m *rpc.Violations) {
	checkFurther(m, d.Further, "id", "disabled", "accessType", "inheritAccessFromParent", "folderId", "createdAt", "lastUpdated")
}

func (r *DocumentsUpdateRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "documents[%d].documentId", r.Documents, func(d *NewDocument) *string { return &d.DocumentID })
}

// Apply changes a document to the fields that are set.
func (d *NewDocument) Apply(to *collab.Document) (err error) {
	to.Metadata, err = merged(to.Metadata, d.Further)
	if d.DocumentName != nil {
		to.Name = *d.DocumentName
	}
	return err
}

func (r *DocumentsUpdateRequest) ids() []string {
	return idsOf(r.Documents, func(d NewDocument) string { return d.DocumentID })
}

// DocumentsAdd is POST /v2/organizations/documents/add.
func DocumentsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/add", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).DocumentsAdd), Description: `
Add documents.

Adds documents to an organization. Each can have further fields of up to 100,000 bytes, which
'documents/get' returns; reserved names are refused. An item fails with ALREADY_EXISTS if the
document already exists. A deleted document can be added again after a few seconds, and is empty.
The request fails with NOT_FOUND if the folder does not exist.`}
}

// DocumentsAdd creates documents.
func (s *Service) DocumentsAdd(ctx context.Context, call *rpc.Call, req *DocumentsAddRequest) (rpc.Keyed[rpc.Item], error) {
	org, err := s.Directory.OpenOrCreateOrganization(ctx, call.Account, req.OrganizationID, req.CreateOrganization)
	if err != nil {
		return nil, err
	}
	folder := cmp.Or(collab.Deref(req.FolderID), collab.RootFolder)
	if _, err := s.Directory.OpenFolder(ctx, call.Request, org, folder, req.CreateFolder); err != nil {
		return nil, err
	}
	errs := s.Directory.AddDocuments(ctx, call.Request, org, folder, req.ids(), func(i int, d *collab.Document) error {
		d.Name = d.ID
		return req.Documents[i].Apply(d)
	})
	call.Message = "Document(s) added successfully."
	return call.Outcomes(req.ids(), errs, "Added Successfully"), nil
}

// DocumentsUpdate is POST /v2/organizations/documents/update.
func DocumentsUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).DocumentsUpdate), Description: `
Update documents.

Updates the names and further fields of documents. An absent field is unchanged, and 'null'
removes a further field. An item fails with NOT_FOUND if the document does not exist.`}
}

// DocumentsUpdate updates documents; absent fields are unchanged.
func (s *Service) DocumentsUpdate(ctx context.Context, call *rpc.Call, req *DocumentsUpdateRequest) (rpc.Keyed[rpc.Item], error) {
	errs, err := s.changeDocuments(
		ctx, call, req.OrganizationID, req.ids(), func(i int, d *collab.Document) error { return req.Documents[i].Apply(d) },
	)
	if err != nil {
		return nil, err
	}
	call.Message = "Document(s) updated successfully."
	return call.Outcomes(req.ids(), errs, "Updated Successfully"), nil
}

type DocumentsMoveRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=30,each=docid" doc:"At most 30"`
	FolderID       string   `json:"folderId" rule:"required,id" doc:"The new folder; root: no folder"`
}

// DocumentsMove is POST /v2/organizations/documents/move.
func DocumentsMove() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/move", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).DocumentsMove), Description: `
Move documents.

Moves documents to another folder, or with 'root' out of all folders. A document keeps its own
access type, if it has one, else it inherits that of the new folder. An item fails with NOT_FOUND
if the document does not exist. The request fails with NOT_FOUND, and moves nothing, if the folder
does not exist.`}
}

// DocumentsMove moves documents to another folder.
func (s *Service) DocumentsMove(ctx context.Context, call *rpc.Call, req *DocumentsMoveRequest) (rpc.Keyed[rpc.Item], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err == nil {
		_, err = s.Directory.OpenFolder(ctx, call.Request, org, req.FolderID, false)
	}
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.DocumentIDs)
	errs := s.Directory.MoveDocuments(ctx, call.Request, org, req.FolderID, ids)
	call.Message = "Documents moved successfully."
	return call.Outcomes(ids, errs, "Document moved."), nil
}

type DocumentsAccessUpdateRequest struct {
	OrganizationID string        `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string      `json:"documentIds" rule:"required,nonempty,max=500,each=docid" doc:"At most 500"`
	AccessType     collab.Access `json:"accessType" rule:"required" doc:"Their audience, regardless of their folders"`
}

// DocumentAccess is the outcome of one document.
type DocumentAccess struct {
	rpc.Outcome
	AccessType collab.Access `json:"accessType" doc:"The requested type"`
}

// DocumentsAccessUpdate is POST /v2/organizations/documents/access/update.
func DocumentsAccessUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/access/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).DocumentsAccessUpdate), Description: `
Set document access.

Sets the access type of documents, regardless of their folders. An item fails with NOT_FOUND if
the document does not exist.`}
}

// DocumentsAccessUpdate sets the access type of documents.
func (s *Service) DocumentsAccessUpdate(
	ctx context.Context, call *rpc.Call, req *DocumentsAccessUpdateRequest,
) (rpc.Keyed[DocumentAccess], error) {
	ids, access := rpc.Distinct(req.DocumentIDs), req.AccessType.Canonical()
	errs, err := s.changeDocuments(ctx, call, req.OrganizationID, ids, func(_ int, d *collab.Document) error {
		d.Access = access
		return nil
	})
	if err != nil {
		return nil, err
	}
	call.Message = "Updated access for documents successfully."
	items := make(rpc.Keyed[DocumentAccess], len(ids))
	for i, id := range ids {
		items[i] = rpc.Member[DocumentAccess]{Key: id, Value: DocumentAccess{call.Outcome(errs[i], "Document access type updated."), access}}
	}
	return items, nil
}

// DocumentsDisableStateUpdateRequest is the data of POST
// /v2/organizations/documents/access/disablestate/update.
type DocumentsDisableStateUpdateRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=500,each=docid" doc:"At most 500"`
	Disabled       bool     `json:"disabled" rule:"required" doc:"true: nobody can read or write; false: enabled again"`
}

// DocumentDisabled is the outcome of one document.
type DocumentDisabled struct {
	rpc.Outcome
	Disabled bool `json:"disabled" doc:"The requested state"`
}

// DocumentsAccessDisablestateUpdate is POST /v2/organizations/documents/access/disablestate/update.
func DocumentsAccessDisablestateUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/access/disablestate/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.WriteAudit,
		Operation: rpc.Method((*Service).DocumentsDisableStateUpdate), Description: `
Disable or enable documents.

Disables documents, or enables them again, within 5 seconds. Requests about only a disabled
document fail with FAILED_PRECONDITION; requests about its organization or folder omit it. An item
fails with NOT_FOUND if the document does not exist.`}
}

// DocumentsDisableStateUpdate disables or enables documents.
func (s *Service) DocumentsDisableStateUpdate(
	ctx context.Context, call *rpc.Call, req *DocumentsDisableStateUpdateRequest,
) (rpc.Keyed[DocumentDisabled], error) {
	ids := rpc.Distinct(req.DocumentIDs)
	errs, err := s.changeDocuments(ctx, call, req.OrganizationID, ids, func(_ int, d *collab.Document) error {
		d.Disabled = req.Disabled
		return nil
	})
	if err != nil {
		return nil, err
	}
	call.Message = "Updated disable state for documents successfully."
	items := make(rpc.Keyed[DocumentDisabled], len(ids))
	for i, id := range ids {
		items[i] = rpc.Member[DocumentDisabled]{
			Key:   id,
			Value: DocumentDisabled{call.Outcome(errs[i], "Document disabled state updated."), req.Disabled},
		}
	}
	return items, nil
}

// changeDocuments changes documents of an enabled organization, and returns an error for each.
func (s *Service) changeDocuments(
	ctx context.Context, call *rpc.Call, organization string, ids []string, change func(i int, d *collab.Document) error,
) ([]error, error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, organization)
	if err != nil {
		return nil, err
	}
	return s.Directory.ChangeDocuments(ctx, call.Request, org, ids, change), nil
}
