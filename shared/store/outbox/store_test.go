package outbox

import (
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"
)

// TestTooLargeJob: a job with the longest ids in the largest form is INVALID_ARGUMENT.
func TestTooLargeJob(t *testing.T) {
	storetest.OnEach(t, New, func(t *testing.T, s *Store) {
		job := Job{ID: "job", Account: "acct"}
		for i := range 500 {
			id := strings.Repeat(`\`, collab.MaxDocumentID-3) + fmt.Sprint(i)
			job.Things = append(job.Things, JobThing{Kind: collab.ADocument, ID: id})
		}
		if _, _, err := s.AddJob(t.Context(), job); collab.CodeOf(err) != collab.InvalidArgument {
			t.Errorf("%v", err)
		}
		if _, err := s.JobProgress(t.Context(), "acct", "job"); collab.CodeOf(err) != collab.NotFound {
			t.Errorf("it is kept: %v", err)
		}
	})
}
