package outbox

import (
	"context"
	"slices"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/storetest"
)

// prefer are the preferences of users, who have the default ones otherwise.
type prefer map[string]collab.Preferences

func (p prefer) Preferences(_ context.Context, _ collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error) {
	set, ok := p[user]
	if !ok {
		set = collab.DefaultPreferences
	}
	return slices.Repeat([]collab.Preferences{set}, len(documents)), nil
}

func preferences(s *Store) prefer { return s.preferences.(prefer) }

// onEach runs a test on a table that is reached plainly, and on one behind the chaos transport.
func onEach(t *testing.T, test func(t *testing.T, s *Store)) {
	storetest.OnEach(t, func(t *testing.T, table *store.Table) { test(t, New(table, prefer{})) })
}

// dueAt returns when the pending work of the store is due, earliest first.
func (s *Store) dueAt(t *testing.T) []collab.DueWork {
	t.Helper()
	var all []collab.DueWork
	for shard := range DueShards {
		list, err := s.Due(t.Context(), shard, collab.MaxMillis, 100)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b collab.DueWork) int { return int(a.At - b.At) })
	return all
}
