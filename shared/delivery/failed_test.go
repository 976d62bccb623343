package delivery_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/google/go-cmp/cmp"
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
	"collabdata/shared/store/task"
)

// failed returns the task of an event if it has failed for hours, or nil.
func (w *world) failed(ev *collab.Event) *task.Task {
	w.Helper()
	t, err := w.db.Outbox.Task(w.Context(), event(ev))
	if w.must(err); t == nil || !t.Failed {
		return nil
	}
	return t
}

// TestFails checks that an event that fails for hours waits with its error until it is retried, and
// is then delivered once.
func TestFails(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	ev := a.comment("thread", a.user("bob"))
	began := w.Now()
	p := w.start()
	attempts := 0
	for w.send(ev); w.failed(ev) == nil && w.Now().Sub(began) < 24*time.Hour; w.relay() {
		p.flaw = &flaw{refused: true, at: func(op string, body []byte) bool {
			return op != "BatchGetItem" && bytes.Contains(body, []byte(keys.Notification(a.doc.OrganizationRef, ev.ID).PK))
		}}
		if w.drain(p); p.flaw.found.Load() {
			attempts++
		}
		w.add(10 * time.Minute)
	}
	failed := w.failed(ev)
	if after := w.Now().Sub(began); failed == nil || failed.Failure == "" || attempts != task.MaxAttempts || after < 4*time.Hour || after > 12*time.Hour {
		t.Fatalf("after %v and %d attempts: %+v", after, attempts, failed)
	}
	if got, _ := a.explained(ev); got["bob"] != [2]string{"failed: " + failed.Failure, "failed: " + failed.Failure} {
		t.Errorf("explained as %q", got["bob"])
	}
	if n := w.figures()["TasksFailed"]; n != 1 {
		t.Errorf("%v failed tasks are counted", n)
	}
	w.must(w.db.Outbox.Retry(t.Context(), event(ev)))
	w.settle(w.start())
	if len(a.mailsTo("bob")) != 1 || len(a.inbox("bob")) != 1 || w.failed(ev) != nil {
		t.Errorf("mails %v, inbox %v, failed %+v", a.mailsTo("bob"), a.inbox("bob"), w.failed(ev))
	}
}

// silent is an email service that does not respond in time.
type silent struct{ calls *atomic.Int64 }

func (s silent) Send(context.Context, mail.Email) error {
	s.calls.Add(1)
	return mail.ErrUnconfirmed
}

// TestSilentMailService checks that an email without an answer of the email service is recorded as
// perhaps sent, and is not sent again.
func TestSilentMailService(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	ev := a.comment("thread", a.user("bob"))
	w.send(ev)
	var calls atomic.Int64
	w.settle(w.start(func(o *delivery.Options) { o.Mailer = silent{&calls} }))
	w.settle(w.start())
	if got, _ := a.explained(ev); calls.Load() != 1 || len(a.mailsTo("bob")) != 0 || !strings.Contains(got["bob"][1], "not confirmed") {
		t.Errorf("%d attempts; mails %v; explained as %q", calls.Load(), a.mailsTo("bob"), got["bob"])
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
			if err := p.take(t.Context(), event(ev)); err != nil {
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

// broken is an email service that fails.
type broken struct{ calls *atomic.Int64 }

func (b broken) Send(context.Context, mail.Email) error {
	b.calls.Add(1)
	return errors.New("it fails")
}

// TestFailingEmail checks that an email that fails for hours waits for the operator, and that its
// retry tells of later events, too.
func TestFailingEmail(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	w.send(a.comment("thread", a.user("bob")))
	w.drain(w.start())
	email := a.email("bob")
	var calls atomic.Int64
	p := w.start(func(o *delivery.Options) { o.Mailer = broken{&calls} })
	w.settleUntil(p, w.Now().Add(10*24*time.Hour))
	check := func() {
		t.Helper()
		failed, err := w.db.Outbox.Task(t.Context(), email)
		if w.must(err); failed == nil || !failed.Failed || calls.Load() != task.MaxAttempts {
			t.Fatalf("%+v after %d attempts", failed, calls.Load())
		}
	}
	check()
	w.send(a.comment("thread", a.user("bob")))
	w.settle(p)
	check()
	w.must(w.db.Outbox.Retry(t.Context(), email))
	w.settle(w.start())
	if diff := cmp.Diff([]string{"ann mentioned you (and 1 more) · doc"}, a.mailsTo("bob")); diff != "" {
		t.Error(diff)
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
