// Package threads keeps comment annotations and their comments. An annotation is a head and one item per comment, side by side in its
// document's partition.
//
// # Times
//
// A head is listed by time in two indexes. Its time key is never earlier than a comment that can be seen: whoever writes a comment moves
// the key first, then writes ("touch, then put"). A busy thread's key is the end of the current quarter of a second, so that it moves four
// times a second and not with each comment. The head's own lastUpdated moves with the key, and is at most a quarter of a second behind it;
// what is shown, and filtered by, is the latest of head and comments. Comments do not meet in one item: no transaction holds a head but the
// one that makes it and those of updates.
package threads

import (
	"strconv"

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
	busy      *cache.Cache[keys.Key, collab.Millis] // the time keys that this process saw last, by head: whoever relies on one looks again

	mostDeleted int // collab.MaxDeleted, but in tests
}

// New returns the annotations of a table.
func New(t *store.Table, d *directory.Store, o *outbox.Store) *Store {
	return &Store{Table: t, Directory: d, Outbox: o, busy: cache.New[keys.Key, collab.Millis](mostBusy), mostDeleted: collab.MaxDeleted}
}

func annotationMissing(doc collab.DocumentRef, id string) error {
	return collab.Errorf(collab.NotFound, "annotation %q does not exist in document %q", id, doc.Document)
}

// nameOf is an annotation as callers know it.
func nameOf(id string) string { return "annotation " + strconv.Quote(id) }
