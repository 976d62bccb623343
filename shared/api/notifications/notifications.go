// Package notifications has the operations on notifications and on the preferences of those who receive them.
package notifications

import (
	"context"

	"collabdata/shared/collab"
)

// Service carries out the operations.
type Service struct {
	Store  Store
	Events Events
}

// Store is what the operations need of the table.
type Store interface {
	// CheckOrganization fails with NOT_FOUND when the organization does not exist and FAILED_PRECONDITION when it is disabled.
	CheckOrganization(ctx context.Context, org collab.OrganizationRef) error

	// CheckDocument is CheckOrganization, and NOT_FOUND when the document does not exist. What create names is made when it is missing.
	CheckDocument(ctx context.Context, doc collab.DocumentRef, create collab.CreateFlags) error

	// AddNotification records a notification with the event that sends it, both or neither. created is false, and nothing has changed,
	// when a notification with this id is there. It fails with INVALID_ARGUMENT when the notification is larger than
	// collab.MaxItemBytes.
	AddNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification, ev *collab.Event) (created bool, err error)

	// Preferences returns a user's preferences for each of the documents, which need not exist, in their order: the document's, else the
	// organization's, else collab.DefaultPreferences.
	Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error)
}

// Events is where delivery hears of what was recorded.
type Events interface {
	// Send asks for the delivery of recorded events. It never fails: events that it could not send are sent again later.
	Send(ctx context.Context, events ...collab.EventRef)
}
