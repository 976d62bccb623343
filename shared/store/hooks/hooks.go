// Package hooks stores webhook endpoints, the deliveries to each, and the progress of its task,
// which posts them.
//
// Disabling an endpoint records an event in the same transaction, so hooks depends on the outbox.
package hooks

import (
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

// Store stores webhook endpoints in a table. It is safe for concurrent use.
type Store struct {
	*store.Table
	outbox *outbox.Store
}

// New returns the webhook endpoints in the table of an outbox.
func New(o *outbox.Store) *Store { return &Store{o.Table, o} }
