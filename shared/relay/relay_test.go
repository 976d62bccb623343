package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/localstack/localstacktest"
	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/relay"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/table"

	"golang.org/x/sync/errgroup"
)

// world is a table and queues, with a clock that stands.
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
	w.store = outbox.New(store.New(localstacktest.Config(localstacktest.DynamoDB(t)), name, w.Now, rand.Reader), nil)
	if err := w.store.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := localstacktest.Config(localstacktest.MiniStack(t))
	urls, err := queue.Create(t.Context(), cfg, name+"-")
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	w.events, w.webhooks = queue.New(cfg, urls[table.EventsQueue], log), queue.New(cfg, urls[table.WebhooksQueue], log)
	return w
}

func (w *world) relay() *relay.Relay {
	return &relay.Relay{
		Store: w.store, Events: noted{w.events, &w.sent}, Webhooks: noted{w.webhooks, &w.sent}, Now: w.Now,
		Metrics: metrics.New(&w.metrics, "test", w.Now), Log: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
}

// run runs the relay once and returns the age that it reports.
func (w *world) run() float64 {
	w.Helper()
	w.metrics.Reset()
	r := w.relay()
	if err := r.Run(w.Context()); err != nil {
		w.Fatal(err)
	}
	if err := r.Metrics.Flush(); err != nil {
		w.Fatal(err)
	}
	var got struct{ PendingEventAge *float64 }
	if err := json.Unmarshal(w.metrics.Bytes(), &got); err != nil || got.PendingEventAge == nil {
		w.Fatalf("reported %s, %v", &w.metrics, err)
	}
	return *got.PendingEventAge
}

// event records an event.
func (w *world) event(id string) collab.EventRef {
	w.Helper()
	ev := &collab.Event{ID: id, Type: collab.NotificationAdded, Account: "acct", OrganizationID: "org", DocumentID: "doc"}
	n := collab.Notification{ID: "of-" + id, DocumentID: "doc"}
	if _, err := w.store.AddNotification(w.Context(), collab.OrganizationRef{Account: "acct", Organization: "org"}, n, ev); err != nil {
		w.Fatal(err)
	}
	return collab.EventRef{Account: "acct", ID: id}
}

// sent are the messages that the relay has put on the queues, and how often each.
type sent struct {
	mu  sync.Mutex
	ids map[string]int
}

func (s *sent) note(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = map[string]int{}
	}
	s.ids[id]++
}

// since returns what was sent since the last time.
func (s *sent) since() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.ids
	s.ids = nil
	return ids
}

// noted is a queue of which it is noted what is sent to it.
type noted struct {
	*queue.Queue
	sent *sent
}

func (q noted) SendEvents(ctx context.Context, events ...queue.Event) error {
	for _, e := range events {
		q.sent.note(e.ID)
	}
	return q.Queue.SendEvents(ctx, events...)
}

func (q noted) SendWebhooks(ctx context.Context, delay time.Duration, webhooks ...queue.Webhook) error {
	for _, h := range webhooks {
		q.sent.note(h.WebhookID + "/" + h.ID)
	}
	return q.Queue.SendWebhooks(ctx, delay, webhooks...)
}

// wants holds what was sent since the last time, to both queues.
func (w *world) wants(want string) {
	w.Helper()
	if got := fmt.Sprint(w.sent.since()); got != want {
		w.Errorf("sent %v, want %s", got, want)
	}
}

// clear takes everything out of a queue.
func (w *world) clear(q *queue.Queue) {
	w.Helper()
	for {
		messages, err := q.Receive(w.Context(), queue.MaxReceive, 0)
		if err != nil {
			w.Fatal(err)
		}
		if len(messages) == 0 {
			return
		}
	}
}

// TestBackoff: an event that nobody delivers is sent again after 2 minutes, then after 2, 4, 8, 16, 32 and 60 minutes more, and so on
// until it expires.
func TestBackoff(t *testing.T) {
	w := newWorld(t)
	ref := w.event("e")
	start := w.Now()
	var times []time.Duration
	for range 130 {
		age := w.run()
		if want := w.Now().Sub(start).Seconds(); age != want {
			t.Fatalf("age %v after %v s", age, want)
		}
		if w.sent.since()["e"] > 0 {
			times = append(times, w.Now().Sub(start))
		}
		w.add(time.Minute)
	}
	want := "[2m0s 4m0s 8m0s 16m0s 32m0s 1h4m0s 2h4m0s]"
	if fmt.Sprint(times) != want {
		t.Errorf("sent after %v, want %s", times, want)
	}
	_, at, err := w.store.Pending(t.Context(), ref)
	if err != nil || at.Stage != collab.StageNew {
		t.Errorf("%+v, %v", at, err)
	}
	w.add(31 * 24 * time.Hour)
	w.run()
	w.wants("map[]")
	if age := w.run(); age != 0 {
		t.Errorf("age %v although it has expired", age)
	}
}

func TestDeliveryIsWoken(t *testing.T) {
	w := newWorld(t)
	now := w.Now().UnixMilli()
	d := collab.Delivery{WebhookID: "hook", EventID: "e", State: collab.DeliveryPending, CreatedAt: now}
	d, err := w.store.AddDelivery(t.Context(), "acct", d)
	if err != nil {
		t.Fatal(err)
	}
	after := d
	after.Due = now + 30*60_000
	if _, err := w.store.SaveDelivery(t.Context(), "acct", d, after); err != nil {
		t.Fatal(err)
	}
	w.add(29 * time.Minute)
	w.run()
	w.wants("map[]")
	w.add(time.Minute)
	if age := w.run(); age != 0 {
		t.Errorf("age %v: a delivery that waits is no pending event", age)
	}
	w.wants("map[hook/e:1]")
	w.add(time.Minute)
	w.run()
	w.wants("map[]")
	w.add(time.Minute)
	w.run()
	w.wants("map[hook/e:1]")
}

// TestSideBySide: of several relays that run at the same time one alone sends each event.
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
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	got := w.sent.since()
	for id, n := range got {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	if len(got) != 40 {
		t.Errorf("%d of 40 were sent", len(got))
	}
}

// TestHoldsBack: to a queue that has been long for ten minutes nothing is sent, and nothing is moved on; to the other it is.
func TestHoldsBack(t *testing.T) {
	w := newWorld(t)
	w.event("late")
	var stuck []queue.Event
	for i := range 1_000 {
		stuck = append(stuck, queue.Event{EventRef: collab.EventRef{Account: "acct", ID: fmt.Sprint("stuck", i)}})
	}
	if err := w.events.SendEvents(t.Context(), stuck...); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.add(9 * time.Minute)
	w.run()
	w.wants("map[late:1]") // it has not been long for ten minutes
	w.add(2 * time.Minute)
	w.event("later")
	w.add(5 * time.Minute)
	age := w.run()
	w.wants("map[]")
	if age != (16 * time.Minute).Seconds() {
		t.Errorf("age %v", age)
	}
	if !strings.Contains(w.log.String(), "a queue stands") {
		t.Errorf("logged %s", &w.log)
	}
	d := collab.Delivery{WebhookID: "hook", EventID: "e", State: collab.DeliveryPending, CreatedAt: w.Now().UnixMilli()}
	d, err := w.store.AddDelivery(t.Context(), "acct", d)
	if err == nil {
		_, err = w.store.ReplayDelivery(t.Context(), "acct", "hook", "e")
	}
	if err != nil {
		t.Fatal(err)
	}
	w.run()
	w.wants("map[hook/e:1]")

	w.clear(w.events)
	w.run()
	w.wants("map[late:1 later:1]")
}

// TestFails: what could not be sent was moved on, and is sent later.
func TestFails(t *testing.T) {
	w := newWorld(t)
	w.event("e")
	w.add(2 * time.Minute)
	r := w.relay()
	r.Events = broken{r.Events}
	if err := r.Run(t.Context()); err == nil {
		t.Error("no error")
	}
	w.run()
	w.wants("map[]")
	w.add(2 * time.Minute)
	w.run()
	w.wants("map[e:1]")
}

// broken is a queue to which nothing can be sent.
type broken struct{ relay.Events }

func (broken) SendEvents(context.Context, ...queue.Event) error { return fmt.Errorf("not sent") }

// TestMost: a run sends 5,000 messages at most.
func TestMost(t *testing.T) {
	w := newWorld(t)
	var g errgroup.Group
	g.SetLimit(16)
	for i := range 6_000 {
		g.Go(func() error {
			w.event(fmt.Sprintf("e%04d", i))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	w.add(3 * time.Minute)
	start := time.Now()
	w.run()
	first := len(w.sent.since())
	t.Logf("%d events sent in %v", first, time.Since(start).Round(time.Millisecond))
	w.run()
	if second := len(w.sent.since()); first > 5_000 || first < 4_500 || first+second != 6_000 {
		t.Errorf("sent %d, then %d of 6,000", first, second)
	}
}
