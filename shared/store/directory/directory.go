// Package directory keeps what threads hang on, and who may see them: organizations with their documents, folders, members and preferences.
//
// A method named Change… changes what exists, or adds it where its comment says so. It calls change with the present state, and once more
// where others wrote meanwhile, so change depends on its argument alone; its error leaves everything as it is. Attributes that this version
// does not know are kept. It fails with ABORTED where others kept writing the same, or where an answer was lost and others wrote since.
package directory

import (
	"context"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Store is the directory in a table. Safe for concurrent use. Its methods fail like those of store.Table, and as their comments say.
type Store struct {
	*store.Table
	cached *cache.Cache[keys.Key, int64] // incarnations of organizations and documents that are there and enabled, by item

	removals *cache.Cache[keys.Key, bool] // organizations and documents that users were taken out of, by item: see BringBack

	disabled bool // see WithDisabled
}

// New returns the directory in a table.
func New(t *store.Table) *Store {
	return &Store{Table: t, cached: cache.New[keys.Key, int64](mostCached), removals: cache.New[keys.Key, bool](mostCached)}
}

// WithDisabled returns the same directory for what goes on in disabled organizations and documents, too: it opens and lists them as if they
// were enabled. It caches nothing together with s.
func (s *Store) WithDisabled() *Store {
	d := New(s.Table)
	d.disabled = true
	return d
}

// reader returns what reads the T of an item whose sort key is a prefix and its id.
func reader[T any](prefix string, id func(*T) *string) func(store.Item) (T, error) {
	return func(it store.Item) (v T, err error) {
		if err = it.Decode(&v); err == nil {
			*id(&v), err = store.LastPart(it, prefix)
		}
		return v, err
	}
}

// readAll reads items, each by read.
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

// readByIDs reads those of the ids that have items, in their order and each once, each by read.
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
