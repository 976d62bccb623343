package threads

import (
	"context"
	"iter"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// ListComments yields the comments of an annotation whose ids are greater than after, by id, or an error as the last. Of those to come most
// and one more are read at once. Strongly consistent. It fails with NOT_FOUND when the annotation does not exist.
func (s *Store) ListComments(ctx context.Context, doc collab.DocumentRef, ann string, after int64, most int) iter.Seq2[collab.Comment, error] {
	return func(yield func(collab.Comment, error) bool) {
		head, some := headKey(doc, ann), false
		keys := threadSpan(head.SK).After(commentKey(doc, ann, after).SK)
		for c, err := range s.comments(ctx, store.Scan{PK: head.PK, Keys: keys, Limit: most + 1, Strong: true}) {
			if some = true; !yield(c, err) {
				return
			}
		}
		if !some { // an annotation without comments, or none
			it, err := s.Get(ctx, head)
			if err == nil && it == nil {
				err = annotationMissing(doc, ann)
			}
			if err != nil {
				yield(collab.Comment{}, err)
			}
		}
	}
}

// Comments returns those of the comments of an annotation that have one of the ids, by id. Strongly consistent. It fails with NOT_FOUND when the
// annotation does not exist.
func (s *Store) Comments(ctx context.Context, doc collab.DocumentRef, ann string, ids []int64) (map[int64]collab.Comment, error) {
	keys := []table.Key{headKey(doc, ann)}
	for _, id := range ids {
		keys = append(keys, commentKey(doc, ann, id))
	}
	found, err := s.GetAll(ctx, keys, true)
	if err == nil && found[keys[0]] == nil {
		err = annotationMissing(doc, ann)
	}
	if err != nil {
		return nil, err
	}
	comments := make(map[int64]collab.Comment, len(ids))
	for i, id := range ids {
		if it := found[keys[i+1]]; it != nil {
			if comments[id], err = readComment(it); err != nil {
				return nil, err
			}
		}
	}
	return comments, nil
}

// RecentComments returns up to most of the comments of an annotation whose ids are less than before, the last of them, by id. An
// annotation that does not exist has none. The latest of them may be missing for a second.
func (s *Store) RecentComments(ctx context.Context, doc collab.DocumentRef, ann string, before int64, most int) ([]collab.Comment, error) {
	first := commentKey(doc, ann, 0)
	q := store.Scan{PK: first.PK, Newest: true, Keys: store.Span{From: first.SK, To: commentKey(doc, ann, before-1).SK}, Limit: most}
	var list []collab.Comment
	for c, err := range s.comments(ctx, q) {
		if err != nil {
			return nil, err
		}
		if list = append(list, c); len(list) == most {
			break
		}
	}
	slices.Reverse(list)
	return list, nil
}

// comments yields the comments of a range, or an error as the last. What a later version keeps below an annotation is passed over.
func (s *Store) comments(ctx context.Context, q store.Scan) iter.Seq2[collab.Comment, error] {
	return func(yield func(collab.Comment, error) bool) {
		for it, err := range s.Items(ctx, q) {
			var c collab.Comment
			if err == nil {
				if _, _, unknown := table.ParseAnnotation(it.Text(table.SK)); unknown != nil {
					continue
				}
				c, err = readComment(it)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}
