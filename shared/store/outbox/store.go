// Package outbox keeps what is told to people and systems: events with how far their delivery has come, pending work, mails, notifications
// with the inboxes that list them, webhook endpoints and what was delivered to them.
package outbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// Store is the outbox part of the table. Safe for concurrent use. Its methods fail as those of store.Table do.
type Store struct {
	*store.Table
	preferences Preferences
}

// Preferences knows what users want to be told.
type Preferences interface {
	// Preferences returns a user's preferences for each of the documents, in their order.
	Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error)
}

// New returns the outbox part of a table. preferences is needed for Inbox alone.
func New(t *store.Table, preferences Preferences) *Store { return &Store{t, preferences} }

const retention = 30 * 24 * time.Hour // of events and what is about them

// expiry is when what was made at a time expires, in seconds since epoch.
func expiry(made collab.Millis) int64 { return made/1000 + int64(retention.Seconds()) }
