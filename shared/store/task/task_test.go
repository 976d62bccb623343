package task_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/task"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var (
	ref   = collab.TaskRef{Kind: collab.NoticeTask, Account: "acct", ID: "n"}
	event = collab.TaskRef{Kind: collab.EventTask, Account: "acct", ID: "e"}
)

const lease = time.Minute

// waiting returns the tasks of a kind in the index that the relay sends by a time.
func waiting(t testing.TB, s *task.Store, kind string, until collab.Millis) (all []*task.Task) {
	t.Helper()
	for shard := range keys.DueShards {
		for from, more := "", true; more; more = from != "" {
			list, next, err := s.Waiting(t.Context(), kind, shard, until, from, 2, func(err error) { t.Error(err) })
			must.Do(t, err)
			all, from = append(all, list...), next
		}
	}
	return all
}

// TestLife: a task is claimed when it is due, by one run at a time, and settled as done or for a
// later step. Additions during a run lead to another.
func TestLife(t *testing.T) {
	storetest.OnEach(t, task.New, func(t *testing.T, s *task.Store) {
		ctx := t.Context()
		now := time.UnixMilli(1_700_000_000_000)
		s = task.New(s.At(func() time.Time { return now }))
		due := now.Add(time.Hour).UnixMilli()
		touch := func(at collab.Millis, from string) bool {
			t.Helper()
			earlier, err := s.Touch(ctx, ref, at, task.Addition{Body: "body", From: from}, 1_800_000_000)
			must.Do(t, err)
			return earlier
		}
		claim := func(want bool) *task.Task {
			t.Helper()
			c, err := s.Claim(ctx, ref, lease)
			if must.Do(t, err); (c != nil) != want {
				t.Fatalf("claimed %+v, want %v", c, want)
			}
			return c
		}
		settle := func(c *task.Task, o task.Outcome, want collab.Millis) {
			t.Helper()
			if next, err := s.Settle(ctx, c, o); err != nil || next != want {
				t.Fatalf("next step at %d, %v; want %d", next, err, want)
			}
		}
		touch(due, "5")
		if touch(due+1, "7") || touch(due-10, "3") { // the relay sends it
			t.Error("a message has to be sent")
		}
		claim(false)
		got, err := s.Task(ctx, ref)
		must.Do(t, err)
		want := &task.Task{TaskRef: ref, Due: due - 10, From: "3", Body: "body", Expires: 1_800_000_000, Next: due - 10}
		ignore := cmpopts.IgnoreFields(task.Task{}, "Version")
		if diff := gocmp.Diff(want, got, ignore, cmpopts.IgnoreUnexported(task.Task{})); diff != "" {
			t.Error(diff)
		}
		now = time.UnixMilli(due)
		c := claim(true)
		claim(false)
		touch(due+5, "9")
		settle(c, task.Outcome{Added: due + 7, State: "s"}, due+7)
		claim(false)
		now = now.Add(7)
		now = time.UnixMilli(due + 7)
		c = claim(true)
		now = now.Add(lease)
		stolen := claim(true)
		settle(c, task.Outcome{Due: 1}, 0)
		if stolen.State != "s" || stolen.Attempts != 0 {
			t.Errorf("%+v", stolen)
		}
		settle(stolen, task.Outcome{Due: now.UnixMilli(), State: "t"}, now.UnixMilli())
		settle(claim(true), task.Outcome{}, 0)
		if items := storetest.Scan(t, s.Table); len(items) != 0 {
			t.Errorf("left %v", items)
		}
	})
}

// TestKept: a done task that is kept is not in the index, waits for nothing, and can be woken.
func TestKept(t *testing.T) {
	storetest.OnEach(t, task.New, func(t *testing.T, s *task.Store) {
		ctx := t.Context()
		_, err := s.Write(ctx, s.PutTask(&task.Task{TaskRef: event, Due: s.Millis(), Body: "b", Expires: 5}))
		must.Do(t, err)
		one, err := s.Claim(ctx, event, 0)
		must.Do(t, err)
		two, err := s.Claim(ctx, event, 0)
		must.Do(t, err)
		if ok, err := s.Advance(ctx, one, "1"); !ok || err != nil {
			t.Fatal(err)
		}
		if ok, err := s.Advance(ctx, two, "2"); ok || err != nil {
			t.Fatalf("two runs go on: %v", err)
		}
		if due, err := s.Settle(ctx, two, task.Outcome{}); due != 0 || err != nil {
			t.Fatal(due, err)
		}
		if due, err := s.Settle(ctx, one, task.Outcome{State: "1", Keep: true, Expires: 9}); due != 0 || err != nil {
			t.Fatal(due, err)
		}
		got, err := s.Task(ctx, event)
		if err != nil || got.Due != 0 || got.State != "1" || got.Body != "b" || got.Expires != 9 || len(waiting(t, s, string(event.Kind), collab.MaxMillis-1)) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if c, err := s.Claim(ctx, event, 0); c != nil || err != nil {
			t.Errorf("claimed %+v, %v", c, err)
		}
		_, err = s.Write(ctx, s.Wake(event, true))
		must.Do(t, err)
		if c, err := s.Claim(ctx, event, 0); c == nil || err != nil || len(waiting(t, s, string(event.Kind), collab.MaxMillis-1)) != 1 {
			t.Errorf("woken: %+v, %v", c, err)
		}
	})
}

// TestSees: a task leads to a run that sees an addition if no run has it and it is due. It also
// does if its run will find another version, even after the lease.
func TestSees(t *testing.T) {
	const now = 100
	for _, test := range []struct {
		task task.Task
		want bool
	}{
		{task.Task{}, false},
		{task.Task{Due: now}, true},
		{task.Task{Due: now + 1}, false},
		{task.Task{Due: now, Failed: true}, false},
		{task.Task{Due: 1, Lease: now + 1, Version: 7, Claimed: 7}, false},
		{task.Task{Due: 1, Lease: now + 1, Version: 8, Claimed: 7}, true},
		{task.Task{Due: 1, Lease: now, Version: 7, Claimed: 7}, false},
		{task.Task{Due: 1, Lease: now, Version: 8, Claimed: 7}, true},
	} {
		if got := test.task.Sees(now); got != test.want {
			t.Errorf("%+v: %v", test.task, got)
		}
	}
}

// TestNotDue: a task of a kind without leases is not claimed, nor sent by the relay, before it is
// due.
func TestNotDue(t *testing.T) {
	s := task.New(storetest.New(t))
	due := s.Millis() + time.Hour.Milliseconds()
	_, err := s.Write(t.Context(), s.PutTask(&task.Task{TaskRef: event, Due: due}))
	must.Do(t, err)
	for until, want := range map[collab.Millis]int{due - 1: 0, due: 1} {
		if list := waiting(t, s, string(event.Kind), until); len(list) != want {
			t.Errorf("until %d ms of its time: %v", until-due, list)
		}
	}
	if c, err := s.Claim(t.Context(), event, 0); c != nil || err != nil {
		t.Errorf("claimed %+v, %v", c, err)
	}
}

// TestFails: a task whose attempts fail, or are lost, waits for the operator in the end.
func TestFails(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost %v", lost), func(t *testing.T) {
			storetest.OnEach(t, task.New, func(t *testing.T, s *task.Store) {
				ctx := t.Context()
				now := time.Now().Truncate(time.Millisecond)
				begun := now
				s = task.New(s.At(func() time.Time { return now }))
				_, err := s.Write(ctx, s.Wake(ref, true))
				must.Do(t, err)
				run := func(want error) (failed bool) {
					t.Helper()
					r, err := s.Run(ctx, ref, lease, func(context.Context, *task.Task) (task.Outcome, error) {
						return task.Outcome{}, want
					})
					if err != nil || r.Failure != want {
						t.Fatal(r, err)
					}
					return r.Failed
				}
				broken := errors.New(strings.Repeat("x", 2_000))
				attempts := 1
				for ; ; attempts++ {
					if !lost && run(broken) {
						break
					}
					if attempts > 2*task.MaxAttempts {
						t.Fatal("it never fails")
					}
					next := waiting(t, s, string(ref.Kind), collab.MaxMillis-1)
					if len(next) != 1 || next[0].Next <= now.UnixMilli() || next[0].Next > now.Add(time.Hour).UnixMilli() {
						t.Fatalf("attempt %d: %+v", attempts, next)
					}
					now = time.UnixMilli(next[0].Next)
					if next[0].Attempts >= task.MaxAttempts {
						if !lost {
							t.Fatal("the last attempt did not fail")
						}
						must.Do(t, s.Abandon(ctx, next[0], "lost"))
						break
					}
					postponed, err := s.Postpone(ctx, next[0])
					if again, failed := s.Postpone(ctx, next[0]); !postponed || err != nil || again || failed != nil {
						t.Fatal(postponed, err, again, failed)
					}
				}
				if took := now.Sub(begun); took < 2*time.Hour || took > 12*time.Hour {
					t.Errorf("%d attempts took %v", attempts, took)
				}
				if list := waiting(t, s, string(ref.Kind), collab.MaxMillis-1); len(list) != 0 {
					t.Errorf("it waits for a run: %+v", list)
				}
				all := waiting(t, s, keys.FailedTasks, collab.MaxMillis-1)
				if len(all) != 1 || all[0].TaskRef != ref || !all[0].Failed {
					t.Fatalf("failed %+v", all)
				}
				stored, err := s.Task(ctx, ref)
				if err != nil || len(stored.Failure) == 0 || len(stored.Failure) > 500 {
					t.Errorf("%+v, %v", stored, err)
				}
				if run(nil); len(waiting(t, s, keys.FailedTasks, collab.MaxMillis-1)) != 1 {
					t.Error("it ran")
				}
				must.Do(t, s.Retry(ctx, ref))
				storetest.WantCode(t, "another retry", s.Retry(ctx, ref), collab.NotFound)
				if run(nil); len(storetest.Scan(t, s.Table)) != 0 {
					t.Errorf("not done: %+v", storetest.Scan(t, s.Table))
				}
			})
		})
	}
}

// TestRetryNone: retrying a task that has not failed is NOT_FOUND.
func TestRetryNone(t *testing.T) {
	s := task.New(storetest.New(t))
	storetest.WantCode(t, "none", s.Retry(t.Context(), ref), collab.NotFound)
	_, err := s.Write(t.Context(), s.Wake(ref, true))
	must.Do(t, err)
	storetest.WantCode(t, "waiting", s.Retry(t.Context(), ref), collab.NotFound)
}

// TestKeepUnknown: changes keep attributes of a newer version.
func TestKeepUnknown(t *testing.T) {
	storetest.OnEach(t, task.New, func(t *testing.T, s *task.Store) {
		_, err := s.Write(t.Context(), s.Wake(ref, true))
		must.Do(t, err)
		storetest.KeepsUnknown(t, s.Table, map[keys.Key]func() error{
			keys.Task(ref): func() error {
				_, err := s.Run(t.Context(), ref, lease, func(context.Context, *task.Task) (task.Outcome, error) {
					return task.Outcome{Due: s.Millis()}, nil
				})
				return err
			},
		})
	})
}

// unit is a piece of work for a task.
type unit struct {
	ref collab.TaskRef
	n   int
}

// TestTasks is a model of tasks: producers add units of work, and messages lead to runs, which do
// the units that they see. Processes die at any call, answers are lost, messages are lost, doubled
// and late, two relays run, and clocks differ by 5 s. In the end each unit was done, and no task
// waits.
func TestTasks(t *testing.T) {
	storetest.FewChecks(t, 25)
	rapid.Check(t, func(rt *rapid.T) {
		table := storetest.New(t)
		w := &model{rt: rt, t: t, table: table, now: time.UnixMilli(1_700_000_000_000), added: map[unit]bool{}, done: map[unit]bool{}, messages: map[collab.TaskRef]int{}}
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			w.step(rapid.SampledFrom([]string{"add", "add", "take", "take", "take", "relay", "wait"}).Draw(rt, "step"))
		}
		for range 200 {
			if w.settled() {
				return
			}
			w.now = w.now.Add(time.Minute)
			w.relay(0)
			for _, ref := range slices.SortedFunc(maps.Keys(w.messages), compareRefs) {
				w.messages[ref] = 0
				w.take(ref, 0)
			}
		}
		rt.Fatalf("not settled: added %v, done %v, stored %v", w.added, w.done, storetest.Scan(t, table))
	})
}

func compareRefs(a, b collab.TaskRef) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }

type model struct {
	rt       *rapid.T
	t        *testing.T
	table    *store.Table
	now      time.Time
	n        int
	added    map[unit]bool
	done     map[unit]bool
	messages map[collab.TaskRef]int
}

// process returns the tasks as a process sees them: with a clock that may be 5 s late, and dead
// after some calls, or 0 for a long life.
func (w *model) process(life int) *task.Store {
	skew := time.Duration(rapid.IntRange(0, 5).Draw(w.rt, "skew")) * time.Second
	if life == 0 {
		return task.New(w.table.At(func() time.Time { return w.now.Add(-skew) }))
	}
	w.n++
	mortal := storetest.Mortal(w.t, w.table, uint64(w.n), life)
	return task.New(mortal.At(func() time.Time { return w.now.Add(-skew) }))
}

var modelRefs = []collab.TaskRef{ref, {Kind: collab.WebhookTask, Account: "acct", ID: "w"}, {Kind: collab.JobTask, Account: "other", ID: "j"}}

func (w *model) step(name string) {
	life := rapid.IntRange(1, 12).Draw(w.rt, "life")
	switch name {
	case "add":
		w.add(rapid.SampledFrom(modelRefs).Draw(w.rt, "ref"), w.process(life))
	case "take":
		ref := rapid.SampledFrom(modelRefs).Draw(w.rt, "ref")
		if w.messages[ref] > 0 {
			if rapid.Bool().Draw(w.rt, "once") {
				w.messages[ref]--
			}
			w.take(ref, life)
		}
	case "relay":
		w.relay(life)
		w.relay(life)
	default:
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 150).Draw(w.rt, "seconds")) * time.Second)
	}
}

// add adds a unit, then touches its task and perhaps sends a message.
func (w *model) add(ref collab.TaskRef, s *task.Store) {
	w.n++
	u := unit{ref, w.n}
	w.added[u] = true
	var err error
	if ref.Kind == collab.NoticeTask {
		due := w.now.Add(time.Duration(rapid.IntRange(-10, 100).Draw(w.rt, "due")) * time.Second)
		_, err = s.Touch(w.t.Context(), ref, due.UnixMilli(), task.Addition{Body: "b", From: fmt.Sprint(w.n)}, 1_900_000_000)
	} else {
		list, readErr := s.Tasks(w.t.Context(), ref)
		if err = readErr; err == nil && (list[0] == nil || ref.Kind == collab.JobTask || !list[0].Sees(s.Millis())) {
			_, err = s.Write(w.t.Context(), s.Wake(ref, true))
		}
	}
	if err != nil { // the caller repeats an event's step, or its request fails
		delete(w.added, u)
		return
	}
	if rapid.Bool().Draw(w.rt, "sent") {
		w.messages[ref]++
	}
}

// take does one run, during which work may be added.
func (w *model) take(ref collab.TaskRef, life int) {
	s := w.process(life)
	length := lease
	if ref.Kind == collab.JobTask {
		length = 0
	}
	r, err := s.Run(w.t.Context(), ref, length, func(context.Context, *task.Task) (task.Outcome, error) {
		seen := slices.Collect(maps.Keys(w.added))
		if life != 0 && rapid.Bool().Draw(w.rt, "added meanwhile") {
			w.add(ref, w.process(0))
		}
		if life != 0 && rapid.IntRange(0, 4).Draw(w.rt, "fails") == 0 {
			return task.Outcome{}, errors.New("failed")
		}
		for _, u := range seen {
			if u.ref == ref {
				w.done[u] = true
			}
		}
		if life != 0 && rapid.IntRange(0, 3).Draw(w.rt, "again") == 0 {
			at := w.now.Add(time.Second).UnixMilli()
			return task.Outcome{Due: at, Added: at}, nil
		}
		return task.Outcome{Added: w.now.UnixMilli(), Keep: ref.Kind == collab.WebhookTask}, nil
	})
	if err == nil && r.Message && rapid.Bool().Draw(w.rt, "sent again") {
		w.messages[ref]++
	}
}

func (w *model) relay(life int) {
	s := w.process(life)
	for _, kind := range collab.TaskKinds() {
		for shard := range keys.DueShards {
			list, _, err := s.Waiting(w.t.Context(), string(kind), shard, s.Millis(), "", 100, func(err error) { w.rt.Error(err) })
			if err != nil {
				return
			}
			for _, waits := range list {
				if postponed, err := s.Postpone(w.t.Context(), waits); postponed && err == nil {
					w.messages[waits.TaskRef]++
				}
			}
		}
	}
}

// settled reports whether everything is done, and nothing waits.
func (w *model) settled() bool {
	for u := range w.added {
		if !w.done[u] {
			return false
		}
	}
	s := w.process(0)
	for _, kind := range append([]string{keys.FailedTasks}, "notice", "webhook", "job") {
		if len(waiting(w.t, s, kind, collab.MaxMillis-1)) > 0 {
			return false
		}
	}
	return true
}
