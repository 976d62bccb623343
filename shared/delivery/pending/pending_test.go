package pending_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery/pending"
	"collabdata/shared/keys"
	"collabdata/shared/metrics"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	gocmp "github.com/google/go-cmp/cmp"
)

// world is a table with a stopped clock, and queues that keep sent tasks.
type world struct {
	testing.TB
	store *outbox.Store
	queue *queues

	mu           sync.Mutex
	now          time.Time
	metrics, log bytes.Buffer
}

// queues keep the tasks that are sent to them.
type queues struct {
	mu     sync.Mutex
	sent   []collab.TaskRef
	fails  map[collab.TaskKind]bool
	length map[collab.TaskKind]int
}

func (q *queues) Waiting(_ context.Context, kind collab.TaskKind) (int, error) {
	return q.length[kind], nil
}

func (q *queues) SendIn(_ context.Context, delay time.Duration, tasks ...collab.TaskRef) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if delay != 0 || q.fails[tasks[0].Kind] {
		return errors.New("not sent")
	}
	q.sent = append(q.sent, tasks...)
	return nil
}

// since returns the number of messages about each task since the last call.
func (q *queues) since() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := map[string]int{}
	for _, t := range q.sent {
		ids[t.ID]++
	}
	q.sent = nil
	return ids
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, now: time.UnixMilli(time.Now().UnixMilli()), queue: &queues{fails: map[collab.TaskKind]bool{}, length: map[collab.TaskKind]int{}}}
	w.store = outbox.New(storetest.New(t).At(w.Now))
	return w
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// task adds a task that is due in a time.
func (w *world) task(kind collab.TaskKind, acct, id string, in time.Duration) collab.TaskRef {
	w.Helper()
	ref := collab.TaskRef{Kind: kind, Account: acct, ID: id}
	_, err := w.store.Write(w.Context(), w.store.PutTask(&task.Task{TaskRef: ref, Due: w.Now().Add(in).UnixMilli()}))
	must.Do(w, err)
	return ref
}

func (w *world) relay() *pending.Relay {
	return &pending.Relay{
		Store: w.store, Queue: w.queue, Now: w.Now,
		Metrics: metrics.New(&w.metrics, "test", w.Now), Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
}

// run runs the relay once, and checks the messages that it sends.
func (w *world) run(want map[string]int) {
	w.Helper()
	r := w.relay()
	must.Do(w, r.Run(w.Context()))
	must.Do(w, r.Metrics.Flush())
	if diff := gocmp.Diff(want, w.queue.since()); diff != "" {
		w.Errorf("sent %s", diff)
	}
}

// TestEachKind checks that a task of each kind is sent if its message is lost, with growing waits,
// until it waits for the operator. The age of the oldest is reported.
func TestEachKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := map[string]int{}
	for _, kind := range collab.TaskKinds() {
		w.task(kind, "acct", string(kind), 0)
		all[string(kind)] = 1
	}
	w.task(collab.NoticeTask, "acct", "later", time.Hour)
	none := map[string]int{}
	w.run(none) // their messages are under way
	w.add(time.Minute)
	w.run(all)
	w.run(none)
	if !strings.Contains(w.metrics.String(), `"TaskAge":60`) {
		t.Errorf("reported %s", &w.metrics)
	}
	for n := int64(1); n < task.MaxAttempts; n++ {
		w.add(task.Wait(n) - time.Millisecond)
		if n < 5 {
			w.run(none)
		}
		w.add(time.Millisecond)
		must.Do(t, w.relay().Run(t.Context()))
		got := w.queue.since()
		delete(got, "later")
		if diff := gocmp.Diff(all, got); diff != "" {
			t.Errorf("attempt %d: %s", n, diff)
		}
	}
	w.add(time.Hour)
	must.Do(t, w.relay().Run(t.Context()))
	if got := w.queue.since(); got["event"] != 0 || strings.Count(w.log.String(), "no attempt at it has ended") != len(all) {
		t.Errorf("sent %v; logged %s", got, &w.log)
	}
}

// TestFails checks that a task that could not be sent is sent later.
func TestFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(collab.EventTask, "acct", "e", 0)
	w.task(collab.WebhookTask, "acct", "w", 0)
	w.add(time.Minute)
	w.queue.fails[collab.EventTask] = true
	if err := w.relay().Run(t.Context()); err == nil {
		t.Error("no error")
	}
	if diff := gocmp.Diff(map[string]int{"w": 1}, w.queue.since()); diff != "" {
		t.Error(diff)
	}
	w.queue.fails[collab.EventTask] = false
	w.add(2 * time.Minute)
	w.run(map[string]int{"e": 1, "w": 1})
}

// TestLongQueue checks that a run sends a long queue a few messages of each account. The rest stays
// due and blocks no other account. Other kinds are unaffected.
func TestLongQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue.length[collab.EventTask] = 1_000
	const many = 70
	for i := range many {
		w.task(collab.EventTask, "acct", fmt.Sprint("e", i), 0)
	}
	w.task(collab.EventTask, "other", "of-other", time.Second)
	w.task(collab.WebhookTask, "acct", "hook", 0)
	w.add(15 * time.Minute)
	must.Do(t, w.relay().Run(t.Context()))
	if first := w.queue.since(); len(first) != 52 || first["of-other"] != 1 || first["hook"] != 1 {
		t.Errorf("sent %v", first)
	}
	must.Do(t, w.relay().Run(t.Context()))
	if second := w.queue.since(); len(second) != many+2-52 {
		t.Errorf("then sent %v", second)
	}
	w.queue.length[collab.EventTask] = 0
	w.add(5 * time.Minute)
	must.Do(t, w.relay().Run(t.Context()))
	if third := w.queue.since(); len(third) != many+2 {
		t.Errorf("after the queue is short it sent %d", len(third))
	}
}

// TestInTurn checks that accounts take turns, however many tasks one has, and that an unreadable
// one blocks none.
func TestInTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must.Do(t, store.Each(t.Context(), 300, func(_ context.Context, i int) error {
		w.task(collab.EventTask, "busy", fmt.Sprintf("e%04d", i), 0)
		return nil
	}))
	it := store.NewItem(keys.Key{PK: "A#a#TASK#event#%x", SK: "TASK"})
	it[keys.Due], it[keys.DueAt] = store.Text(keys.DuePartition("event", 3)), store.Text(keys.Time(1)+"#event#a#x")
	must.Do(t, w.store.Put(t.Context(), it))
	w.task(collab.EventTask, "zoe", "late", time.Minute)
	w.add(3 * time.Minute)
	r := w.relay()
	must.Do(t, r.Run(t.Context()))
	must.Do(t, r.Metrics.Flush())
	if !strings.Contains(w.metrics.String(), `"Unreadable":1`) {
		t.Errorf("reported %s", &w.metrics)
	}
	place := -1
	for i, ref := range w.queue.sent {
		if ref.Account == "zoe" {
			place = i
		}
	}
	if place < 0 || place >= 200 || len(w.queue.sent) != 301 { // the first turn of 200
		t.Errorf("sent as number %d of %d", place, len(w.queue.sent))
	}
}

// backlog is a store with many due tasks, which it makes up: before each task of the last page of a
// shard, pages of one account.
type backlog struct {
	pages     int // in each shard; endless if negative
	reads     atomic.Int64
	postponed atomic.Int64
}

func (b *backlog) Waiting(
	_ context.Context, kind string, shard int, until collab.Millis, from string, limit int, _ func(error),
) (list []*task.Task, next string, err error) {
	b.reads.Add(1)
	if kind != string(collab.EventTask) {
		return nil, "", nil
	}
	n := len(from)
	if n == b.pages {
		ref := collab.TaskRef{Kind: collab.EventTask, Account: "zoe", ID: fmt.Sprint(shard)}
		return []*task.Task{{TaskRef: ref, Due: until}}, "", nil
	}
	for i := range limit {
		ref := collab.TaskRef{Kind: collab.EventTask, Account: "busy", ID: fmt.Sprint(shard, "/", n, "/", i)}
		list = append(list, &task.Task{TaskRef: ref, Due: until})
	}
	return list, from + ".", nil
}

func (b *backlog) Postpone(context.Context, *task.Task) (bool, error) {
	b.postponed.Add(1)
	return true, nil
}

func (b *backlog) Abandon(context.Context, *task.Task, string) error { return nil }

func (b *backlog) Beat(context.Context) error { return nil }

// TestBacklog checks that a run reads past the tasks of an account beyond its share, and keeps and
// reads no more than it has memory and time for.
func TestBacklog(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                           string
		pages, length                  int
		sent, others, atLeast, readsOf int
	}{
		{"all of a short queue", 1, 0, 10_000, 10, 10, 10 * 2},
		{"a long queue", 30, 1_000, 50, 10, 10, 10 * 31},
		{"endless", -1, 0, 10_000, 0, 0, 4*3 + 6*50},
		{"endless, to a long queue", -1, 1_000, 50, 0, 0, 10 * 50},
	} {
		w := &world{TB: t, now: time.Now(), queue: &queues{length: map[collab.TaskKind]int{collab.EventTask: test.length}}}
		r, b := w.relay(), &backlog{pages: test.pages}
		r.Store = b
		must.Do(t, r.Run(t.Context()))
		sent := map[string]int{}
		for _, ref := range w.queue.sent {
			sent[ref.Account]++
		}
		if sent["busy"] != test.sent || sent["zoe"] != test.others {
			t.Errorf("%s: sent %v", test.name, sent)
		}
		const otherKinds = 3 * keys.DueShards
		if n := b.reads.Load() - otherKinds; n != int64(test.readsOf) {
			t.Errorf("%s: %d reads", test.name, n)
		}
	}
}

// TestSideBySide checks that concurrent relays send each task once.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 40 {
		w.task(collab.JobTask, "acct", fmt.Sprint("j", i), 0)
	}
	w.add(time.Minute)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			r := w.relay()
			r.Metrics, r.Log = nil, slog.New(slog.DiscardHandler)
			if err := r.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if sent := w.queue.sent; len(sent) != 40 || len(w.queue.since()) != 40 {
		t.Errorf("%d messages about 40 tasks: %v", len(sent), sent)
	}
}

// TestSilentConnection checks that a hanging call only delays its own task.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 40 {
		w.task(collab.EventTask, "acct", fmt.Sprint("e", i), 0)
	}
	w.add(time.Minute)
	var hung atomic.Bool
	table := storetest.Through(t, w.store.Table, func(next aws.HTTPClient) aws.HTTPClient {
		return storetest.Client(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") && hung.CompareAndSwap(false, true) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return next.Do(r)
		})
	})
	r := w.relay()
	r.Store = outbox.New(table.At(w.Now))
	if err := r.Run(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := w.queue.since(); len(got) < 39 {
		t.Errorf("%d of 40 were sent", len(got))
	}
}
