package threads

import (
	"context"

	"collabdata/shared/keys"
	"collabdata/shared/store"
)

type entries struct {
	w *walk
	keyRange
	passes func(store.Item) bool
}

func newEntries(w *walk, r keyRange) *entries {
	return &entries{w: w, keyRange: r, passes: sieve(w.q, r.index)}
}

func (src *entries) read(ctx context.Context, want, concurrent int) (p part, err error) {
	w := src.w
	limit := w.entriesFor(want)
	if w.sifts {
		limit = min(limit, siftedAtOnce)
	}
	scan := src.scan()
	scan.Limit = min(limit, w.allowance(concurrent))
	previous := src.last // reading from the end sees it again
	if src.newest && previous != "" {
		scan.Limit++
	}
	items, more, err := w.QueryPage(ctx, scan)
	if err != nil {
		return part{}, err
	}
	p.cost.query(items)
	p.done = !more
	sortKey := keys.IndexOf(src.index).SortKey
	for _, it := range items {
		if it.Text(sortKey) == previous {
			continue
		}
		src.last = it.Text(sortKey)
		if !src.passes(it) {
			continue
		}
		if e, ok := w.entryOf(it); ok {
			e.at = src.position()
			p.entries = append(p.entries, e)
		}
	}
	if src.last != "" {
		src.advance(src.last)
	}
	return p, nil
}

// entryOf decodes document and annotation from the table key of an index entry. ok is false if the
// item is no head, as a later version may write.
func (p *plan) entryOf(it store.Item) (e entry, ok bool) {
	id, comment, err := keys.ParseAnnotation(it.Text(keys.SK))
	if err != nil || comment != 0 {
		return entry{}, false
	}
	document, err := keys.DocumentOf(p.org, it.Text(keys.PK))
	return entry{document: document, id: id, narrowed: it.Text(keys.Narrowed)}, err == nil
}
