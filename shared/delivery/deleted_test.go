package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/outbox"

	"github.com/google/go-cmp/cmp"
)

// deleteNotification deletes a notification, for everyone or out of the inbox of a user.
func (a *account) deleteNotification(user, id string) {
	a.Helper()
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: user}, IDs: []string{id}}
	r := a.request()
	r.Account = a.id
	_, errs, _, err := a.deletion.DeleteNotifications(a.Context(), r, a.doc.OrganizationRef, q)
	for _, err := range append(errs, err) {
		a.must(err)
	}
}

// TestDeletedBeforeMail deletes a notification while its mails wait for those about an earlier one on the thread: those for whom it was
// deleted get the mail about the earlier one alone, whatever comes again.
func TestDeletedBeforeMail(t *testing.T) {
	for name, test := range map[string]struct {
		user     string
		inbox    []string
		comments map[string]int // in the mail to each
	}{
		"for everyone":            {"", nil, map[string]int{"bob": 1, "cid": 1}},
		"out of the inbox of bob": {"bob", []string{"cid"}, map[string]int{"bob": 1, "cid": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.account()
			earlier := a.comment("thread", a.user("bob"), a.user("cid"))
			w.send(earlier)
			w.settleUntil(w.start(), w.Now().Add(time.Minute))
			ev := a.comment("thread", a.user("bob"), a.user("cid"))
			w.send(ev)
			w.settleUntil(w.start(), w.Now().Add(time.Minute))
			a.deleteNotification(test.user, ev.ID)
			w.send(ev)
			w.settle(w.start())
			a.checkReached(t, ev, []string{"bob", "cid"}, test.inbox, []string{"bob", "cid"})
			a.checkReached(t, earlier, []string{"bob", "cid"}, []string{"bob", "cid"}, []string{"bob", "cid"})
			comments := map[string]int{}
			for _, user := range []string{"bob", "cid"} {
				for _, m := range w.mails()[a.address(user)] {
					comments[user] += strings.Count(m.Text, "a comment")
				}
			}
			if diff := cmp.Diff(test.comments, comments); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDeletedBeforeTold deletes notifications that nobody was told of yet, whatever the channel: nobody is.
func TestDeletedBeforeTold(t *testing.T) {
	w := newWorld(t)
	for name, inbox := range map[string]collab.Preference{"inbox and mail": collab.PreferAll, "mail alone": collab.PreferNone} {
		t.Run(name, func(t *testing.T) {
			a := w.account()
			w.must(
				w.directory.SetPreferences(
					t.Context(), a.doc.OrganizationRef, []string{"bob"}, nil, collab.Preferences{Inbox: inbox, Email: collab.PreferAll},
				),
			)
			ev := a.notification(func(ev *draft) { ev.People = []collab.User{a.user("bob")} })
			other := a.notification(func(ev *draft) { ev.People = []collab.User{a.user("cid")} })
			a.deleteNotification("", ev.ID)
			w.send(ev, other)
			w.settle(w.start())
			a.checkReached(t, ev, []string{"bob"}, nil, nil)
			a.checkReached(t, other, []string{"cid"}, []string{"cid"}, []string{"cid"})
		})
	}
}

// TestDeletedWhileTold deletes a notification between the pages of its recipients, one of which then comes again: nobody
// has it in the inbox, and those of later pages get nothing.
func TestDeletedWhileTold(t *testing.T) {
	for name, record := range map[string]func(a *account, people []collab.User) *collab.Event{
		"a comment": func(a *account, people []collab.User) *collab.Event { return a.comment("thread", people...) },
		"a notification": func(a *account, people []collab.User) *collab.Event {
			return a.notification(func(ev *draft) { ev.People = people })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.account()
			var people []collab.User
			for i := range 450 {
				people = append(people, collab.User{UserID: fmt.Sprintf("user%03d", i)})
			}
			ev := record(a, people)
			p := w.start()
			for range 2 {
				w.must(p.Event(p.ctx, event(ev)))
			}
			a.deleteNotification("", ev.ID)
			w.send(ev)
			w.settle(w.start())
			listed := keys.DocumentNotification(a.doc, ev.Time, ev.ID)
			last := keys.UserNotification(a.doc.OrganizationRef, people[len(people)-1].UserID, ev.Time, ev.ID)
			if found, err := w.outbox.GetAll(t.Context(), []keys.Key{listed, last}, true); err != nil || len(found) > 0 {
				t.Errorf("there are %v, %v", found, err)
			}
			if got := a.inbox(people[0].UserID); len(got) > 0 {
				t.Errorf("an inbox has %v", got)
			}
			if work := w.work(ev); work != nil {
				t.Errorf("there is to be done %+v", work)
			}
		})
	}
}

// TestDeletedDocument delivers an event of a document that was deleted meanwhile: webhooks hear of it, and below the document is nothing.
func TestDeletedDocument(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	r := receive(t, nil)
	a.webhook("hook", r.URL+"/hook")
	ev, all := a.comment("thread", a.user("bob")), a.notification(func(ev *draft) { ev.NotifyAll = true })
	a.put("doc", func(d *collab.Document) { d.DeletedAt = a.millis() })
	w.add(time.Minute)
	w.send(ev, all)
	w.settle(w.start())
	org := a.doc.OrganizationRef
	itemKeys := []keys.Key{
		keys.Notification(org, ev.ID), keys.DocumentNotification(a.doc, ev.Time, ev.ID), keys.UserNotification(org, "bob", ev.Time, ev.ID),
		keys.AllNotification(org, all.Time, all.ID), keys.MailEnd(a.doc.OrganizationRef, "bob", ev.ID),
	}
	if found, err := w.outbox.GetAll(t.Context(), itemKeys, true); err != nil || len(found) > 0 {
		t.Errorf("there are %v, %v", found, err)
	}
	if got := r.got("/hook"); len(got) != 2 || len(w.mails()[a.address("bob")]) > 0 {
		t.Errorf("posted %v", got)
	}
	if w.work(ev) != nil || w.work(all) != nil {
		t.Error("something is left to be done")
	}
}

// TestDeletedDocumentBeforeMail deletes a document while a mail about it waits, and adds one under its id: the mail is not sent, be the new
// one disabled or not; nor is that of a document which is disabled.
func TestDeletedDocumentBeforeMail(t *testing.T) {
	for name, test := range map[string]struct {
		added, disabled bool
		mails           int
	}{
		"added again":                  {true, false, 0},
		"added again, and disabled":    {true, true, 0},
		"not deleted, but is disabled": {false, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.account()
			ev := a.comment("thread", a.user("bob"))
			w.send(ev)
			w.settleUntil(w.start(), w.Now().Add(time.Minute))
			if test.added {
				a.put("doc", func(d *collab.Document) { d.DeletedAt = a.millis() })
				w.add(10 * time.Second)
				_, err := w.directory.OpenDocument(t.Context(), a.id, a.doc.Organization, "doc", collab.CreateFlags{Document: true})
				w.must(err)
			}
			a.put("doc", func(d *collab.Document) { d.Disabled = test.disabled })
			w.add(10 * time.Second)
			w.settle(w.start())
			if got := len(a.mailsTo("bob")); got != test.mails {
				t.Errorf("%d mails, want %d", got, test.mails)
			}
		})
	}
}

// TestAddedAgainBeforeMail deletes a document while a mail about a comment in it waits, sweeps it, and adds another under its id: the mail
// is not sent.
func TestAddedAgainBeforeMail(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	a.member("bob")
	ev := a.comment("thread", collab.User{UserID: "bob"})
	w.send(ev)
	p := w.start()
	w.drain(p)
	r := a.request()
	r.Account = a.id
	s := deletion.New(a.tables.threads, a.inboxes)
	job, err := s.DeleteDocuments(t.Context(), r, a.doc.OrganizationRef, []string{"doc"}, make([]error, 1))
	a.must(err)
	w.add(outbox.SweepAfter)
	if next, err := s.RunJob(t.Context(), a.id, job); err != nil || next != 0 {
		t.Errorf("the job goes on at %d, %v", next, err)
	}
	a.put("doc", func(d *collab.Document) { d.Name = "new" })
	w.settle(p)
	if got := a.mailsTo("bob"); len(got) != 0 {
		t.Errorf("mails %q", got)
	}
}
