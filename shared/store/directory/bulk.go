package directory

import (
	"context"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// errDone says that an earlier attempt at the request did what it asks for.
var errDone = errors.New("done by an earlier attempt")

// beginner is a T whose items have a lifetime: see collab.Lifetime.
type beginner interface {
	Begin(before collab.Lifetime, now collab.Millis)
}

// changeAll changes the items of keys, or adds them, side by side: see store.Rewrite. To change, what is deleted does not exist; what is
// added under its id is empty, and another incarnation. What an earlier attempt at the request changed stays as it is. Errors stand at the
// places of their keys.
func changeAll[T any](
	ctx context.Context, s *Store, req *request.Request, what func(i int) string, itemKeys []keys.Key, change func(i int, v *T, exists bool) error,
) []error {
	errs := make([]error, len(itemKeys))
	store.All(len(itemKeys), func(i int) {
		errs[i] = s.Try(ctx, what(i), req.Mark(), func(ctx context.Context) ([]store.Write, error) {
			before, err := s.Get(ctx, itemKeys[i])
			if err != nil || req.Repeat && before.Text(keys.Writer) == req.Mark() {
				return nil, err
			}
			var of collab.Lifetime
			if err := before.Decode(&of); err != nil {
				return nil, err
			}
			var v T
			if before != nil && of.DeletedAt == 0 {
				w, err := store.Rewritten(itemKeys[i], before, req.Mark(), &v, func(v *T, exists bool) error { return change(i, v, exists) })
				return []store.Write{w}, err
			}
			if err := change(i, &v, false); err != nil {
				return nil, err
			}
			if err := settled(of, what(i), s.Now()); err != nil {
				return nil, err
			}
			if life, ok := any(&v).(beginner); ok {
				life.Begin(of, s.Millis())
			}
			return []store.Write{store.Change(before, store.ItemOf(itemKeys[i], v), req.Mark())}, nil
		})
		s.Forget(itemKeys[i])
		if errors.Is(errs[i], errDone) {
			errs[i] = nil
		}
	})
	return errs
}

// always returns what says the same of everything.
func always(what string) func(int) string { return func(int) string { return what } }

// behind returns so many of what q finds under a prefix behind an id, "" for all, and is not deleted, each by read; 0 for as many as there
// are.
func behind[T any](
	ctx context.Context, s *Store, q store.Scan, prefix, after string, most int, read func(store.Item) (T, error),
) ([]T, error) {
	if after != "" {
		q.Keys = q.Keys.After(prefix + keys.Escape(after))
	}
	q.Limit = most
	var list []T
	for it, err := range s.Items(ctx, q) {
		if err != nil {
			return nil, err
		}
		if it[keys.DeletedAt] != nil {
			continue
		}
		v, err := read(it)
		if err != nil {
			return nil, err
		}
		if list = append(list, v); len(list) == most {
			break
		}
	}
	return list, nil
}
