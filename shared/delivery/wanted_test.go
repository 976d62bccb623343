package delivery_test

import (
	"collabdata/shared/store/task"
	"errors"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store/outbox"
)

// TestAskedAgain checks that a delayed email, or a notice on another channel, only goes to
// recipients who still have access and want it. It is not added to a later one.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, test := range []struct {
		name   string
		change func(*account) // while the email waits
		want   int            // emails to bob
	}{
		{"nothing changes", func(*account) {}, 1},
		{"a preference", func(a *account) {
			a.prefer("bob", collab.Preferences{Email: collab.PreferNone, Further: map[string]collab.Preference{"slack": collab.PreferNone}})
		}, 0},
		{"access is taken away", func(a *account) {
			a.must(a.db.Directory.DeleteGrants(a.Context(), "bob", []collab.Resource{{OrganizationRef: a.doc.OrganizationRef, Document: a.doc}}))
		}, 0},
		{"the thread is for others", func(a *account) {
			a.show("thread", &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{"cid"}})
		}, 0},
		{"the thread is for members", func(a *account) {
			a.show("thread", &collab.Visibility{Type: collab.VisibilityOrganizationPrivate, OrganizationID: "org"})
		}, 0},
		{"the user is removed", func(a *account) { a.remove("bob") }, 0},
		{"the user is removed, and brought back", func(a *account) {
			a.remove("bob")
			a.grant("bob")
		}, 1},
		{"the document is disabled", func(a *account) { a.put("doc", func(d *collab.Document) { d.Disabled = true }) }, 0},
		{"the comment is deleted", func(a *account) { a.deleteComments("thread") }, 0},
		{"the thread is deleted", func(a *account) { a.deleteThread("thread") }, 0},
		{"the thread is deleted, and added again", func(a *account) {
			a.deleteThread("thread")
			a.clock.add(time.Second)
			a.begin("thread")
		}, 0},
		{"the user unsubscribes", func(a *account) {
			a.must(a.db.Accounts.Unsubscribe(a.Context(), a.recipient("bob", "another@example.com")))
		}, 0},
		{"the address unsubscribes as another user", func(a *account) {
			a.must(a.db.Accounts.Unsubscribe(a.Context(), a.recipient("bobby", a.address("bob"))))
		}, 0},
		{"another account's user unsubscribes", func(a *account) {
			r := a.recipient("bob", a.address("bob"))
			r.Account = "other"
			a.must(a.db.Accounts.Unsubscribe(a.Context(), r))
		}, 1},
		{"unsubscribed and again subscribed", func(a *account) {
			r := a.recipient("bob", a.address("bob"))
			a.must(a.db.Accounts.Unsubscribe(a.Context(), r))
			a.must(a.db.Accounts.Resubscribe(a.Context(), r))
		}, 1},
		{"the document is deleted", func(a *account) { a.delete(collab.ADocument) }, 0},
		{"the organization is deleted", func(a *account) { a.delete(collab.AnOrganization) }, 0},
		{"the document is deleted, and added again", func(a *account) { a.addAgain() }, 0},
		{"the document is deleted, and added again disabled", func(a *account) {
			a.addAgain()
			a.put("doc", func(d *collab.Document) { d.Disabled = true })
		}, 0},
		{"the document is deleted and swept, and added again", func(a *account) {
			job := a.delete(collab.ADocument)
			a.clock.add(outbox.SweepAfter)
			if ran, err := a.db.Outbox.Run(a.Context(), outbox.JobTask(a.id, job), 0, a.db.Deletion.RunJob); err != nil || ran != (task.Result{}) {
				a.Errorf("the job goes on: %+v, %v", ran, err)
			}
			a.put("doc", func(d *collab.Document) { d.Name = "new" })
		}, 0},
		{"mail goes to members only", func(a *account) { a.change(func(c *collab.Account) { c.Settings.MailToMembersOnly = true }) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := w.account()
			a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
			a.grant("bob")
			a.prefer("bob", collab.Preferences{Further: map[string]collab.Preference{"slack": collab.PreferMine}})
			slack := a.slack()
			ev := a.comment("thread", a.user("bob"))
			w.send(ev)
			p := w.start()
			w.drain(p)
			if inbox, _ := a.reached(ev, "bob"); len(inbox) != 1 {
				t.Error("nothing is in the inbox")
			}
			test.change(a)
			w.settle(p)
			if got := len(a.mailsTo("bob")); got != test.want {
				t.Errorf("%d mails, want %d", got, test.want)
			}
			if strings.Contains(test.name, "subscribes") || strings.Contains(test.name, "mail") { // of emails alone
				test.want = 1
			}
			if got := len(slack.posts()); got != test.want {
				t.Errorf("%d posts for slack, want %d", got, test.want)
			}
		})
	}
}

// show sets the visibility of a thread, nil for everyone.
func (a *account) show(thread string, to *collab.Visibility) {
	a.Helper()
	a.head(thread, func(head *collab.Annotation) *collab.Event { head.Visibility = to; return nil })
}

// delete deletes the account's document or organization, and returns the job.
func (a *account) delete(thing collab.Thing) (job string) {
	a.Helper()
	errs := make([]error, 1)
	var err error
	if thing == collab.ADocument {
		job, err = a.db.Deletion.DeleteDocuments(a.Context(), a.request(), a.doc.OrganizationRef, []string{a.doc.Document}, errs)
	} else {
		job, err = a.db.Deletion.DeleteOrganizations(a.Context(), a.request(), []string{a.doc.Organization}, errs)
	}
	a.must(errors.Join(err, errs[0]))
	return job
}

// addAgain deletes the account's document, and adds one with its id.
func (a *account) addAgain() {
	a.Helper()
	a.put("doc", func(d *collab.Document) { d.DeletedAt = a.millis() })
	a.clock.add(10 * time.Second)
	a.did(a.db.Directory.OpenDocument(a.Context(), a.id, a.doc.Organization, "doc", collab.CreateFlags{Document: true}))
}

// recipient returns a user at an address, as in an email's token.
func (a *account) recipient(user, address string) unsubscribe.Recipient {
	return unsubscribe.Recipient{Account: a.id, Organization: "org", User: user, Email: address}
}

// TestDroppedMailStaysDropped checks that an email dropped while its recipient wanted none is not
// added to a later one.
func TestDroppedMailStaysDropped(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	p := w.start()
	w.send(a.comment("thread", a.user("bob")))
	w.drain(p)
	a.prefer("bob", collab.Preferences{Email: collab.PreferNone})
	w.settle(p)
	a.prefer("bob", collab.Preferences{Email: collab.PreferAll})
	w.add(time.Minute)
	w.send(a.comment("thread", a.user("bob")))
	w.settle(p)
	if got := a.mailsTo("bob"); len(got) != 1 || got[0] != "ann mentioned you · doc" {
		t.Errorf("mails %q", got)
	}
}

// TestMembersOnly checks that email only goes to members' own addresses if the account's setting
// says so.
func TestMembersOnly(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true), func(s *collab.Settings) { s.MailToMembersOnly = true })
	a.member("bob")
	other := "victim@" + a.id + ".example"
	ev := a.notification(func(ev *draft) {
		ev.People = []collab.User{{UserID: "bob", Email: &other}, {UserID: "stranger", Email: &other}}
	})
	w.run(ev)
	a.checkReached(t, ev, []string{"bob", "stranger"}, []string{"bob", "stranger"}, []string{"bob"})
	if n := len(w.sentEmails()[other]); n != 0 {
		t.Errorf("%d mails to an address that no member has", n)
	}
}
