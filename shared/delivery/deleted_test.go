package delivery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"

	"github.com/google/go-cmp/cmp"
)

// deleteNotification deletes a notification, for everyone or from the inbox of a user.
func (a *account) deleteNotification(user, id string) {
	a.Helper()
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}, IDs: []string{id}}
	_, errs, _, err := a.db.Deletion.DeleteNotifications(a.Context(), a.request(), a.doc.OrganizationRef, q)
	a.must(errors.Join(append(errs, err)...))
}

// TestDeletedBeforeMail deletes a notification while its emails wait with those about an earlier
// one in the thread. Its recipients must get an email about the earlier one only, even after
// repeated messages.
func TestDeletedBeforeMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		user     string
		inbox    []string
		comments map[string]int // in the email to each user
	}{
		"for everyone":            {"", nil, map[string]int{"bob": 1, "cid": 1}},
		"out of the inbox of bob": {"bob", []string{"cid"}, map[string]int{"bob": 1, "cid": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			a, p := w.account(), w.start()
			evs := []*collab.Event{}
			for range 2 {
				evs = append(evs, a.comment("thread", a.user("bob"), a.user("cid")))
				w.send(evs...)
				w.settleUntil(p, w.Now().Add(time.Minute))
			}
			a.deleteNotification(test.user, evs[1].ID)
			w.send(evs[1])
			w.settle(p)
			both := []string{"bob", "cid"}
			a.checkReached(t, evs[0], both, both, both)
			a.checkReached(t, evs[1], both, test.inbox, both)
			comments := map[string]int{}
			for _, user := range both {
				for _, m := range w.sentEmails()[a.address(user)] {
					comments[user] += strings.Count(m.Text, "a comment")
				}
			}
			if diff := cmp.Diff(test.comments, comments); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDeletedBeforeTold deletes notifications before their delivery: nobody may get them on any
// channel.
func TestDeletedBeforeTold(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.prefer("mailed", collab.Preferences{Inbox: collab.PreferNone, Email: collab.PreferAll})
	users := []string{"bob", "mailed"}
	to := func(ev *draft) { ev.People = []collab.User{a.user("bob"), a.user("mailed")} }
	ev := a.notification(to)
	a.deleteNotification("", ev.ID)
	w.run(ev)
	a.checkReached(t, ev, users, nil, nil)
	other := a.notification(to)
	w.run(other)
	a.checkReached(t, other, users, []string{"bob"}, users)
}

// TestDeletedWhileTold deletes a notification between the pages of its recipients, and repeats a
// page: it must be in no inbox, and later pages must get nothing.
func TestDeletedWhileTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, record := range map[string]func(a *account, people []collab.User) *collab.Event{
		"a comment": func(a *account, people []collab.User) *collab.Event { return a.comment("thread", people...) },
		"a notification": func(a *account, people []collab.User) *collab.Event {
			return a.notification(func(ev *draft) { ev.People = people })
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.account()
			var people []collab.User
			for i := range 5 {
				people = append(people, collab.User{UserID: fmt.Sprint("user", i)})
			}
			ev := record(a, people)
			p := w.start(func(o *delivery.Options) { o.PageSize = 2 })
			for range 2 {
				w.must(p.take(p.ctx, event(ev)))
			}
			a.deleteNotification("", ev.ID)
			w.send(ev)
			w.settle(p)
			a.absent(keys.DocumentNotification(a.doc, ev.Time, ev.ID), keys.UserNotification(a.doc.OrganizationRef, "user4", ev.Time, ev.ID))
			if got, work := a.inbox("user0"), w.work(ev); len(got) > 0 || work != nil {
				t.Errorf("an inbox has %v, pending %+v", got, work)
			}
		})
	}
}

// absent reports existing items.
func (a *account) absent(list ...keys.Key) {
	a.Helper()
	if found, err := a.db.Outbox.GetAll(a.Context(), list, true); err != nil || len(found) > 0 {
		a.Errorf("there are %v, %v", found, err)
	}
}

// TestDeletedDocument delivers an event of a deleted document: webhooks get it, and it adds nothing
// below the document.
func TestDeletedDocument(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	r := a.hooked(nil)
	ev, all := a.comment("thread", a.user("bob")), a.notification(func(ev *draft) { ev.NotifyAll = true })
	a.put("doc", func(d *collab.Document) { d.DeletedAt = a.millis() })
	w.add(time.Minute)
	w.run(ev, all)
	org := a.doc.OrganizationRef
	a.absent(
		keys.Notification(org, ev.ID), keys.DocumentNotification(a.doc, ev.Time, ev.ID), keys.UserNotification(org, "bob", ev.Time, ev.ID),
		keys.AllNotification(org, all.Time, all.ID),
	)
	if got := r.got("/hook"); len(got) != 2 || len(a.mailsTo("bob")) > 0 || w.work(ev) != nil || w.work(all) != nil {
		t.Errorf("posted %v, mails %v, pending %+v, %+v", got, a.mailsTo("bob"), w.work(ev), w.work(all))
	}
}
