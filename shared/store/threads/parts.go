package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Parts reads parts of threads in one batch: each head with the existing comments of the part, in
// order. A part is nil if its thread does not exist. Unless strong is true, it may miss changes,
// but not additions, of the last second.
func (s *Store) Parts(ctx context.Context, parts []collab.ThreadPart, strong bool) ([]*collab.Thread, error) {
	var itemKeys []keys.Key
	for _, p := range parts {
		itemKeys = append(itemKeys, headKey(p.Document, p.Annotation))
		for _, id := range p.Comments {
			itemKeys = append(itemKeys, commentKey(p.Document, p.Annotation, id))
		}
	}
	get := s.GetSettled
	if strong {
		get = func(ctx context.Context, k []keys.Key) (map[keys.Key]store.Item, error) {
			return s.GetAll(ctx, k, true)
		}
	}
	found, err := get(ctx, itemKeys)
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
