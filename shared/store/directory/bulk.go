package directory

import (
	"context"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// errDone reports that an earlier attempt of the request already made the change.
var errDone = errors.New("done by an earlier attempt")

// beginner is implemented by types with a lifetime: see collab.Lifetime.
type beginner interface {
	Begin(before collab.Lifetime, now collab.Millis)
}

// changes adds or changes the items of keys for a request: see store.Rewrite. change sees a deleted
// item as missing; adding it again starts empty, with another incarnation. Changes by an earlier
// attempt of the request are kept.
type changes[T any] struct {
	s       *Store
	req     *request.Request
	subject func(i int) string // name in error messages
	keys    []keys.Key
	change  func(i int, v *T, exists bool) error
}

// write returns the write of change i, nil if there is nothing to do. before is the item as read.
func (c *changes[T]) write(i int, before store.Item) (*store.Write, error) {
	if c.req.Repeat && before.WrittenBy(c.req.Mark()) {
		return nil, nil
	}
	var lifetime collab.Lifetime
	if err := before.Decode(&lifetime); err != nil {
		return nil, err
	}
	var v T
	if before != nil && lifetime.DeletedAt == 0 {
		w, err := store.Rewritten(c.keys[i], before, c.req.Mark(), &v, func(v *T, exists bool) error { return c.change(i, v, exists) })
		return &w, err
	}
	if err := c.change(i, &v, false); err != nil {
		return nil, err
	}
	if err := settled(lifetime, c.subject(i), c.s.Now()); err != nil {
		return nil, err
	}
	if life, ok := any(&v).(beginner); ok {
		life.Begin(lifetime, c.s.Millis())
	}
	w := store.Change(before, store.ItemOf(c.keys[i], v), c.req.Mark())
	return &w, nil
}

// all makes the changes concurrently. The errors correspond to the keys.
func (c *changes[T]) all(ctx context.Context) []error {
	return store.All(len(c.keys), func(i int) error {
		err := c.s.Try(ctx, c.subject(i), c.req.Mark(), func(ctx context.Context) ([]store.Write, error) {
			before, err := c.s.Get(ctx, c.keys[i])
			if err != nil {
				return nil, err
			}
			w, err := c.write(i, before)
			if w == nil || err != nil {
				return nil, err
			}
			return []store.Write{*w}, nil
		})
		return c.end(i, err)
	})
}

func (c *changes[T]) end(i int, err error) error {
	c.s.Forget(c.keys[i])
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

const together = 50

// allWith makes the changes like all, but in transactions of several changes and the condition
// require.
func (c *changes[T]) allWith(ctx context.Context, require func(ctx context.Context) ([]store.Write, error)) []error {
	errs := make([]error, len(c.keys))
	for from, to := 0, 0; from < len(c.keys); from = to {
		var written []int
		err := c.s.Try(ctx, c.subject(from), c.req.Mark(), func(ctx context.Context) ([]store.Write, error) {
			to, written = min(from+together, len(c.keys)), nil
			found, err := c.s.GetAll(ctx, c.keys[from:to], true)
			var writes []store.Write
			bytes := 0
			for i := from; i < to; i++ {
				w, failure := (*store.Write)(nil), err
				if err == nil {
					w, failure = c.write(i, found[c.keys[i]])
				}
				if errs[i] = c.end(i, failure); w == nil || failure != nil {
					continue
				}
				if bytes += found[c.keys[i]].Size() + store.SizeOf(*w); bytes > store.MaxWriteBytes && writes != nil {
					to = i
					break
				}
				writes, written = append(writes, *w), append(written, i)
			}
			if err != nil || writes == nil {
				return nil, err
			}
			conditions, err := require(ctx)
			return append(writes, conditions...), err
		})
		for _, i := range written {
			errs[i] = c.end(i, err)
		}
	}
	return errs
}

func always(subject string) func(int) string { return func(int) string { return subject } }
