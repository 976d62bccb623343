// Package users has the operations on users: of an organization, of a folder in it, or of a document in it.
package users

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/request"
)

// Service carries out the operations.
type Service struct {
	Directory Directory
	Erasure   Erasure
	Jobs      Jobs
}

// Erasure deletes personal data, and shows it: see package erasure.
type Erasure interface {
	Erase(ctx context.Context, req *request.Request, users []string, organizations []collab.OrganizationRef) (job string, err error)
	Collect(
		ctx context.Context, org collab.OrganizationRef, user string, from collab.PersonalPosition, take func(collab.PersonalData) bool,
	) (next *collab.PersonalPosition, err error)
}

// Jobs keeps jobs: see package outbox.
type Jobs interface {
	JobStatus(ctx context.Context, acct, id string) (collab.JobStatus, error)
}

// Directory knows who has been added where: see package directory. Errors in a slice stand at the places of what they are about.
type Directory interface {
	OpenOrCreateOrganization(ctx context.Context, acct, id string, create bool) (collab.OrganizationRef, error)
	FindOrganization(ctx context.Context, acct, id string, create bool) (collab.OrganizationRef, error)
	OpenDocument(ctx context.Context, acct, org, doc string, create collab.CreateFlags) (collab.DocumentRef, error)
	OpenFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string, create bool) (collab.FolderRef, error)

	ChangeMembers(ctx context.Context, req *request.Request, in collab.Resource, users []string, create bool, change func(i int, m *collab.Member)) []error
	DeleteMembers(ctx context.Context, req *request.Request, in collab.Resource, users []string) []error
	FindMembers(
		ctx context.Context, q collab.MemberQuery, at collab.MemberPosition, most int,
	) (list []collab.FoundMember, next *collab.MemberPosition, err error)
}

// Level says at which level users are meant: that of the organization, of a folder, or of a document.
type Level struct {
	OrganizationID string  `json:"organizationId" rule:"required,id"`
	DocumentID     *string `json:"documentId" rule:"notnull,docid" doc:"At the level of this document; left out, with folderId: at that of the organization"`
	FolderID       *string `json:"folderId" rule:"notnull,id" doc:"At the level of this folder; not beside documentId"`
}

// Validate refuses two levels.
func (l *Level) Validate(m *rpc.Violations) {
	if l.DocumentID != nil && l.FolderID != nil {
		m.Add("folderId", "must not stand beside documentId: users are at one level")
	}
}

// open returns what is at the level, and makes what create names where it is missing.
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
