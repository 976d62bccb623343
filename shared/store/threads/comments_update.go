package threads

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// UpdateComments changes comments of an annotation: see store.Table.Try. With c.Event, each
// transaction changes as many comments as fit, all or none, with one event. The annotation's
// lastUpdated moves to c.At, never back. If c.At is 0, it stays, and Left reports the change.
//
// It returns errors by comment id: NOT_FOUND, ABORTED, INVALID_ARGUMENT if the comment would be too
// large, and those of c.Change. It returns NOT_FOUND, and changes nothing, if the annotation does
// not exist.
func (s *Store) UpdateComments(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ann string, c collab.CommentChange,
) (map[int64]error, error) {
	u := &commentUpdate{s: s, req: req, doc: doc, ann: ann, c: c, failures: map[int64]error{}}
	u.touch = sync.OnceValues(func() (store.Item, error) {
		if c.At == 0 {
			return s.Get(ctx, headKey(doc, ann))
		}
		return s.touch(ctx, doc, ann, c.At, nil)
	})
	group := collab.MaxComments
	if c.Event == nil {
		group = 1
	}
	some := false
	for ids := range slices.Chunk(c.IDs, collab.MaxComments) {
		found, err := s.GetAll(ctx, u.keys(ids), true)
		if err != nil && !some {
			return nil, err
		}
		some = some || len(found) > 0
		groups := slices.Collect(slices.Chunk(ids, group))
		store.All(len(groups), func(i int) error {
			u.changeGroup(ctx, groups[i], found, err)
			return nil
		})
	}
	if len(u.failures) < len(c.IDs) {
		return u.failures, nil
	}
	head, err := s.Get(ctx, headKey(doc, ann))
	if err == nil && head == nil {
		err = collab.NoAnnotation(doc, ann)
	} else if some {
		err = nil // each comment has its own error
	}
	return u.failures, err
}

type commentUpdate struct {
	s     *Store
	req   *request.Request
	doc   collab.DocumentRef
	ann   string
	c     collab.CommentChange
	touch func() (store.Item, error) // touches the head once, and returns it as before

	touched atomic.Bool

	mu       sync.Mutex
	failures map[int64]error
}

func (u *commentUpdate) keys(ids []int64) []keys.Key {
	return collab.Map(ids, func(id int64) keys.Key { return commentKey(u.doc, u.ann, id) })
}

// fail sets the error of a comment; nil clears it.
func (u *commentUpdate) fail(id int64, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failures[id] = err; err == nil {
		delete(u.failures, id)
	}
}

func (u *commentUpdate) missing(id int64) error {
	return collab.Errorf(collab.NotFound, "comment %d does not exist in annotation %q", id, u.ann)
}

// changeGroup changes comments in as many transactions as needed. found and err are the result of
// reading them.
func (u *commentUpdate) changeGroup(ctx context.Context, ids []int64, found map[keys.Key]store.Item, err error) {
	for len(ids) > 0 {
		n := 0 // comments in one transaction
		var ev *collab.Event
		if err == nil {
			err = u.s.Try(ctx, nameOf(u.ann), u.req.Mark(), func(ctx context.Context) (writes []store.Write, err error) {
				if found == nil {
					if found, err = u.s.GetAll(ctx, u.keys(ids), true); err != nil {
						return nil, err
					}
				}
				writes, n, ev, err = u.compute(ctx, ids, found)
				found = nil // the next attempt reads them again
				return writes, err
			})
		}
		if err != nil {
			for _, id := range ids {
				u.fail(id, err)
			}
			return
		}
		u.req.Recorded(ev)
		ids = ids[n:]
	}
}

// compute returns the writes that change the first n comments, as many as fit in a transaction, and
// their event. A comment that cannot be changed gets its own error.
func (u *commentUpdate) compute(
	ctx context.Context, ids []int64, found map[keys.Key]store.Item,
) (writes []store.Write, n int, ev *collab.Event, err error) {
	var former, changed []collab.Comment
	var read []store.Item // before the change
	size := 0
	for i, k := range u.keys(ids) {
		u.fail(ids[i], nil) // this attempt may succeed
		before := found[k]
		if before == nil {
			u.fail(ids[i], u.missing(ids[i]))
			continue
		}
		if before.WrittenBy(u.req.Mark()) {
			continue // by an earlier attempt
		}
		old, c, after, err := changedComment(u.doc, u.ann, before, u.c.Change)
		if err != nil {
			u.fail(ids[i], err)
			continue
		}
		if size += max(before.Size(), after.Size()); size > store.MaxWriteBytes && len(writes) > 0 {
			ids = ids[:i]
			break
		}
		writes = append(writes, store.Change(before, after, u.req.Mark(), keys.Rev, keys.AddedBy))
		former, changed, read = append(former, old), append(changed, c), append(read, before)
	}
	if len(writes) == 0 {
		return nil, len(ids), nil, nil
	}
	if u.c.At != 0 && collab.UsageOf(ctx).Limited() && !u.touched.Swap(true) {
		put := writes
		if u.c.Event != nil {
			put = slices.Concat(put, u.s.Outbox.Record(u.c.Event(&collab.Annotation{ID: u.ann}, former, changed)))
		}
		if err := u.s.Reserve(ctx, []store.Write{store.Rewriting(headKey(u.doc, u.ann))}, put); err != nil {
			return nil, len(ids), nil, err
		}
	}
	itself, err := u.touch()
	if err == nil && itself == nil {
		err = collab.NoAnnotation(u.doc, u.ann)
	}
	if err != nil {
		return nil, len(ids), nil, err
	}
	for i := len(read) - 1; i >= 0; i-- {
		if !belongs(read[i], itself) { // of a deleted thread with this id
			u.fail(changed[i].ID, u.missing(changed[i].ID))
			writes, former, changed = slices.Delete(writes, i, i+1), slices.Delete(former, i, i+1), slices.Delete(changed, i, i+1)
		}
	}
	head, err := readHead(itself)
	if err != nil {
		return nil, 0, nil, err
	}
	if len(writes) > 0 && u.c.At == 0 {
		writes = append(writes, u.s.changedWrite(u.doc, &head))
	}
	if len(writes) == 0 || u.c.Event == nil {
		return writes, len(ids), nil, nil
	}
	ev = u.c.Event(&head, former, changed)
	return append(writes, u.s.Outbox.Record(ev)...), len(ids), ev, nil
}

// changedComment returns a stored comment before and after change, and its new item.
func changedComment(
	doc collab.DocumentRef, ann string, before store.Item, change func(*collab.Comment) error,
) (old, c collab.Comment, after store.Item, err error) {
	if old, err = readComment(before); err != nil {
		return old, c, nil, err
	}
	c = old
	if err = change(&c); err != nil {
		return old, c, nil, err
	}
	changed, err := commentItem(doc, ann, &c, "comment "+strconv.FormatInt(c.ID, 10))
	return old, c, store.Overlay[collab.Comment](before, changed), err
}
