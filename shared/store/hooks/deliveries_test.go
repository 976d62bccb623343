package hooks

import (
	"slices"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

var theEndpoint = collab.EndpointRef{Account: "acct", WebhookID: "h", CreatedAt: 5}

// deliver adds n deliveries to an endpoint, a second apart, and returns their events.
func (s *Store) deliver(t *testing.T, e collab.EndpointRef, start time.Time, n int) []string {
	t.Helper()
	var events []string
	for i := range n {
		at := start.Add(time.Duration(i) * time.Second)
		d := collab.Delivery{
			EventID:   collab.NewIDs(at, []byte("seed")).Next(),
			Type:      collab.CommentAdded,
			State:     collab.DeliveryPending,
			CreatedAt: at.UnixMilli(),
		}
		must.Do(t, s.AddDelivery(t.Context(), e, d))
		events = append(events, d.EventID)
	}
	return events
}

func (s *Store) fresh(t *testing.T, e collab.EndpointRef, limit int) []string {
	t.Helper()
	list, more, err := s.NewDeliveries(t.Context(), e, limit, func(err error) { t.Error(err) })
	if err != nil || more && len(list) != limit {
		t.Fatal(list, more, err)
	}
	return eventsOf(list)
}

func (s *Store) waiting(t *testing.T, e collab.EndpointRef, until int64, limit int) ([]string, int64) {
	t.Helper()
	list, next, err := s.WaitingDeliveries(t.Context(), e, until, limit, func(err error) { t.Error(err) })
	must.Do(t, err)
	return eventsOf(list), next
}

func eventsOf(list []collab.Delivery) []string {
	events := []string{}
	for _, d := range list {
		events = append(events, d.EventID)
	}
	return events
}

func (s *Store) save(t *testing.T, e collab.EndpointRef, event string, change func(*collab.Delivery)) collab.Delivery {
	t.Helper()
	before, err := s.Delivery(t.Context(), e, event)
	must.Do(t, err)
	after := before
	change(&after)
	must.Do(t, s.SaveDelivery(t.Context(), e, before, after))
	return before
}

func retryAt(ms int64) func(*collab.Delivery) {
	return func(d *collab.Delivery) {
		d.NextAttempt = ms
		d.Keep(collab.DeliveryAttempt{At: 6, Status: 500, Reason: "answered 500", Duration: 12})
	}
}

func delivered(d *collab.Delivery) { d.State = collab.DeliveryDelivered }

// TestDeliveriesInOrder: new deliveries come in the order of their events and waiting ones in the
// order of their times, until they are done.
func TestDeliveriesInOrder(t *testing.T) { storetest.OnEach(t, open, testDeliveriesInOrder) }

func testDeliveriesInOrder(t *testing.T, s *Store) {
	ctx := t.Context()
	start := time.UnixMilli(1_700_000_000_000)
	events := s.deliver(t, theEndpoint, start, 12)
	s.deliver(t, collab.EndpointRef{Account: "acct", WebhookID: "h", CreatedAt: 6}, start.Add(time.Hour), 1)
	for _, limit := range []int{1, 5, 12, 100} {
		if diff := cmp.Diff(events[:min(limit, 12)], s.fresh(t, theEndpoint, limit)); diff != "" {
			t.Errorf("up to %d: %s", limit, diff)
		}
	}
	s.deliver(t, theEndpoint, start, 12) // again
	for i, event := range events {
		switch i % 3 {
		case 0:
			s.save(t, theEndpoint, event, retryAt(int64(1_000-i)))
		case 1:
			s.save(t, theEndpoint, event, delivered)
		}
	}
	left := []string{events[2], events[5], events[8], events[11]}
	if diff := cmp.Diff(left, s.fresh(t, theEndpoint, 10)); diff != "" {
		t.Error(diff)
	}
	s.deliver(t, theEndpoint, start, 12) // again: only unattempted ones come
	if diff := cmp.Diff(left, s.fresh(t, theEndpoint, 100)); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		until int64
		limit int
		want  []string
		next  int64
	}{
		{2_000, 10, []string{events[9], events[6], events[3], events[0]}, 0},
		{994, 10, []string{events[9], events[6]}, 997},
		{2_000, 1, []string{events[9]}, 994},
		{5, 10, []string{}, 991},
	} {
		got, next := s.waiting(t, theEndpoint, test.until, test.limit)
		if diff := cmp.Diff(test.want, got); diff != "" || next != test.next {
			t.Errorf("until %d: next %d, %s", test.until, next, diff)
		}
	}
	d, err := s.Delivery(ctx, theEndpoint, events[0])
	if err != nil || d.Rev != 1 || len(d.Attempts) != 1 || d.NextAttempt != 1_000 {
		t.Errorf("%+v, %v", d, err)
	}
	it, err := s.Get(ctx, keys.Delivery("acct", "h", 5, events[0]))
	if kept := it.Number(keys.Expires) - start.Unix(); kept != 30*24*60*60 || err != nil {
		t.Errorf("kept for %d s, %v", kept, err)
	}
	before := s.save(t, theEndpoint, events[0], retryAt(3))
	done := before
	done.State = collab.DeliveryDelivered
	if err := s.SaveDelivery(ctx, theEndpoint, before, done); err != nil { // from an outdated run
		t.Error(err)
	}
	if got, _ := s.waiting(t, theEndpoint, 2_000, 10); !slices.Equal(got, []string{events[0], events[9], events[6], events[3]}) {
		t.Errorf("waiting %v", got)
	}
	s.save(t, theEndpoint, events[0], delivered)
	if got, _ := s.waiting(t, theEndpoint, 2_000, 10); !slices.Equal(got, []string{events[9], events[6], events[3]}) {
		t.Errorf("waiting %v", got)
	}
	if _, err := s.Delivery(ctx, theEndpoint, "none"); collab.CodeOf(err) != collab.NotFound {
		t.Error(err)
	}
}

// TestFirstAttemptTwice: of two first attempts the first is kept, and a run that stops half-way
// loses nothing.
func TestFirstAttemptTwice(t *testing.T) { storetest.OnEach(t, open, testFirstAttemptTwice) }

func testFirstAttemptTwice(t *testing.T, s *Store) {
	ctx := t.Context()
	events := s.deliver(t, theEndpoint, time.UnixMilli(1_700_000_000_000), 3)
	for i, first := range []func(*collab.Delivery){retryAt(7), delivered} {
		before := s.save(t, theEndpoint, events[i], first)
		second := before
		retryAt(9)(&second)
		must.Do(t, s.SaveDelivery(ctx, theEndpoint, before, second))
	}
	after, err := s.Delivery(ctx, theEndpoint, events[2])
	must.Do(t, err)
	after.NextAttempt, after.Rev = 8, 1
	// Then the run stops.
	if err := s.Put(ctx, deliveryItem(keptKey(theEndpoint, events[2]), after)); err != nil {
		t.Fatal(err)
	}
	if got := s.fresh(t, theEndpoint, 10); len(got) != 0 {
		t.Errorf("new %v", got)
	}
	if got, _ := s.waiting(t, theEndpoint, 100, 10); !slices.Equal(got, []string{events[0], events[2]}) {
		t.Errorf("waiting %v", got)
	}
}

// TestDangling: pointers to expired or finished deliveries hide nothing behind them, and are
// removed.
func TestDangling(t *testing.T) { storetest.OnEach(t, open, testDangling) }

func testDangling(t *testing.T, s *Store) {
	ctx := t.Context()
	const n = 12
	for i, event := range s.deliver(t, theEndpoint, time.UnixMilli(1_700_000_000_000), n+1) {
		s.save(t, theEndpoint, event, retryAt(int64(i)))
		switch k := keptKey(theEndpoint, event); {
		case i == n:
		case i%2 == 0:
			if err := s.Delete(ctx, k); err != nil { // like TTL
				t.Fatal(err)
			}
		default:
			d := s.save(t, theEndpoint, event, delivered)
			must.Do(t, s.Put(ctx, waitingItem(k, d)))
		}
	}
	for range 2 {
		if got, next := s.waiting(t, theEndpoint, 1_000, 5); len(got) != 1 || next != 0 {
			t.Errorf("waiting %v, then at %d", got, next)
		}
		items, _, err := s.QueryPage(ctx, store.Scan{PK: keptKey(theEndpoint, "").PK, Keys: store.Span{From: keys.Waits}})
		if err != nil || len(items) != 1 {
			t.Errorf("%d pointers are left, %v", len(items), err)
		}
	}
}

func TestDeliveries(t *testing.T) { storetest.OnEach(t, open, testDeliveries) }

func testDeliveries(t *testing.T, s *Store) {
	ctx := t.Context()
	const n = 25
	start := time.UnixMilli(1_700_000_000_000)
	must.Do(t, s.AddWebhook(ctx, "acct", collab.MaxWebhooks, newWebhook("h")))
	l, err := s.endpoint(ctx, "acct", "h")
	must.Do(t, err)
	var all []string
	for i, event := range s.deliver(t, l, start, n) {
		switch i % 5 {
		case 0:
			s.save(t, l, event, func(d *collab.Delivery) { d.State, d.Type = collab.DeliveryExhausted, collab.AnnotationAdded })
		case 1: // unattempted
		default:
			s.save(t, l, event, delivered)
		}
		all = append([]string{event}, all...)
	}
	walk := func(f collab.DeliveryFilter, limit int) []string {
		return storetest.WalkPages(t, limit, func(after string) ([]collab.Delivery, string, error) {
			return s.Deliveries(ctx, "acct", "h", f, after, limit)
		}, func(d collab.Delivery) string { return d.EventID })
	}
	ms := start.UnixMilli()
	replayed := 0
	for after := ""; ; {
		k, next, err := s.ReplayDeliveries(ctx, "acct", "h", ms+10_000, after, 4)
		must.Do(t, err)
		if replayed += k; replayed == 4 {
			if got, _ := s.waiting(t, l, collab.MaxMillis, 100); len(got) != 3 || !slices.Contains(got, all[14]) {
				t.Errorf("replayed %v first", got)
			}
		}
		if next == "" {
			break
		}
		after = next
	}
	work := storetest.Waiting(t, s.outbox.Waiting)
	if pending := walk(collab.DeliveryFilter{State: collab.DeliveryPending, After: ms + 10_000}, 100); replayed != 15 ||
		!slices.Equal(pending, all[:15]) ||
		len(work) != 1 ||
		work[0].ID != "h" {
		t.Errorf("replayed %d: %v, pending work %+v", replayed, pending, work)
	}
	if got, _ := s.waiting(t, l, collab.MaxMillis, 100); len(got) != 12 || len(s.fresh(t, l, 100)) != 5 {
		t.Errorf("%d wait", len(got))
	}
	if err := s.ReplayDelivery(ctx, "acct", "h", all[24]); err != nil {
		t.Error(err)
	}
	if err := s.ReplayDelivery(ctx, "acct", "h", "none"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("replayed what is not there: %v", err)
	}
}
