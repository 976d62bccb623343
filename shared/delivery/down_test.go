package delivery_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
)

// TestWeekDown: endpoints of several accounts are down for a week. The pending work stays at one entry for each, a run of the relay sends one
// message for each, and nothing is given up: when they are up again everything is delivered once.
func TestWeekDown(t *testing.T) {
	const accounts, hooks, deliveries = 2, 4, 6
	w := newWorld(t)
	var up atomic.Bool
	r := receive(t, func(rw http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	var all []collab.LaneRef
	for range accounts {
		a := w.account()
		for i := range hooks {
			all = append(all, collab.LaneRef{Account: a.id, WebhookID: fmt.Sprint("hook", i)})
			a.webhook(all[len(all)-1].WebhookID, r.URL+fmt.Sprintf("/%s/%d", a.id, i), collab.NotificationAdded)
		}
		for range deliveries {
			w.send(a.quiet())
			w.add(time.Millisecond)
		}
	}
	p := w.start()
	w.drain(p)
	for range 7 {
		w.add(24 * time.Hour)
		w.release()
		w.relay()
		if n, err := w.webhooks.Waiting(t.Context()); n > 2*len(all) || err != nil { // one that is late, too
			t.Errorf("%d messages, %v", n, err)
		}
		if _, failed := w.drain(p); failed > 0 {
			t.Fatalf("%d messages failed", failed)
		}
		if n := len(w.pending()); n > len(all)+10 { // and events about endpoints that were disabled
			t.Errorf("%d entries of pending work", n)
		}
	}
	up.Store(true)
	before := len(r.posts())
	for _, lane := range all {
		_, err := w.db.Hooks.UpdateWebhook(t.Context(), lane.Account, lane.WebhookID, func(h *collab.Webhook) error {
			if !h.Disabled {
				t.Errorf("endpoint %s is not disabled after a week", lane)
			}
			h.Disabled = false
			return nil
		})
		w.must(err)
	}
	w.settle(p)
	delivered := map[post]bool{}
	for _, p := range r.posts()[before:] {
		delivered[p] = true
	}
	if n := len(r.posts()) - before; n != len(delivered) || n != len(all)*deliveries {
		t.Errorf("%d posts of %d deliveries, want %d", n, len(delivered), len(all)*deliveries)
	}
}
