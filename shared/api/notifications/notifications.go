// Package notifications implements the operations on notifications and notification preferences.
package notifications

import (
	"context"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/threads"
)

// Service runs the operations.
type Service struct {
	Accounts  Accounts
	Directory *directory.Store
	Inbox     *inbox.Store
	Deletion  *deletion.Store
	Threads   *threads.Store
	Access    *access.Checker
}

// Accounts stores unsubscribed addresses: see package accounts.
type Accounts interface {
	Account(ctx context.Context, acct string) (collab.Account, error)
	MailSecret(ctx context.Context, acct string) ([]byte, error)
	Unsubscribe(ctx context.Context, r unsubscribe.Recipient) error
	Resubscribe(ctx context.Context, r unsubscribe.Recipient) error
}
