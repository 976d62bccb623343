package delivery_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
)

// TestAskedAgain: a mail that has waited goes out only to those who still may know and want it, and is not taken along by a later one.
func TestAskedAgain(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		name   string
		change func(*account) // while the mail waits
		want   int            // mails to bob
	}{
		{"nothing changes", func(*account) {}, 1},
		{"a preference", func(a *account) {
			a.must(a.directory.SetPreferences(a.Context(), a.doc.OrganizationRef, []string{"bob"}, nil, collab.Preferences{Email: collab.PreferNone}))
		}, 0},
		{"access is taken away", func(a *account) {
			a.must(a.directory.DeleteGrants(a.Context(), "bob", []collab.Resource{{OrganizationRef: a.doc.OrganizationRef, Document: a.doc}}))
		}, 0},
		{"the user unsubscribes", func(a *account) {
			a.must(a.directory.Unsubscribe(a.Context(), a.recipient("bob", "another@example.com")))
		}, 0},
		{"the address unsubscribes as another user", func(a *account) {
			a.must(a.directory.Unsubscribe(a.Context(), a.recipient("bobby", a.address("bob"))))
		}, 0},
		{"another account's user unsubscribes", func(a *account) {
			r := a.recipient("bob", a.address("bob"))
			r.Account = "other"
			a.must(a.directory.Unsubscribe(a.Context(), r))
		}, 1},
		{"unsubscribed and again subscribed", func(a *account) {
			r := a.recipient("bob", a.address("bob"))
			a.must(a.directory.Unsubscribe(a.Context(), r))
			a.must(a.directory.Resubscribe(a.Context(), r))
		}, 1},
		{"the document is deleted", func(a *account) { a.delete(collab.ADocument) }, 0},
		{"the organization is deleted", func(a *account) { a.delete(collab.AnOrganization) }, 0},
		{"the document is deleted and restored", func(a *account) {
			a.delete(collab.ADocument)
			a.must(a.deletion.RestoreDocument(a.Context(), a.doc.OrganizationRef, "doc"))
		}, 1},
		{"mail goes to members only", func(a *account) {
			_, err := a.directory.ChangeAccount(a.Context(), a.id, func(account *collab.Account) error {
				account.Settings.MailToMembersOnly = true
				return nil
			})
			a.must(err)
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := w.account()
			a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
			a.grant("bob")
			ev := a.event(collab.CommentAdded)
			ev.AnnotationID, ev.VerifyAccess, ev.People = "thread", true, []collab.User{a.user("bob")}
			n := collab.Notification{ID: ev.ID + "-carrier", DocumentID: "doc", CreatedAt: ev.Time}
			_, err := w.outbox.AddNotification(t.Context(), a.request(), a.doc.OrganizationRef, n, ev)
			w.must(err)
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
		})
	}
}

// delete deletes the account's document or organization.
func (a *account) delete(thing collab.Thing) {
	a.Helper()
	s, r, errs := a.deletion, a.request(), make([]error, 1)
	r.Account = a.id
	var err error
	if thing == collab.ADocument {
		_, err = s.DeleteDocuments(a.Context(), r, a.doc.OrganizationRef, []string{a.doc.Document}, errs)
	} else {
		_, err = s.DeleteOrganizations(a.Context(), r, []string{a.doc.Organization}, errs)
	}
	a.must(errors.Join(err, errs[0]))
}

// recipient is a user at an address, as a mail knows it.
func (a *account) recipient(user, address string) unsubscribe.Recipient {
	return unsubscribe.Recipient{Account: a.id, Organization: "org", User: user, Email: address}
}

// TestDroppedMailStaysDropped: a mail given up while its recipient wanted none does not come with a later one.
func TestDroppedMailStaysDropped(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	p := w.start()
	prefer := func(email collab.Preference) {
		w.must(a.directory.SetPreferences(t.Context(), a.doc.OrganizationRef, []string{"bob"}, nil, collab.Preferences{Email: email}))
	}
	w.send(a.comment("thread", a.user("bob")))
	w.drain(p)
	prefer(collab.PreferNone)
	w.settle(p)
	prefer(collab.PreferAll)
	w.add(time.Minute)
	w.send(a.comment("thread", a.user("bob")))
	w.settle(p)
	if got := a.mailsTo("bob"); len(got) != 1 || got[0] != "ann mentioned you in doc" {
		t.Errorf("mails %q", got)
	}
}

// TestMembersOnly: where the account says so, mail goes to the addresses of members alone, whatever address a request names.
func TestMembersOnly(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true), func(s *collab.Settings) { s.MailToMembersOnly = true })
	a.member("bob")
	other := "victim@" + a.id + ".example"
	ev := a.notification(func(ev *collab.Event) {
		ev.People = []collab.User{{UserID: "bob", Email: &other}, {UserID: "stranger", Email: &other}}
	})
	w.send(ev)
	w.settle(w.start())
	a.checkReached(t, ev, []string{"bob", "stranger"}, []string{"bob", "stranger"}, []string{"bob"})
	if n := len(w.mails()[other]); n != 0 {
		t.Errorf("%d mails to an address that no member has", n)
	}
}

// TestMailLook: what the account says of its mails wins over what the deployment says, a mail leads to its thread, quotes what that is
// about, and its token is its recipient's.
func TestMailLook(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true), func(s *collab.Settings) {
		s.MailLook = collab.MailLook{Product: "Ledger", Link: "https://app.example/{documentId}/{annotationId}/{commentId}"}
	})
	ev := a.event(collab.CommentAdded)
	text := "hello"
	ev.AnnotationID, ev.People, ev.Actor = "thread", []collab.User{a.user("bob")}, &collab.User{UserID: "ann"}
	ev.Annotation = &collab.EventAnnotation{TargetText: "Sales grew"}
	ev.Comments = []collab.EventComment{{CommentID: 7, Text: &text}}
	n := collab.Notification{ID: ev.ID + "-carrier", DocumentID: "doc", CreatedAt: ev.Time}
	_, err := w.outbox.AddNotification(t.Context(), a.request(), a.doc.OrganizationRef, n, ev)
	w.must(err)
	w.send(ev)
	w.settle(w.start())
	mails := w.mails()[a.address("bob")]
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	for _, want := range []string{"from Ledger", "https://app.example/doc/thread/7", `"Sales grew"`} {
		if !strings.Contains(mails[0].Text, want) {
			t.Errorf("the mail lacks %q:\n%s", want, mails[0].Text)
		}
	}
	_, token, found := strings.Cut(mails[0].Text, unsubscribePage+"?token=")
	got, err := unsubscribe.Read(
		strings.TrimSpace(token), func(account string) ([]byte, error) { return w.directory.MailSecret(t.Context(), account) },
	)
	want := a.recipient("bob", a.address("bob"))
	want.Sender = "Ledger"
	if got != want || err != nil || !found {
		t.Errorf("the token is %+v's, %v; want %+v", got, err, want)
	}
}
