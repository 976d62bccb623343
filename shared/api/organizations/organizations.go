// Package organizations implements the operations on organizations, folders, documents and groups
// of users.
package organizations

import (
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
)

// Service runs the operations.
type Service struct {
	Directory *directory.Store
	Deletion  *deletion.Store
}
