package delivery_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/outbox"

	"golang.org/x/sync/errgroup"
)

// endpointsOfOne are down of each account.
const endpointsOfOne = 5

// endpoint is one that is down.
type endpoint struct {
	*account
	id string
}

// week is what a week in which all endpoints are down led to.
type week struct {
	pending int           // entries of pending work, at most
	relay   time.Duration // the longest run of the relay
	back    time.Duration // from when they were up again until everything was delivered
}

// weekDown has the endpoints of accounts be down for a week, each with so many deliveries, and up again. It fails where the pending work is
// more than an entry for each, the relay sends more than a message for each, something is given up or does not arrive, or arrives twice.
func weekDown(t testing.TB, accounts, deliveries int) (k week) {
	endpoints := accounts * endpointsOfOne
	w := newWorld(t)
	w.large = deliveries > 100
	var up atomic.Bool
	var mu sync.Mutex
	delivered := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if !up.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		delivered[req.URL.Path+" "+req.Header.Get("webhook-id")]++
	}))
	t.Cleanup(server.Close)
	var all []endpoint
	for range accounts {
		a := w.account()
		for i := range endpointsOfOne {
			e := endpoint{a, fmt.Sprint("hook", i)}
			a.webhook(e.id, server.URL+"/"+a.id+"/"+e.id, collab.NotificationAdded)
			all = append(all, e)
		}
		a.deliveries(all[len(all)-endpointsOfOne:], deliveries)
	}
	p := w.start()
	w.drain(p)
	start := w.Now()
	for w.Now().Sub(start) < 7*24*time.Hour {
		w.add(24 * time.Hour)
		w.release()
		k.relay = max(k.relay, w.relayOn(w.outbox))
		if n, err := w.webhooks.Waiting(t.Context()); n > 2*endpoints || err != nil {
			t.Errorf("%d messages, %v, want one for each endpoint, and the one before that comes so late", n, err)
		}
		if _, failed := w.drain(p); failed > 0 {
			t.Fatalf("%d messages failed: %s", failed, w.log.String()[max(w.log.Len()-2_000, 0):])
		}
		if k.pending = max(k.pending, len(w.pending())); k.pending > endpoints+10 { // and events that tell of endpoints that were disabled
			t.Errorf("%d entries of pending work", k.pending)
		}
	}
	up.Store(true)
	for _, e := range all {
		_, err := w.hooks.UpdateWebhook(t.Context(), e.account.id, e.id, func(h *collab.Webhook) error {
			if !h.Disabled {
				t.Errorf("endpoint %s is not disabled after a week", e.id)
			}
			h.Disabled = false
			return nil
		})
		w.must(err)
	}
	began := time.Now()
	w.settle(p)
	k.back = time.Since(began)
	if len(delivered) != endpoints*deliveries {
		t.Errorf("%d deliveries of %d", len(delivered), endpoints*deliveries)
	}
	for what, n := range delivered {
		if n != 1 {
			t.Errorf("%s was delivered %d times", what, n)
		}
	}
	return k
}

// deliveries has so many events wait for endpoints of the account: the last few are delivered by a process as all are, those before them
// are written as one leaves them.
func (a *account) deliveries(to []endpoint, n int) {
	a.Helper()
	const few = 6
	evs := make([]*collab.Event, max(n-few, 0))
	for i := range evs {
		evs[i] = a.event(collab.NotificationAdded)
		evs[i].NotificationID = evs[i].ID
		a.clock.add(time.Millisecond)
	}
	var g errgroup.Group
	g.SetLimit(32)
	for _, ev := range evs {
		g.Go(func() error {
			body, err := collab.EncodeJSON(ev)
			if err != nil {
				return err
			}
			if err := a.outbox.KeepEvent(a.Context(), outbox.Work{EventRef: ref(ev), Body: string(body), Expires: outbox.Expiry(ev.Time)}, 0); err != nil {
				return err
			}
			for _, e := range to {
				a.deliver(e.id, ev)
			}
			return nil
		})
	}
	a.must(g.Wait())
	for range n - len(evs) {
		a.send(a.quiet())
		a.clock.add(time.Millisecond)
	}
}

// TestWeekDown: endpoints of many accounts are down for a week. The pending work stays at one entry each, a run of the relay sends one
// message each, and nothing is given up; when they come back everything is delivered, and nothing twice.
func TestWeekDown(t *testing.T) { weekDown(t, 4, 6) }

// BenchmarkWeekDown is TestWeekDown with fifty endpoints and many deliveries to each, and reports how long the relay runs at most and how
// much is delivered in a second once they are up. The largest takes 20 minutes: give -timeout 1h.
func BenchmarkWeekDown(b *testing.B) {
	const accounts = 10
	for _, n := range []int{200, 2_000, 20_000} {
		b.Run(fmt.Sprint("deliveries=", n), func(b *testing.B) {
			for b.Loop() {
				k := weekDown(b, accounts, n)
				b.ReportMetric(float64(k.pending), "pending")
				b.ReportMetric(k.relay.Seconds(), "relay-s")
				b.ReportMetric(float64(accounts*endpointsOfOne*n)/k.back.Seconds(), "deliveries/s")
			}
		})
	}
}
