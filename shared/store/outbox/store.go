// Package outbox keeps what goes out to people and systems: events with how far their delivery has come, pending work, mails, jobs,
// notifications with the inboxes that list them.
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
	directory Directory
}

// Directory knows which notifications users want, and which documents exist: see package directory.
type Directory interface {
	// Preferences returns a user's preferences for each of the documents, in their order.
	Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error)

	// Current returns which of the documents are there, in this incarnation, and enabled.
	Current(ctx context.Context, org collab.OrganizationRef, documents []collab.DocumentRef) (map[collab.DocumentRef]bool, error)
}

// New returns the outbox part of a table. The directory is needed by what reads and changes notifications alone.
func New(t *store.Table, d Directory) *Store { return &Store{t, d} }

const retention = 30 * 24 * time.Hour // of events and what is about them

// Expiry is when an event of a time expires, and what is kept about it, in seconds since epoch.
func Expiry(at collab.Millis) int64 { return at/1000 + int64(retention.Seconds()) }
