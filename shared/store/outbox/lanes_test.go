package outbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/storetest"
	"collabdata/shared/table"

	"github.com/google/go-cmp/cmp"
)

var theLane = collab.LaneRef{Account: "acct", WebhookID: "h"}

// mustLane claims the lane, changes it, and releases it.
func (s *Store) mustLane(t *testing.T, change func(*collab.Lane)) *collab.Lane {
	t.Helper()
	l, err := s.ClaimLane(t.Context(), theLane, 0, time.Minute)
	if l == nil || err != nil {
		t.Fatal(l, err)
	}
	l.Next = 0
	change(l)
	if ok, err := s.ReleaseLane(t.Context(), l); !ok || err != nil {
		t.Fatal(ok, err)
	}
	return l
}

// TestLane: one holder at a time, one message at a time, and the holder learns what others have added.
func TestLane(t *testing.T) { onEach(t, testLane) }

func testLane(t *testing.T, s *Store) {
	ctx := t.Context()
	now := time.UnixMilli(1_700_000_000_000)
	s.Table = s.At(func() time.Time { return now })
	var woken collab.Millis // as the last message says
	wake := func(want bool) {
		t.Helper()
		got, err := s.WakeLane(ctx, theLane)
		if (got != 0) != want || err != nil {
			t.Errorf("woken: %v, %v, want %v", got, err, want)
		}
		woken = max(woken, got)
	}
	claim := func(want bool) *collab.Lane {
		t.Helper()
		l, err := s.ClaimLane(ctx, theLane, woken, time.Minute)
		if (l != nil) != want || err != nil {
			t.Fatalf("claimed: %+v, %v, want %v", l, err, want)
		}
		return l
	}
	next := func(want time.Time) {
		t.Helper()
		if work := s.pending(t); len(work) != 1 || work[0].Kind != collab.LaneWork || work[0].Account != "acct" || work[0].ID != "h" || work[0].Next != want.UnixMilli() {
			t.Errorf("pending %+v, want it at %d", work, want.UnixMilli())
		}
	}
	wake(true)
	next(now.Add(wakeAgain))
	wake(false) // its message is under way
	since := now
	now = now.Add(messageTime)
	wake(true) // its message was lost
	if work := s.pending(t); work[0].Since != since.UnixMilli() {
		t.Errorf("waits since %d, want %d", work[0].Since, since.UnixMilli())
	}
	if l, err := s.ClaimLane(ctx, theLane, woken-messageTime.Milliseconds(), time.Minute); l != nil || err != nil {
		t.Errorf("claimed by the message that was not lost, although another is under way: %+v, %v", l, err)
	}
	l := claim(true)
	claim(false)
	wake(false)
	next(now.Add(wakeAgain)) // should the holder die
	l.Next, l.Due, l.Low, l.Shards, l.Pause = 0, 77, "low", 8, 99
	l.Health.Fail(5)
	if ok, err := s.ReleaseLane(ctx, l); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if len(s.pending(t)) != 0 {
		t.Errorf("pending %+v", s.pending(t))
	}
	lanes, err := s.Lanes(ctx, theLane, collab.LaneRef{Account: "acct", WebhookID: "other"})
	want := collab.Lane{LaneRef: theLane, Due: 77, Low: "low", Shards: 8, Pause: 99, Health: collab.WebhookHealth{Failures: 1, FailingSince: 5, Days: []int64{0}}}
	if diff := cmp.Diff(want, lanes[0]); diff != "" || err != nil {
		t.Error(err, diff)
	}

	dead := claim(true)
	now = now.Add(time.Minute)
	l = claim(true) // the other's lease has ended
	if ok, err := s.ReleaseLane(ctx, dead); ok || err != nil || dead.Holder != "" {
		t.Errorf("released by one who holds it no more: %v, %v, %+v", ok, err, dead)
	}
	if err := s.addedToLane(ctx, theLane); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.ReleaseLane(ctx, l); ok || err != nil || l.Holder == "" || l.Due != now.UnixMilli() || l.Health.Failures != 1 {
		t.Errorf("released although others have added to it: %v, %v, %+v", ok, err, l)
	}
	if ok, err := s.ReleaseLane(ctx, l); !ok || err != nil {
		t.Errorf("released, knowing of it: %v, %v", ok, err)
	}
	if err := s.DropLane(ctx, dead); err != nil {
		t.Error(err)
	}
	wake(true)
	if err := s.DropLane(ctx, claim(true)); err != nil {
		t.Error(err)
	}
	if lanes, err := s.Lanes(ctx, theLane); err != nil || lanes[0].Low != "" {
		t.Errorf("dropped: %+v, %v", lanes, err)
	}
}

// deliver adds n deliveries to a lane, a second apart, and returns their events.
func (s *Store) deliver(t *testing.T, l *collab.Lane, start time.Time, n int) []string {
	t.Helper()
	var events []string
	for i := range n {
		at := start.Add(time.Duration(i) * time.Second)
		d := collab.Delivery{
			WebhookID: l.WebhookID, EventID: collab.NewIDs(at, []byte("seed")).Next(), Type: collab.CommentAdded, State: collab.DeliveryPending, CreatedAt: at.UnixMilli(),
		}
		if there, err := s.AddDelivery(t.Context(), l, d); there.EventID != d.EventID || err != nil {
			t.Fatal(there, err)
		}
		events = append(events, d.EventID)
	}
	return events
}

// fresh returns the new deliveries of a lane, read in pages of most.
func (s *Store) fresh(t *testing.T, l *collab.Lane, from string, most int) []string {
	t.Helper()
	events := []string{}
	for more := true; more; more = from != "" {
		list, next, err := s.NewDeliveries(t.Context(), l, from, most, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			events = append(events, d.EventID)
		}
		from = next
	}
	return events
}

// waiting returns the deliveries of a lane that wait until a time, and when the next one does.
func (s *Store) waiting(t *testing.T, l *collab.Lane, until int64, most int) ([]string, int64) {
	t.Helper()
	list, next, err := s.WaitingDeliveries(t.Context(), l, until, most, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	events := []string{}
	for _, d := range list {
		events = append(events, d.EventID)
	}
	return events, next
}

// TestDeliveries: new deliveries come in the order of their events, those that wait in the order of their times, however many partitions
// they are spread over, and those from before there were so many among them.
func TestDeliveriesInOrder(t *testing.T) { onEach(t, testDeliveriesInOrder) }

func testDeliveriesInOrder(t *testing.T, s *Store) {
	ctx := t.Context()
	start := time.UnixMilli(1_700_000_000_000)
	l := &collab.Lane{LaneRef: theLane, Made: 5}
	events := s.deliver(t, l, start, 6)
	l.Shards = 8
	events = append(events, s.deliver(t, l, start.Add(time.Minute), 6)...)
	other := &collab.Lane{LaneRef: theLane, Made: 6}
	s.deliver(t, other, start.Add(time.Hour), 1)
	for _, most := range []int{1, 2, 5, 100} {
		if diff := cmp.Diff(events, s.fresh(t, l, "", most)); diff != "" {
			t.Errorf("pages of %d: %s", most, diff)
		}
	}
	if diff := cmp.Diff(events[3:], s.fresh(t, l, events[3], 4)); diff != "" {
		t.Error(diff)
	}
	for i, event := range events {
		d, err := s.Delivery(ctx, l, event)
		if err != nil {
			t.Fatal(err)
		}
		if there, err := s.AddDelivery(ctx, &collab.Lane{LaneRef: theLane, Made: 5, Shards: 1 + 7*(i/6)}, d); err != nil || there.EventID != event {
			t.Errorf("added twice: %+v, %v", there, err)
		}
		after := d
		switch i % 3 {
		case 0:
			after.Wait(int64(1_000 - i))
			after.Keep(collab.DeliveryAttempt{At: 6, Status: 500, Reason: "answered 500", Duration: 12})
		case 1:
			after.State = collab.DeliveryDelivered
		}
		if err := s.SaveDelivery(ctx, l, d, after); err != nil {
			t.Fatal(err)
		}
		if err := s.SaveDelivery(ctx, l, d, after); collab.CodeOf(err) != collab.Aborted {
			t.Errorf("saved from an old state: %v", err)
		}
	}
	if diff := cmp.Diff([]string{events[2], events[5], events[8], events[11]}, s.fresh(t, l, "", 3)); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		until int64
		most  int
		want  []string
		next  int64
	}{
		{2_000, 10, []string{events[9], events[6], events[3], events[0]}, 0},
		{994, 10, []string{events[9], events[6]}, 997},
		{2_000, 1, []string{events[9]}, 994},
		{5, 10, []string{}, 991},
	} {
		got, next := s.waiting(t, l, test.until, test.most)
		if diff := cmp.Diff(test.want, got); diff != "" || next != test.next {
			t.Errorf("until %d: next %d, %s", test.until, next, diff)
		}
	}
	d, err := s.Delivery(ctx, l, events[0])
	if err != nil || !d.Waits || len(d.Attempts) != 1 || d.NextAttempt != 1_000 {
		t.Errorf("%+v, %v", d, err)
	}
	it, err := s.Get(ctx, table.Delivery("acct", "h", 5, 0, events[0]))
	if kept := it.Number(table.Expires) - start.Unix(); kept != 30*24*60*60 || err != nil {
		t.Errorf("kept for %d s, %v", kept, err)
	}
	moved := d
	moved.Wait(3)
	if err := s.SaveDelivery(ctx, l, d, moved); err != nil {
		t.Error(err)
	}
	if got, _ := s.waiting(t, l, 2_000, 10); !slices.Equal(got, []string{events[0], events[9], events[6], events[3]}) {
		t.Errorf("waiting %v", got)
	}
	late, err := s.Delivery(ctx, l, events[2])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddLate(ctx, l, late); err != nil {
		t.Error(err)
	}
	if got, _ := s.waiting(t, l, collab.MaxMillis, 10); len(got) != 5 || len(s.fresh(t, l, "", 100)) != 3 {
		t.Errorf("a late one waits: %v", got)
	}
	if err := s.AddLate(ctx, l, late); err != nil { // again
		t.Error(err)
	}
	if got, _ := s.waiting(t, l, collab.MaxMillis, 10); len(got) != 5 {
		t.Errorf("added late twice: %v", got)
	}
	if _, err := s.Delivery(ctx, l, "none"); collab.CodeOf(err) != collab.NotFound {
		t.Error(err)
	}
}

// TestSpreadDeliveriesCost holds that a page of deliveries which are spread is not read eight times: each partition by its share alone.
func TestSpreadDeliveriesCost(t *testing.T) {
	s := New(storetest.New(t), nil)
	const page = 200 // deliveries
	cost := map[int]float64{}
	for _, shards := range []int{1, 8} {
		l := &collab.Lane{LaneRef: theLane, Made: int64(shards), Shards: shards}
		var writes []store.Write
		for i := range shards * page * 5 / 4 { // more than a page in each partition
			d := collab.Delivery{Rev: 1, Type: collab.CommentAdded, State: collab.DeliveryPending}
			d.EventID = collab.NewIDs(time.UnixMilli(1_700_000_000_000+int64(i)), []byte("seed")).Next()
			d.Shard = table.DeliveryShard(d.EventID, shards)
			writes = append(writes, s.Replace(deliveryItem(l, d)))
		}
		for some := range slices.Chunk(writes, 100) {
			if _, err := s.Write(t.Context(), some...); err != nil {
				t.Fatal(err)
			}
		}
		var usage collab.Usage
		list, next, err := s.NewDeliveries(collab.WithUsage(t.Context(), &usage), l, "", page, func(err error) { t.Error(err) })
		if err != nil || next == "" || len(list) < page/2 || len(list) > page {
			t.Fatal(len(list), next, err)
		}
		read, _, _ := usage.Total()
		cost[shards] = read / float64(len(list))
	}
	if cost[8] > 4*cost[1] {
		t.Errorf("read units for each delivery, by partitions: %v", cost)
	}
}

func TestDeliveries(t *testing.T) { onEach(t, testDeliveries) }

func testDeliveries(t *testing.T, s *Store) {
	ctx := t.Context()
	const n = 25
	start := time.UnixMilli(1_700_000_000_000)
	if err := s.AddWebhook(ctx, "acct", newWebhook("h")); err != nil {
		t.Fatal(err)
	}
	s.mustLane(t, func(l *collab.Lane) { l.Shards = 8 })
	l, err := s.laneOf(ctx, "acct", "h")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, event := range s.deliver(t, l, start, n) {
		d, err := s.Delivery(ctx, l, event)
		if err != nil {
			t.Fatal(err)
		}
		after := d
		after.State = collab.DeliveryDelivered
		if i%5 == 0 {
			after.State, after.Type = collab.DeliveryExhausted, collab.AnnotationAdded
		}
		if err := s.SaveDelivery(ctx, l, d, after); err != nil {
			t.Fatal(err)
		}
		all = append([]string{event}, all...)
	}
	walk := func(f collab.DeliveryFilter, most int) []string {
		return walkPages(t, most, func(after string) ([]collab.Delivery, string, error) {
			return s.Deliveries(ctx, "acct", "h", f, after, most)
		}, func(d collab.Delivery) string { return d.EventID })
	}
	every5 := []string{all[4], all[9], all[14], all[19], all[24]}
	ms := start.UnixMilli()
	for _, test := range []struct {
		name string
		f    collab.DeliveryFilter
		want []string
	}{
		{"all", collab.DeliveryFilter{}, all},
		{"of a state", collab.DeliveryFilter{State: collab.DeliveryExhausted}, every5},
		{"of a type", collab.DeliveryFilter{Type: collab.AnnotationAdded}, every5},
		{"of none", collab.DeliveryFilter{State: collab.DeliveryPending}, []string{}},
		{"since", collab.DeliveryFilter{After: ms + 20_000}, all[:5]},
		{"until", collab.DeliveryFilter{Before: ms + 4_000}, all[20:]},
		{"between", collab.DeliveryFilter{After: ms + 1, Before: ms + 5_999}, all[19:24]},
		{"between, of a state", collab.DeliveryFilter{After: ms, Before: ms + 5_000, State: collab.DeliveryExhausted}, every5[3:]},
	} {
		for _, most := range []int{1, 7, 100} {
			t.Run(fmt.Sprint(test.name, "/", most), func(t *testing.T) {
				if diff := cmp.Diff(test.want, walk(test.f, most)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}

	replayed := 0
	for after := ""; ; {
		k, next, err := s.ReplayDeliveries(ctx, "acct", "h", collab.DeliveryFilter{After: ms + 10_000}, after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if replayed += k; replayed == 4 {
			if got, _ := s.waiting(t, l, collab.MaxMillis, 100); len(got) != 4 || !slices.Contains(got, all[14]) {
				t.Errorf("replayed %v first", got)
			}
		}
		if next == "" {
			break
		}
		after = next
	}
	work := s.pending(t)
	if pending := walk(collab.DeliveryFilter{State: collab.DeliveryPending}, 100); replayed != 15 || !slices.Equal(pending, all[:15]) || len(work) != 1 || work[0].ID != "h" {
		t.Errorf("replayed %d: %v, pending work %+v", replayed, pending, work)
	}
	if got, _ := s.waiting(t, l, collab.MaxMillis, 100); len(got) != 15 {
		t.Errorf("%d wait", len(got))
	}
	if err := s.ReplayDelivery(ctx, "acct", "h", all[24]); err != nil {
		t.Error(err)
	}
	if err := s.ReplayDelivery(ctx, "acct", "h", "none"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("replayed what is not there: %v", err)
	}
}
