package delivery_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"
	"collabdata/shared/mail"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
)

// failed returns the work of an event whose delivery has failed; nil for none.
func (w *world) failed(ev *collab.Event) *outbox.Work {
	w.Helper()
	work, err := w.db.Outbox.Pending(w.Context(), ref(ev), collab.FailedWork)
	w.must(err)
	return work
}

// TestFails: an event whose delivery fails for hours is parked with the error until it is retried, and then delivered once.
func TestFails(t *testing.T) {
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
	w.must(w.db.Outbox.Retry(t.Context(), ref(ev)))
	w.settle(w.start())
	if len(a.mailsTo("bob")) != 1 || len(a.inbox("bob")) != 1 || w.failed(ev) != nil {
		t.Errorf("mails %v, inbox %v, failed %+v", a.mailsTo("bob"), a.inbox("bob"), w.failed(ev))
	}
}

// silent is a mail service that does not answer.
type silent struct{}

func (silent) Send(ctx context.Context, _ mail.Notice) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestSilentMailService: while the mail service does not answer, a run ends in time, and is counted as none that died. The mail leaves once
// the service answers.
func TestSilentMailService(t *testing.T) {
	a, w := newAccount(t, grouping(true))
	ev := a.comment("thread", a.user("bob"))
	p := w.start(func(o *delivery.Options) { o.Mailer = silent{} })
	w.must(p.Event(t.Context(), event(ev)))
	for range 5 {
		w.add(10 * time.Minute)
		ctx, cancel := context.WithTimeout(p.ctx, 5500*time.Millisecond) // as what is left of a run
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

// TestTakenAtOnce: messages about an event that come again at one moment, and are handled side by side, count as one attempt.
func TestTakenAtOnce(t *testing.T) {
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

// TestUnparked: what was parked is pending as any other once its account is enabled: the relay sends it again as often.
func TestUnparked(t *testing.T) {
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
