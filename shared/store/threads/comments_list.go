package threads

import (
	"context"
	"iter"
	"math"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// ListComments yields the comments of an annotation with ids above after, in id order; an error
// comes last. It reads most+1 at a time, with strong consistency. It returns NOT_FOUND if the
// annotation does not exist.
func (s *Store) ListComments(
	ctx context.Context, doc collab.DocumentRef, ann string, after int64, limit int,
) iter.Seq2[collab.Comment, error] {
	return func(yield func(collab.Comment, error) bool) {
		k := headKey(doc, ann)
		q := store.Scan{PK: k.PK, Keys: threadSpan(k.SK), Limit: limit + 2, Strong: true}
		var head store.Item // first item of the thread
		var err error
		if after > 0 {
			q.Keys, q.Limit = q.Keys.After(commentKey(doc, ann, after).SK), limit+1
			head, err = s.Get(ctx, k)
		}
		if err == nil {
			for it, failed := range s.Items(ctx, q) {
				if head == nil {
					if err = failed; err != nil || it.Key() != k {
						break
					}
					head = it
					continue
				}
				c, ok, failed := commentOf(it, failed, head)
				if ok && !yield(c, failed) {
					return
				}
			}
		}
		if err == nil && head == nil {
			err = collab.NoAnnotation(doc, ann)
		}
		if err != nil {
			yield(collab.Comment{}, err)
		}
	}
}

// Comments returns the existing comments of an annotation by id, with strong consistency. It
// returns NOT_FOUND if the annotation does not exist.
func (s *Store) Comments(ctx context.Context, doc collab.DocumentRef, ann string, ids []int64) (map[int64]collab.Comment, error) {
	comments, _, err := s.SomeComments(ctx, doc, ann, ids, math.Inf(1))
	return comments, err
}

// SomeComments is Comments for the first n ids: as many as about units read units allow, at least
// one.
func (s *Store) SomeComments(
	ctx context.Context, doc collab.DocumentRef, ann string, ids []int64, units float64,
) (comments map[int64]collab.Comment, n int, err error) {
	itemKeys := []keys.Key{headKey(doc, ann)}
	for _, id := range ids {
		itemKeys = append(itemKeys, commentKey(doc, ann, id))
	}
	const least = 200 // for the head and a comment
	found, n, err := s.GetSome(ctx, itemKeys, true, max(units, least))
	head := found[itemKeys[0]]
	if err == nil && head == nil {
		err = collab.NoAnnotation(doc, ann)
	}
	if err != nil {
		return nil, 0, err
	}
	n--
	comments = make(map[int64]collab.Comment, n)
	for i, id := range ids[:n] {
		if it := found[itemKeys[i+1]]; it != nil && belongs(it, head) {
			if comments[id], err = readComment(it); err != nil {
				return nil, 0, err
			}
		}
	}
	return comments, n, nil
}

// RecentComments returns an annotation with up to limit of its last comments with ids below
// before, in id order. It returns nil if the annotation does not exist. It may miss changes of the
// last second.
func (s *Store) RecentComments(
	ctx context.Context, doc collab.DocumentRef, ann string, before int64, limit int,
) (*collab.Thread, error) {
	first := commentKey(doc, ann, 0)
	q := store.Scan{PK: first.PK, Newest: true, Keys: store.Span{From: first.SK, To: commentKey(doc, ann, before-1).SK}, Limit: limit}
	head := collab.Later(ctx, func() (store.Item, error) {
		k := headKey(doc, ann)
		found, err := s.GetAll(ctx, []keys.Key{k}, false)
		if err != nil || found[k] != nil {
			return found[k], err
		}
		return s.Get(ctx, k) // it may be new
	})
	t := &collab.Thread{Document: doc.Document}
	for it, failed := range s.Items(ctx, q) {
		item, err := head()
		if err != nil || item == nil {
			return nil, err
		}
		c, ok, err := commentOf(it, failed, item)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if t.Comments = append(t.Comments, c); len(t.Comments) == limit {
			break
		}
	}
	item, err := head()
	if err != nil || item == nil {
		return nil, err
	}
	slices.Reverse(t.Comments)
	t.Annotation, err = readHead(item)
	return t, err
}

// Latest returns the annotation of a part with up to limit of its last comments, in id order. It
// also returns the time until which a user has read it, 0 for never. The thread is nil if it does
// not exist. Latest reads at most 1 MB of comments, and may miss read states of the last second.
func (s *Store) Latest(ctx context.Context, p collab.ThreadPart, user string, limit int) (*collab.Thread, collab.Millis, error) {
	var head store.Item
	var items []store.Item
	var states *readStates
	p.Comments = nil
	k := headKey(p.Document, p.Annotation)
	err := store.Each(ctx, 3, func(ctx context.Context, i int) (err error) {
		switch i {
		case 0:
			head, err = s.Get(ctx, k)
		case 1:
			first := commentKey(p.Document, p.Annotation, 0)
			items, _, err = s.QueryPage(ctx, store.Scan{
				PK: first.PK, Keys: store.Span{From: first.SK, To: threadSpan(k.SK).To}, Newest: true, Limit: limit, Strong: true,
			})
		default:
			states, err = s.readStatesIn(ctx, p.Document, user, []string{p.Annotation})
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	t, err := readPart(p, map[keys.Key]store.Item{k: head})
	if err != nil || t == nil {
		return nil, 0, err
	}
	for _, it := range slices.Backward(items) {
		c, ok, err := commentOf(it, nil, head)
		if err != nil {
			return nil, 0, err
		}
		if ok {
			t.Comments = append(t.Comments, c)
		}
	}
	return t, states.before(p.Annotation, head), nil
}

// commentOf decodes a comment of a head, or returns failed. is is false for items to skip: from a
// later version, or not of this head.
func commentOf(it store.Item, failed error, head store.Item) (c collab.Comment, ok bool, err error) {
	if failed != nil {
		return c, true, failed
	}
	if _, _, unknown := keys.ParseAnnotation(it.Text(keys.SK)); unknown != nil || !belongs(it, head) {
		return c, false, nil
	}
	c, err = readComment(it)
	return c, true, err
}
