// Package outbox stores outgoing data as tasks: events, notices and jobs.
package outbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/task"
)

// Store is the outbox in a table. It is safe for concurrent use.
type Store struct{ *task.Store }

// New returns the outbox in a table.
func New(t *store.Table) *Store { return &Store{task.New(t)} }

const retention = 30 * 24 * time.Hour // of events and data about them

// Expiry returns the expiry of an event, in Unix seconds.
func Expiry(at collab.Millis) int64 { return at/1000 + int64(retention.Seconds()) }

// Beat writes the heartbeat, which shows that the stream of changes is read.
func (s *Store) Beat(ctx context.Context) error {
	return s.Put(ctx, store.ItemOf(keys.HeartbeatKey(), heartbeatItem{s.Millis(), s.Now().Add(time.Hour).Unix()}))
}

// heartbeatItem differs with each write, because only a change appears in the stream.
type heartbeatItem struct {
	At      collab.Millis `dynamodbav:"at"`
	Expires int64         `dynamodbav:"ttl"`
}
