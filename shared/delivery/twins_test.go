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
