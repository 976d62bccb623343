// Package notifications has the operations on notifications and on the preferences of those who receive them.
package notifications

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/unsubscribe"
)

// Service carries out the operations.
type Service struct {
	Directory Directory
	Outbox    Outbox
	Events    Events
}

// Directory knows organizations, documents, members and what they prefer: see package directory.
type Directory interface {
	// CheckOrganization fails with NOT_FOUND when the organization does not exist and FAILED_PRECONDITION when it is disabled.
	CheckOrganization(ctx context.Context, org collab.OrganizationRef) error

	// CheckDocument is CheckOrganization, and NOT_FOUND when the document does not exist. What create names is made when it is missing.
	CheckDocument(ctx context.Context, doc collab.DocumentRef, create collab.CreateFlags) error

	// Preferences returns a user's preferences for each of the documents, which need not exist, in their order: see
	// collab.EffectivePreferences.
	Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error)

	// SetPreferences writes a user's preferences for a document, or for the organization when document is "". A channel that is "" has
	// none: it falls back.
	SetPreferences(ctx context.Context, org collab.OrganizationRef, user, document string, p collab.Preferences) error

	// Members returns those of the users who are members of the organization, by user id.
	Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error)

	// MailSecret returns the secret that signs an account's tokens to unsubscribe by; nil where none was made.
	MailSecret(ctx context.Context, acct string) ([]byte, error)

	// Unsubscribe ends the mails to a recipient: to the user in the organization, and to the address in the account. A repeat changes nothing.
	Unsubscribe(ctx context.Context, r unsubscribe.Recipient) error

	// Resubscribe undoes Unsubscribe. A repeat changes nothing.
	Resubscribe(ctx context.Context, r unsubscribe.Recipient) error
}

// Outbox keeps notifications and the inboxes that list them: see package outbox.
type Outbox interface {
	// AddNotification records a notification with the event that sends it, both or neither. created is false, and nothing has changed,
	// when a notification with this id is there. It fails with INVALID_ARGUMENT when the notification is larger than
	// collab.MaxItemBytes.
	AddNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification, ev *collab.Event) (created bool, err error)

	// Inbox returns up to most notifications of a user, newest first and by id where times are equal, behind a position ("" for the newest).
	// next is the position of the next page, "" when the list ends: a page may hold fewer than most, even none, and have one.
	Inbox(ctx context.Context, org collab.OrganizationRef, user, position string, most int) (list []collab.InboxEntry, next string, err error)

	// MarkNotification records that a user read a notification of the inbox, or clicked it, which is reading it too. What was recorded
	// before stays. A first click records the event that click makes of the notification, both or neither; clicked reports that it did. It
	// fails with NOT_FOUND when the notification is not in one of the user's lists.
	MarkNotification(ctx context.Context, org collab.OrganizationRef, user, id string, click func(collab.Notification) *collab.Event) (entry collab.InboxEntry, clicked bool, err error)
}

// Events is the queue by which delivery learns what was recorded.
type Events interface {
	// Send asks for the delivery of recorded events. It never fails: events that it could not send are sent again later.
	Send(ctx context.Context, events ...collab.EventRef)
}
