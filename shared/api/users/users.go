// Package users implements the operations on users of an organization, a folder or a document.
package users

import (
	"collabdata/shared/access"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/erasure"
	"collabdata/shared/store/outbox"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Service runs the operations.
type Service struct {
	Directory *directory.Store
	Erasure   *erasure.Store
	Jobs      *outbox.Store
	Access    *access.Checker
}

// Level is an organization, or a folder or document in it.
type Level struct {
	OrganizationID string  `json:"organizationId" rule:"required,id" person:"in"`
	DocumentID     *string `json:"documentId" rule:"notnull,docid" person:"in" doc:"At this document. Default, without folderId: at the organization"`
	FolderID       *string `json:"folderId" rule:"notnull,id" doc:"At this folder; not with documentId"`
}

func (l *Level) Validate(m *rpc.Violations) {
	if l.DocumentID != nil && l.FolderID != nil {
		m.Add("folderId", "cannot be combined with documentId")
	}
}

// open opens the level, and creates missing parents as requested.
func (s *Service) open(
	ctx context.Context, call *rpc.Call, l Level, create collab.CreateFlags, createFolder bool,
) (in collab.Resource, err error) {
	if l.DocumentID != nil {
		in.Document, err = s.Directory.OpenDocument(ctx, call.Account, l.OrganizationID, *l.DocumentID, create)
		in.OrganizationRef = in.Document.OrganizationRef
		return in, err
	}
	in.OrganizationRef, err = s.Directory.OpenOrCreateOrganization(ctx, call.Account, l.OrganizationID, create.Organization)
	if err == nil && l.FolderID != nil {
		if *l.FolderID == collab.RootFolder {
			return in, collab.Errorf(collab.NotFound, "folder %q does not exist", *l.FolderID)
		}
		in.Folder, err = s.Directory.OpenFolder(ctx, call.Request, in.OrganizationRef, *l.FolderID, createFolder)
	}
	return in, err
}
