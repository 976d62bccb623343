// Package outbox stores outgoing data: events and the progress of their delivery, pending work,
// notices and jobs.
package outbox

import (
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// Store is the outbox in a table. It is safe for concurrent use.
type Store struct{ *store.Table }

// New returns the outbox in a table.
func New(t *store.Table) *Store { return &Store{t} }

const retention = 30 * 24 * time.Hour // of events and data about them

// Expiry returns the expiry of an event, in Unix seconds.
func Expiry(at collab.Millis) int64 { return at/1000 + int64(retention.Seconds()) }
