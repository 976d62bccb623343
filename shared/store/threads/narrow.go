package threads

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// A walk with several filters goes in the order of its driver: locations, else creators, else statuses. When most of the driver's entries
// fail the other filters, the index of another filter may have so few that the walk can end with those.

const (
	firstRead   = 100 // entries of the driver that are read before the first probe
	mostProbes  = 30  // ranges of another index
	yieldEnough = 5   // with one entry in five taken, the driver needs no other index
)

// probes are the moments at which a walk looks into other indexes: after how many entries of the driver, and how many it then reads of each.
var probes = [...]struct{ after, most int }{{20, 20}, {100, 100}, {1_000, 1_000}}

// tryNarrow looks into other indexes when the driver yields little of what it examines. Where one has few entries for the query, it ends the
// walk with those, in the driver's order.
func (w *walk) tryNarrow(ctx context.Context) error {
	if len(w.others) == 0 || w.probed == len(probes) || w.spent.entries < probes[w.probed].after || w.taken > w.spent.entries/yieldEnough {
		return nil
	}
	most := probes[w.probed].most
	w.probed++
	for _, f := range w.others {
		found, few, err := w.probe(ctx, f, most)
		if err != nil {
			return err
		}
		if !few {
			continue
		}
		found = slices.DeleteFunc(found, func(e entry) bool { return w.compare(e.at, w.at) <= 0 })
		slices.SortFunc(found, func(a, b entry) int { return w.compare(a.at, b.at) })
		err = w.deliver(ctx, found)
		w.complete = !w.ended
		w.ended = true
		return err
	}
	return nil
}

// probe returns the annotations that the index of a filter has for the query, with their places in the driver's order. few is false, and the
// list incomplete, when there are more than most.
func (w *walk) probe(ctx context.Context, f *filter, most int) (list []entry, few bool, err error) {
	documents, values := w.q.Found, f.asked(w.q)
	if documents == nil {
		documents = []collab.DocumentRef{{}}
	}
	ranges := make([]struct {
		entries []store.Item
		more    bool
	}, len(documents)*len(values))
	limit := max(most/max(1, len(ranges)), 5)
	if err := store.Each(ctx, len(ranges), func(ctx context.Context, i int) (err error) {
		ranges[i].entries, ranges[i].more, err = w.QueryPage(ctx, store.Scan{
			Index: f.list.index, PK: f.list.partition(w.org, values[i%len(values)]),
			Keys: inDocument(documents[i/len(values)]), Limit: limit,
		})
		return err
	}); err != nil {
		return nil, false, err
	}
	few = true
	passes := sieve(w.q, f.list.index)
	var c cost
	for i, r := range ranges {
		few = few && !r.more
		for _, it := range r.entries {
			if e, ok := w.entryOf(it); ok && passes(it) {
				e.at = w.place(documents[i/len(values)], it)
				list = append(list, e)
			}
		}
		c.query(r.entries)
	}
	w.count(c)
	return list, few, nil
}
