package task_test

import (
	"context"
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

// TestAttemptsEnd checks that attempts before a successful step do not count for the next.
func TestAttemptsEnd(t *testing.T) {
	s := task.New(storetest.New(t))
	_, err := s.Write(t.Context(), s.PutTask(&task.Task{TaskRef: ref, Due: s.Millis()}))
	must.Do(t, err)
	postponed, err := s.Postpone(t.Context(), waiting(t, s, string(ref.Kind), collab.MaxMillis-1)[0])
	if !postponed || err != nil {
		t.Fatal(err)
	}
	if c, err := s.Claim(t.Context(), ref, lease); err != nil || c.Attempts != 1 {
		t.Fatalf("%+v, %v", c, err)
	} else if due, err := s.Settle(t.Context(), c, task.Outcome{Due: c.Due}); due != c.Due || err != nil {
		t.Fatal(due, err)
	}
	if got, err := s.Task(t.Context(), ref); err != nil || got.Attempts != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestFailedWaits checks that neither a late message nor an addition starts a failed task.
func TestFailedWaits(t *testing.T) {
	s := task.New(storetest.New(t))
	for _, ref := range []collab.TaskRef{ref, event} {
		_, err := s.Write(t.Context(), s.PutTask(&task.Task{TaskRef: ref, Due: s.Millis() - 1}))
		must.Do(t, err)
		waits := waiting(t, s, string(ref.Kind), collab.MaxMillis-1)[0]
		waits.Attempts = task.MaxAttempts
		must.Do(t, s.Abandon(t.Context(), waits, "lost"))
		_, err = s.Touch(t.Context(), ref, s.Millis()-1_000, task.Addition{}, 1_900_000_000)
		must.Do(t, err)
	}
	with, err := s.Claim(t.Context(), ref, lease)
	without, failed := s.Claim(t.Context(), event, 0)
	if with != nil || without != nil || err != nil || failed != nil {
		t.Errorf("claimed %+v, %v; %+v, %v", with, err, without, failed)
	}
}

// TestExpiryGrows checks that an addition keeps a task as long as it needs.
func TestExpiryGrows(t *testing.T) {
	s := task.New(storetest.New(t))
	for _, expires := range []int64{1_900_000_000, 2_000_000_000} {
		_, err := s.Touch(t.Context(), ref, s.Millis(), task.Addition{Body: "b", From: "1"}, expires)
		must.Do(t, err)
		if got, err := s.Task(t.Context(), ref); err != nil || got.Expires != expires {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestAddedAfterLease checks that an addition is not left to a run that settles after its lease.
func TestAddedAfterLease(t *testing.T) {
	s := task.New(storetest.New(t))
	wake := func() {
		_, err := s.Write(t.Context(), s.Wake(ref, true))
		must.Do(t, err)
	}
	wake()
	c, err := s.Claim(t.Context(), ref, lease)
	must.Do(t, err)
	stored, err := s.Task(t.Context(), ref)
	must.Do(t, err)
	if !stored.Sees(stored.Lease + 1) {
		wake()
	}
	added := s.Millis()
	if due, err := s.Settle(t.Context(), c, task.Outcome{Added: added}); due != added || err != nil {
		t.Errorf("next step at %d, %v", due, err)
	}
}

// TestLeaseLost checks that a run neither goes on, settles nor fails after another one has taken
// its lease, and that the other one still fails after an addition.
func TestLeaseLost(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	s := task.New(storetest.New(t).At(func() time.Time { return now }))
	claim := func(lease time.Duration) *task.Task {
		t.Helper()
		c, err := s.Claim(t.Context(), ref, lease)
		if err != nil || c == nil {
			t.Fatal(c, err)
		}
		return c
	}
	wake := func() {
		t.Helper()
		_, err := s.Write(t.Context(), s.Wake(ref, true))
		must.Do(t, err)
	}
	wake()
	runs := []*task.Task{claim(0), claim(lease)}
	now = now.Add(lease)
	last := claim(lease)
	for _, c := range runs {
		if ok, err := s.Advance(t.Context(), c, "old"); ok || err != nil {
			t.Errorf("it goes on: %v, %v", ok, err)
		}
		if due, err := s.Settle(t.Context(), c, task.Outcome{Due: 1, Added: 1}); due != 0 || err != nil {
			t.Errorf("it settles: %v, %v", due, err)
		}
	}
	_, err := s.Fail(t.Context(), runs[1], "old")
	must.Do(t, err)
	wake()
	if _, err := s.Fail(t.Context(), last, "last"); err != nil {
		t.Error(err)
	}
	if got, err := s.Task(t.Context(), ref); err != nil || got.State != "" || got.Failure != "last" || got.Holder != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestLostSettle checks that a run settles although its answer is lost.
func TestLostSettle(t *testing.T) {
	s := task.New(storetest.New(t))
	_, err := s.Write(t.Context(), s.Wake(ref, true))
	must.Do(t, err)
	c, err := s.Claim(t.Context(), ref, lease)
	must.Do(t, err)
	lost := false
	other := task.New(storetest.Through(t, s.Table, func(next aws.HTTPClient) aws.HTTPClient {
		return storetest.Client(func(r *http.Request) (*http.Response, error) {
			answer, err := next.Do(r)
			if lost {
				return answer, err
			}
			lost = true
			return nil, errors.New("connection reset")
		})
	}))
	if due, err := other.Settle(t.Context(), c, task.Outcome{Due: 7}); due != 7 || err != nil || !lost {
		t.Errorf("next step at %d, %v", due, err)
	}
}

// TestCanceled checks that a run stores nothing after its process ends.
func TestCanceled(t *testing.T) {
	s := task.New(storetest.New(t))
	_, err := s.Write(t.Context(), s.Wake(ref, true))
	must.Do(t, err)
	for _, failure := range []error{nil, errors.New("down")} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Run(ctx, ref, time.Nanosecond, func(context.Context, *task.Task) (task.Outcome, error) {
			cancel()
			return task.Outcome{}, failure
		})
		if got, failed := s.Task(t.Context(), ref); err == nil || failed != nil || got == nil || got.Holder == "" || got.Failure != "" {
			t.Errorf("%v: %v; %+v, %v", failure, err, got, failed)
		}
	}
}
