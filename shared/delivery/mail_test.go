package delivery_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// mailsTo returns the subjects of the mails to a user, oldest first.
func (a *account) mailsTo(user string) []string {
	a.Helper()
	subjects := []string{}
	for _, m := range a.mails()[a.address(user)] {
		subjects = append(subjects, m.Subject)
	}
	return subjects
}

// TestMailGrouping: several events on one thread within five minutes become one mail to a person.
func TestMailGrouping(t *testing.T) {
	for _, test := range []struct {
		name  string
		off   bool
		after []time.Duration // events of the thread
		want  []string
	}{
		{"one", false, []time.Duration{0}, []string{"ann mentioned you · doc"}},
		{"three", false, []time.Duration{0, time.Minute, 4*time.Minute + 59*time.Second}, []string{"ann mentioned you · doc (and 2 more)"}},
		{"two and one", false, []time.Duration{0, 4 * time.Minute, 7 * time.Minute}, []string{"ann mentioned you · doc (and 1 more)", "ann mentioned you · doc"}},
		{"the setting is off", true, []time.Duration{0, time.Minute}, []string{"ann mentioned you · doc", "ann mentioned you · doc"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			a := w.account(grouping(test.off))
			p := w.start()
			start := w.Now()
			for _, after := range test.after {
				w.settleUntil(p, start.Add(after))
				w.send(a.comment("thread", a.user("bob")), a.comment("other thread", a.user("cid")))
				w.drain(p)
			}
			w.settle(p)
			for _, user := range []string{"bob", "cid"} {
				if diff := cmp.Diff(test.want, a.mailsTo(user)); diff != "" {
					t.Errorf("to %s: %s", user, diff)
				}
			}
		})
	}
}

// TestMailAfterOutage: mails that wait survive an outage of the mail service, and then are one mail.
func TestMailAfterOutage(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	broken := w.startWithoutMail()
	for range 3 {
		w.send(a.comment("thread", a.user("bob")))
		w.settleUntil(broken, w.Now().Add(20*time.Minute))
	}
	if got := a.mailsTo("bob"); len(got) != 0 {
		t.Fatalf("mails %v", got)
	}
	w.settle(w.start())
	if diff := cmp.Diff([]string{"ann mentioned you · doc (and 2 more)"}, a.mailsTo("bob")); diff != "" {
		t.Error(diff)
	}
}

// TestInboxesBeforeMails: while no mail can be sent everyone's inbox has the notification.
func TestInboxesBeforeMails(t *testing.T) {
	w := newWorld(t)
	a := w.account()
	broken := w.startWithoutMail()
	people := []collab.User{a.user("bob")}
	for i := range 200 {
		people = append(people, collab.User{UserID: fmt.Sprint("user", i)})
	}
	ev := a.notification(func(ev *draft) { ev.People = people })
	w.send(ev)
	w.drain(broken)
	if inbox, _ := a.reached(ev, "bob", "user0", "user199"); len(inbox) != 3 {
		t.Errorf("%v have it", inbox)
	}
	if !strings.Contains(w.metrics.String(), `"Channel":"email","DeliveryRetries":`) {
		t.Errorf("metrics %s", &w.metrics)
	}
	w.settle(w.start())
	if got := a.mailsTo("bob"); len(got) != 1 {
		t.Errorf("mails %v", got)
	}
}

// TestRejectedMail: a mail that will never arrive is given up, and keeps nothing else back.
func TestRejectedMail(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	bad := "no address"
	ev := a.comment("thread", collab.User{UserID: "bad", Email: &bad}, a.user("bob"))
	w.send(ev)
	w.settle(w.start())
	if inbox, mail := a.reached(ev, "bad", "bob"); len(inbox) != 2 || len(mail) != 1 {
		t.Errorf("reached %v, by mail %v", inbox, mail)
	}
	if !strings.Contains(w.metrics.String(), `"Channel":"email","Deliveries":1,"DeliveryFailures":1`) {
		t.Errorf("metrics %s", &w.metrics)
	}
}

// TestMailSays holds what a mail says of a comment, with the comments before it, and of a notification, whose values are not expanded.
func TestMailSays(t *testing.T) {
	w := newWorld(t)
	a := w.account(grouping(true))
	a.put("doc", func(d *collab.Document) { d.Name = "The <Plan>" })
	thread := &collab.Thread{Annotation: collab.Annotation{ID: "thread", Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN"}}
	for i := range 5 {
		text := fmt.Sprintf("earlier %d", i+1)
		thread.Comments = append(
			thread.Comments, collab.Comment{ID: int64(i + 1), Text: &text, From: collab.JSON(`{"userId":"cid","name":"Cid"}`)},
		)
	}
	a.add(thread, nil)
	name := "Ann"
	text := "Look, {{bob}} <b>here</b>"
	from := collab.JSON(`{"userId":"ann","name":"Ann"}`)
	bob := a.user("bob")
	bob.Name = new("Bob")
	ev := a.record("thread", collab.CommentAdded, func(ev *draft) {
		ev.Actor, ev.People = &collab.User{UserID: "ann", Name: &name}, []collab.User{bob}
	}, collab.Comment{ID: 6, Text: &text, From: from})
	told := a.notification(func(ev *draft) {
		ev.People = []collab.User{a.user("dan")}
		ev.Notification.Headline = "{actionUser} says {what}"
		ev.Notification.TemplateData = map[string]collab.JSON{"what": collab.JSON(`"{actionUser} <script>alert(1)</script>"`)}
		ev.Notification.Body = "body"
	})
	w.send(ev, told)
	w.settle(w.start())

	mails := w.mails()
	only := func(user string) localstack.Mail {
		t.Helper()
		if n := len(mails[a.address(user)]); n != 1 {
			t.Fatalf("%s has %d mails", user, n)
		}
		return mails[a.address(user)][0]
	}
	m := only("bob")
	if m.Subject != "Ann mentioned you · The <Plan>" {
		t.Errorf("subject %q", m.Subject)
	}
	for _, want := range []string{"The <Plan>", "Look, Bob <b>here</b>", "earlier 3", "earlier 4", "earlier 5", "Cid"} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("the text lacks %q:\n%s", want, m.Text)
		}
	}
	for _, no := range []string{"earlier 2", "{{"} {
		if strings.Contains(m.Text, no) {
			t.Errorf("the text has %q:\n%s", no, m.Text)
		}
	}
	if !strings.Contains(m.HTML, "The &lt;Plan&gt;") || !strings.Contains(m.HTML, "&lt;b&gt;here&lt;/b&gt;") {
		t.Errorf("HTML\n%s", m.HTML)
	}
	m = only("dan")
	if want := "ann says {actionUser} <script>alert(1)</script>"; m.Subject != want || !strings.Contains(m.Text, want) ||
		!strings.Contains(m.Text, "body") {
		t.Errorf("subject %q, text\n%s", m.Subject, m.Text)
	}
	if strings.Contains(m.HTML, "<script") {
		t.Errorf("HTML\n%s", m.HTML)
	}
}

// TestLogNamesNobody: what is logged where everything fails holds no text, name or address of a user.
func TestLogNamesNobody(t *testing.T) {
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
	bad, name := "no address", "Bob Builder"
	bob := a.user("bob")
	bob.Name = &name
	w.send(a.comment("thread", bob))
	for _, verify := range []bool{false, true} {
		w.send(a.notification(func(ev *draft) {
			ev.VerifyAccess, ev.People = verify, []collab.User{bob, {UserID: "bad", Email: &bad}}
			ev.Notification.Headline, ev.Notification.Body = "a headline with {what}", "a body"
			ev.Notification.TemplateData = map[string]collab.JSON{"what": collab.JSON(`"a value"`)}
			ev.Notification.SourceData = collab.JSON(`{"a":"source"}`)
		}))
	}
	p := w.startWithoutMail()
	w.drain(p)
	for _, want := range []string{"mail not sent", "mail rejected", "webhook not reached", "permission provider"} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &w.log)
		}
	}
	for _, no := range []string{
		a.address("bob"), "no address", "Bob Builder", "a comment", "a headline", "a body", "a value", "source\"", "secret",
	} {
		if strings.Contains(w.log.String(), no) {
			t.Errorf("the log has %q:\n%s", no, &w.log)
		}
	}
}
