package threads

import (
	"context"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Parts reads parts of threads: each head with the existing comments of the part, in order. A part
// is nil if its thread does not exist. Unless strong is true, it may miss changes, but not
// additions, of the last second.
//
// It reads the first parts, as many as fit on the page of the request, at least one: see
// collab.Usage.PageLeft.
func (s *Store) Parts(ctx context.Context, parts []collab.ThreadPart, strong bool) ([]*collab.Thread, error) {
	var itemKeys []keys.Key
	ends := make([]int, len(parts)) // of each part in itemKeys
	for i, p := range parts {
		itemKeys = append(itemKeys, headKey(p.Document, p.Annotation))
		for _, id := range p.Comments {
			itemKeys = append(itemKeys, commentKey(p.Document, p.Annotation, id))
		}
		ends[i] = len(itemKeys)
	}
	some, all := s.GetSomeSettled, s.GetSettled
	if strong {
		some = func(ctx context.Context, k []keys.Key, units float64) (map[keys.Key]store.Item, int, error) {
			return s.GetSome(ctx, k, true, units)
		}
		all = func(ctx context.Context, k []keys.Key) (map[keys.Key]store.Item, error) {
			return s.GetAll(ctx, k, true)
		}
	}
	found, n, err := some(ctx, itemKeys, collab.UsageOf(ctx).PageLeft())
	if err == nil && n < len(itemKeys) {
		var rest map[keys.Key]store.Item
		whole, _ := slices.BinarySearch(ends, n) // the part that is cut
		rest, err = all(ctx, itemKeys[n:ends[whole]])
		maps.Copy(found, rest)
		parts = parts[:whole+1]
	}
	if err != nil {
		return nil, err
	}
	list := make([]*collab.Thread, len(parts))
	for i, p := range parts {
		if list[i], err = readPart(p, found); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readPart builds a part from the items found.
func readPart(p collab.ThreadPart, found map[keys.Key]store.Item) (*collab.Thread, error) {
	head := found[headKey(p.Document, p.Annotation)]
	if head == nil || p.At != 0 && !bornBefore(head, collab.EarliestID(p.At+store.ClockSkew.Milliseconds())) {
		return nil, nil
	}
	t := &collab.Thread{Document: p.Document.Document}
	var err error
	if t.Annotation, err = readHead(head); err != nil {
		return nil, err
	}
	for _, id := range p.Comments {
		it := found[commentKey(p.Document, p.Annotation, id)]
		if it == nil || !belongs(it, head) {
			continue
		}
		c, err := readComment(it)
		if err != nil {
			return nil, err
		}
		t.Comments = append(t.Comments, c)
	}
	return t, nil
}
