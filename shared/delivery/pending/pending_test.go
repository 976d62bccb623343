package pending_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/delivery/pending"
	"collabdata/shared/keys"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"
)

// world is a table and queues with a stopped clock.
type world struct {
	testing.TB
	mu               sync.Mutex
	now              time.Time
	store            *outbox.Store
	events, webhooks *queue.Queue
	sent             sent
	metrics, log     bytes.Buffer
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

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, now: time.UnixMilli(time.Now().UnixMilli())}
	name := "relay-" + rand.Text()
	w.store = outbox.New(store.New(localstacktest.Config(localstacktest.DynamoDB(t)), name, w.Now, rand.Reader))
	must.Do(t, localstack.CreateTable(t.Context(), localstacktest.Config(localstacktest.DynamoDB(t)), name))
	cfg := localstacktest.Config(localstacktest.MiniStack(t))
	urls, err := queue.Create(t.Context(), cfg, name+"-")
	must.Do(t, err)
	log := slog.New(slog.DiscardHandler)
	w.events, w.webhooks = queue.New(cfg, urls[keys.EventsQueue], log), queue.New(cfg, urls[keys.CallsQueue], log)
	return w
}

func (w *world) relay() *pending.Relay {
	return &pending.Relay{
		Store: w.store, Lanes: hooks.New(w.store), Events: noted{Queue: w.events, sent: &w.sent}, Webhooks: noted{Queue: w.webhooks, sent: &w.sent}, Now: w.Now,
		Metrics: metrics.New(&w.metrics, "test", w.Now), Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
}

// run runs the relay once and returns the reported age.
func (w *world) run() float64 {
	w.Helper()
	w.metrics.Reset()
	r := w.relay()
	must.Do(w, r.Run(w.Context()))
	must.Do(w, r.Metrics.Flush())
	var got struct{ PendingEventAge *float64 }
	if err := json.Unmarshal(w.metrics.Bytes(), &got); err != nil || got.PendingEventAge == nil {
		w.Fatalf("reported %s, %v", &w.metrics, err)
	}
	return *got.PendingEventAge
}

// event records an event of the account acct.
func (w *world) event(id string) collab.EventRef { return w.eventOf("acct", id) }

func (w *world) eventOf(acct, id string) collab.EventRef {
	w.Helper()
	ev := &collab.Event{ID: id, Type: collab.NotificationAdded, Account: acct, OrganizationID: "org", DocumentID: "doc"}
	_, err := w.store.Commit(w.Context(), storetest.Request(time.Now()), nil, ev)
	must.Do(w, err)
	return collab.EventRef{Account: acct, ID: id}
}

// lane lets an endpoint of the account acct rest until a time.
func (w *world) lane(hook string, until time.Time) {
	w.Helper()
	ref := collab.LaneRef{Account: "acct", WebhookID: hook}
	l, err := hooks.New(w.store).ClaimLane(w.Context(), ref, "")
	if err == nil {
		l.Next = until.UnixMilli()
		_, _, err = hooks.New(w.store).ReleaseLane(w.Context(), *l, false)
	}
	must.Do(w, err)
}

// sent holds the ids of the relay's messages, in order.
type sent struct {
	mu    sync.Mutex
	order []string
}

// since returns the number of messages by id since the last call.
func (s *sent) since() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := map[string]int{}
	for _, id := range s.order {
		ids[id]++
	}
	s.order = nil
	return ids
}

// noted is a queue that records sent messages.
type noted struct {
	*queue.Queue
	sent  *sent
	fails bool // sending fails
	keeps bool // drops messages
}

func (q noted) note(send func() error, ids ...string) error {
	if q.fails {
		return errors.New("not sent")
	}
	q.sent.mu.Lock()
	q.sent.order = append(q.sent.order, ids...)
	q.sent.mu.Unlock()
	if q.keeps {
		return nil
	}
	return send()
}

func (q noted) SendEvents(ctx context.Context, events ...queue.Event) error {
	return q.note(func() error { return q.Queue.SendEvents(ctx, events...) }, collab.Map(events, func(e queue.Event) string { return e.ID })...)
}

func (q noted) SendLanes(ctx context.Context, delay time.Duration, lanes ...queue.Lane) error {
	return q.note(func() error { return q.Queue.SendLanes(ctx, delay, lanes...) }, collab.Map(lanes, func(l queue.Lane) string { return l.WebhookID })...)
}

// wants checks the messages to both queues since the last call.
func (w *world) wants(want string) {
	w.Helper()
	if got := fmt.Sprint(w.sent.since()); got != want {
		w.Errorf("sent %v, want %s", got, want)
	}
}

// clear removes all messages of a queue.
func (w *world) clear(q *queue.Queue) {
	w.Helper()
	for {
		messages, err := q.Receive(w.Context(), queue.MaxReceive, 0)
		must.Do(w, err)
		if len(messages) == 0 {
			return
		}
	}
}

// TestBackoff checks that an undelivered event is resent after 2 minutes, then after 2, 4, 8, 16,
// 32 and 60 minutes, and so on until it expires. The test runs the relay only in these minutes and
// those before them, which also finds messages at other times.
func TestBackoff(t *testing.T) {
	w := newWorld(t)
	ref := w.event("e")
	start := w.Now()
	var times []time.Duration
	for _, minutes := range []time.Duration{0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 123, 124, 130} {
		w.add(start.Add(minutes * time.Minute).Sub(w.Now()))
		if age, want := w.run(), (minutes * time.Minute).Seconds(); age != want {
			t.Fatalf("age %v after %v s", age, want)
		}
		if w.sent.since()["e"] > 0 {
			times = append(times, w.Now().Sub(start))
		}
	}
	want := "[2m0s 4m0s 8m0s 16m0s 32m0s 1h4m0s 2h4m0s]"
	if fmt.Sprint(times) != want {
		t.Errorf("sent after %v, want %s", times, want)
	}
	if at, err := w.store.Pending(t.Context(), ref, collab.EventWork); err != nil || at == nil || at.Postponed != int64(len(times)) {
		t.Errorf("%+v, %v", at, err)
	}
	w.add(31 * 24 * time.Hour)
	w.run()
	w.wants("map[]")
	if age := w.run(); age != 0 {
		t.Errorf("age %v although it has expired", age)
	}
}

// TestLaneIsWoken checks that a due lane gets one message, and another if that is lost.
func TestLaneIsWoken(t *testing.T) {
	w := newWorld(t)
	w.lane("hook", w.Now().Add(30*time.Minute))
	w.lane("idle", time.UnixMilli(0))
	w.add(29 * time.Minute)
	w.run()
	w.wants("map[]")
	w.add(time.Minute)
	if age := w.run(); age != 0 {
		t.Errorf("age %v", age)
	}
	w.wants("map[hook:1]")
	w.add(time.Minute)
	if age := w.run(); age != 60 {
		t.Errorf("age %v of a lane that nobody takes", age)
	}
	w.wants("map[]")
	w.add(time.Minute)
	w.run()
	w.wants("map[hook:1]")
}

// TestEmailsAndParked checks that notices count as pending from their due time, and that parked
// work is sent in every tenth minute and has no age.
func TestEmailsAndParked(t *testing.T) {
	w := newWorld(t)
	w.now = w.now.Truncate(10 * time.Minute)
	ref := w.event("parked")
	at, err := w.store.Pending(t.Context(), ref, collab.EventWork)
	must.Do(t, err)
	to := *at
	to.Next, to.Kind = w.Now().UnixMilli(), collab.ParkedWork
	if ok, err := w.store.Advance(t.Context(), *at, to); !ok || err != nil {
		t.Fatal(ok, err)
	}
	bob := outbox.Recipient{OrganizationRef: collab.OrganizationRef{Account: "a", Organization: "org"}, User: "bob"}
	names := []string{}
	for about, message := range map[string]bool{"a": true, "n": false} {
		e := outbox.NoticeAbout(bob, "email", about)
		_, err := w.store.AddToNotice(t.Context(), e, "entry", w.Now().Add(5*time.Minute).UnixMilli(), message, false)
		must.Do(t, err)
		names = append(names, e.Ref().ID, map[bool]string{true: "sent", false: "unsent"}[message])
	}
	for minute, want := range []string{
		0: "parked:1", 5: "unsent:1", 6: "sent:1", 7: "unsent:1", 8: "sent:1", 10: "parked:1", 11: "unsent:1", 12: "sent:1", 13: "",
	} {
		age := w.run()
		if wantAge := max(float64(minute)-5, 0) * 60; age > wantAge {
			t.Errorf("minute %d: age %v, want at most %v", minute, age, wantAge)
		}
		if got := strings.NewReplacer(names...).Replace(fmt.Sprint(w.sent.since())); got != "map["+want+"]" {
			t.Errorf("minute %d: sent %v, want %s", minute, got, want)
		}
		w.add(time.Minute)
	}
	w.add(-4 * time.Minute)
	for range 3 {
		w.add(10 * time.Minute)
		w.run()
		if n := w.sent.since()["parked"]; n != 1 {
			t.Errorf("at %v parked work is sent %d times", w.Now(), n)
		}
	}
}

// TestEmailBackoff checks that an unsent notice is resent like an event. After ten times, it is
// sent once a day and logged each time.
func TestEmailBackoff(t *testing.T) {
	w := newWorld(t)
	w.now = w.now.Truncate(time.Minute)
	start := w.Now()
	e := outbox.NoticeAbout(outbox.Recipient{OrganizationRef: collab.OrganizationRef{Account: "a", Organization: "org"}, User: "bob"}, "email")
	_, err := w.store.AddToNotice(t.Context(), e, "entry", start.UnixMilli(), false, false)
	must.Do(t, err)
	for _, minutes := range []time.Duration{0, 2, 6, 14, 30, 62, 122, 182, 242, 302, 362, 362 + 24*60} {
		for _, early := range []time.Duration{time.Minute, 0} {
			w.add(start.Add(minutes*time.Minute - early).Sub(w.Now()))
			w.run()
			if n := w.sent.since()[e.Ref().ID]; (n == 1) != (early == 0) {
				t.Errorf("%v before minute %d: sent %d times", early, minutes, n)
			}
		}
	}
	if n := strings.Count(w.log.String(), "notice failed"); n != 2 {
		t.Errorf("it was logged %d times", n)
	}
}

// TestManyEmailsWait checks that a run reads due notices, however many others wait.
func TestManyEmailsWait(t *testing.T) {
	w := newWorld(t)
	var reads [2]float64
	for round, waiting := range []int{0, 300} {
		must.Do(t, store.Each(t.Context(), waiting, func(ctx context.Context, i int) error {
			e := outbox.NoticeAbout(outbox.Recipient{OrganizationRef: collab.OrganizationRef{Account: "a", Organization: "org"}, User: fmt.Sprint("user", i)}, "email")
			_, err := w.store.AddToNotice(ctx, e, "entry", w.Now().Add(time.Hour).UnixMilli(), true, false)
			return err
		}))
		var usage collab.Usage
		must.Do(t, w.relay().Run(collab.WithUsage(t.Context(), &usage)))
		reads[round], _, _ = usage.Total()
	}
	if reads[0] != reads[1] {
		t.Errorf("%.1f read units, and %.1f where 300 notices wait", reads[0], reads[1])
	}
}

// TestManyEmailsDue checks that a run sends due notices beyond a shard's first portion. It sends a
// long queue only a few.
func TestManyEmailsDue(t *testing.T) {
	w := newWorld(t)
	org := collab.OrganizationRef{Account: "a", Organization: "org"}
	var list []outbox.Notice
	for i := 0; len(list) < 260; i++ {
		e := outbox.NoticeAbout(outbox.Recipient{OrganizationRef: org, User: fmt.Sprint("user", i)}, "email")
		if keys.DueNotice(0, "a", e.Ref().ID).PK == keys.DueNoticePartition(0) {
			list = append(list, e)
		}
	}
	must.Do(t, store.Each(t.Context(), len(list), func(ctx context.Context, i int) error {
		_, err := w.store.AddToNotice(ctx, list[i], "entry", w.Now().UnixMilli(), false, false)
		return err
	}))
	w.add(time.Minute)
	stuck := slices.Repeat([]queue.Event{{EventRef: collab.EventRef{Account: "acct", ID: "stuck"}}}, 1_000)
	must.Do(t, w.events.SendEvents(t.Context(), stuck...))
	age := w.run()
	if n := len(w.sent.since()); n != 50 || age != 60 {
		t.Errorf("%d were sent to a long queue; age %v", n, age)
	}
	w.clear(w.events)
	w.run()
	if n := len(w.sent.since()); n != len(list)-50 {
		t.Errorf("then %d of %d were sent", n, len(list)-50)
	}
}

// elsewhere is a table in which another run postpones all notices first.
type elsewhere struct{ pending.Store }

func (elsewhere) PostponeNotice(context.Context, outbox.DueNotice, collab.Millis) (collab.Millis, error) {
	return 0, nil
}

// TestPostponedElsewhere checks that a run sends no notice that another run postponed.
func TestPostponedElsewhere(t *testing.T) {
	w := newWorld(t)
	e := outbox.NoticeAbout(outbox.Recipient{OrganizationRef: collab.OrganizationRef{Account: "a", Organization: "org"}, User: "bob"}, "email")
	_, err := w.store.AddToNotice(t.Context(), e, "entry", w.Now().UnixMilli(), false, false)
	must.Do(t, err)
	w.add(time.Minute)
	r := w.relay()
	r.Store = elsewhere{w.store}
	must.Do(t, r.Run(t.Context()))
	w.wants("map[]")
}

// TestGivenUp checks that an undelivered event is sent eleven times, and then fails.
func TestGivenUp(t *testing.T) {
	w := newWorld(t)
	ref := w.event("e")
	for n := range 12 {
		w.add(2 * time.Hour)
		w.run()
		work, err := w.store.Pending(t.Context(), ref, collab.FailedWork)
		must.Do(t, err)
		if failed := n == 11; w.sent.since()["e"] == 1 == failed || (work != nil) != failed {
			t.Errorf("number %d: failed %+v", n, work)
		}
	}
}

// TestSideBySide checks that only one of several concurrent relays sends each event.
func TestSideBySide(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		w.event(fmt.Sprintf("e%02d", i))
	}
	w.add(3 * time.Minute)
	var g errgroup.Group
	for range 4 {
		r := w.relay()
		r.Metrics, r.Log = nil, slog.New(slog.DiscardHandler)
		g.Go(func() error { return r.Run(t.Context()) })
	}
	must.Do(t, g.Wait())
	if sent := w.sent.order; len(sent) != 40 || len(w.sent.since()) != 40 {
		t.Errorf("%d messages about 40 events: %v", len(sent), sent)
	}
}

// TestLongQueue checks that a run sends a long queue a few messages of each account. The rest stays
// due and blocks no other account. The other queue is unaffected.
func TestLongQueue(t *testing.T) {
	w := newWorld(t)
	stuck := slices.Repeat([]queue.Event{{EventRef: collab.EventRef{Account: "acct", ID: "stuck"}}}, 1_000)
	must.Do(t, w.events.SendEvents(t.Context(), stuck...))
	const many = 70
	for i := range many {
		w.event(fmt.Sprint("e", i))
	}
	w.eventOf("other", "of-other")
	w.lane("hook", w.Now())
	w.add(15 * time.Minute)
	if age := w.run(); age != (15 * time.Minute).Seconds() {
		t.Errorf("age %v", age)
	}
	first := w.sent.since()
	if len(first) != 52 || first["of-other"] != 1 || first["hook"] != 1 {
		t.Errorf("sent %v", first)
	}
	w.run()
	second := w.sent.since()
	if len(second) != many+2-52 {
		t.Errorf("then sent %v", second)
	}
	w.clear(w.events)
	w.add(5 * time.Minute)
	w.run()
	if third := w.sent.since(); len(third) != many+2 {
		t.Errorf("once the queue is short it sent %d", len(third))
	}
}

// TestFails checks that work that could not be sent is postponed and sent later.
func TestFails(t *testing.T) {
	w := newWorld(t)
	w.event("e")
	w.add(2 * time.Minute)
	r := w.relay()
	r.Events = noted{Queue: w.events, fails: true}
	if err := r.Run(t.Context()); err == nil {
		t.Error("no error")
	}
	w.run()
	w.wants("map[]")
	w.add(2 * time.Minute)
	w.run()
	w.wants("map[e:1]")
}

// TestStarvesNoOne checks that other work does not block an account's event, or the report of its
// age: a blocked queue with thousands of lanes, an account with thousands of events, and unreadable
// work.
func TestStarvesNoOne(t *testing.T) {
	w := newWorld(t)
	const many = 600
	var g errgroup.Group
	g.SetLimit(16)
	for i := range many {
		g.Go(func() error {
			w.eventOf("busy", fmt.Sprintf("e%04d", i))
			return nil
		})
	}
	for i := range 20 {
		w.lane(fmt.Sprint("hook", i), w.Now())
		it := store.NewItem(keys.Key{PK: keys.WorkPartition(string(collab.EventWork), i%keys.DueShards), SK: fmt.Sprint("#%unreadable", i)})
		g.Go(func() error { return w.store.Put(t.Context(), it) })
	}
	must.Do(t, g.Wait())
	w.eventOf("zoe", "lost")
	w.add(3 * time.Minute)
	r := w.relay()
	r.Webhooks, r.Events = noted{Queue: w.webhooks, fails: true}, noted{Queue: w.events, sent: &w.sent, keeps: true}
	r.Metrics = metrics.New(&w.metrics, "test", w.Now)
	if err := r.Run(t.Context()); err == nil {
		t.Error("no error, although no lane could be sent")
	}
	must.Do(t, r.Metrics.Flush())
	if text := w.metrics.String(); !strings.Contains(text, `"PendingEventAge":180`) || !strings.Contains(text, `"Unreadable":20`) {
		t.Errorf("reported %s", text)
	}
	if n := len(w.sent.order); n != many+1 {
		t.Errorf("%d of %d were sent", n, many+1)
	}
}

// TestAccountsInTurn checks that an account's work beyond a portion follows the other accounts',
// and that a portion is sent earliest due first.
func TestAccountsInTurn(t *testing.T) {
	w := newWorld(t)
	var work []store.Item
	since := map[string]int64{}
	shard := keys.WorkPartition(string(collab.EventWork), 0)
	add := func(acct, id string) {
		it := store.NewItem(keys.Work(string(collab.EventWork), acct, id))
		since[id] = mathrand.Int64N(1_000)
		it[keys.Next], it[keys.StartedAt] = store.Number(1), store.Number(since[id])
		if it.Key().PK == shard {
			work = append(work, it)
		}
	}
	for i := 0; len(work) < 450; i++ {
		add("busy", fmt.Sprint("e", i))
	}
	for i := 0; len(work) < 451; i++ {
		add("zoe", fmt.Sprint("lost", i))
	}
	must.Do(t, store.Each(t.Context(), len(work), func(ctx context.Context, i int) error { return w.store.Put(ctx, work[i]) }))
	r := w.relay()
	r.Events = noted{Queue: w.events, sent: &w.sent, keeps: true}
	must.Do(t, r.Run(t.Context()))
	order := w.sent.order
	if at := slices.IndexFunc(order, func(id string) bool { return strings.HasPrefix(id, "lost") }); at != 200 || len(order) != 451 {
		t.Errorf("sent as number %d of %d", at, len(order))
	}
	first := slices.SortedFunc(slices.Values(order[:200]), func(a, b string) int { return cmp.Compare(since[a], since[b]) })
	for i, id := range order[:50] {
		if since[id] > since[first[99]] { // concurrent calls may overtake each other
			t.Errorf("number %d was sent before one that was due first", i)
		}
	}
}

// TestSilentConnection checks that a hanging call only delays its own event.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 40 {
		w.event(fmt.Sprint("e", i))
	}
	w.add(3 * time.Minute)
	var hung atomic.Bool
	table := storetest.Through(t, w.store.Table, func(next aws.HTTPClient) aws.HTTPClient {
		return client(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") && hung.CompareAndSwap(false, true) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return next.Do(r)
		})
	})
	r := w.relay()
	o := outbox.New(table.At(w.Now))
	r.Store, r.Lanes = o, hooks.New(o)
	if err := r.Run(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := w.sent.since(); len(got) < 39 {
		t.Errorf("%d of 40 were sent", len(got))
	}
}

type client func(r *http.Request) (*http.Response, error)

func (c client) Do(r *http.Request) (*http.Response, error) { return c(r) }
