// Package organizations has the operations on organizations, and on their folders, documents and groups of users.
package organizations

import (
	"context"
	"iter"

	"collabdata/shared/collab"
	"collabdata/shared/request"
)

// Service carries out the operations.
type Service struct {
	Directory Directory
	Deletion  Deletion
}

// Directory knows organizations and what is in them: see package directory. Errors in a slice stand at the places of what they are about.
type Directory interface {
	Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error)
	ListOrganizations(ctx context.Context, acct, after string, most int) iter.Seq2[collab.Organization, error]
	ChangeOrganizations(ctx context.Context, req *request.Request, ids []string, create bool, change func(i int, o *collab.Organization) error) []error
	OpenOrganization(ctx context.Context, acct, id string) (collab.OrganizationRef, error)
	OpenOrCreateOrganization(ctx context.Context, acct, id string, create bool) (collab.OrganizationRef, error)
	FindOrganization(ctx context.Context, acct, id string, create bool) (collab.OrganizationRef, error)

	DocumentsByID(ctx context.Context, org collab.OrganizationRef, ids []string) ([]collab.Document, error)
	DocumentsAfter(ctx context.Context, org collab.OrganizationRef, folder, after string, most int) ([]collab.Document, error)
	AddDocuments(
		ctx context.Context, req *request.Request, org collab.OrganizationRef, folder string, ids []string, fill func(i int, d *collab.Document) error,
	) []error
	MoveDocuments(ctx context.Context, req *request.Request, org collab.OrganizationRef, folder string, ids []string) []error
	ChangeDocuments(
		ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, change func(i int, d *collab.Document) error,
	) []error

	OpenFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string, create bool) (collab.FolderRef, error)
	FoldersAfter(ctx context.Context, org collab.OrganizationRef, after string, most int) ([]collab.Folder, error)
	FoldersAbove(ctx context.Context, org collab.OrganizationRef, ids []string) (collab.Folders, error)
	FoldersIn(ctx context.Context, org collab.OrganizationRef, parent, after string, most int) (list []collab.Folder, next string, err error)
	FoldersWithin(ctx context.Context, org collab.OrganizationRef, id string, levels int) (map[string][]collab.Folder, error)
	AddFolders(ctx context.Context, req *request.Request, org collab.OrganizationRef, folders []collab.Folder) []error
	ChangeFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string, change func(*collab.Folder)) error
	CheckGroup(ctx context.Context, org collab.OrganizationRef, group string) error
	ChangeGroups(ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, change func(i int, g *collab.UserGroup)) []error
	GroupsAfter(ctx context.Context, org collab.OrganizationRef, after string, most int) ([]collab.UserGroup, error)
	GroupUsers(ctx context.Context, org collab.OrganizationRef, group, after string, most int) ([]string, error)
	AddGroupUsers(ctx context.Context, req *request.Request, org collab.OrganizationRef, group string, users []string) []error
	DeleteGroupUsers(ctx context.Context, org collab.OrganizationRef, group string, users []string) []error
}

// Deletion deletes organizations, folders and documents: see package deletion. It returns the job that sweeps what is left, "" for none;
// errors in a slice stand at the places of what they are about.
type Deletion interface {
	DeleteOrganizations(ctx context.Context, req *request.Request, ids []string, errs []error) (job string, err error)
	DeleteDocuments(ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, errs []error) (job string, err error)
	DeleteFolder(ctx context.Context, req *request.Request, org collab.OrganizationRef, id string) (job string, err error)
}
