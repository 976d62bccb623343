package delivery_test

import (
	"testing"
	"time"

	"collabdata/shared/collab"
)

// TestTwins checks that the inbox of a person shows a notification for everyone once, in pages of
// any size, if the person also gets it by email.
func TestTwins(t *testing.T) {
	a, w := newAccount(t)
	a.member("bob")
	a.prefer("bob", collab.Preferences{Inbox: collab.PreferAll, Email: collab.PreferAll})
	p := w.start()
	for range 6 {
		w.send(a.notification(func(ev *draft) { ev.NotifyAll = true }))
		w.add(time.Second)
	}
	w.settle(p)
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: "bob"}}
	for size := 1; size <= 7; size++ {
		seen, position := 0, ""
		for {
			list, next, err := a.db.Inbox.Reader(a.doc.OrganizationRef, "bob").Notifications(t.Context(), q, position, size)
			a.must(err)
			seen += len(list)
			if position = next; next == "" {
				break
			}
		}
		if seen != 6 {
			t.Errorf("pages of %d: bob sees %d of 6 notifications", size, seen)
		}
	}
}

// TestReactionsAgain checks that a later reaction in a thread notifies the author of the comment
// again if the earlier notification was deleted, for everyone or out of the author's inbox.
func TestReactionsAgain(t *testing.T) {
	for _, user := range []string{"", "bob"} {
		t.Run("deleted by "+user, func(t *testing.T) {
			a, w := newAccount(t)
			for _, user := range []string{"ann", "bob", "cid"} {
				a.member(user)
			}
			p := w.start()
			first := a.reaction("bob", "ann")
			w.send(first)
			w.drain(p)
			if got := a.inbox("bob"); len(got) != 1 {
				t.Fatalf("bob has %q", got)
			}
			a.deleteNotification(user, first.Notification())
			w.send(first) // late
			w.drain(p)
			if got := a.inbox("bob"); len(got) != 0 {
				t.Fatalf("after the deletion, bob has %q", got)
			}
			w.add(time.Hour)
			w.send(a.reaction("bob", "cid"))
			w.settle(p)
			if got := a.inbox("bob"); len(got) != 1 {
				t.Errorf("after another reaction, bob has %q", got)
			}
		})
	}
}
