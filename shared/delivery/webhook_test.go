package delivery_test

import (
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/task"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// quiet records an event for endpoints only.
func (a *account) quiet() *collab.Event {
	a.Helper()
	return a.notification(quiet)
}

// TestLadder checks that an event that always fails, while others succeed, gets eight posts at the
// intervals of the ladder.
func TestLadder(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var at []time.Time
	var poison string
	a.hooked(func(rw http.ResponseWriter, req *http.Request) {
		if req.Header.Get("webhook-id") != poison {
			return
		}
		at = append(at, w.Now())
		if got, want := req.Header.Get("webhook-timestamp"), fmt.Sprint(w.Now().Unix()); got != want {
			t.Errorf("attempt %d has the timestamp %s, want its own, %s", len(at), got, want)
		}
		rw.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(rw, "cannot take attempt ", len(at), strings.Repeat("\x00", webhook.MaxAnswer))
	})
	ev := a.quiet()
	poison = ev.ID
	w.send(ev)
	p := w.start()
	w.drain(p)
	for len(at) < webhook.Attempts {
		next := w.waiting()[0].Next
		w.send(a.quiet())
		w.drain(p)
		w.moveTo(time.UnixMilli(next).Add(time.Minute - 1).Truncate(time.Minute))
		w.release()
		w.relay()
		w.drain(p)
	}
	w.settle(p)
	ladder := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	if len(at) != len(ladder)+1 {
		t.Fatalf("%d posts", len(at))
	}
	for i, step := range ladder {
		if waited := at[i+1].Sub(at[i]); waited < step*8/10 || waited > step*12/10+2*time.Minute {
			t.Errorf("attempt %d after %v, want %v", i+2, waited, step)
		}
	}
	d := a.delivery("hook", ev.ID)
	if d.State != collab.DeliveryExhausted || d.Tries != webhook.Attempts || len(d.Attempts) != webhook.Attempts {
		t.Errorf("delivery %+v", d)
	}
	if last := d.Attempts[7]; last.Status != 500 || last.Reason != "answered 500 Internal Server Error" || last.At != at[7].UnixMilli() {
		t.Errorf("last attempt %+v", last)
	}
	for i, attempt := range d.Attempts {
		want := ""
		if i >= webhook.Attempts-collab.MaxDeliveryAnswers {
			want = collab.Cut(fmt.Sprint("cannot take attempt ", i+1, strings.Repeat("\uFFFD", 1_000)), 1_000)
		}
		if attempt.Answer != want {
			t.Errorf("attempt %d keeps the answer %q, want %q", i+1, attempt.Answer, want)
		}
	}
	if !strings.Contains(w.metrics.String(), `"Channel":"webhook","DeliveryFailures":1`) {
		t.Errorf("metrics %s", &w.metrics)
	}
}

// TestAnswers checks the consequences of each kind of response. Package webhook tests their
// classification.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		wait   time.Duration // until the second attempt
		status int
	}{
		{"fails", answer(500, ""), 5 * time.Second, 500},
		{"resets", reset, 5 * time.Second, 0},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 5 * time.Second, 0},
		{"is busy", answer(429, "120"), 2 * time.Minute, 429},
		{"is busy for too long", answer(503, "999999999"), 10 * time.Hour, 503},
		{"is gone", answer(410, ""), 5 * time.Second, 410},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t)
			a.hooked(test.answer)
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
			if d.State != collab.DeliveryPending || len(d.Attempts) != 1 || d.Attempts[0].Status != test.status {
				t.Errorf("delivery %+v", d)
			}
			if wait := time.UnixMilli(d.NextAttempt).Sub(start); wait < test.wait*8/10 || wait > test.wait*12/10 {
				t.Errorf("the next attempt is in %v, want %v", wait, test.wait)
			}
			hook, err := w.db.Hooks.Webhook(t.Context(), a.id, "hook")
			if tasks := w.waiting(); err != nil || hook.Disabled != (test.status == 410) || !hook.Disabled && tasks[0].Due < d.NextAttempt {
				t.Errorf("endpoint %+v, %v; waits until %d, the tasks %+v", hook, err, d.NextAttempt, tasks)
			}
		})
	}
}

func answer(status int, retryAfter string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", "https://example.com/")
		rw.Header().Set("Retry-After", retryAfter)
		rw.WriteHeader(status)
	}
}

func reset(rw http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		panic(err)
	}
	conn.Close()
}

// TestDisabled checks that an endpoint that only failed for five days is disabled, and that the
// account's other endpoints are notified. Its pending deliveries continue when it is enabled.
func TestDisabled(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var mended atomic.Bool
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/down" && !mended.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	a.webhook("down", r.URL+"/down")
	a.webhook("up", r.URL+"/up", collab.WebhookDisabled)
	p := w.start()
	start := w.Now()
	endpoint := func() collab.Webhook {
		hook, err := w.db.Hooks.Webhook(t.Context(), a.id, "down")
		w.must(err)
		return hook
	}
	ev := a.quiet()
	w.send(ev)
	w.settleUntil(p, start.Add(5*24*time.Hour-time.Minute))
	if endpoint().Disabled {
		t.Fatal("disabled before five days were over")
	}
	late := a.quiet()
	w.send(late)
	w.settle(p)
	hook := endpoint()
	if !hook.Disabled || !strings.Contains(hook.DisabledReason, "only failed for 5 days") {
		t.Fatalf("endpoint %+v", hook)
	}
	if at := time.UnixMilli(hook.LastUpdated).Sub(start); at < 5*24*time.Hour || at > 6*24*time.Hour {
		t.Errorf("disabled after %v", at)
	}
	if len(r.got("/up")) != 1 || !strings.Contains(r.posts()[len(r.posts())-1].body, `"webhookId":"down"`) {
		t.Errorf("the other endpoint got %v", r.got("/up"))
	}
	if !strings.Contains(w.metrics.String(), `"WebhooksDisabled":1`) {
		t.Errorf("metrics %s", &w.metrics)
	}
	if posts := len(r.got("/down")); posts != 2 || len(r.posts()) > 40 {
		t.Errorf("%d posts of %d events", len(r.posts()), posts)
	}
	before := len(r.posts())
	w.add(24 * time.Hour)
	missed := a.quiet()
	w.send(missed)
	w.settle(p)
	if _, err := w.db.Hooks.Delivery(t.Context(), a.endpoint("down"), missed.ID); collab.CodeOf(err) != collab.NotFound ||
		len(r.posts()) != before {
		t.Errorf("after it was disabled: %v, %d posts more", err, len(r.posts())-before)
	}
	mended.Store(true)
	a.changeHook("down", func(h *collab.Webhook) { h.Disabled = false })
	w.settle(p)
	a.checkDelivered("down", 0, ev, late)
}

// TestUnwanted checks that waiting deliveries are canceled if the endpoint drops their type.
func TestUnwanted(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := a.hooked(failing(1, 500))
	unwanted, wanted := a.quiet(), a.event(collab.WebhookDisabled)
	wanted.Notify = false
	w.did(w.db.Inbox.AddNotification(t.Context(), a.request(), a.doc.OrganizationRef, collab.Notification{ID: wanted.ID}, nil, wanted))
	w.send(unwanted, wanted)
	p := w.start()
	w.drain(p)
	a.changeHook("hook", func(h *collab.Webhook) { h.EventTypes = []collab.EventType{collab.WebhookDisabled} })
	w.settle(p)
	if got := r.got("/hook"); got[unwanted.ID] != 1 || got[wanted.ID] != 2 {
		t.Errorf("posts %v", got)
	}
	if d := a.delivery("hook", unwanted.ID); d.State != collab.DeliveryCanceled || len(d.Attempts) != 1 {
		t.Errorf("unwanted %+v", d)
	}
	a.checkDelivered("hook", 2, wanted)
}

// TestRest checks that an endpoint rests after five failures. It then gets at most one post per
// half minute until one succeeds, and finally all deliveries.
func TestRest(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var up atomic.Bool
	var mu sync.Mutex
	var at []time.Time
	a.hooked(func(rw http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !up.Load() {
			at = append(at, w.Now())
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	var evs []*collab.Event
	for range 30 {
		evs = append(evs, a.quiet())
		w.add(time.Millisecond)
	}
	start := w.Now()
	w.send(evs...)
	p := w.start()
	w.drain(p)
	if len(at) != collab.RestAfter {
		t.Errorf("%d posts before it rested", len(at))
	}
	first := len(at)
	w.settleUntil(p, start.Add(30*time.Minute))
	for i := first + 1; i < len(at); i++ {
		if gap := at[i].Sub(at[i-1]); gap < 30*time.Second {
			t.Errorf("probe %d came %v after the last", i-first, gap)
		}
	}
	if probes := len(at) - first; probes < 5 || probes > 60 {
		t.Errorf("%d probes in half an hour", probes)
	}
	up.Store(true)
	w.settle(p)
	a.checkDelivered("hook", 0, evs...)
	if took := w.Now().Sub(start); took > 12*time.Hour {
		t.Errorf("all was delivered after %v", took)
	}
	if l := a.progress("hook"); l.Health.Failures != 0 || l.Pause != 0 {
		t.Errorf("progress %+v", l)
	}
}

// TestStopsAtFailure checks that a healthy endpoint gets up to fifty concurrent posts, over kept
// connections, and no new ones after a failure.
func TestStopsAtFailure(t *testing.T) {
	t.Parallel()
	const n, good, side = 250, 100, 50
	a, w := newAccount(t)
	var posts most
	var begun atomic.Int64
	var connections sync.Map
	a.hooked(func(rw http.ResponseWriter, req *http.Request) {
		connections.Store(req.RemoteAddr, true)
		posts.add(1)
		defer posts.add(-1)
		if begun.Add(1) > good {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	for range n {
		ev := a.event(collab.NotificationAdded)
		ev.NotificationID = ev.ID
		w.did(w.db.Outbox.Write(t.Context(), w.db.Outbox.Record(ev)...))
		a.deliver("hook", ev)
	}
	w.send(a.quiet())
	w.drain(w.start())
	if _, most := posts.read(); begun.Load() <= good || begun.Load() > good+side || most > side {
		t.Errorf("%d posts failed, %d were under way, want up to %d", begun.Load()-good, most, side)
	}
	if n := len(maps.Collect(connections.Range)); n > side {
		t.Errorf("%d posts took %d connections", begun.Load(), n)
	}
}

// TestOneHolder checks that one process posts to an endpoint, however many messages there are, with
// five concurrent posts, and that others are not delayed.
func TestOneHolder(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var posts most
	free := make(chan struct{})
	a.hooked(func(http.ResponseWriter, *http.Request) {
		posts.add(1)
		<-free
		posts.add(-1)
	})
	var evs []*collab.Event
	p := w.start()
	for range 12 {
		ev := a.quiet()
		evs = append(evs, ev)
		w.must(p.take(t.Context(), event(ev)))
		w.add(time.Millisecond)
	}
	slow, held := hooks.EndpointTask(a.id, "hook"), make(chan error)
	go func() { held <- p.take(t.Context(), slow) }()
	wait(t, func() bool { now, _ := posts.read(); return now == 5 })
	w.must(w.start().take(t.Context(), slow))
	other := w.account()
	quick := other.hooked(nil)
	w.must(p.take(t.Context(), event(other.quiet())))
	w.must(p.take(t.Context(), hooks.EndpointTask(other.id, "hook")))
	if len(quick.posts()) != 1 {
		t.Error("the quick endpoint waits for the slow one")
	}
	close(free)
	w.must(<-held)
	w.settle(p)
	if _, most := posts.read(); most != 5 && most != 10 {
		t.Errorf("%d posts at once", most)
	}
	a.checkDelivered("hook", 1, evs...)
}

// TestOneMessage checks that an endpoint has one message, however many deliveries it has, and none
// while it rests.
func TestOneMessage(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := a.hooked(answer(500, ""))
	p := w.start()
	add := func(want int) {
		t.Helper()
		for range 7 {
			w.must(p.take(t.Context(), event(a.quiet())))
			w.add(time.Millisecond)
		}
		if n, err := w.calls.Waiting(t.Context()); n != want || err != nil {
			t.Errorf("%d messages, %v, want %d", n, err, want)
		}
	}
	add(1)
	w.drain(p) // it rests after the first failures
	add(0)
	if work := w.pending(); len(work) != 1 || work[0].ID != "hook" {
		t.Errorf("waiting %+v", work)
	}
	if n := len(r.posts()); n != 5 {
		t.Errorf("%d posts", n)
	}
}

// TestOrder checks that new deliveries are posted in the order of their events, not of their
// addition.
func TestOrder(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := a.hooked(nil)
	var want []string
	p := w.start()
	var evs []*collab.Event
	for range 30 {
		evs = append(evs, a.quiet())
		want = append(want, evs[len(evs)-1].ID)
		w.add(time.Millisecond)
	}
	for _, i := range mathrand.New(mathrand.NewPCG(1, 2)).Perm(len(evs)) {
		w.must(p.take(t.Context(), event(evs[i])))
	}
	w.settle(p)
	// concurrent ones may overtake each other
	for _, together := range [][2]int{{0, 5}, {5, 15}, {15, 30}} {
		for i := together[0]; i < min(together[1], len(r.posts())); i++ {
			if at := slices.Index(want, r.posts()[i].id); at < together[0] || at >= together[1] {
				t.Errorf("post %d is of event %d", i, at)
			}
		}
	}
	if len(r.posts()) != len(want) {
		t.Errorf("%d posts", len(r.posts()))
	}
}

// TestParked checks that nothing is sent for a disabled account or organization, and everything
// after it is enabled.
func TestParked(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"account", "organization"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t, grouping(true))
			var posts atomic.Int32
			disable := func(off bool) {
				if what == "account" {
					a.change(func(c *collab.Account) { c.Disabled = off })
					return
				}
				err := storetest.ChangeOrganization(t.Context(), w.db.Directory, a.doc.OrganizationRef, func(o *collab.Organization) { o.Disabled = off })
				w.must(err)
			}
			a.hooked(func(rw http.ResponseWriter, _ *http.Request) {
				if posts.Add(1) == 1 {
					disable(true)
					w.add(6 * time.Second) // until the cached state expires
				}
			})
			p := w.start()
			var evs []*collab.Event
			for range 12 {
				evs = append(evs, a.quiet())
				w.must(p.take(t.Context(), event(evs[len(evs)-1])))
				w.add(time.Millisecond)
			}
			told := a.comment("thread", a.user("bob"))
			w.drain(p)
			if n := posts.Load(); n > 5 {
				t.Errorf("%d posts, of which the first disabled the %s", n, what)
			}
			w.send(told)
			before := posts.Load()
			w.settleUntil(p, w.Now().Add(2*time.Hour))
			if posts.Load() != before || len(a.inbox("bob")) != 0 || len(w.sentEmails()[a.address("bob")]) != 0 {
				t.Errorf("while it is disabled: %d posts, inbox %v", posts.Load()-before, a.inbox("bob"))
			}
			disable(false)
			start := w.Now()
			w.settle(p)
			a.checkDelivered("hook", 1, append(evs, told)...)
			if len(a.inbox("bob")) != 1 || len(w.sentEmails()[a.address("bob")]) != 1 {
				t.Errorf("inbox %v, mails %v", a.inbox("bob"), w.sentEmails()[a.address("bob")])
			}
			if took := w.Now().Sub(start); took > 15*time.Minute {
				t.Errorf("all went on after %v", took)
			}
		})
	}
}

// TestPoison checks that an event that crashes its process fails after enough attempts, and
// continues when retried.
func TestPoison(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	ev := a.comment("thread", a.user("bob"))
	deaths := 0
	for range 2 * task.MaxAttempts {
		w.add(time.Hour)
		w.relay()
		p := w.start()
		p.killAt.call = 6 // during the work
		messages, err := w.events.Receive(t.Context(), queue.MaxReceive, 0)
		w.must(err)
		for _, m := range messages {
			if err := p.Take(p.ctx, m.Text); err == nil {
				w.must(w.events.Delete(t.Context(), m))
			} else if p.ctx.Err() != nil {
				deaths++
				break
			}
		}
	}
	if failed := w.failed(ev); failed == nil || deaths != task.MaxAttempts || len(a.inbox("bob")) != 0 {
		t.Errorf("failed %+v after %d deaths", failed, deaths)
	}
	if !strings.Contains(w.log.String(), "task failed") {
		t.Errorf("log %s", &w.log)
	}
	w.must(w.db.Outbox.Retry(t.Context(), event(ev)))
	w.settle(w.start())
	if len(a.inbox("bob")) != 1 {
		t.Error("not delivered after the retry")
	}
}

// TestUnreadableEvent checks that unreadable events in the inbox, and those of unknown types, do
// not block emails of their thread.
func TestUnreadableEvent(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	p := w.start()
	bob := a.user("bob")
	first := a.comment("thread", bob)
	w.send(first)
	w.drain(p)
	w.add(time.Minute)
	second := a.comment("thread", bob)
	w.send(second)
	w.drain(p)
	it, err := w.db.Outbox.Get(t.Context(), keys.Task(event(second)))
	w.must(err)
	it[keys.Body] = store.Text(`{"id":1}`)
	w.must(w.db.Outbox.Put(t.Context(), it))
	w.add(time.Minute)
	third := a.record("thread", "comment.sung", func(ev *draft) { ev.Actor = &collab.User{UserID: "ann"} })
	w.send(third)
	w.drain(p)
	w.settle(p)
	if diff := cmp.Diff([]string{"ann mentioned you (and 2 more) · doc"}, a.mailsTo("bob")); diff != "" {
		t.Error(diff)
	}
}

// TestRotation checks that a post is signed with both secrets during rotation.
func TestRotation(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var header http.Header
	r := receive(t, func(_ http.ResponseWriter, req *http.Request) { header = req.Header })
	a.webhook("hook", r.URL)
	fresh, err := webhook.NewSecret(strings.NewReader(strings.Repeat("n", 32)))
	w.must(err)
	var old string
	a.changeHook("hook", func(h *collab.Webhook) {
		old = h.Secrets[0].Secret
		w.must(h.Rotate("", fresh, w.millis()))
	})
	w.run(a.quiet())
	for _, secret := range []string{fresh, old} {
		v, err := standardwebhooks.NewWebhook(secret)
		w.must(err)
		w.must(v.VerifyIgnoringTimestamp([]byte(r.posts()[0].body), header))
	}
}

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
