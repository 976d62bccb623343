package delivery_test

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/hooks"
	"collabdata/shared/testing/interleave"
)

// shared reports whether a call concerns data that both an adder of deliveries and the run of the
// endpoint use: its task and its list of new deliveries. The order of other calls does not matter.
// Nor does the order of messages, because they are received after both are done.
func shared(op string, body []byte) bool {
	return bytes.Contains(body, []byte("#TASK#webhook#")) || bytes.Contains(body, []byte("#NEW\"")) && op != "DeleteItem"
}

// act runs a function as an actor that pauses before its first limit calls about an
// endpoint.
func (p *process) act(limit int, do func() error) *interleave.Actor {
	return interleave.Start(limit, func(a *interleave.Actor) error {
		p.actor = a
		return do()
	})
}

// TestInterleavings checks that in any order of calls by an adder of a delivery and the endpoint's
// run, the delivery is posted once without the relay: no wake-up is lost.
func TestInterleavings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		age   time.Duration // of the event
		fails bool          // the first delivery fails once, so that the run sends a message
	}{{"new", 0, false}, {"an early event", time.Hour, false}, {"after a failure", 0, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t)
			var failing sync.Map // by event
			r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
				if _, fails := failing.LoadAndDelete(req.Header.Get("webhook-id")); fails {
					rw.WriteHeader(http.StatusInternalServerError)
				}
			})
			n := 0
			tried := interleave.Orders(func(choose func(int) int) {
				n++
				hook := fmt.Sprint("hook", n)
				a.webhook(hook, r.URL+"/"+hook)
				first, ev := a.quiet(), a.notification(func(ev *draft) {
					ev.ID = collab.NewIDs(w.Now().Add(-test.age), []byte(hook)).Next()
					ev.Notify = false
				})
				want := 1
				if test.fails {
					failing.Store(first.ID, true)
					want = 2
				}
				a.deliver(hook, first)
				w.did(w.db.Outbox.Write(t.Context(), w.db.Outbox.Wake(hooks.EndpointTask(a.id, hook), true)))
				adder, holder := w.start(), w.start()
				actors := []*interleave.Actor{
					adder.act(5, func() error { return adder.take(t.Context(), event(ev)) }),
					holder.act(100, func() error { return holder.take(t.Context(), hooks.EndpointTask(a.id, hook)) }),
				}
				interleave.Run(choose, nil, actors...)
				for _, a := range actors {
					w.must(a.Err)
				}
				w.drain(w.start())
				w.add(10 * time.Second)
				w.release()
				w.drain(w.start())
				if got := r.got("/" + hook); len(got) != 2 || got[first.ID] != want || got[ev.ID] != 1 {
					t.Errorf("order %d: posted %v; the adder called %v, the holder %v", n, got, adder.calls, holder.calls)
				}
				w.must(w.db.Hooks.DeleteWebhook(t.Context(), a.id, hook, "mark"))
			})
			t.Logf("%d orders", tried)
			if tried < 15 {
				t.Error("these are not all")
			}
		})
	}
}

// TestChangedWhilePosting checks that a changed endpoint does not wait until the end of the pause
// that it asked for before.
func TestChangedWhilePosting(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	old := receive(t, func(rw http.ResponseWriter, _ *http.Request) {
		a.changeHook("hook", func(h *collab.Webhook) { h.LastUpdated = w.millis() + 1 })
		rw.Header().Set("Retry-After", "36000")
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	a.webhook("hook", old.URL+"/hook")
	a.deliver("hook", a.quiet())
	ref := hooks.EndpointTask(a.id, "hook")
	w.did(w.db.Outbox.Write(t.Context(), w.db.Outbox.Wake(ref, true)))
	w.must(w.start().take(t.Context(), ref))
	if got, err := w.db.Outbox.Task(t.Context(), ref); err != nil || got.Due > w.millis() {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestAddedWhileMissing checks that an endpoint that is added again during a run that did not find
// it gets its deliveries.
func TestAddedWhileMissing(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := receive(t, nil)
	ref := hooks.EndpointTask(a.id, "hook")
	w.did(w.db.Outbox.Write(t.Context(), w.db.Outbox.Wake(ref, true))) // by an event from before the deletion
	ev := a.quiet()
	added := false
	p, adder := w.start(), w.start()
	p.flaw = &flaw{at: func(op string, body []byte) bool {
		if op == "DeleteItem" && bytes.Contains(body, []byte("#TASK#webhook#")) && !added { // the run ends
			added = true
			a.webhook("hook", r.URL+"/hook")
			w.must(adder.take(t.Context(), event(ev)))
		}
		return false
	}}
	w.must(p.take(t.Context(), ref))
	w.settleUntil(w.start(), w.Now().Add(time.Hour))
	if got := r.got("/hook"); !added || got[ev.ID] != 1 {
		t.Errorf("added %v, posted %v", added, got)
	}
}
