package outbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/storetest"
)

// pending returns the pending work of the store, earliest first.
func (s *Store) pending(t *testing.T) []Work {
	t.Helper()
	all := storetest.Pending(t, s.Work)
	slices.SortStableFunc(all, func(a, b Work) int { return int(a.Next - b.Next) })
	return all
}

// TestTooLargeJob: a job with the longest ids in the largest form is INVALID_ARGUMENT.
func TestTooLargeJob(t *testing.T) {
	storetest.OnEach(t, New, func(t *testing.T, s *Store) {
		job := Job{ID: "job", Account: "acct"}
		for i := range 500 {
			id := strings.Repeat(`\`, collab.MaxDocumentID-3) + fmt.Sprint(i)
			job.Things = append(job.Things, JobThing{Kind: collab.ADocument, ID: id})
		}
		if _, err := s.AddJob(t.Context(), job); collab.CodeOf(err) != collab.InvalidArgument {
			t.Errorf("%v", err)
		}
		if _, err := s.JobProgress(t.Context(), "acct", "job"); collab.CodeOf(err) != collab.NotFound {
			t.Errorf("it is kept: %v", err)
		}
	})
}

// TestKeepUnknown: changes keep attributes of a newer version.
func TestKeepUnknown(t *testing.T) { storetest.OnEach(t, New, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	work := Work{EventRef: ref, Kind: collab.EventWork}
	storetest.KeepsUnknown(t, s.Table, map[keys.Key]func() error{
		workKey(work): func() error {
			from, err := s.Pending(ctx, ref, collab.EventWork)
			if err != nil {
				return err
			}
			to := *from
			to.Stage = StageRecipients
			moved, err := s.Advance(ctx, *from, to)
			if !moved {
				t.Error("not moved")
			}
			return err
		},
	})
}
