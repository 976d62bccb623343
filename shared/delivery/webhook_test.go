package delivery_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// quiet records an event that concerns endpoints alone.
func (a *account) quiet() *collab.Event {
	a.Helper()
	return a.notification(func(ev *collab.Event) { ev.Notify = false })
}

// TestLadder: an endpoint that always fails gets eight posts, each as long after the last as the ladder says, and then no more.
func TestLadder(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	var at []time.Time
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		at = append(at, w.Now())
		if got, want := req.Header.Get("webhook-timestamp"), fmt.Sprint(w.Now().Unix()); got != want {
			t.Errorf("attempt %d has the timestamp %s, want its own, %s", len(at), got, want)
		}
		rw.WriteHeader(http.StatusInternalServerError)
	})
	a.webhook("down", r.URL+"/down")
	ev := a.quiet()
	w.send(ev)
	w.settle(w.start())
	ladder := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	if len(at) != len(ladder)+1 {
		t.Fatalf("%d posts", len(at))
	}
	for i, step := range ladder {
		if waited := at[i+1].Sub(at[i]); waited < step*8/10 || waited > step*12/10+time.Minute {
			t.Errorf("attempt %d after %v, want %v", i+2, waited, step)
		}
	}
	if diff := len(r.got("/down")); diff != 1 {
		t.Errorf("webhook-ids %v", r.got("/down"))
	}
	d := a.delivery("down", ev.ID)
	if d.State != collab.DeliveryExhausted || d.Made != webhook.Attempts || len(d.Attempts) != webhook.Attempts {
		t.Errorf("delivery %+v", d)
	}
	if last := d.Attempts[7]; last.Status != 500 || last.Reason != "answered 500 Internal Server Error" || last.At != at[7].UnixMilli() {
		t.Errorf("last attempt %+v", last)
	}
	for _, delay := range w.delays {
		if delay > 15*time.Minute {
			t.Errorf("a message waits for %v in the queue", delay)
		}
	}
	if len(w.delays) != 2 {
		t.Errorf("delays in the queue: %v, want those of 5 s and 5 min", w.delays)
	}
	if !strings.Contains(w.metrics.String(), `"Channel":"webhook","DeliveryFailures":1`) {
		t.Errorf("metrics %s", &w.metrics)
	}
}

// TestReplay replays what was exhausted, one and all since a time.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	var up atomic.Bool
	r := receive(t, func(rw http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			rw.WriteHeader(http.StatusBadGateway)
		}
	})
	a.webhook("hook", r.URL+"/hook")
	var evs []*collab.Event
	p := w.start()
	for range 3 {
		evs = append(evs, a.quiet())
		w.send(evs[len(evs)-1])
		w.settle(p)
	}
	up.Store(true)
	if _, err := w.outbox.ReplayDelivery(t.Context(), a.id, "hook", evs[0].ID); err != nil {
		t.Fatal(err)
	}
	w.settle(p)
	if d := a.delivery("hook", evs[0].ID); d.State != collab.DeliveryDelivered || d.Made != 1 || len(d.Attempts) != 9 {
		t.Errorf("replayed %+v", d)
	}
	n, next, err := w.outbox.ReplayDeliveries(t.Context(), a.id, "hook", collab.DeliveryFilter{After: evs[1].Time}, "", 100)
	if n != 2 || next != "" || err != nil {
		t.Fatal(n, next, err)
	}
	w.settle(p)
	for _, ev := range evs[1:] {
		if d := a.delivery("hook", ev.ID); d.State != collab.DeliveryDelivered {
			t.Errorf("replayed %+v", d)
		}
	}
}

// TestAnswers: what each kind of answer leads to. Package webhook holds how it is told.
func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name     string
		answer   http.HandlerFunc
		wait     time.Duration // until the second attempt
		state    collab.DeliveryState
		status   int
		disabled bool
	}{
		{"fails", answer(500), 5 * time.Second, collab.DeliveryPending, 500, false},
		{"redirects", answer(302), 5 * time.Second, collab.DeliveryPending, 302, false},
		{"resets", reset, 5 * time.Second, collab.DeliveryPending, 0, false},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 5 * time.Second, collab.DeliveryPending, 0, false},
		{"is busy", busy("429", "120"), 2 * time.Minute, collab.DeliveryPending, 429, false},
		{"is busy for long", busy("503", "7200"), 2 * time.Hour, collab.DeliveryPending, 503, false},
		{"is busy for too long", busy("503", "999999999"), 10 * time.Hour, collab.DeliveryPending, 503, false},
		{"is gone", answer(410), 0, collab.DeliveryCanceled, 410, true},
		{"sends 100 MB", func(rw http.ResponseWriter, _ *http.Request) {
			chunk := make([]byte, 1<<20)
			for range 100 {
				if _, err := rw.Write(chunk); err != nil {
					return
				}
			}
		}, 0, collab.DeliveryDelivered, 200, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.account()
			r := receive(t, test.answer)
			a.webhook("hook", r.URL+"/hook")
			ev := a.quiet()
			w.send(ev)
			start := w.Now()
			p := w.start(func(o *delivery.Options) {
				if test.name == "hangs" {
					o.Client.Timeout = 300 * time.Millisecond
				}
			})
			w.drain(p)
			d := a.delivery("hook", ev.ID)
			if d.State != test.state || len(d.Attempts) != 1 || d.Attempts[0].Status != test.status {
				t.Errorf("delivery %+v", d)
			}
			if test.wait > 0 {
				if wait := time.UnixMilli(d.NextAttempt).Sub(start); wait < test.wait*8/10 || wait > test.wait*12/10 {
					t.Errorf("the next attempt is in %v, want %v", wait, test.wait)
				}
				if byRelay := d.Due != 0; byRelay != (test.wait > 15*time.Minute) {
					t.Errorf("left to the relay: %v", byRelay)
				}
			}
			hook, err := w.outbox.Webhook(t.Context(), a.id, "hook")
			if err != nil || hook.Disabled != test.disabled {
				t.Errorf("endpoint %+v, %v", hook, err)
			}
		})
	}
}

func answer(status int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", "https://example.com/")
		rw.WriteHeader(status)
	}
}

func busy(status, after string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", after)
		code := http.StatusTooManyRequests
		if status == "503" {
			code = http.StatusServiceUnavailable
		}
		rw.WriteHeader(code)
	}
}

func reset(rw http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		panic(err)
	}
	conn.Close()
}

// TestDisabled: an endpoint that has only failed for five days is disabled; the others of the account learn of it, and what was on its way
// to it is canceled.
func TestDisabled(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/down" {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	a.webhook("down", r.URL+"/down")
	a.webhook("up", r.URL+"/up", collab.WebhookDisabled)
	p := w.start()
	start := w.Now()
	disabled := func() collab.Webhook {
		hook, err := w.outbox.Webhook(t.Context(), a.id, "down")
		w.must(err)
		return hook
	}
	for day := range 5 {
		if disabled().Disabled {
			t.Fatalf("disabled on day %d", day)
		}
		w.moveTo(start.Add(time.Duration(day) * 24 * time.Hour))
		ev := a.quiet()
		w.send(ev)
		w.settleUntil(p, start.Add(time.Duration(day+1)*24*time.Hour-time.Minute))
	}
	late := a.quiet()
	w.send(late)
	w.drain(p)
	w.settle(p)
	hook := disabled()
	if !hook.Disabled || !strings.Contains(hook.DisabledReason, "only failed for 5 days") {
		t.Fatalf("endpoint %+v", hook)
	}
	if at := time.UnixMilli(hook.LastUpdated).Sub(start); at < 5*24*time.Hour || at > 6*24*time.Hour {
		t.Errorf("disabled after %v", at)
	}
	if d := a.delivery("down", late.ID); d.State != collab.DeliveryCanceled {
		t.Errorf("delivery %+v", d)
	}
	if len(r.got("/up")) != 1 || !strings.Contains(r.posts[len(r.posts)-1].body, `"webhookId":"down"`) {
		t.Errorf("the other endpoint got %v", r.got("/up"))
	}
	if !strings.Contains(w.metrics.String(), `"WebhooksDisabled":1`) {
		t.Errorf("metrics %s", &w.metrics)
	}
	before := len(r.posts)
	after := a.quiet()
	w.send(after)
	w.settle(p)
	if _, err := w.outbox.Delivery(t.Context(), a.id, "down", after.ID); collab.CodeOf(err) != collab.NotFound || len(r.posts) != before {
		t.Errorf("after it was disabled: %v, %d posts more", err, len(r.posts)-before)
	}
}

// TestRest: after five failures an endpoint rests. Then it gets one post each half minute at most, until one succeeds, and in the end
// everything.
func TestRest(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	var up atomic.Bool
	var mu sync.Mutex
	var at []time.Time
	r := receive(t, func(rw http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !up.Load() {
			at = append(at, w.Now())
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	a.webhook("hook", r.URL+"/hook")
	var evs []*collab.Event
	for range 60 {
		evs = append(evs, a.quiet())
		w.add(time.Millisecond)
	}
	start := w.Now()
	w.send(evs...)
	p := w.start()
	w.drain(p)
	if len(at) < collab.RestAfter || len(at) > collab.RestAfter+1 {
		t.Errorf("%d posts before it rested", len(at)) // one may have been on its way when the fifth failed
	}
	first := len(at)
	w.settleUntil(p, start.Add(time.Hour))
	for i := first + 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap < 30*time.Second {
			t.Errorf("probe %d came %v after the last", i-first, gap)
		}
	}
	if probes := len(at) - first; probes < 10 || probes > 120 {
		t.Errorf("%d probes in an hour", probes)
	}
	up.Store(true)
	w.settle(p)
	for _, ev := range evs {
		if d := a.delivery("hook", ev.ID); d.State != collab.DeliveryDelivered {
			t.Errorf("delivery %+v", d)
		}
	}
	if took := w.Now().Sub(start); took > 26*time.Hour {
		t.Errorf("all was delivered after %v", took)
	}
	if hook, err := w.outbox.Webhook(t.Context(), a.id, "hook"); err != nil || hook.Health != (collab.WebhookHealth{}) {
		t.Errorf("endpoint %+v, %v", hook, err)
	}
}

// TestTwoPostsAtOnce: no more than two posts to one endpoint are under way in a process, and others are not held up by it.
func TestTwoPostsAtOnce(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	var now, most atomic.Int32
	free := make(chan struct{})
	slow := receive(t, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		<-free
		now.Add(-1)
	})
	quick := receive(t, nil)
	a.webhook("slow", slow.URL+"/slow")
	var evs []*collab.Event
	for range 8 {
		evs = append(evs, a.quiet())
		w.add(time.Millisecond)
	}
	p := w.start()
	w.send(evs...)
	drained := make(chan bool)
	go func() {
		w.drain(p)
		close(drained)
	}()
	wait(t, func() bool { return now.Load() == 2 })
	other := w.account()
	other.webhook("quick", quick.URL+"/quick")
	ev := other.quiet()
	w.must(p.Event(t.Context(), event(ev)))
	w.must(p.Webhook(t.Context(), hookMessage(ev, "quick")))
	if len(quick.got("/quick")) != 1 {
		t.Error("the quick endpoint waits for the slow one")
	}
	close(free)
	<-drained
	w.settle(p)
	if most.Load() != 2 {
		t.Errorf("%d posts at once", most.Load())
	}
	for _, ev := range evs {
		if d := a.delivery("slow", ev.ID); d.State != collab.DeliveryDelivered {
			t.Errorf("delivery %+v", d)
		}
	}
}

// TestRotation: while secrets rotate a post is signed with both.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	var headers []http.Header
	r := receive(t, func(_ http.ResponseWriter, req *http.Request) { headers = append(headers, req.Header) })
	a.webhook("hook", r.URL+"/hook")
	fresh, err := webhook.NewSecret(strings.NewReader(strings.Repeat("n", 32)))
	w.must(err)
	var old string
	_, err = w.outbox.UpdateWebhook(t.Context(), a.id, "hook", func(hook *collab.Webhook) error {
		old = hook.Secrets[0].Secret
		return hook.Rotate("", fresh, w.millis())
	})
	w.must(err)
	verifies := func(n int, secret string) bool {
		v, err := standardwebhooks.NewWebhook(secret)
		w.must(err)
		return v.VerifyIgnoringTimestamp([]byte(r.posts[n].body), headers[n]) == nil
	}
	p := w.start()
	w.send(a.quiet())
	w.settle(p)
	w.add(24 * time.Hour)
	w.send(a.quiet())
	w.settle(p)
	for n, want := range [][2]bool{{true, true}, {true, false}} {
		if got := [2]bool{verifies(n, fresh), verifies(n, old)}; got != want {
			t.Errorf("post %d verifies with the new and the old secret: %v, want %v", n, got, want)
		}
	}
}

// TestDeletedEndpoint: what is on its way to an endpoint that is deleted is canceled.
func TestDeletedEndpoint(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	r := receive(t, answer(500))
	a.webhook("hook", r.URL+"/hook")
	ev := a.quiet()
	w.send(ev)
	p := w.start()
	w.drain(p)
	w.must(w.outbox.DeleteWebhook(t.Context(), a.id, "hook"))
	w.settle(p)
	if d := a.delivery("hook", ev.ID); d.State != collab.DeliveryCanceled || len(d.Attempts) != 1 {
		t.Errorf("delivery %+v", d)
	}
}

// wait waits for a condition.
func wait(t testing.TB, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
		select {
		case <-t.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
}
