package task_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/task"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestAddedAfterLostClaim checks that a run finds an addition between its claim, whose answer is
// lost, and the repetition of the claim.
func TestAddedAfterLostClaim(t *testing.T) {
	s := task.New(storetest.New(t))
	wake := func() {
		_, err := s.Write(t.Context(), s.Wake(ref, true))
		must.Do(t, err)
	}
	wake()
	lost := false
	other := task.New(storetest.Through(t, s.Table, func(next aws.HTTPClient) aws.HTTPClient {
		return storetest.Client(func(r *http.Request) (*http.Response, error) {
			answer, err := next.Do(r)
			if lost || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") {
				return answer, err
			}
			lost = true
			wake()
			return nil, errors.New("connection reset")
		})
	}))
	c, err := other.Claim(t.Context(), ref, lease)
	if err != nil || c == nil || !lost {
		t.Fatal(c, err, lost)
	}
	stored, err := s.Task(t.Context(), ref)
	must.Do(t, err)
	if !stored.Sees(s.Millis()) {
		t.Error("the task does not see a further addition")
	}
	added := s.Millis()
	if due, err := s.Settle(t.Context(), c, task.Outcome{Added: added}); due != added || err != nil {
		t.Errorf("next step at %d, %v", due, err)
	}
}

// TestLowerPosition checks that a run that begins in the middle of a touch with a lower position
// does not end the task before a run has seen that position.
func TestLowerPosition(t *testing.T) {
	for _, ends := range []bool{false, true} {
		s := task.New(storetest.New(t))
		due := s.Millis() - time.Second.Milliseconds()
		touch := func(s *task.Store, from string) {
			_, err := s.Touch(t.Context(), ref, due, task.Addition{Body: "b", From: from}, 1_900_000_000)
			must.Do(t, err)
		}
		touch(s, "5")
		var c *task.Task
		settle := func() {
			_, err := s.Settle(t.Context(), c, task.Outcome{Added: due})
			must.Do(t, err)
		}
		touch(task.New(storetest.Watched(t, s.Table, func(operation, body string) *http.Response {
			if c == nil && strings.Contains(body, "ConditionExpression") { // after the first write
				var err error
				c, err = s.Claim(t.Context(), ref, lease)
				must.Do(t, err)
				if ends {
					settle()
				}
			}
			return nil
		})), "3")
		if c == nil || c.From != "5" {
			t.Fatalf("claimed %+v", c)
		}
		if !ends {
			settle()
		}
		var left []*task.Task
		if left = waiting(t, s, string(ref.Kind), collab.MaxMillis-1); len(left) != 1 {
			t.Fatalf("ends %v: waiting %+v", ends, left)
		}
		if got, err := s.Task(t.Context(), ref); err != nil || got == nil || got.From != "3" {
			t.Errorf("ends %v: %+v, %v", ends, got, err)
		}
	}
}
