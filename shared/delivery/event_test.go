package delivery_test

import (
	"net/http"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"

	"github.com/google/go-cmp/cmp"
)

// TestCommentReachesEveryone checks the delivery and metrics of a comment: immediately to inboxes
// and endpoints, one of which fails once and one for an hour, and to people with an address by a
// delayed email.
func TestCommentReachesEveryone(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	bad := failing(1, http.StatusInternalServerError)
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/down":
			rw.WriteHeader(http.StatusInternalServerError)
		case "/bad":
			bad(rw, req)
		}
	})
	for hook, kind := range map[string]collab.EventType{
		"good": collab.CommentAdded, "bad": collab.CommentAdded, "down": collab.CommentAdded, "other": collab.NotificationAdded,
	} {
		a.webhook(hook, r.URL+"/"+hook, kind)
	}
	a.member("cid")
	ev := a.comment("thread", a.user("bob"), collab.User{UserID: "cid"}, collab.User{UserID: "dan"}, a.user("ann"))
	w.send(ev)
	p := w.start()
	w.drain(p)
	users, inboxed := []string{"ann", "bob", "cid", "dan"}, []string{"bob", "cid", "dan"}
	a.checkReached(t, ev, users, inboxed, nil)
	if d := a.delivery("good", ev.ID); d.State != collab.DeliveryDelivered || len(d.Attempts) != 1 || d.Attempts[0].Status != 200 || w.work(ev) != nil {
		t.Errorf("delivery %+v, pending %+v", d, w.work(ev))
	}
	w.settleUntil(p, w.Now().Add(collab.MailDelay*time.Second-time.Second))
	a.checkReached(t, ev, users, inboxed, nil)
	w.settleUntil(p, w.Now().Add(time.Hour))
	a.checkReached(t, ev, users, inboxed, []string{"bob", "cid"})
	if got := r.got("/other"); len(got) != 0 {
		t.Errorf("posted to an endpoint for others: %v", got)
	}
	got := w.figures()
	delete(got, metrics.TaskAge) // package pending tests it
	want := map[string]float64{
		"Events": 1, "inbox Deliveries": 3, "email Deliveries": 2,
		// attempts of the ladder within the hour
		"webhook Deliveries": 2, "webhook DeliveryRetries": 1 + 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
