// Package threads stores comment annotations and their comments. An annotation is a head and one
// item for each comment, together in its document's partition.
//
// # Times
//
// Two indexes list heads by time. A head's time key is never earlier than a visible comment: a
// write of a comment first moves the key, then puts the comment ("touch, then put"). The key of a
// busy thread is the end of the current quarter second, so it moves four times a second instead of
// with each comment. The head's own lastUpdated moves with the key, and is at most a quarter second
// earlier. Responses and filters use the latest lastUpdated of head and comments. Comments of a
// thread share no item: only transactions on an annotation lock its head.
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

// Store stores annotations and comments in the table. It is safe for concurrent use.
type Store struct {
	*store.Table
	Directory *directory.Store
	Outbox    *outbox.Store
	busy      *cache.Cache[keys.Key, collab.Millis] // last time keys seen by this process, by head

	mostDeleted  int           // collab.MaxDeleted, except in tests
	mostSearched int           // mostSearched, except in tests
	skew         time.Duration // store.ClockSkew, except in tests
}

// New returns the annotations in the table of a directory.
func New(d *directory.Store, o *outbox.Store) *Store {
	return &Store{
		Table: d.Table, Directory: d, Outbox: o, busy: cache.New[keys.Key, collab.Millis](mostBusy),
		mostDeleted: collab.MaxDeleted, mostSearched: mostSearched, skew: store.ClockSkew,
	}
}

func nameOf(id string) string { return "annotation " + strconv.Quote(id) }
