package threads

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// Walk calls yield with up to limit annotations of an organization in the query's order, after the
// position from, nil for the start. If one of q.IDs does not exist, its t is nil. If yield returns
// false, the walk ends before that annotation. next is the position after the last one taken, nil
// at the end of the list. A walk may take few annotations, even none, and return a next.
//
// The order is that of q.IDs if set. Otherwise the first of these that the query has decides: a
// window of lastUpdated; locations, creators or statuses; a window of createdAt; documents. Windows
// are in order of lastUpdated, which busy threads round up to a quarter second, then document, then
// annotation id. All else is in order of annotation id. Documents come in the order requested,
// otherwise in id order; locations, creators and statuses in the order requested.
//
// An annotation's lastUpdated is the latest of its own and its comments', and windows are exact. If
// a thread exceeds a page, so that not all comments are read, it is the head's time key, which is
// at most a quarter second later.
//
// With q.Order the order is by lastUpdated as in windows, latest first for collab.Descending. Such
// a walk may miss annotations written while it runs.
//
// Reads by id and by documents alone have strong consistency, and miss no annotation that exists
// throughout. Others read an index, which may lag by a second. A walk over locations, creators or
// statuses may miss an annotation whose value changes during the walk or up to a second before. A
// walk over a window may miss one that is written in that time. A later walk finds them.
//
// With q.Sight it takes only visible annotations. If most are hidden, a page may be short or empty
// and have a next.
//
// It returns the errors of directory.Store.Open and q.Sight, and INVALID_ARGUMENT if from is no
// position of this query. The organization, folder and documents of the query must have been
// opened.
func (s *Store) Walk(ctx context.Context, org collab.OrganizationRef, q collab.AnnotationQuery, from []byte, limit int,
	yield func(id string, t *collab.Thread) bool,
) (next []byte, err error) {
	w := &walk{
		Store:   s,
		plan:    newPlan(org, &q),
		budget:  budget{usage: collab.UsageOf(ctx), limit: limit},
		yield:   yield,
		sifts:   needsScan(&q),
		states:  map[collab.DocumentRef]*readStates{},
		visited: -1,

		viewers: map[collab.DocumentRef]collab.Viewers{},
		until:   s.Now().Add(askingTime),
	}
	if from != nil && (json.Unmarshal(from, &w.at) != nil || !w.valid(w.at)) {
		return nil, collab.PageTokenError(nil)
	}
	if w.at.Met {
		w.visited = w.at.Value
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

// byRange walks the ranges of keys in order: for each document, each requested value.
func (w *walk) byRange(ctx context.Context) (err error) {
	list := newSources(w)
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
	}
}

// exhaust offers the entries of a source to its end. p is the first part.
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
		var err error
		if p, err = src.read(ctx, w.want(), 1); err != nil {
			return err
		}
	}
}
