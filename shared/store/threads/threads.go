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
	"context"
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

	MaxDeleted   int           // annotations that a call deletes without naming them: collab.MaxDeleted, except in tests
	mostSearched int           // mostSearched, except in tests
	skew         time.Duration // store.ClockSkew, except in tests
}

// New returns the annotations in the table of a directory.
func New(d *directory.Store, o *outbox.Store) *Store {
	return &Store{
		Table: d.Table, Directory: d, Outbox: o, busy: cache.New[keys.Key, collab.Millis](mostBusy),
		MaxDeleted: collab.MaxDeleted, mostSearched: mostSearched, skew: store.ClockSkew,
	}
}

func nameOf(id string) string { return "annotation " + strconv.Quote(id) }

func birth(head store.Item) string { return head.Text(keys.AddedBy) }

// belongs reports whether a comment belongs to a head, which may be nil.
func belongs(comment, head store.Item) bool {
	return head != nil && comment.Text(keys.Birth) == birth(head)
}

// bornBefore reports whether a request with a lower mark added a head, given as an item or index
// entry. "" is the highest mark.
func bornBefore(head store.Item, mark string) bool { return mark == "" || birth(head) < mark }

// Limits of the search for comments of authors.
const mostSearched, mostSearchedBytes = 10_000, 10_000_000

const (
	mostBusy = 1000        // threads with remembered time keys
	busyFor  = time.Minute // after it, a thread counts as quiet
)

func (s *Store) heads(ctx context.Context, doc collab.DocumentRef, ids []string) (map[keys.Key]store.Item, error) {
	itemKeys := collab.Map(ids, func(id string) keys.Key { return headKey(doc, id) })
	return s.GetAll(ctx, itemKeys, true)
}
