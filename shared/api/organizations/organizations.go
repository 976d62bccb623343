// Package organizations has the operations on organizations and their folders.
package organizations

import (
	"context"
	"iter"

	"collabdata/shared/collab"
)

// Service carries out the operations.
type Service struct{ Directory Directory }

// Directory knows organizations and folders: see package directory.
type Directory interface {
	Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error)
	ListOrganizations(ctx context.Context, acct, after string, most int) iter.Seq2[collab.Organization, error]
	OpenOrganization(ctx context.Context, acct, id string) (collab.OrganizationRef, error)
	Folders(ctx context.Context, org collab.OrganizationRef) ([]collab.Folder, error)
	Folder(ctx context.Context, org collab.OrganizationRef, id string) (folder collab.Folder, in []collab.Folder, err error)
}
