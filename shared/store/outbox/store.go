// Package outbox keeps what goes out to people and systems: events with how far their delivery has come, pending work, mails and jobs.
package outbox

import (
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// Store is the outbox part of the table. Safe for concurrent use. Its methods fail as those of store.Table do, and as their comments say.
type Store struct{ *store.Table }

// New returns the outbox part of a table.
func New(t *store.Table) *Store { return &Store{t} }

const retention = 30 * 24 * time.Hour // of events and what is about them

// Expiry is when an event of a time expires, and what is kept about it, in seconds since epoch.
func Expiry(at collab.Millis) int64 { return at/1000 + int64(retention.Seconds()) }
