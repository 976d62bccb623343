package organizations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DocumentsAddRequest is the data of POST /v2/organizations/documents/add.
type DocumentsAddRequest struct {
	DocumentsUpdateRequest
	CreateOrganization bool    `json:"createOrganization"`
	FolderID           *string `json:"folderId" rule:"notnull,id" doc:"The folder that they are put in; left out, or root: none"`
	CreateFolder       bool    `json:"createFolder" doc:"Make the folder, at the top and named by its id, where it is missing; false where it is left out"`
}

// DocumentsUpdateRequest is the data of POST /v2/organizations/documents/update.
type DocumentsUpdateRequest struct {
	OrganizationID string        `json:"organizationId" rule:"required,id"`
	Documents      []NewDocument `json:"documents" rule:"required,nonempty,max=500" doc:"At most 500, each with any further fields, which are kept and given back"`
}

// NewDocument is a document to add or update.
type NewDocument struct {
	DocumentID   string  `json:"documentId" rule:"required,docid"`
	DocumentName *string `json:"documentName" rule:"max=1000" doc:"Its name; a new one without has its id for a name"`
	rpc.Open
}

// Validate refuses reserved names.
func (d *NewDocument) Validate(m *rpc.Violations) {
	checkFurther(m, d.Further, "id", "disabled", "accessType", "inheritAccessFromParent", "folderId", "createdAt", "lastUpdated")
}

// Validate refuses ids given twice.
func (r *DocumentsUpdateRequest) Validate(m *rpc.Violations) {
	rpc.Unique(m, "documents[%d].documentId", r.Documents, func(d *NewDocument) *string { return &d.DocumentID })
}

func (d *NewDocument) apply(to *collab.Document) (err error) {
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
Adds documents. Each may have any further fields (100,000 bytes of them), which documents/get returns beside its own; names that the
service uses itself are refused. A document that exists fails with ALREADY_EXISTS; one that was deleted may be added again a few seconds
later, and is empty. NOT_FOUND when the folder does not exist.`}
}

// DocumentsAdd makes documents; one that exists fails with ALREADY_EXISTS.
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
		return req.Documents[i].apply(d)
	})
	call.Message = "Document(s) added successfully."
	return call.Outcomes(req.ids(), errs, "Added Successfully"), nil
}

// DocumentsUpdate is POST /v2/organizations/documents/update.
func DocumentsUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).DocumentsUpdate), Description: `
Updates documents. A name or further field that is not sent stays, null takes a further field away. A document that does not exist fails
with NOT_FOUND.`}
}

// DocumentsUpdate changes documents; one that does not exist fails with NOT_FOUND. Fields that are not sent stay.
func (s *Service) DocumentsUpdate(ctx context.Context, call *rpc.Call, req *DocumentsUpdateRequest) (rpc.Keyed[rpc.Item], error) {
	errs, err := s.changeDocuments(
		ctx, call, req.OrganizationID, req.ids(), func(i int, d *collab.Document) error { return req.Documents[i].apply(d) },
	)
	if err != nil {
		return nil, err
	}
	call.Message = "Document(s) updated successfully."
	return call.Outcomes(req.ids(), errs, "Updated Successfully"), nil
}

// DocumentsMoveRequest is the data of POST /v2/organizations/documents/move.
type DocumentsMoveRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=30,each=docid" doc:"At most 30"`
	FolderID       string   `json:"folderId" rule:"required,id" doc:"Where they are put; root: in no folder"`
}

// DocumentsMove is POST /v2/organizations/documents/move.
func DocumentsMove() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/move", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).DocumentsMove), Description: `
Moves documents to another folder, or with root to none. A document keeps its own access type; one without has the new folder's. A document
that does not exist fails with NOT_FOUND; so does the call, and nothing moves, when the folder does not exist.`}
}

// DocumentsMove puts documents into another folder. It fails with NOT_FOUND, and moves nothing, where that does not exist.
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

// DocumentsAccessUpdateRequest is the data of POST /v2/organizations/documents/access/update.
type DocumentsAccessUpdateRequest struct {
	OrganizationID string        `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string      `json:"documentIds" rule:"required,nonempty,max=500,each=docid" doc:"At most 500"`
	AccessType     collab.Access `json:"accessType" rule:"required" doc:"The people who may see them, whatever holds for their folders"`
}

// DocumentAccess is what became of the access type of one document.
type DocumentAccess struct {
	rpc.Outcome
	AccessType collab.Access `json:"accessType" doc:"The one that was asked for"`
}

// DocumentsAccessUpdate is POST /v2/organizations/documents/access/update.
func DocumentsAccessUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/access/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).DocumentsAccessUpdate), Description: `
Says who may see documents. It gives documents an access type of their own, whatever holds for their folders. A document that does not
exist fails with NOT_FOUND.`}
}

// DocumentsAccessUpdate gives documents an access type of their own; one that does not exist fails with NOT_FOUND.
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

// DocumentsDisableStateUpdateRequest is the data of POST /v2/organizations/documents/access/disablestate/update.
type DocumentsDisableStateUpdateRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=500,each=docid" doc:"At most 500"`
	Disabled       bool     `json:"disabled" rule:"required" doc:"true: nobody reads or writes in them; false: they are as before"`
}

// DocumentDisabled is what became of the disable state of one document.
type DocumentDisabled struct {
	rpc.Outcome
	Disabled bool `json:"disabled" doc:"The state that was asked for"`
}

// DocumentsAccessDisablestateUpdate is POST /v2/organizations/documents/access/disablestate/update.
func DocumentsAccessDisablestateUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/organizations/documents/access/disablestate/update", Grants: rpc.ReadTable | rpc.WriteTable,
		Operation: rpc.Method((*Service).DocumentsDisableStateUpdate), Description: `
Disables documents, or enables them again, within 5 seconds. Requests about a disabled document alone are FAILED_PRECONDITION; those about
its organization or folder leave it out. One that does not exist fails with NOT_FOUND.`}
}

// DocumentsDisableStateUpdate disables documents, or enables them again; one that does not exist fails with NOT_FOUND.
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

// changeDocuments changes documents of an organization that is enabled, and tells of each how that ended.
func (s *Service) changeDocuments(
	ctx context.Context, call *rpc.Call, organization string, ids []string, change func(i int, d *collab.Document) error,
) ([]error, error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, organization)
	if err != nil {
		return nil, err
	}
	return s.Directory.ChangeDocuments(ctx, call.Request, org, ids, change), nil
}
