package threads

import (
	"context"
	"encoding/json"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// Walk calls take with at most `most` annotations of an organization after the position from (nil for the start), in the order that the
// query implies. t is nil for one of q.IDs that does not exist. When take returns false the walk ends before that annotation. next is the
// position after the last one taken, nil when the list is known to end there. A walk may end with fewer, even none, and a next.
//
// The order is that of q.IDs; else, by the first of these that the query has: a window of lastUpdated; locations, creators, statuses; a
// window of createdAt; else by document. Windows are walked by lastUpdated, in busy threads rounded up to the end of the quarter of a
// second, then by document, then by annotation id; everything else by annotation id. Documents come in the order asked, else by id,
// locations, creators and statuses in the order asked.
//
// An annotation's lastUpdated is the latest of its own and of its comments, and windows are exact. Only where a thread is larger than a
// page, so that not all of its comments are read, it is the time key of the head: at most a quarter of a second later.
//
// With q.Order it is by lastUpdated as in windows, and from the latest on with collab.Descending: what is written during such a walk may be
// missing from the rest of it.
//
// Reads by id and by named documents alone are strongly consistent, and miss none that was there throughout. Others go through an index,
// which may lag by a second. A walk over locations, creators or statuses may miss an annotation whose location, creator or status changed
// from a second before the walk until its end; a walk over a window, one that was written in that time. A later walk has them.
//
// With q.Sight it takes what that lets see. Where most is hidden a page may be short, or empty with a next.
//
// It fails like directory.Store.Open and q.Sight, and with INVALID_ARGUMENT when from is no position of this query. The organization, the folder and
// the documents of the query were opened.
func (s *Store) Walk(ctx context.Context, org collab.OrganizationRef, q collab.AnnotationQuery, from []byte, most int,
	take func(id string, t *collab.Thread) bool,
) (next []byte, err error) {
	w := &walk{
		Store:  s,
		plan:   newPlan(org, &q),
		budget: budget{most: most},
		take:   take,
		sifts:  sifts(&q),
		seen:   map[collab.DocumentRef]*seenBy{},
		met:    -1,

		viewers: map[collab.DocumentRef]collab.Viewers{},
		until:   s.Now().Add(askingTime),
	}
	if from != nil && (json.Unmarshal(from, &w.at) != nil || !w.valid(w.at)) {
		return nil, collab.PageTokenError(nil)
	}
	if w.at.Met {
		w.met = w.at.Value
	}
	defer w.askAhead(ctx)()
	if q.IDs != nil {
		err = w.byID(ctx)
	} else {
		err = w.byRange(ctx)
	}
	if err != nil || w.complete {
		return nil, err
	}
	return json.Marshal(w.at)
}

// walk is the state of one Walk.
type walk struct {
	*Store
	plan
	budget
	take func(string, *collab.Thread) bool

	sifts  bool                           // only the threads show which annotations pass
	seen   map[collab.DocumentRef]*seenBy // what the user of UnreadFor has seen, of the documents met so far
	others []*filter                      // whose indexes may turn out narrower than the driver's
	probed int                            // probes of them so far

	viewers map[collab.DocumentRef]collab.Viewers // what the query's Sight has said so far
	until   time.Time                             // when it is asked nothing more
	met     int                                   // of q.IDs, counted from 1, the one last met: see meet; -1 for none

	at       position // after what was offered or skipped
	ended    bool     // the page ends at `at`
	complete bool     // the list ends at `at`
}

// entry is one annotation that a walk has found: in an index, or in the table with its thread.
type entry struct {
	document collab.DocumentRef // zero for an id that no document has
	id       string
	at       position
	thread   *threadReader // nil: not read yet
	narrowed string        // as the index says
	last     bool          // of the documents that have an id of q.IDs: where none of them shows it, it is offered as one that does not exist
	outside  bool          // it is not in the folder that the query names, and shows only that its id exists
}

// byRange walks one range of keys after the other: for each document each value that the query asks for.
func (w *walk) byRange(ctx context.Context) (err error) {
	list := newSources(w)
	w.others = w.alternatives(len(w.q.Found))
	for {
		group, err := list.next(ctx, w.width())
		if err != nil {
			return err
		}
		if len(group) == 0 {
			if w.complete = list.ended(); !w.complete {
				w.at = position{Document: list.listFrom}
			}
			return nil
		}
		want := w.want()
		if len(group) > 1 {
			want = min(want, max(10, 2*w.perSource()))
		}
		first := make([]part, len(group))
		if err := store.Each(ctx, len(group), func(ctx context.Context, i int) (err error) {
			first[i], err = group[i].read(ctx, want, len(group))
			return err
		}); err != nil {
			return err
		}
		for i, src := range group {
			if err := w.exhaust(ctx, src, first[i]); err != nil || w.ended {
				return err
			}
			w.sources++
			if w.over() {
				w.complete = i+1 == len(group) && list.ended()
				return nil
			}
		}
		if err := w.tryNarrow(ctx); err != nil || w.ended {
			return err
		}
	}
}

// exhaust offers the entries of a source, whose first part was read, to its end.
func (w *walk) exhaust(ctx context.Context, src source, p part) error {
	for {
		w.count(p.cost)
		if err := w.deliver(ctx, p.entries); err != nil || w.ended {
			return err
		}
		w.at = src.position()
		if p.done || w.barred(src.in()) {
			return nil
		}
		if w.ended = w.over(); w.ended {
			return nil
		}
		if err := w.tryNarrow(ctx); err != nil || w.ended {
			return err
		}
		var err error
		if p, err = src.read(ctx, w.want(), 1); err != nil {
			return err
		}
	}
}
