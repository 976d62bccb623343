package threads

import (
	"context"
	"math"

	"collabdata/shared/store"
	"collabdata/shared/table"
)

// entries is the source of one range of an index: of one partition, or of several side by side that are merged by key. Its position is a key
// in the common order: what the number of partitions is does not show in it.
type entries struct {
	w *walk
	keyRange
	shards []*shard
	skName string
	passes func(store.Item) bool
}

// shard is what was read ahead of one partition.
type shard struct {
	scan  store.Scan // what is left to be read
	ahead []store.Item
	ended bool // nothing is left to be read
}

// read reads the next page.
func (s *shard) read(ctx context.Context, t *store.Table) error {
	items, more, err := t.QueryPage(ctx, s.scan)
	s.ahead, s.ended = items, !more
	return err
}

func newEntries(w *walk, r keyRange) *entries {
	src := &entries{w: w, keyRange: r, passes: sieve(w.q, r.index)}
	src.skName = table.IndexOf(r.index).SortKey
	for i := range r.partitions {
		src.shards = append(src.shards, &shard{scan: scanOf(r, i)})
	}
	return src
}

// scanOf is the scan of one of a range's partitions.
func scanOf(r keyRange, partition int) store.Scan {
	return store.Scan{Index: r.index, PK: r.partitions[partition], Keys: r.keys}
}

func (src *entries) read(ctx context.Context, want, beside int) (part, error) {
	w := src.w
	limit := w.entriesFor(want)
	if len(w.others) > 0 && w.probed == 0 {
		limit = min(limit, firstRead)
	}
	p, err := src.fill(ctx, min(limit, w.allowance(beside)))
	if err != nil {
		return part{}, err
	}
	for it := src.next(); it != nil; it = src.next() {
		src.last = it.Text(src.skName)
		if !src.passes(it) {
			continue
		}
		if e, ok := entryOf(it); ok {
			e.at = src.position()
			p.entries = append(p.entries, e)
		}
	}
	p.done = true
	for _, s := range src.shards {
		p.done = p.done && s.ended && len(s.ahead) == 0
	}
	return p, nil
}

// fill reads, side by side, of each partition of which nothing is at hand, about limit entries in all.
func (src *entries) fill(ctx context.Context, limit int) (part, error) {
	var dry []*shard
	for _, s := range src.shards {
		if !s.ended && len(s.ahead) == 0 {
			dry = append(dry, s)
		}
	}
	limit = shareOf(limit, len(src.shards), src.w.entryBytes())
	if err := store.Each(ctx, len(dry), func(ctx context.Context, i int) error {
		s := dry[i]
		s.scan.Limit = limit
		err := s.read(ctx, src.w.Table)
		for _, it := range s.ahead {
			s.scan.Keys = s.scan.Keys.After(it.Text(src.skName))
		}
		return err
	}); err != nil {
		return part{}, err
	}
	var p part
	for _, s := range dry {
		p.cost.query(s.ahead)
	}
	return p, nil
}

// next takes the entry with the least key from its partition. It returns nil when a partition is dry that goes on: its next one may be less.
func (src *entries) next() store.Item {
	var least *shard
	for _, s := range src.shards {
		switch {
		case len(s.ahead) > 0:
			if least == nil || s.ahead[0].Text(src.skName) < least.ahead[0].Text(src.skName) {
				least = s
			}
		case !s.ended:
			return nil
		}
	}
	if least == nil {
		return nil
	}
	it := least.ahead[0]
	least.ahead = least.ahead[1:]
	return it
}

// shareOf returns how many entries to read of each of n partitions to find limit in all: what chance may give one of them, and no less than
// what half a unit reads, the least that a read costs.
func shareOf(limit, n int, entryBytes float64) int {
	if n == 1 {
		return limit
	}
	share := float64(limit) / float64(n)
	return int(max(math.Ceil(share+3*math.Sqrt(share)), bytesPerUnit/2/entryBytes))
}

// entryOf reads document and annotation from the table key that every index entry carries. What is no annotation's head was written by a
// later version: ok is false.
func entryOf(it store.Item) (e entry, ok bool) {
	id, comment, err := table.ParseAnnotation(it.Text(table.SK))
	if err != nil || comment != 0 {
		return entry{}, false
	}
	parts, err := table.Split(it.Text(table.PK))
	return entry{document: parts[len(parts)-1], id: id}, err == nil
}
