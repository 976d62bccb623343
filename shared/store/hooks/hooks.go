// Package hooks keeps the webhook endpoints of accounts, the deliveries to each, and its lane: who posts them, and when.
//
// An endpoint that the service disables records an event of that in the same transaction, so hooks knows the outbox. The outbox lists lanes
// that are due by their keys, as pending work, and knows nothing else of them.
package hooks

import (
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

// Store is the webhook endpoints in a table. Safe for concurrent use. Its methods fail as those of store.Table do, and as their comments
// say.
type Store struct {
	*store.Table
	outbox *outbox.Store
}

// New returns the webhook endpoints in the table of an outbox.
func New(o *outbox.Store) *Store { return &Store{o.Table, o} }
