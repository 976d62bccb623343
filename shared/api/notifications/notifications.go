// Package notifications implements the operations on notifications and notification preferences.
package notifications

import (
	"collabdata/shared/access"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/threads"
)

// Service runs the operations.
type Service struct {
	Accounts  *accounts.Store
	Directory *directory.Store
	Inbox     *inbox.Store
	Deletion  *deletion.Store
	Threads   *threads.Store
	Access    *access.Checker
}
