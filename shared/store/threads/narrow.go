package store

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/table"
)

// A query with several filters on values is walked in the order of its driver: locations, else creators, else statuses. When the
// driver's entries mostly fail the other filters, another index may hold few that pass all of them, and the walk can end from there.

const (
	firstRead   = 100 // entries of the driver that are read before other indexes were looked into
	mostProbes  = 30  // ranges of another index
	yieldEnough = 5   // a driver of which one entry in so many is taken needs no other index
)

// probes say how many entries of the driver a walk examines before it looks into other indexes, and how many it then reads of each.
var probes = [...]struct{ after, most int }{{20, 20}, {100, 100}, {1_000, 1_000}}

// alternatives returns the indexes of values, beside the driver, that the query's other filters could be answered from.
func (w *walk) alternatives() []string {
	if w.values == nil || w.q.Folder != "" && w.documents == nil {
		return nil
	}
	var list []string
	for _, index := range []string{table.IndexBy, table.IndexSt} {
		if n := len(w.asked(index)) * max(1, len(w.documents)); index != w.index && 0 < n && n <= mostProbes {
			list = append(list, index)
		}
	}
	return list
}

// asked returns the values that the query asks of an index.
func (w *walk) asked(index string) []string {
	return map[string][]string{table.IndexIn: w.q.Locations, table.IndexBy: w.q.Creators, table.IndexSt: w.q.Statuses}[index]
}

// tryNarrow looks whether another index has few entries for what the query asks of it, when the driver yields little of what it examines.
// If so it ends the walk from that index, in the driver's order.
func (w *walk) tryNarrow(ctx context.Context) error {
	if len(w.others) == 0 || w.probed == len(probes) || w.entries < probes[w.probed].after || w.taken > w.entries/yieldEnough {
		return nil
	}
	most := probes[w.probed].most
	w.probed++
	for _, index := range w.others {
		entries, few, err := w.probeIndex(ctx, index, most)
		if err != nil {
			return err
		}
		if !few {
			continue
		}
		slices.SortFunc(entries, func(a, b entry) int { return w.compare(a.at, b.at) })
		first := slices.IndexFunc(entries, func(e entry) bool { return w.compare(e.at, w.at) > 0 })
		if first < 0 {
			first = len(entries)
		}
		err = w.deliver(ctx, entries[first:])
		w.complete = !w.ended
		w.ended = true
		return err
	}
	return nil
}

// probeIndex returns all annotations that an index of values has for the query, at their positions in the driver's order; few is false,
// and the list not whole, when there are more than most.
func (w *walk) probeIndex(ctx context.Context, index string, most int) (entries []entry, few bool, err error) {
	documents, of := w.documents, w.asked(index)
	if documents == nil {
		documents = []string{""}
	}
	type found struct {
		items []item
		more  bool
	}
	ranges := make([]found, len(documents)*len(of))
	limit := max(most/len(ranges), 5)
	if err := each(ctx, len(ranges), func(ctx context.Context, i int) (err error) {
		pk, keys := w.valueRange(index, of[i%len(of)], documents[i/len(of)])
		ranges[i].items, ranges[i].more, err = w.s.queryPage(ctx, scan{index: index, pk: pk, keys: keys, limit: limit})
		return err
	}); err != nil {
		return nil, false, err
	}
	few = true
	attribute := map[string]string{table.IndexIn: table.Location, table.IndexBy: table.Creator}[w.index]
	for i, r := range ranges {
		few = few && !r.more
		p := part{examined: len(r.items)}
		for _, it := range r.items {
			p.bytes += it.size()
			if !w.mayMatch(it, index) {
				continue
			}
			e, err := newEntry(it)
			if err != nil {
				return nil, false, fail(ctx, err)
			}
			e.at = position{
				Document: documents[i/len(of)], Value: slices.Index(w.values, it.text(attribute)), Key: it.text(table.DocAnn),
			}
			entries = append(entries, e)
		}
		p.units = readUnits(p.bytes)
		w.count(p)
	}
	return entries, few, nil
}

// compare orders positions as the walk comes by them.
func (w *walk) compare(a, b position) int {
	return cmp.Or(
		cmp.Compare(slices.Index(w.q.Documents, a.Document), slices.Index(w.q.Documents, b.Document)),
		cmp.Compare(a.Value, b.Value),
		cmp.Compare(a.Key, b.Key),
	)
}
