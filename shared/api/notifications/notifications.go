// Package notifications has the operations on notifications and on the preferences of those who receive them.
package notifications

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/request"
)

// Service carries out the operations.
type Service struct {
	Accounts  Accounts
	Directory Directory
	Inbox     Inbox
	Deletion  Deletion
	Threads   Threads
	Access    Access
}

// Threads keeps what notifications are about: see package threads.
type Threads interface {
	Parts(ctx context.Context, parts []collab.ThreadPart, strong bool) ([]*collab.Thread, error)
}

// Access knows who may see what: see package access.
type Access interface {
	Viewers(
		ctx context.Context, settings collab.Settings, docs []collab.DocumentRef, users []string, members bool,
	) ([][]collab.Viewer, error)
	MaySee(ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string) (map[string]bool, error)
}

// Directory knows organizations, documents, members, and what these prefer: see package directory.
type Directory interface {
	OpenOrganization(ctx context.Context, acct, id string) (collab.OrganizationRef, error)
	OpenDocument(ctx context.Context, acct, organization, id string, create collab.CreateFlags) (collab.DocumentRef, error)
	Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error)
	OrganizationPreferences(ctx context.Context, org collab.OrganizationRef, user string) (collab.Preferences, error)
	ListPreferences(
		ctx context.Context, org collab.OrganizationRef, at collab.PreferencePosition, most int,
	) (list []collab.UserPreferences, next *collab.PreferencePosition, err error)
	SetPreferences(ctx context.Context, org collab.OrganizationRef, users, documents []string, p collab.Preferences) error
	Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error)
}

// Accounts keeps who unsubscribed: see package accounts.
type Accounts interface {
	MailSecret(ctx context.Context, acct string) ([]byte, error)
	Unsubscribe(ctx context.Context, r unsubscribe.Recipient) error
	Resubscribe(ctx context.Context, r unsubscribe.Recipient) error
}

// Inbox keeps notifications and the inboxes that list them: see package inbox.
type Inbox interface {
	AddNotification(
		ctx context.Context, req *request.Request, org collab.OrganizationRef, n collab.Notification, users []collab.User, ev *collab.Event,
	) (created bool, err error)
	Notifications(
		ctx context.Context, org collab.OrganizationRef, q collab.NotificationQuery, position string, most int,
	) (list []collab.InboxEntry, next string, err error)
	ChangeNotification(ctx context.Context, req *request.Request, org collab.OrganizationRef, c collab.NotificationChange) error
}

// Deletion deletes notifications: see package deletion.
type Deletion interface {
	DeleteNotifications(
		ctx context.Context, req *request.Request, org collab.OrganizationRef, q collab.NotificationQuery,
	) (ids []string, errs []error, job string, err error)
}
