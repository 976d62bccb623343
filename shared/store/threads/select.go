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
// returns FAILED_PRECONDITION if more than limit match.
//
// Without a location or creator it sees every acknowledged write. Otherwise it reads an index,
// which may lag by a second, so the caller must check the selector again on the heads.
//
// With an agent but without a Before, it returns FAILED_PRECONDITION if it would have to look at
// more than s.mostSearched annotations.
func (s *Store) Select(ctx context.Context, doc collab.DocumentRef, sel collab.Selector, limit int) (ids []string, err error) {
	ids, next, err := s.selectPart(ctx, doc, sel, limit, "")
	if err == nil && next != "" {
		err = collab.Errorf(collab.FailedPrecondition,
			"the request selects more than %d annotations: narrow it, by annotationIds for example", limit)
	}
	return ids, err
}

// selectPart is Select for a part of at most limit annotations. next is "" if no others can match,
// else the position of the next part. Without a location or creator, a part with an agent and a
// Before ends after a search of s.mostSearched annotations, and begins at from.
func (s *Store) selectPart(
	ctx context.Context, doc collab.DocumentRef, sel collab.Selector, limit int, from string,
) (ids []string, next string, err error) {
	q := collab.AnnotationQuery{
		Documents: []string{doc.Document},
		Found:     []collab.DocumentRef{doc},
		Locations: sel.Locations,
		Creators:  sel.Creators,
	}
	if p := newPlan(doc.OrganizationRef, &q); p.by != nil {
		ids, err = s.selectIndexed(ctx, &p, sel, limit)
	} else {
		ids, next, err = s.selectAll(ctx, doc, sel, limit, from)
	}
	if len(ids) > limit {
		ids, next = ids[:limit], ids[limit-1]
	}
	return ids, next, err
}

func (s *Store) selectIndexed(ctx context.Context, p *plan, sel collab.Selector, limit int) ([]string, error) {
	passes := sieve(p.q, p.index)
	var ids []string
	for value := range p.values {
		r := p.keyRange(p.q.Found[0], value)
		for it, err := range s.Items(ctx, r.scan()) {
			if err != nil {
				return nil, err
			}
			if e, ok := p.entryOf(it); ok && passes(it) && bornBefore(it, sel.Before) {
				ids = append(ids, e.id)
			}
			if sel.Agent == nil && len(ids) > limit {
				return ids, nil
			}
			if err := s.checkSearched(sel, len(ids)); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(keys.Escape(a), keys.Escape(b)) })
	// An annotation that moves between two values may appear under both.
	return s.byAgent(ctx, p.q.Found[0], slices.Compact(ids), sel.Agent)
}

// checkSearched returns FAILED_PRECONDITION if a request with a selector of agents looks at too
// many annotations.
func (s *Store) checkSearched(sel collab.Selector, annotations int) error {
	if sel.Agent == nil || sel.Before != "" || annotations <= s.mostSearched {
		return nil
	}
	return collab.Errorf(collab.FailedPrecondition,
		"agents are looked for in at most %d annotations, and the other selectors match more: narrow them, by annotationIds for example",
		s.mostSearched)
}

// byAgent returns the annotations among ids that match a filter of agents, in order. nil matches
// all.
func (s *Store) byAgent(ctx context.Context, doc collab.DocumentRef, ids []string, f *collab.AgentFilter) ([]string, error) {
	if f == nil {
		return ids, nil
	}
	matched := make([]bool, len(ids))
	err := store.Each(ctx, len(ids), func(ctx context.Context, i int) (err error) {
		_, matched[i], err = s.hasAgent(ctx, doc, ids[i], f)
		return err
	})
	var those []string
	for i, id := range ids {
		if matched[i] {
			those = append(those, id)
		}
	}
	return those, err
}

// hasAgent reports whether an annotation matches a filter of agents without Comments, and returns
// its birth mark. It reads the head and the first comment.
func (s *Store) hasAgent(ctx context.Context, doc collab.DocumentRef, ann string, f *collab.AgentFilter) (mark string, has bool, err error) {
	k := headKey(doc, ann)
	r := threadReader{}
	for it, err := range s.Items(ctx, store.Scan{PK: k.PK, Keys: threadSpan(k.SK), Limit: 2, Strong: true}) {
		if err == nil {
			err = r.add(it)
		}
		if err != nil {
			return "", false, err
		}
		if r.t == nil || !r.t.ByAgent || len(r.t.Comments) > 0 {
			break
		}
	}
	if r.t == nil {
		return "", false, nil
	}
	return birth(r.head), f.Matches(r.t), nil
}

// selectAll reads the heads of a document from the table and skips comments. Since comments waste
// reads, the reads grow while threads are short, and start small after a long one. See selectPart
// for from and next; it may return more than limit.
func (s *Store) selectAll(
	ctx context.Context, doc collab.DocumentRef, sel collab.Selector, limit int, from string,
) (ids []string, next string, err error) {
	const (
		smallest = 25     // items of a read
		largest  = 10_000 // more than 1 MB holds
	)
	q := store.Scan{
		PK:   keys.DocumentPartition(doc),
		Keys: store.Children(keys.Annotations), Limit: smallest, Strong: true, Project: []string{keys.SK, keys.AddedBy, keys.ByAgent},
	}
	passed := func(id string) { q.Keys = q.Keys.After(threadSpan(keys.Annotations + keys.Escape(id)).To) }
	if from != "" {
		passed(from)
	}
	searched := 0
	for more := true; more && len(ids) <= limit; {
		if sel.Agent != nil && sel.Before != "" && searched >= s.mostSearched {
			return ids, next, nil
		}
		var items []store.Item
		if items, more, err = s.QueryPage(ctx, q); err != nil {
			return nil, "", err
		}
		heads := 0
		var found []string
		for _, it := range items {
			sk := it.Text(keys.SK)
			q.Keys = q.Keys.After(sk)
			id, comment, err := keys.ParseAnnotation(sk)
			if err != nil {
				continue // from a later version
			}
			if comment == 0 {
				heads++
				if bornBefore(it, sel.Before) && (sel.Agent == nil || it[keys.ByAgent] != nil) {
					found = append(found, id)
				}
			}
			passed(id)
			next = id
		}
		if found, err = s.byAgent(ctx, doc, found, sel.Agent); err != nil {
			return nil, "", err
		}
		ids = append(ids, found...)
		searched += heads
		if len(ids) <= limit {
			if err := s.checkSearched(sel, searched); err != nil {
				return nil, "", err
			}
		}
		if q.Limit = min(2*q.Limit, largest); heads < len(items)/smallest {
			q.Limit = smallest
		}
	}
	return ids, "", nil
}
