package threads

import (
	"context"
	"slices"
	"strconv"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// Memory limits of one update of many annotations.
const (
	headsAtOnce = 100 // heads read ahead of their writes
	// Threads whose comments also change; each takes up to about 10 MB.
	threadsAtOnce = 8
)

// UpdateAnnotations changes annotations and returns the errors in the order of ids. It writes the
// attributes that differ if no other request wrote in between: see store.Table.Try. If an earlier
// attempt of the request changed an annotation, that is success.
//
// Errors are NOT_FOUND if the annotation does not exist, INVALID_ARGUMENT if its head or a comment
// would be too large, ABORTED, and those of c's functions.
//
// With c.Comment, one transaction writes the head and up to collab.MaxComments changed comments.
// More comments go first, in separate transactions, and the head last. A call that dies in between
// leaves changed comments, which a retry with the same mark keeps.
func (s *Store) UpdateAnnotations(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ids []string, c collab.AnnotationChange,
) []error {
	updates := make([]*update, len(ids))
	for i, id := range ids {
		updates[i] = &update{s: s, req: req, doc: doc, id: id, n: i, c: c}
	}
	var errs []error
	if c.Comment != nil {
		lanes := min(threadsAtOnce, len(ids))
		errs = make([]error, len(ids))
		store.All(lanes, func(lane int) error {
			for i := lane; i < len(ids); i += lanes {
				errs[i] = updates[i].thread(ctx)
			}
			return nil
		})
		return errs
	}
	for part := range slices.Chunk(updates, headsAtOnce) {
		itemKeys := collab.Map(part, (*update).key)
		found, err := s.GetAll(ctx, itemKeys, true)
		if err == nil && collab.UsageOf(ctx).Limited() {
			calls := make([][]store.Write, len(part))
			store.All(len(part), func(i int) error {
				calls[i] = part[i].first(ctx, found[itemKeys[i]])
				return nil
			})
			err = s.Reserve(ctx, calls...)
		}
		errs = append(errs, store.All(len(part), func(i int) error {
			if err != nil {
				return err
			}
			return part[i].head(ctx, found[itemKeys[i]])
		})...)
	}
	return errs
}

type update struct {
	s   *Store
	req *request.Request
	doc collab.DocumentRef
	id  string
	n   int // index of the annotation
	c   collab.AnnotationChange

	events []*collab.Event // recorded by the writes
	begun  *attempt        // the first one, nil after it
}

// attempt is one computation of the writes of an update.
type attempt struct {
	writes []store.Write
	err    error
}

// first computes the writes of the first attempt, for head.
func (u *update) first(ctx context.Context, found store.Item) []store.Write {
	u.begun = new(attempt)
	u.begun.writes, u.begun.err = u.compute(ctx, found)
	return u.begun.writes
}

// SetLevel sets the level of users for annotations. The errors correspond to ids: NOT_FOUND if the
// annotation does not exist, RESOURCE_EXHAUSTED if more than collab.MaxFollows users would have a
// level. If check, which can be nil, returns an error for one of the annotations, SetLevel returns
// it for all, and changes nothing.
func (s *Store) SetLevel(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, ids, users []string, level collab.Level,
	check func(*collab.Annotation) error,
) []error {
	heads, err := s.heads(ctx, doc, ids)
	calls := make([][]store.Write, len(ids))
	for i, id := range ids {
		k := headKey(doc, id)
		calls[i] = []store.Write{store.Rewriting(k)}
		if err == nil && heads[k] == nil {
			err = collab.NoAnnotation(doc, id)
		}
		if err == nil && check != nil {
			var a collab.Annotation
			if a, err = readHead(heads[k]); err == nil {
				err = check(&a)
			}
		}
	}
	if err == nil {
		err = s.Reserve(ctx, calls...)
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(ids))
	}
	return store.All(len(ids), func(i int) error {
		return s.changeFollows(ctx, req, doc, ids[i], heads[headKey(doc, ids[i])], func(f *collab.Follows) *collab.Follows {
			for _, u := range users {
				if f.Of(u) != level {
					f = f.Set(u, level)
				}
			}
			return f
		})
	})
}

// RestoreLevels sets the levels of users that have none for an annotation. It returns the previous
// levels.
func (s *Store) RestoreLevels(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, id string, users []string, levels []collab.Level,
) (before []collab.Level, err error) {
	err = s.changeFollows(ctx, req, doc, id, nil, func(f *collab.Follows) *collab.Follows {
		before = make([]collab.Level, len(users))
		for i, u := range users {
			if before[i] = f.Of(u); before[i] == collab.LevelDefault && levels[i] != collab.LevelDefault {
				f = f.Set(u, levels[i])
			}
		}
		return f
	})
	return before, err
}

// changeFollows changes the followers of an annotation. it is its head, nil if it was
// not read. change returns its argument if nothing changes. It may be called several times.
func (s *Store) changeFollows(
	ctx context.Context, req *request.Request, doc collab.DocumentRef, id string, it store.Item, change func(*collab.Follows) *collab.Follows,
) error {
	return s.Try(ctx, "annotation "+strconv.Quote(id), req.Mark(), func(ctx context.Context) (_ []store.Write, err error) {
		if it == nil {
			it, err = s.Get(ctx, headKey(doc, id))
		}
		if err == nil && it == nil {
			err = collab.NoAnnotation(doc, id)
		}
		if err != nil {
			return nil, err
		}
		changed := false
		var a collab.Annotation
		write, err := store.Rewritten(it.Key(), it, req.Mark(), &a, func(a *collab.Annotation, _ bool) error {
			before := a.Follows
			a.Follows = change(before)
			changed = a.Follows != before
			return collab.CheckFollows(before, a.Follows, collab.MaxFollows, req.Person != nil)
		})
		if it = nil; err != nil || !changed { // the next attempt reads it again
			return nil, err
		}
		return []store.Write{write}, nil
	})
}

func (u *update) key() keys.Key { return headKey(u.doc, u.id) }

// head changes an annotation's head. found is the head as read, nil if there is none.
func (u *update) head(ctx context.Context, found store.Item) error {
	first := true
	return u.try(ctx, func(ctx context.Context) (_ []store.Write, err error) {
		if begun := u.begun; begun != nil {
			first, u.begun = false, nil
			return begun.writes, begun.err
		}
		if !first {
			if found, err = u.s.Get(ctx, u.key()); err != nil {
				return nil, err
			}
		}
		first = false
		return u.compute(ctx, found)
	})
}

// compute returns the writes of an attempt for the head that was read, nil if there is none.
func (u *update) compute(ctx context.Context, found store.Item) ([]store.Write, error) {
	if found == nil {
		return nil, collab.NoAnnotation(u.doc, u.id)
	}
	return u.changeHead(ctx, found, false, nil)
}

// try is store.Table.Try for the update's writes. Afterwards it notes the recorded events.
func (u *update) try(ctx context.Context, compute func(context.Context) ([]store.Write, error)) error {
	err := u.s.Try(ctx, nameOf(u.id), u.req.Mark(), compute)
	if err == nil {
		u.req.Recorded(u.events...)
	}
	return err
}

// changeHead returns the writes of a head, the given comments, and the events, none if an earlier
// attempt changed the head.
func (u *update) changeHead(ctx context.Context, before store.Item, commentsChanged bool, comments []store.Write) ([]store.Write, error) {
	if u.wrote(before) {
		return nil, nil
	}
	a, err := u.selected(before)
	if err != nil {
		return nil, err
	}
	old := a
	if u.events, err = u.c.Head(u.n, &a, commentsChanged); err != nil {
		return nil, err
	}
	after := store.Overlay[head](before, headItem(u.doc, &a))
	var same []string
	if a.LastUpdated > timeKey(before) {
		setTimeKey(after, u.doc, u.id, a.LastUpdated)
		same = []string{keys.Upd} // a comment may have moved it since
	}
	if err := store.CheckSize(after, "the annotation"); err != nil {
		return nil, err
	}
	var left []store.Write
	if narrows(&old, &a) {
		if u.c.Narrow != nil {
			if err := u.c.Narrow(ctx, &old, &a); err != nil {
				return nil, err
			}
			same = []string{keys.Upd}
		}
		left = []store.Write{u.s.leftWrite(ctx, u.doc, &old, false)}
	}
	writes := append(append(comments, u.write(before, after, same...)), left...)
	return append(writes, u.s.Outbox.Record(u.events...)...), nil
}

// selected returns the annotation of a head. It returns an error if the change does not select it.
func (u *update) selected(head store.Item) (collab.Annotation, error) {
	a, err := readHead(head)
	if err == nil && u.c.Select != nil {
		err = u.c.Select(&a)
	}
	return a, err
}

func (u *update) wrote(it store.Item) bool { return it.WrittenBy(u.req.Mark()) }

func (u *update) write(before, after store.Item, same ...string) store.Write {
	// keys.AddedBy detects an annotation that was deleted and added again.
	return store.Change(before, after, u.req.Mark(), append(same, keys.Rev, keys.AddedBy)...)
}

// thread changes an annotation's comments and head. It reads the thread in parts, and writes
// changes that do not fit in the head's transaction before it.
func (u *update) thread(ctx context.Context) error {
	return u.try(ctx, func(ctx context.Context) ([]store.Write, error) {
		w := &threadUpdate{update: u}
		q := store.Scan{PK: u.key().PK, Keys: threadSpan(u.key().SK), Strong: true}
		for it, err := range u.s.Items(ctx, q) {
			if err != nil {
				return nil, err
			}
			if done, err := w.take(ctx, it); done || err != nil {
				return nil, err
			}
		}
		return w.finish(ctx)
	})
}

// threadUpdate is one attempt to update a thread.
type threadUpdate struct {
	*update
	head    store.Item
	changes []store.Write // pending changes of comments
	size    int           // of these, in bytes
	some    bool          // some comments changed
	ahead   bool          // some changes were written before the head
}

// take adds the next item of the thread. done is true if an earlier attempt changed all of it.
func (w *threadUpdate) take(ctx context.Context, it store.Item) (done bool, err error) {
	switch {
	case it.Key() == w.key():
		if w.head = it; w.wrote(it) {
			return true, nil
		}
		_, err := w.selected(it)
		return false, err
	case w.head == nil:
		return false, collab.NoAnnotation(w.doc, w.id)
	case !belongs(it, w.head):
		return false, nil
	case w.wrote(it):
		w.some = true
		return false, nil
	}
	changed := false
	_, _, after, err := changedComment(w.doc, w.id, it, func(c *collab.Comment) (err error) {
		changed, err = w.c.Comment(c)
		return err
	})
	if err != nil || !changed {
		return false, err
	}
	w.some = true
	size := max(it.Size(), after.Size())
	if full := len(w.changes) == collab.MaxComments || w.size+size+w.head.Size() > store.MaxWriteBytes; full && len(w.changes) > 0 {
		if err := w.writeAhead(ctx); err != nil {
			return false, err
		}
	}
	w.changes = append(w.changes, w.write(it, after))
	w.size += size
	return false, nil
}

// writeAhead writes the pending changes. It touches the head first, because readers see them at
// once.
func (w *threadUpdate) writeAhead(ctx context.Context) error {
	if !w.ahead {
		if _, err := w.s.touch(ctx, w.doc, w.id, w.req.Millis(), nil); err != nil {
			return err
		}
		w.ahead = true
	}
	refused, err := w.s.Write(ctx, w.changes...)
	if err == nil && refused != nil && !refused.By(w.req.Mark()) {
		err = store.ErrOvertaken
	}
	w.changes, w.size = nil, 0
	return err
}

// finish returns the remaining writes, with the head.
func (w *threadUpdate) finish(ctx context.Context) ([]store.Write, error) {
	if w.head == nil {
		return nil, collab.NoAnnotation(w.doc, w.id)
	}
	if w.ahead { // the head was touched since
		head, err := w.s.Get(ctx, w.key())
		if err != nil {
			return nil, err
		}
		if head == nil || birth(head) != birth(w.head) {
			return nil, store.ErrOvertaken
		}
		w.head = head
	}
	return w.changeHead(ctx, w.head, w.some, w.changes)
}
