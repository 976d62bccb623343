// Package organizations has the operations on organizations, and on their folders, documents and groups of users.
package organizations

import (
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
)

// Service carries out the operations.
type Service struct {
	Directory *directory.Store
	Deletion  *deletion.Store
}
