package threads

import (
	"context"
	"time"

	"collabdata/shared/collab"
)

type walk struct {
	*Store
	plan
	budget
	yield func(string, *collab.Thread) bool

	sifts  bool                               // only the threads show which annotations match
	states map[collab.DocumentRef]*readStates // read states of UnreadFor, by document

	viewers map[collab.DocumentRef]collab.Viewers // results of the query's Sight
	until   time.Time                             // when queries to the Sight end
	// Position in q.IDs, from 1, of the last one visited, or -1.
	visited int

	at       position // after the last annotation offered or skipped
	ended    bool     // the page ends at `at`
	complete bool     // the list ends at `at`
}

// entry is an annotation that a walk has found in an index, or in the table with its thread.
type entry struct {
	document collab.DocumentRef // zero for an id without a document
	id       string
	at       position
	thread   *threadReader // nil until read
	narrowed string        // from the index
	// Last document with an id of q.IDs: if no document shows the id, it is offered as missing.
	last bool
	// Outside the query's folder: it shows only that its id exists.
	outside bool
}

// source is one range of keys of a walk: whole threads of a document, or entries of an index.
type source interface {
	// read returns about want further entries. concurrent is the number of sources that are read at
	// the same time.
	read(ctx context.Context, want, concurrent int) (part, error)
	// position returns the position after the last entry examined.
	position() position
	// in returns the range's document, zero if it spans all.
	in() collab.DocumentRef
}

type part struct {
	entries []entry
	cost    cost
	done    bool // the source ends here
}
