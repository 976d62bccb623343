// Package hooks stores webhook endpoints, the deliveries to each, and its lane, which controls when
// they are posted.
//
// Disabling an endpoint records an event in the same transaction, so hooks depends on the outbox.
// The outbox lists due lanes as pending work.
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
