package threads

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Select returns the annotations of a document that match a selector without ids, in id order. It
// returns FAILED_PRECONDITION if more than most match.
//
// Without a location or creator it sees every acknowledged write. Otherwise it reads an index,
// which may lag by a second, so the caller must check the selector again on the heads.
func (s *Store) Select(ctx context.Context, doc collab.DocumentRef, sel collab.Selector, most int) (ids []string, err error) {
	q := collab.AnnotationQuery{
		Documents: []string{doc.Document},
		Found:     []collab.DocumentRef{doc},
		Locations: sel.Locations,
		Creators:  sel.Creators,
	}
	if p := newPlan(doc.OrganizationRef, &q); p.by != nil {
		ids, err = s.selectIndexed(ctx, &p, sel.Before, most)
	} else {
		ids, err = s.selectAll(ctx, doc, sel.Before, most)
	}
	if err == nil && len(ids) > most {
		err = collab.Errorf(collab.FailedPrecondition,
			"the request selects more than %d annotations: narrow it, by annotationIds for example", most)
	}
	return ids, err
}

func (s *Store) selectIndexed(ctx context.Context, p *plan, before string, most int) ([]string, error) {
	passes := sieve(p.q, p.index)
	var ids []string
	for value := range p.values {
		r := p.keyRange(p.q.Found[0], value)
		for it, err := range s.Items(ctx, r.scan()) {
			if err != nil {
				return nil, err
			}
			if e, ok := p.entryOf(it); ok && passes(it) && bornBefore(it, before) {
				ids = append(ids, e.id)
			}
			if len(ids) > most {
				return ids, nil
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(keys.Escape(a), keys.Escape(b)) })
	// An annotation that moves between two values may appear under both.
	return slices.Compact(ids), nil
}

// bornBefore reports whether a request with a lower mark added a head, given as an item or index
// entry. "" is the highest mark.
func bornBefore(head store.Item, mark string) bool { return mark == "" || birth(head) < mark }

// selectAll reads the heads of a document from the table and skips comments. Since comments waste
// reads, the reads grow while threads are short, and start small after a long one.
func (s *Store) selectAll(ctx context.Context, doc collab.DocumentRef, before string, most int) ([]string, error) {
	const (
		smallest = 25     // items of a read
		largest  = 10_000 // more than 1 MB holds
	)
	q := store.Scan{
		PK:   keys.DocumentPartition(doc),
		Keys: store.Children(keys.Annotations), Limit: smallest, Strong: true, Project: []string{keys.SK, keys.AddedBy},
	}
	var ids []string
	for more := true; more && len(ids) <= most; {
		var items []store.Item
		var err error
		if items, more, err = s.QueryPage(ctx, q); err != nil {
			return nil, err
		}
		heads := 0
		for _, it := range items {
			sk := it.Text(keys.SK)
			q.Keys = q.Keys.After(sk)
			id, comment, err := keys.ParseAnnotation(sk)
			if err != nil {
				continue // from a later version
			}
			if comment == 0 {
				heads++
				if bornBefore(it, before) {
					ids = append(ids, id)
				}
			}
			q.Keys = q.Keys.After(threadSpan(keys.Annotations + keys.Escape(id)).To)
		}
		if q.Limit = min(2*q.Limit, largest); heads < len(items)/smallest {
			q.Limit = smallest
		}
	}
	return ids, nil
}
