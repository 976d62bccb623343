package delivery_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"
	"collabdata/shared/mail"
	"collabdata/shared/mail/unsubscribe"

	"github.com/google/go-cmp/cmp"
)

// mailsTo returns the emails to a user, oldest first: what happened and the document, or the
// subject of one about several threads.
func (a *account) mailsTo(user string) []string {
	a.Helper()
	mails := []string{}
	for _, m := range a.sentEmails()[a.address(user)] {
		text := m.Subject
		if document, _, ofThread := strings.Cut(m.Subject, " · "); ofThread {
			_, preview, _ := strings.Cut(m.HTML, `overflow:hidden">`)
			preview, _, _ = strings.Cut(preview, "</div>")
			text = preview + " · " + document
		}
		mails = append(mails, text)
	}
	return mails
}

// TestMailAfterOutage checks that an outage of the email service does not delay inboxes, and that
// waiting emails then leave as one.
func TestMailAfterOutage(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	broken := w.startWithoutMail()
	for range 3 {
		w.send(a.comment("thread", a.user("bob")))
		w.settleUntil(broken, w.Now().Add(20*time.Minute))
	}
	if got := a.mailsTo("bob"); len(got) != 0 || len(a.inbox("bob")) != 3 || w.figures()["email DeliveryRetries"] == 0 {
		t.Fatalf("mails %v, inbox %v, figures %v", got, a.inbox("bob"), w.figures())
	}
	w.settle(w.start())
	if diff := cmp.Diff([]string{"ann mentioned you (and 2 more) · doc"}, a.mailsTo("bob")); diff != "" {
		t.Error(diff)
	}
}

// TestMailZone checks that times in an email use the zone of the daily email, else of the user.
func TestMailZone(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	for user, zone := range map[string]string{"bob": "Asia/Tokyo", "cid": "", "dan": "Asia/Tokyo"} {
		in, is := collab.Resource{OrganizationRef: a.doc.OrganizationRef}, func(_ int, m *collab.Member) { m.User, m.TimeZone = a.user(user), zone }
		a.must(a.db.Directory.ChangeMembers(t.Context(), a.request(), in, []string{user}, true, is)[0])
	}
	w.must(a.db.Directory.SetMailTimes(t.Context(), a.doc.OrganizationRef, []string{"dan"}, collab.MailTimes{Frequency: collab.MailInstant, Zone: "Asia/Kolkata"}))
	w.run(a.comment("thread", a.user("bob"), a.user("cid"), a.user("dan")))
	for user, zone := range map[string]string{"bob": "JST", "cid": "UTC", "dan": "IST"} {
		if mails := w.sentEmails()[a.address(user)]; len(mails) != 1 || !strings.Contains(mails[0].Text, " "+zone+":") {
			t.Errorf("%s: %+v", user, mails)
		}
	}
}

// rejecting is a mailer with rejected emails to one user.
type rejecting struct {
	delivery.Mailer
	user string
}

func (r rejecting) Send(ctx context.Context, n mail.Email) error {
	if n.To.UserID == r.user {
		return mail.ErrRejected
	}
	return r.Mailer.Send(ctx, n)
}

func (w *world) startRejecting(user string) *process {
	return w.start(func(o *delivery.Options) { o.Mailer = rejecting{o.Mailer, user} })
}

// TestAddresses checks that tagged addresses are used without surrounding space and with an ASCII
// domain, also to find unsubscribed recipients. Invalid addresses get no email and an explanation.
func TestAddresses(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	sent := map[string]string{"spaces": " sp@" + a.id + ".example ", "umlaut": "um@bücher." + a.id + ".example", "named": "Bob <bob@example.com>", "off": "off@bücher." + a.id + ".example"}
	mailed := map[string]string{"spaces": "sp@" + a.id + ".example", "umlaut": "um@xn--bcher-kva." + a.id + ".example"}
	w.must(a.db.Accounts.Unsubscribe(t.Context(), a.recipient("other", "off@xn--bcher-kva."+a.id+".example")))
	var people []collab.User
	for user, address := range sent {
		a.member(user)
		people = append(people, collab.User{UserID: user, Email: &address})
	}
	ev := a.comment("thread", people...)
	w.run(ev)
	for user := range sent {
		if n := len(w.sentEmails()[mailed[user]]); n != 1 && mailed[user] != "" {
			t.Errorf("%s: %d mails", user, n)
		}
	}
	got, _ := a.explained(ev)
	for user, why := range map[string]string{"spaces": "reached ", "umlaut": "reached ", "named": "no email can reach the address", "off": "unsubscribed"} {
		if got[user][1] != why {
			t.Errorf("%s: %q, want %q", user, got[user][1], why)
		}
	}
}

// TestNewestAddress checks that an email goes to the newest address of its entries, and shows each
// notification separately.
func TestNewestAddress(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
	var mails []mail.Email
	p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
	for _, name := range []string{"old", "new"} {
		w.send(a.notification(func(ev *draft) { ev.People = []collab.User{{UserID: "bob", Email: new(a.address(name))}} }))
		w.add(time.Millisecond)
	}
	w.settle(p)
	if len(mails) != 1 || *mails[0].To.Email != a.address("new") || len(mails[0].Threads) != 2 {
		t.Errorf("mails %+v", mails)
	}
}

// TestChangedAddress checks that an email goes to the address that its member has when it leaves,
// and to none if the member has none then.
func TestChangedAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		later *string
		want  []string
	}{
		"changed": {new("later"), []string{"later"}},
		"removed": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t)
			a.member("bob")
			p := w.start()
			w.send(a.comment("thread", collab.User{UserID: "bob"}))
			w.drain(p)
			later := collab.User{UserID: "bob", Email: new("")}
			if test.later != nil {
				later.Email = new(a.address(*test.later))
			}
			a.memberIs(later, "")
			w.settle(p)
			var got []string
			for _, name := range []string{"bob", "later"} {
				if len(w.sentEmails()[a.address(name)]) > 0 {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error("mails go to (-want +got)", diff)
			}
		})
	}
}

// TestMemberAmongDeleted checks that an email goes to the member's address, although its oldest
// entries are deleted.
func TestMemberAmongDeleted(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
	a.member("bob")
	var evs []*collab.Event
	for range 11 { // one more than a portion
		evs = append(evs, a.notification(func(ev *draft) { ev.People = []collab.User{{UserID: "bob"}} }))
		w.add(time.Millisecond)
	}
	p := w.start()
	w.send(evs...)
	w.drain(p)
	a.deleteNotification("", evs[0].ID)
	w.settle(p)
	if got := a.mailsTo("bob"); len(got) != 1 {
		t.Errorf("mails %q", got)
	}
}

// TestRejectedMail checks that a rejected email is abandoned and blocks nothing else.
func TestRejectedMail(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	ev := a.comment("thread", a.user("bad"), a.user("bob"))
	w.send(ev)
	w.settle(w.startRejecting("bad"))
	if inbox, mail := a.reached(ev, "bad", "bob"); len(inbox) != 2 || len(mail) != 1 {
		t.Errorf("reached %v, by mail %v", inbox, mail)
	}
	if !strings.Contains(w.metrics.String(), `"Channel":"email","Deliveries":1,"DeliveryFailures":1`) {
		t.Errorf("metrics %s", &w.metrics)
	}
}

// TestOneSubject checks that emails about a thread have one subject, also after many comments and
// an edit of a later one. It checks that an email about a suggestion shows both texts.
func TestOneSubject(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	p := w.start()
	step := func(ev *collab.Event) {
		t.Helper()
		w.send(ev)
		w.settle(p)
		w.add(time.Hour)
	}
	step(a.says("thread", "Is this right, {{bob}}?", a.user("bob")))
	for range 15 {
		w.run(a.record("thread", collab.CommentAdded, quiet, a.by("cid")))
	}
	step(a.says("thread", "the answer"))
	var decided *collab.Event
	a.head("thread", func(head *collab.Annotation) *collab.Event {
		head.Suggestion = collab.JSON(`{"status":"rejected","oldValue":"ten","newValue":"twelve","rejectReason":"Too much"}`)
		decided = a.event(collab.SuggestionRejected)
		decided.Actor = &collab.User{UserID: "ann"}
		decided.Describe(collab.SuggestionRejected, head)
		return decided
	})
	step(decided)
	mails := a.sentEmails()[a.address("bob")]
	if len(mails) != 3 {
		t.Fatalf("%d mails", len(mails))
	}
	for i, first := range []string{"ann mentioned you", "ann replied", "ann rejected a suggestion"} {
		if mails[i].Subject != "doc · Is this right, @bob?" || !strings.HasPrefix(mails[i].Text, first+"\n") {
			t.Errorf("subject %q of\n%s", mails[i].Subject, mails[i].Text)
		}
	}
	if want := "\nOld text:\n> ten\nNew text:\n> twelve\nReason:\n> Too much\n"; !strings.Contains(mails[2].Text, want) || !strings.Contains(mails[2].HTML, "<del>ten</del>") {
		t.Errorf("no %q in\n%s", want, mails[2].Text)
	}
}

// TestMailSays checks the content of an email about a thread: the names of its document and
// mentioned users, the comment, three comments before it, the quoted text, a link, the account's
// look, and a token of the recipient. Values appear as plain text.
func TestMailSays(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true), func(s *collab.Settings) {
		s.MailLook = collab.MailLook{Product: "Ledger", Link: "https://app.example/{documentId}/{annotationId}/{commentId}"}
	})
	a.put("doc", func(d *collab.Document) { d.Name = "The <Plan>" })
	thread := &collab.Thread{Annotation: collab.Annotation{
		ID: "thread", Status: open, StatusID: "OPEN", TargetElement: collab.JSON(`{"targetText":"Sales grew"}`),
	}}
	for i := range 5 {
		thread.Comments = append(thread.Comments, collab.Comment{
			ID: int64(i + 1), Text: new(fmt.Sprintf("earlier %d", i+1)), From: collab.JSON(`{"userId":"cid","name":"Cid"}`),
		})
	}
	a.add(thread, nil)
	bob, html := a.user("bob"), "Look, {{bob}} <b>here</b>"
	bob.Name = new("Bob")
	w.send(a.record("thread", collab.CommentAdded, func(ev *draft) {
		ev.Actor, ev.People = &collab.User{UserID: "ann", Name: new("Ann")}, []collab.User{bob}
	}, collab.Comment{ID: 7, Text: &html, From: collab.JSON(`{"userId":"ann","name":"Ann"}`)}))
	w.settle(w.start())
	if diff := cmp.Diff([]string{"Ann mentioned you · The <Plan>"}, a.mailsTo("bob")); diff != "" {
		t.Fatal(diff)
	}
	m := w.sentEmails()[a.address("bob")][0]
	for _, want := range []string{
		"The <Plan>", "Look, @Bob <b>here</b>", "earlier 3", "earlier 4", "earlier 5", "Cid", "from Ledger", "https://app.example/doc/thread/7", "“Sales grew”",
	} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("the text lacks %q:\n%s", want, m.Text)
		}
	}
	if strings.Contains(m.Text, "earlier 2") || strings.Contains(m.Text, "{{") || !strings.Contains(m.HTML, "&lt;b&gt;here&lt;/b&gt;") {
		t.Errorf("text\n%s\nHTML\n%s", m.Text, m.HTML)
	}
	a.checkToken(m, "Ledger")
}

// checkToken checks that an email to bob has a token to unsubscribe him.
func (a *account) checkToken(m localstack.Mail, sender string) {
	a.Helper()
	_, token, _ := strings.Cut(m.Text, unsubscribePage+"?token=")
	token, _, _ = strings.Cut(token, "\n")
	want := a.recipient("bob", a.address("bob"))
	want.Sender, want.Locale = sender, "en"
	secret := func(account string) ([]byte, error) { return a.db.Accounts.MailSecret(a.Context(), account) }
	if got, err := unsubscribe.Read(token, secret); got != want || err != nil {
		a.Errorf("the token is %+v's, %v; want %+v", got, err, want)
	}
}

// TestSecretNotRead checks that an email waits until the secret for its token is readable, and then
// has a valid token.
func TestSecretNotRead(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	w.did(w.db.Accounts.KeepMailSecret(t.Context(), a.id, []byte(strings.Repeat("s", unsubscribe.SecretBytes))))
	w.send(a.comment("thread", a.user("bob")))
	p := w.start()
	p.flaw = &flaw{refused: true, at: func(op string, body []byte) bool {
		return op == "GetItem" && bytes.Contains(body, []byte(keys.MailSecret(a.id).PK)) && bytes.Contains(body, []byte(keys.MailSecret(a.id).SK))
	}}
	w.drain(p)
	if got := a.mailsTo("bob"); len(got) != 0 || !p.flaw.found.Load() {
		t.Errorf("mails %v", got)
	}
	w.settle(p)
	if got := w.sentEmails()[a.address("bob")]; len(got) != 1 {
		t.Errorf("mails %v", got)
	} else {
		a.checkToken(got[0], "")
	}
}

// TestLogNamesNobody checks that logs of failures contain no text, name or address of a user.
func TestLogNamesNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/secret-path" {
			reset(rw, req)
			return
		}
		say(http.StatusOK, "secret answer")(rw, req)
	})
	a := w.account(grouping(true))
	a.provider(r.URL+"/secret-provider", "secret-token")
	a.webhook("hook", r.URL+"/secret-path")
	name := "Bob Builder"
	bob := a.user("bob")
	bob.Name = &name
	w.send(a.comment("thread", bob))
	for _, verify := range []bool{false, true} {
		w.send(a.notification(func(ev *draft) {
			ev.VerifyAccess, ev.People = verify, []collab.User{bob}
			ev.Notification.Headline, ev.Notification.Body = "a headline with {what}", "a body"
			ev.Notification.TemplateData = map[string]collab.JSON{"what": collab.JSON(`"a value"`)}
			ev.Notification.SourceData = collab.JSON(`{"a":"source"}`)
		}))
	}
	p := w.startWithoutMail()
	w.drain(p)
	w.settle(w.startRejecting("bob"))
	for _, want := range []string{"email not sent", "email rejected", "webhook not reached", "permission provider"} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &w.log)
		}
	}
	for _, no := range []string{
		a.address("bob"), "Bob Builder", "a comment", "a headline", "a body", "a value", "source\"", "secret",
	} {
		if strings.Contains(w.log.String(), no) {
			t.Errorf("the log has %q:\n%s", no, &w.log)
		}
	}
}
