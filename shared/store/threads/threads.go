// Package threads keeps comment annotations and their comments. An annotation is a head and one item per comment, side by side in its
// document's partition.
//
// # Times
//
// Two indexes list heads by time. A head's time key is never earlier than a comment that can be seen: a write of a comment first moves the
// key, then puts the comment ("touch, then put"). The key of a busy thread is the end of the current quarter of a second, so that it moves
// four times a second and not with each comment. The head's own lastUpdated moves with the key, and is at most a quarter of a second
// earlier. Answers and filters take the latest lastUpdated of head and comments. Comments of one thread share no item: only the transactions
// that add, update or delete an annotation hold its head.
package threads

import (
	"strconv"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
)

// Store keeps annotations and comments in the table. Safe for concurrent use.
type Store struct {
	*store.Table
	Directory *directory.Store
	Outbox    *outbox.Store
	busy      *cache.Cache[keys.Key, collab.Millis] // the last time keys that this process saw, by head: they may have moved since

	mostDeleted int           // collab.MaxDeleted, but in tests
	skew        time.Duration // store.ClockSkew, but in tests
}

// New returns the annotations in the table of a directory.
func New(d *directory.Store, o *outbox.Store) *Store {
	return &Store{
		Table: d.Table, Directory: d, Outbox: o, busy: cache.New[keys.Key, collab.Millis](mostBusy),
		mostDeleted: collab.MaxDeleted, skew: store.ClockSkew,
	}
}

// nameOf is an annotation as callers know it.
func nameOf(id string) string { return "annotation " + strconv.Quote(id) }
