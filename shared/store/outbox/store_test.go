package outbox

import (
	"context"
	"slices"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/storetest"
	"collabdata/shared/table"
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

// pending returns the pending work of the store, those that are due first ahead.
func (s *Store) pending(t *testing.T) []collab.Work {
	t.Helper()
	var all []collab.Work
	for _, kind := range []collab.WorkKind{collab.EventWork, collab.MailWork, collab.LaneWork, collab.ParkedWork} {
		for shard := range table.DueShards {
			for from, more := "", true; more; more = from != "" {
				list, next, err := s.Work(t.Context(), kind, shard, from, 3, func(err error) { t.Error(err) })
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, list...)
				from = next
			}
		}
	}
	slices.SortStableFunc(all, func(a, b collab.Work) int { return int(a.Next - b.Next) })
	return all
}
