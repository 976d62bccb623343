package delivery_test

import (
	"bytes"
	"collabdata/shared/store/task"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

// TestNothingIsLost adds a delivery while another is posted, with late and recent events. At each
// call of the endpoint's run in turn, the process ends or the call fails. The relay must recover
// the loss.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{0, 10 * time.Minute} {
		for _, refused := range []bool{false, true} {
			t.Run(fmt.Sprint(age, ", refused: ", refused), func(t *testing.T) {
				t.Parallel()
				n := 1
				for ; lostAt(t, refused, n, age); n++ {
				}
				if n < 8 {
					t.Errorf("%d calls", n)
				}
			})
		}
	}
}

// lostAt makes call n fail, and reports whether there was such a call.
func lostAt(t *testing.T, refused bool, n int, age time.Duration) bool {
	a, w := newAccount(t)
	var adding atomic.Bool
	var added *collab.Event
	adder := w.start()
	fails := failing(1, http.StatusInternalServerError)
	r := a.hooked(func(rw http.ResponseWriter, req *http.Request) {
		if adding.CompareAndSwap(true, false) {
			if err := adder.take(t.Context(), event(added)); err != nil {
				t.Error(err)
			}
		}
		if n%2 == 0 {
			fails(rw, req)
		}
	})
	added = a.quiet()
	w.add(age)
	first := a.quiet()
	w.must(w.start().take(t.Context(), event(first)))
	adding.Store(true)
	var calls atomic.Int64
	p := w.start()
	p.flaw = &flaw{refused: refused, at: func(string, []byte) bool { return calls.Add(1) == int64(n) }}
	w.drain(p)
	adding.Store(false)
	w.settle(w.start())
	for _, ev := range []*collab.Event{first, added} {
		if d := a.delivery("hook", ev.ID); d.State != collab.DeliveryDelivered || r.got("/hook")[ev.ID] == 0 || w.work(ev) != nil {
			t.Errorf("call %d: %+v, pending %+v, endpoint %+v", n, d, w.work(ev), a.progress("hook"))
		}
	}
	return p.flaw.found.Load()
}

// TestHandledTwice checks that an event is not posted again if its run ended after adding the
// delivery, which was then posted.
func TestHandledTwice(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := a.hooked(nil)
	ev := a.quiet()
	p := w.start()
	p.flaw = &flaw{at: func(op string, body []byte) bool {
		return op == "UpdateItem" && bytes.Contains(body, []byte("#TASK#event#"))
	}}
	if p.take(p.ctx, event(ev)) == nil || !p.flaw.found.Load() {
		t.Fatal("not killed")
	}
	w.drain(w.start())
	if got := r.got("/hook"); got[ev.ID] != 1 || w.work(ev) == nil {
		t.Fatalf("posted %v, pending %+v", got, w.work(ev))
	}
	w.settle(w.start())
	list, _, err := w.db.Hooks.Deliveries(t.Context(), a.id, "hook", collab.DeliveryFilter{}, "", 100)
	if got := r.got("/hook"); got[ev.ID] != 1 || len(list) != 1 || err != nil {
		t.Errorf("posted %v, listed %v, %v", got, list, err)
	}
}

// TestExpired checks that expired deliveries do not block later ones.
func TestExpired(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := a.hooked(nil)
	wait := func(ev *collab.Event, at time.Time) {
		d := a.deliver("hook", ev)
		after := d
		after.NextAttempt = at.UnixMilli()
		w.must(w.db.Hooks.SaveDelivery(t.Context(), a.endpoint("hook"), d, after))
	}
	for range 105 { // more than one read returns
		ev := a.event(collab.NotificationAdded)
		wait(ev, w.Now())
		// as TTL does
		w.must(w.db.Outbox.Delete(t.Context(), keys.Delivery(a.id, "hook", a.endpoint("hook").CreatedAt, ev.ID)))
		w.add(time.Millisecond)
	}
	good := a.quiet()
	w.did(w.db.Outbox.Settle(t.Context(), w.work(good), task.Outcome{Keep: true}))
	wait(good, w.Now())
	a.changeHook("hook", func(*collab.Webhook) {}) // the relay sends the endpoint
	w.relay()
	if done, failed := w.drain(w.start()); r.got("/hook")[good.ID] != 1 || done != 1 || failed != 0 {
		t.Errorf("posted %v by %d messages, %d failed", r.got("/hook"), done, failed)
	}
}

// TestGoneElsewhere checks that responses of an endpoint's previous URL, or of a deleted endpoint,
// do not disable it.
func TestGoneElsewhere(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"updated", "added again"} {
		t.Run(how, func(t *testing.T) {
			a, w := newAccount(t)
			fresh := receive(t, nil)
			old := receive(t, func(rw http.ResponseWriter, _ *http.Request) {
				w.add(time.Second)
				if how == "updated" {
					a.changeHook("hook", func(h *collab.Webhook) { h.URL, h.LastUpdated = fresh.URL+"/hook", w.millis() })
				} else {
					w.must(w.db.Hooks.DeleteWebhook(t.Context(), a.id, "hook", "mark"))
					a.webhook("hook", fresh.URL+"/hook")
				}
				rw.WriteHeader(http.StatusGone)
			})
			a.webhook("hook", old.URL+"/hook")
			before := a.quiet()
			w.send(before)
			w.drain(w.start())
			next := a.quiet()
			w.run(next)
			hook, err := w.db.Hooks.Webhook(t.Context(), a.id, "hook")
			w.must(err)
			if got := fresh.got("/hook"); hook.Disabled || got[next.ID] != 1 || got[before.ID] != map[string]int{"updated": 1}[how] {
				t.Errorf("disabled: %q; posted to the new URL: %v", hook.DisabledReason, got)
			}
			if l := a.progress("hook"); l.Health.Failures != 0 {
				t.Errorf("the answer of another counts: %+v", l)
			}
		})
	}
}

// TestOneRefused checks that a delivery that fails repeatedly does not block others.
func TestOneRefused(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var refused atomic.Value
	r := a.hooked(func(rw http.ResponseWriter, req *http.Request) {
		if req.Header.Get("webhook-id") == refused.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	bad := a.quiet()
	refused.Store(bad.ID)
	w.send(bad)
	p := w.start()
	w.drain(p)
	for range 30 {
		w.add(3 * time.Second)
		w.release()
		ev := a.quiet()
		w.send(ev)
		w.drain(p)
		if r.got("/hook")[ev.ID] != 1 {
			t.Fatalf("one that came at %v was not posted at once", w.Now())
		}
		if n := len(w.delayed); n > 2 {
			t.Fatalf("%d delayed messages of one endpoint", n)
		}
	}
	if tries := a.delivery("hook", bad.ID).Tries; tries != 2 {
		t.Errorf("the refused one was posted %d times within 90 s", tries)
	}
}
