package threads

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// A walk with several filters follows the index of its driver: locations, else creators, else
// statuses. If most of the driver's entries fail the other filters, another filter's index may have
// few enough entries to finish the walk.

const (
	firstRead   = 100 // entries of the driver before the first probe
	mostProbes  = 30  // ranges of another index
	yieldEnough = 5   // if one entry in five matches, the driver suffices
)

// probes are the numbers of driver entries after which a walk probes other indexes, and the maximum
// of entries to read from each.
var probes = [...]struct{ after, most int }{{20, 20}, {100, 100}, {1_000, 1_000}}

// tryNarrow probes other indexes if few of the driver's entries match. If one has few entries for
// the query, it finishes the walk with them, in the driver's order.
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

// probe returns the annotations in a filter's index that match the query, with their positions in
// the driver's order. If there are more than most, few is false and the list incomplete.
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
