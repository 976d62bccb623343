// Package organizations has the operations on organizations and their folders.
package organizations

import (
	"context"

	"collabdata/shared/collab"
)

// Service carries out the operations.
type Service struct{ Directory Directory }

// Directory knows organizations and folders: see package directory.
type Directory interface {
	// Organizations returns those of the ids that exist, in the order asked, repeats once.
	Organizations(ctx context.Context, acct string, ids []string) ([]collab.Organization, error)

	// ListOrganizations calls take with the account's organizations behind the id after ("" for all), by id, until take answers false or
	// most were taken. more reports that there are others behind the last one taken.
	ListOrganizations(ctx context.Context, acct, after string, most int, take func(collab.Organization) bool) (more bool, err error)

	// Folders returns all folders of the organization by id. It fails with NOT_FOUND or FAILED_PRECONDITION when the organization does not
	// exist or is disabled.
	Folders(ctx context.Context, org collab.OrganizationRef) ([]collab.Folder, error)

	// Folder returns a folder and the folders directly in it by id. It fails like Folders, and with NOT_FOUND when the folder does not
	// exist.
	Folder(ctx context.Context, org collab.OrganizationRef, id string) (folder collab.Folder, in []collab.Folder, err error)
}
