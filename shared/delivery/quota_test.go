package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// TestMailQuota checks that emails over an account's quota wait, while its inboxes and other
// accounts' emails do not. All emails are sent in the end.
func TestMailQuota(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true), func(s *collab.Settings) { s.MailsPerDay = 2 })
	other := w.account(grouping(true))
	p := w.start()
	start := w.Now()
	for i, thread := range []string{"one", "two", "three", "four"} {
		ev := a.comment(thread, a.user("bob"))
		w.send(ev)
		w.drain(p)
		if inbox, _ := a.reached(ev, "bob"); len(inbox) != 1 {
			t.Errorf("event %d is not in the inbox", i)
		}
	}
	w.send(other.comment("thread", other.user("cid")))
	w.drain(p)
	if got := len(a.mailsTo("bob")); got < 2 || got > 3 {
		t.Errorf("%d mails at once, with a quota of 2 a day", got)
	}
	if got := other.mailsTo("cid"); len(got) != 1 {
		t.Errorf("another account's mails: %v", got)
	}
	if w.figures()["MailsHeld"] == 0 || !strings.Contains(w.log.String(), "emails wait") {
		t.Errorf("nothing tells the operator: %v, log %s", w.figures(), &w.log)
	}
	w.settle(p)
	if got := a.mailsTo("bob"); len(got) != 4 || w.Now().Sub(start) < 12*time.Hour {
		t.Errorf("in the end, after %v, mails %v", w.Now().Sub(start), got)
	}
}

// TestDeliveryIsCharged checks that the account pays for the table units of its delivery.
func TestDeliveryIsCharged(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	people := make([]collab.User, 100)
	for i := range people {
		people[i] = collab.User{UserID: fmt.Sprintf("u%03d", i)}
	}
	w.send(a.notification(func(ev *draft) { ev.People = people }))
	var usage collab.Usage
	p := w.start()
	p.ctx = collab.WithUsage(p.ctx, &usage)
	w.drain(p)
	_, written, _ := usage.Total()
	paid, err := w.db.Accounts.Paid(t.Context(), quota.Payer{Account: a.id})
	w.must(err)
	limit := quota.Of(collab.Settings{})[quota.Writes]
	if charged := time.UnixMilli(paid[quota.Writes]).Sub(w.Now()); charged < limit.Cost(written*0.9) || written < 100 {
		t.Errorf("%.0f units were written, and %v charged: %v", written, charged, limit.Cost(written))
	}
}
