package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// thread changes an annotation's comments and its head. It reads the thread piece by piece, and writes what one transaction does not take
// ahead of the head.
func (u *update) thread(ctx context.Context) error {
	return u.s.Try(ctx, nameOf(u.id), u.c.Mark, func(ctx context.Context) ([]store.Write, error) {
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

// threadUpdate is one try to update a thread.
type threadUpdate struct {
	*update
	head    store.Item
	changes []rewritten // comments that wait for a transaction
	size    int         // of these, in bytes
	some    bool        // comments were changed
	ahead   bool        // some of them were written
}

// take takes the next item of the thread. done reports that an earlier try has changed all of it.
func (w *threadUpdate) take(ctx context.Context, it store.Item) (done bool, err error) {
	switch {
	case it.Key() == w.key():
		if w.head = it; w.did(it) {
			return true, nil
		}
		_, err := w.selected(it)
		return false, err
	case w.head == nil:
		return false, annotationMissing(w.doc, w.id)
	case w.did(it):
		w.some = true
		return false, nil
	}
	changed := false
	_, r, err := changedComment(w.doc, w.id, it, func(c *collab.Comment) (err error) {
		changed, err = w.c.Comment(c)
		return err
	})
	if err != nil || !changed {
		return false, err
	}
	w.some = true
	if full := len(w.changes) == transactComments || w.size+r.size()+w.head.Size() > store.MaxWriteBytes; full && len(w.changes) > 0 {
		if err := w.writeAhead(ctx); err != nil {
			return false, err
		}
	}
	w.changes = append(w.changes, r)
	w.size += r.size()
	return false, nil
}

// writeAhead writes the comments that wait. The head is touched before, as they can be seen at once.
func (w *threadUpdate) writeAhead(ctx context.Context) error {
	if !w.ahead {
		if _, err := w.s.touch(ctx, w.doc, w.id, w.c.Now, nil); err != nil {
			return err
		}
		w.ahead = true
	}
	refused, err := w.s.Write(ctx, w.writes(w.changes...)...)
	if err == nil && refused != nil && !refused.By(w.c.Mark) {
		err = store.ErrOvertaken
	}
	w.changes, w.size = nil, 0
	return err
}

// finish returns the writes of what is left, the head among them.
func (w *threadUpdate) finish(ctx context.Context) ([]store.Write, error) {
	if w.head == nil {
		return nil, annotationMissing(w.doc, w.id)
	}
	if w.ahead { // it was touched since
		head, err := w.s.Get(ctx, w.key())
		if err != nil {
			return nil, err
		}
		w.head = head
	}
	return w.changeHead(ctx, w.head, w.some, w.changes)
}
