package outbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// onEach runs a test on a table that is reached plainly, and on one behind the chaos transport.
func onEach(t *testing.T, test func(t *testing.T, s *Store)) {
	storetest.OnEach(t, func(t *testing.T, table *store.Table) {
		test(t, New(table))
	})
}

// pending returns the pending work of the store, those that are due first ahead.
func (s *Store) pending(t *testing.T) []Work {
	t.Helper()
	all := storetest.Pending(t, s.Work)
	slices.SortStableFunc(all, func(a, b Work) int { return int(a.Next - b.Next) })
	return all
}

// TestTooLargeJob keeps no job of the longest ids in the form that takes most: that is the caller's mistake.
func TestTooLargeJob(t *testing.T) {
	onEach(t, func(t *testing.T, s *Store) {
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

// TestKeepUnknown holds that no change drops attributes that a newer version has written.
func TestKeepUnknown(t *testing.T) { onEach(t, testKeepUnknown) }

func testKeepUnknown(t *testing.T, s *Store) {
	ctx := t.Context()
	_, ref := s.addEvent(t, "e")
	work := Work{EventRef: ref, Kind: collab.EventWork}
	for k, change := range map[keys.Key]func() error{
		workKey(work): func() error {
			from, err := s.Pending(ctx, ref, collab.EventWork)
			if err != nil {
				return err
			}
			to := *from
			to.Stage = StageRecipients
			if moved, err := s.Advance(ctx, *from, to); !moved {
				t.Error("not moved", err)
			}
			return s.ReportEnd(ctx, to)
		},
	} {
		if _, err := s.Write(ctx, store.Update(k, expression.Set(expression.Name("newer"), expression.Value("kept")))); err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Error(k, err)
		}
		if it, err := s.Get(ctx, k); err != nil || it.Text("newer") != "kept" {
			t.Errorf("%s lost an attribute: %v, %v", k, it, err)
		}
	}
}
