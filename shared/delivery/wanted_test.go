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
			a.world.add(time.Second)
			a.begin("thread")
		}, 0},
		{"the user unsubscribes", func(a *account) {
			a.must(a.accounts.Unsubscribe(a.Context(), a.recipient("bob", "another@example.com")))
		}, 0},
		{"the address unsubscribes as another user", func(a *account) {
			a.must(a.accounts.Unsubscribe(a.Context(), a.recipient("bobby", a.address("bob"))))
		}, 0},
		{"another account's user unsubscribes", func(a *account) {
			r := a.recipient("bob", a.address("bob"))
			r.Account = "other"
			a.must(a.accounts.Unsubscribe(a.Context(), r))
		}, 1},
		{"unsubscribed and again subscribed", func(a *account) {
			r := a.recipient("bob", a.address("bob"))
			a.must(a.accounts.Unsubscribe(a.Context(), r))
			a.must(a.accounts.Resubscribe(a.Context(), r))
		}, 1},
		{"the document is deleted", func(a *account) { a.delete(collab.ADocument) }, 0},
		{"the organization is deleted", func(a *account) { a.delete(collab.AnOrganization) }, 0},
		{"mail goes to members only", func(a *account) {
			_, err := a.accounts.ChangeAccount(a.Context(), a.id, func(account *collab.Account) error {
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
	if got := a.mailsTo("bob"); len(got) != 1 || got[0] != "ann mentioned you · doc" {
		t.Errorf("mails %q", got)
	}
}

// TestMembersOnly: where the account says so, mail goes to the addresses of members alone, whatever address a request names.
func TestMembersOnly(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true), func(s *collab.Settings) { s.MailToMembersOnly = true })
	a.member("bob")
	other := "victim@" + a.id + ".example"
	ev := a.notification(func(ev *draft) {
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
	text := "hello"
	a.must(a.threads.AddAnnotation(t.Context(), a.request(), a.doc, &collab.Thread{Annotation: collab.Annotation{
		ID: "thread", Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN", TargetElement: collab.JSON(`{"targetText":"Sales grew"}`),
	}}, collab.NewAnnotation{}))
	w.send(a.record("thread", collab.CommentAdded, func(ev *draft) {
		ev.Actor, ev.People = &collab.User{UserID: "ann"}, []collab.User{a.user("bob")}
	}, collab.Comment{ID: 7, Text: &text, From: collab.JSON(`{"userId":"ann"}`)}))
	w.settle(w.start())
	mails := w.mails()[a.address("bob")]
	if len(mails) != 1 {
		t.Fatalf("%d mails", len(mails))
	}
	for _, want := range []string{"from Ledger", "https://app.example/doc/thread/7", "“Sales grew”"} {
		if !strings.Contains(mails[0].Text, want) {
			t.Errorf("the mail lacks %q:\n%s", want, mails[0].Text)
		}
	}
	_, token, found := strings.Cut(mails[0].Text, unsubscribePage+"?token=")
	got, err := unsubscribe.Read(
		strings.TrimSpace(token), func(account string) ([]byte, error) { return w.accounts.MailSecret(t.Context(), account) },
	)
	want := a.recipient("bob", a.address("bob"))
	want.Sender, want.Locale = "Ledger", "en"
	if got != want || err != nil || !found {
		t.Errorf("the token is %+v's, %v; want %+v", got, err, want)
	}
}
