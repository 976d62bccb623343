// Package directory stores organizations with their documents, folders, members, groups and
// preferences, and decides access to them.
//
// A method named Change… calls change with the present state, and again if another request wrote
// meanwhile, so change must depend only on its argument. An error of change leaves the state
// unchanged. Attributes unknown to this version are kept. These methods return ABORTED if conflicts
// persist, or if an answer is lost and another request has written since.
package directory

import (
	"context"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Store stores the directory in a table. It is safe for concurrent use.
type Store struct {
	*store.Table
	cached   *cache.Cache[keys.Key, opened] // enabled organizations and documents
	disabled bool                           // see WithDisabled

	profiles *cache.Cache[collab.UserAt, collab.Profile]
	levels   *cache.Cache[collab.Resource, []collab.Resource]
}

// New returns the directory in a table.
func New(t *store.Table) *Store {
	return &Store{
		Table: t, cached: cache.New[keys.Key, opened](mostCached),
		profiles: cache.New[collab.UserAt, collab.Profile](mostProfiles), levels: cache.New[collab.Resource, []collab.Resource](mostCached),
	}
}

// WithDisabled returns a directory for an operator: disabled organizations and documents count as
// enabled, and comments, which an import adds, give nobody access. It has its own cache.
func (s *Store) WithDisabled() *Store {
	d := New(s.Table)
	d.disabled = true
	return d
}

// reader returns a function that decodes items. It sets the id to the part of the sort key after
// prefix.
func reader[T any](prefix string, id func(*T) *string) func(store.Item) (T, error) {
	return func(it store.Item) (v T, err error) {
		if err = it.Decode(&v); err == nil {
			*id(&v), err = store.LastPart(it, prefix)
		}
		return v, err
	}
}

func readAll[T any](items []store.Item, read func(store.Item) (T, error)) ([]T, error) {
	list := make([]T, len(items))
	for i, it := range items {
		var err error
		if list[i], err = read(it); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readByIDs reads the existing items of ids, in their order and without repeats.
func readByIDs[T any](
	ctx context.Context, s *Store, ids []string, key func(id string) keys.Key, strong bool, read func(store.Item) (T, error),
) ([]T, error) {
	itemKeys := collab.Map(ids, key)
	found, err := s.GetAll(ctx, itemKeys, strong)
	if err != nil {
		return nil, err
	}
	var items []store.Item
	for _, k := range itemKeys {
		if it := found[k]; it != nil {
			items = append(items, it)
			delete(found, k)
		}
	}
	return readAll(items, read)
}
