package storetest

import (
	"context"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/must"
)

// WalkPages reads a list in pages of at most limit items, and returns the ids.
func WalkPages[T any](t testing.TB, limit int, read func(position string) ([]T, string, error), id func(T) string) []string {
	t.Helper()
	ids := []string{}
	for position := ""; ; {
		list, next, err := read(position)
		must.Do(t, err)
		if len(list) > limit {
			t.Fatalf("%d on a page of %d", len(list), limit)
		}
		for _, v := range list {
			ids = append(ids, id(v))
		}
		if next == "" {
			return ids
		}
		position = next
	}
}

// Waiting returns the waiting tasks of all kinds, by id. read is task.Store.Waiting.
func Waiting[T any](t testing.TB, read func(
	ctx context.Context, kind string, shard int, until collab.Millis, from string, limit int, skip func(error),
) (list []T, next string, err error)) (all []T) {
	t.Helper()
	for _, kind := range collab.TaskKinds() {
		for shard := range keys.DueShards {
			for from, more := "", true; more; more = from != "" {
				list, next, err := read(t.Context(), string(kind), shard, collab.MaxMillis-1, from, 3, func(err error) { t.Error(err) })
				must.Do(t, err)
				all = append(all, list...)
				from = next
			}
		}
	}
	return all
}
