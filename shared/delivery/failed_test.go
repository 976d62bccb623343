package delivery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"
	"collabdata/shared/mail"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
)

// failed returns the work of an event with a failed delivery, or nil.
func (w *world) failed(ev *collab.Event) *outbox.Work {
	w.Helper()
	work, err := w.db.Outbox.Pending(w.Context(), ref(ev), collab.FailedWork)
	w.must(err)
	return work
}

// TestFails checks that an event that fails for hours is parked with its error until it is retried,
// and then delivered once.
func TestFails(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	ev := a.comment("thread", a.user("bob"))
	began := w.Now()
	p := w.start()
	for w.failed(ev) == nil && w.Now().Sub(began) < 24*time.Hour {
		p.flaw = &flaw{refused: true, at: func(op string, body []byte) bool {
			return op != "BatchGetItem" && bytes.Contains(body, []byte(keys.Notification(a.doc.OrganizationRef, ev.ID).PK))
		}}
		if err := p.Event(t.Context(), event(ev)); err == nil {
			t.Fatal("no error")
		}
		w.add(time.Hour)
		w.relay()
	}
	failed := w.failed(ev)
	if after := w.Now().Sub(began); failed == nil || failed.Failure == "" || after < 4*time.Hour || after > 12*time.Hour {
		t.Fatalf("after %v: %+v", after, failed)
	}
	if got, _ := a.explained(ev); got["bob"] != [2]string{"failed: " + failed.Failure, "failed: " + failed.Failure} {
		t.Errorf("explained as %q", got["bob"])
	}
	w.must(w.db.Outbox.Retry(t.Context(), ref(ev)))
	w.settle(w.start())
	if len(a.mailsTo("bob")) != 1 || len(a.inbox("bob")) != 1 || w.failed(ev) != nil {
		t.Errorf("mails %v, inbox %v, failed %+v", a.mailsTo("bob"), a.inbox("bob"), w.failed(ev))
	}
}

// silent is an email service that does not respond.
type silent struct{}

func (silent) Send(ctx context.Context, _ mail.Email) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestSilentMailService checks that a run ends in time and does not count as crashed if the email
// service does not respond. The email leaves when the service responds.
func TestSilentMailService(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	ev := a.comment("thread", a.user("bob"))
	p := w.start(func(o *delivery.Options) { o.Mailer = silent{} })
	w.must(p.Event(t.Context(), event(ev)))
	for range 5 {
		w.add(10 * time.Minute)
		ctx, cancel := context.WithTimeout(p.ctx, 5500*time.Millisecond) // the rest of a run
		if err := p.Event(ctx, a.email("bob")); err == nil || ctx.Err() != nil {
			t.Errorf("%v, %v", err, ctx.Err())
		}
		cancel()
	}
	w.settle(w.start())
	if failed := w.failed(ev); failed != nil || len(a.mailsTo("bob")) != 1 {
		t.Errorf("failed %+v; mails %v", failed, a.mailsTo("bob"))
	}
}

// TestTakenAtOnce checks that concurrent repeats of an event's message count as one attempt.
func TestTakenAtOnce(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	ev := a.comment("thread", a.user("bob"))
	p := w.start()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := p.Event(t.Context(), queue.Event{EventRef: ref(ev), Again: true}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.settle(p)
	if failed := w.failed(ev); failed != nil || len(a.mailsTo("bob")) != 1 || len(a.inbox("bob")) != 1 {
		t.Errorf("failed %+v; mails %v, inbox %v", failed, a.mailsTo("bob"), a.inbox("bob"))
	}
}

// TestUnparked checks that parked work becomes normal pending work when its account is enabled,
// with the same number of retries.
func TestUnparked(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	disable := func(off bool) { a.change(func(c *collab.Account) { c.Disabled = off }) }
	ev := a.comment("thread", a.user("bob"))
	disable(true)
	w.must(w.start().Event(t.Context(), event(ev)))
	if work := w.work(ev); work == nil || work.Kind != collab.ParkedWork {
		t.Fatalf("pending %+v", work)
	}
	disable(false)
	w.add(time.Hour)
	p := w.start()
	p.killAt.step = 5
	if err := p.Event(p.ctx, queue.Event{EventRef: ref(ev), Kind: collab.ParkedWork}); err == nil {
		t.Fatal("it was delivered")
	}
	if work := w.work(ev); work == nil || work.Kind != collab.EventWork || work.Next > w.Now().Add(2*time.Minute).UnixMilli() ||
		work.Since < w.millis() {
		t.Errorf("pending %+v", work)
	}
	w.settle(w.start())
	if n := len(a.mailsTo("bob")); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// broken is an email service that fails.
type broken struct{ calls *atomic.Int64 }

func (b broken) Send(context.Context, mail.Email) error {
	b.calls.Add(1)
	return errors.New("it fails")
}

// TestFailingEmail checks that an email that fails for days is tried daily after some hours, and
// logged each time. It leaves after the failure ends.
func TestFailingEmail(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	ev := a.comment("thread", a.user("bob"))
	w.send(ev)
	var calls atomic.Int64
	p := w.start(func(o *delivery.Options) { o.Mailer = broken{&calls} })
	const days = 10
	w.settleUntil(p, w.Now().Add(days*24*time.Hour))
	if n, most := calls.Load(), int64((outbox.MostPostponed+1+days)*keys.Queues()[0].MaxReceives); n < outbox.MostPostponed || n > most {
		t.Errorf("%d attempts in %d days, want %d to %d", n, days, outbox.MostPostponed, most)
	}
	if n := strings.Count(w.log.String(), "notice failed"); n < days-2 || n > days {
		t.Errorf("it was logged %d times", n)
	}
	w.settle(w.start())
	if mails := a.mailsTo("bob"); len(mails) != 1 {
		t.Errorf("mails %q", mails)
	}
}

// TestProviderSilent checks that an email omits a notification about a document if the permission
// provider does not respond.
func TestProviderSilent(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var silent atomic.Bool
	r := receive(t, func(rw http.ResponseWriter, _ *http.Request) {
		if silent.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(rw, `{"userIds": ["bob"]}`)
	})
	a.provider(r.URL, "secret")
	ev := a.comment("thread", a.user("bob"))
	p := w.start()
	w.send(ev)
	w.drain(p)
	silent.Store(true)
	w.settle(p)
	want := [2]string{"reached ", "the permission provider has not allowed it"}
	if got, _ := a.explained(ev); len(a.mailsTo("bob")) != 0 || got["bob"] != want {
		t.Errorf("mails %q; explained as %q", a.mailsTo("bob"), got["bob"])
	}
}
