package delivery_test

import (
	"net/http"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"

	"github.com/google/go-cmp/cmp"
)

func TestCommentReachesEveryone(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	r := receive(t, nil)
	a.webhook("all", r.URL+"/all")
	a.webhook("comments", r.URL+"/comments", collab.CommentAdded, collab.CommentUpdated)
	a.webhook("others", r.URL+"/others", collab.NotificationAdded)
	a.member("cid")
	ev := a.comment("thread", a.user("bob"), collab.User{UserID: "cid"}, collab.User{UserID: "dan"}, a.user("ann"))
	w.send(ev)
	p := w.start()
	w.drain(p)
	for path, want := range map[string]map[string]int{"/all": {ev.ID: 1}, "/comments": {ev.ID: 1}, "/others": {}} {
		if diff := cmp.Diff(want, r.got(path)); diff != "" {
			t.Errorf("posts to %s: %s", path, diff)
		}
	}
	for user, want := range map[string][]string{"bob": {ev.ID}, "cid": {ev.ID}, "dan": {ev.ID}, "ann": {}} {
		if diff := cmp.Diff(want, a.inbox(user)); diff != "" {
			t.Errorf("inbox of %s: %s", user, diff)
		}
	}
	if mails := w.mails(); len(mails[a.address("bob")]) != 0 {
		t.Error("a mail about a thread did not wait")
	}
	w.settle(p)
	if waited := time.Duration(w.millis()-ev.Time) * time.Millisecond; waited < collab.MailDelay*time.Second ||
		waited > collab.MailDelay*time.Second+time.Minute {
		t.Errorf("it was over after %v", waited)
	}
	mails := w.mails()
	for user, want := range map[string]int{"bob": 1, "cid": 1, "dan": 0, "ann": 0} {
		if got := len(mails[a.address(user)]); got != want {
			t.Errorf("%s has %d mails, want %d", user, got, want)
		}
	}
	if d := a.delivery("all", ev.ID); d.State != collab.DeliveryDelivered || len(d.Attempts) != 1 || d.Attempts[0].Status != 204 {
		t.Errorf("delivery %+v", d)
	}
	if work := a.work(ev); work != nil {
		t.Errorf("pending %+v", work)
	}
}

// TestMetrics holds what is counted of an event that reaches one person in the app and by mail, another in the app alone, one endpoint at
// the second attempt, one at once, and a third not within an hour.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	bad := failing(1, http.StatusInternalServerError)
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/down":
			rw.WriteHeader(http.StatusInternalServerError)
		case "/bad":
			bad(rw, req)
		}
	})
	for _, hook := range []string{"good", "bad", "down"} {
		a.webhook(hook, r.URL+"/"+hook)
	}
	w.send(a.comment("thread", a.user("bob"), collab.User{UserID: "cid"}))
	w.settleUntil(w.start(), w.Now().Add(time.Hour))
	got := w.figures()
	delete(got, metrics.PendingEventAge) // package relay holds it
	want := map[string]float64{
		"Events": 1, "inbox Deliveries": 2, "email Deliveries": 1,
		"webhook Deliveries": 2, "webhook DeliveryRetries": 1 + 4, // those of the ladder within the hour
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
