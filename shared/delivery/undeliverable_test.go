package delivery_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/metrics"

	"github.com/google/go-cmp/cmp"
)

// report returns an event of SES, bounce or complaint, about an email that leaves now to a user's
// address. changes are old and new texts.
func (a *account) report(kind, user, address string, changes ...string) string {
	a.Helper()
	text, err := os.ReadFile("../mail/testdata/reports/" + kind + ".json")
	a.must(err)
	secret, err := a.db.Accounts.KeepMailSecret(a.Context(), a.id, bytes.Repeat([]byte{7}, unsubscribe.SecretBytes))
	a.must(err)
	now := func(after time.Duration) string { return a.Now().Add(after).UTC().Format("2006-01-02T15:04:05.000Z") }
	changes = append(changes, "TOKEN", a.recipient(user, address).Token(secret), "recipient@example.com", address,
		"2026-03-01T12:00:02.012Z", now(0), "2026-03-01T12:01:02.669Z", now(time.Second))
	return strings.NewReplacer(changes...).Replace(string(text))
}

// reports makes a process take reports.
func (a *account) reports(texts ...string) {
	a.Helper()
	p := a.start()
	for _, text := range texts {
		a.must(p.Take(a.Context(), text))
	}
	a.must(p.Metrics.Flush())
}

// marks returns the marks of users with addresses.
func (a *account) marks(users ...collab.User) map[string]collab.EmailState {
	a.Helper()
	list, err := a.db.Directory.Undeliverable(a.Context(), a.doc.OrganizationRef, users)
	a.must(err)
	states := map[string]collab.EmailState{}
	for user, u := range list {
		states[user] = u.Reason
	}
	return states
}

// moves changes the address of a member.
func (a *account) moves(user, address string) {
	a.Helper()
	a.memberIs(collab.User{UserID: user, Email: &address}, "")
}

// TestUndeliverable checks that a bounce or complaint, reported several times, marks an address
// once, posts one event, and stops emails until the person has another address; and that the
// explanations of what left and what did not name it.
func TestUndeliverable(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		state collab.EmailState
		why   string
	}{
		"bounce": {collab.EmailBounced, "the address bounced"}, "complaint": {collab.EmailComplained, "the person reported an email as spam"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a, w := newAccount(t, grouping(true))
			hook := receive(t, nil)
			a.webhook("hook", hook.URL, collab.EmailUndeliverable)
			a.member("bob")
			p := w.start()
			says := func() *collab.Event {
				w.add(10 * time.Minute)
				ev := a.comment("thread", collab.User{UserID: "bob"})
				w.send(ev)
				w.settle(p)
				return ev
			}
			check := func(ev *collab.Event, want string, mails int) {
				t.Helper()
				if got, _ := a.explained(ev); got["bob"] != [2]string{"reached ", want} {
					t.Errorf("explained %q, want %q", got["bob"], want)
				}
				if got := len(a.mailsTo("bob")); got != mails {
					t.Errorf("%d emails, want %d", got, mails)
				}
			}
			arrived := says()
			w.add(time.Hour)
			left := says()
			check(left, "reached ", 2)
			text := a.report(kind, "bob", a.address("bob"))
			reported := a.Now().Add(time.Second).UTC().Format("2006-01-02T15:04:05.000Z")
			a.reports(text, text, strings.Replace(text, `"feedbackId": "0`, `"feedbackId": "1`, 1))
			check(arrived, "reached ", 2)
			check(left, "reached "+want.why, 2)
			check(says(), want.why, 2)
			if diff := cmp.Diff(map[string]collab.EmailState{"bob": want.state}, a.marks(a.user("bob"))); diff != "" {
				t.Error(diff)
			}
			if f := w.figures(); f[metrics.Undeliverable] != 1 || f[metrics.ReportsDropped] != 0 {
				t.Errorf("figures %v", f)
			}
			posts := hook.posts()
			if len(posts) != 1 {
				t.Fatalf("posts %+v", posts)
			}
			var body struct{ Data json.RawMessage }
			w.must(json.Unmarshal([]byte(posts[0].body), &body))
			checkJSON(t, string(body.Data), fmt.Sprintf(`{"organizationId":"org","documentId":null,"annotationId":null,"commentId":null,
				"userId":"bob","email":%q,"reason":%q,"time":%q}`, a.address("bob"), want.state, reported))

			a.moves("bob", "new."+a.address("bob"))
			ev := says()
			if got, _ := a.explained(ev); got["bob"] != [2]string{"reached ", "reached "} {
				t.Errorf("with another address: %q", got["bob"])
			}
			if n := len(a.sentEmails()["new."+a.address("bob")]); n != 1 {
				t.Errorf("%d emails to the other address", n)
			}
			a.moves("bob", a.address("bob"))
			check(says(), "reached ", 3)
		})
	}
}

// TestWaitingUndeliverable checks that an email that waits is not sent if the address bounces
// meanwhile.
func TestWaitingUndeliverable(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.member("bob")
	p := w.start()
	ev := a.comment("thread", a.user("bob"))
	w.send(ev)
	w.drain(p)
	a.reports(a.report("bounce", "bob", a.address("bob")))
	w.settle(p)
	if got, _ := a.explained(ev); got["bob"] != [2]string{"reached ", "the address bounced"} || len(a.mailsTo("bob")) != 0 {
		t.Errorf("%q, emails %q", got["bob"], a.mailsTo("bob"))
	}
}

// TestReportsDropped checks that reports that do not name a stored person's address mark none, and
// are not repeated; and that temporary ones mark none, either.
func TestReportsDropped(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	other := w.account()
	a.member("bob")
	other.member("bob")
	address := a.address("bob")
	for i, dropped := range []string{
		a.report("bounce", "nobody", address),
		a.report("bounce", "bob", "former."+address),
		a.report("bounce", "bob", address, `"emailAddress": "recipient@example.com"`, `"emailAddress": "forwarded@example.com"`),
		a.report("bounce", "bob", address, "List-Unsubscribe", "List-Help"),
		a.report("bounce", "bob", address, "?token=", "?token=x"),
		other.report("complaint", "bob", address),
	} {
		a.reports(dropped)
		if n := w.figures()[metrics.ReportsDropped]; n != float64(i+1) {
			t.Errorf("report %d: %v dropped", i, n)
		}
	}
	a.reports(a.report("bounce", "bob", address, `"Permanent"`, `"Transient"`), `{"eventType": "Delivery"}`)
	if got := a.marks(a.user("bob")); len(got) != 0 || w.figures()[metrics.Undeliverable] != 0 {
		t.Errorf("marks %v", got)
	}
}

// TestUndeliverableOfOthers checks that a mark is known only to the organization of the email, for
// its person; and that a person stored at a document alone has one.
func TestUndeliverableOfOthers(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	other := w.account()
	shared := collab.User{UserID: "bob", Email: new("shared@" + a.id + ".example")}
	for _, x := range []*account{a, other} {
		x.memberIs(shared, "")
	}
	in := []collab.Resource{{OrganizationRef: a.doc.OrganizationRef, Document: a.doc}}
	twin := collab.User{UserID: "twin", Email: shared.Email}
	a.must(a.db.Directory.ChangeMembers(t.Context(), a.request(), in[0], []string{"twin"}, true, func(_ int, m *collab.Member) { m.User = twin })[0])
	a.reports(a.report("complaint", "bob", *shared.Email))
	if got := other.marks(shared); len(got) != 0 {
		t.Errorf("another account knows %v", got)
	}
	if diff := cmp.Diff(map[string]collab.EmailState{"bob": collab.EmailComplained}, a.marks(shared, twin)); diff != "" {
		t.Error(diff)
	}
	a.reports(a.report("bounce", "twin", *shared.Email))
	many := []collab.User{shared, twin}
	for i := range 40 {
		many = append(many, collab.User{UserID: fmt.Sprint("user", i), Email: shared.Email})
	}
	if diff := cmp.Diff(map[string]collab.EmailState{"bob": collab.EmailComplained, "twin": collab.EmailBounced}, a.marks(many...)); diff != "" {
		t.Error(diff)
	}
}

// TestLateReport checks that a report about a former address does not replace the mark of the
// present one, and that a later one about another address does.
func TestLateReport(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.member("bob")
	former := a.report("bounce", "bob", a.address("bob"))
	w.add(time.Minute)
	present := collab.User{UserID: "bob", Email: new("new." + a.address("bob"))}
	a.memberIs(present, "")
	in := []collab.Resource{{OrganizationRef: a.doc.OrganizationRef, Document: a.doc}}
	a.must(a.db.Directory.ChangeMembers(t.Context(), a.request(), in[0], []string{"bob"}, true, func(_ int, m *collab.Member) { m.User = a.user("bob") })[0])
	a.reports(a.report("bounce", "bob", *present.Email), former)
	if got := a.marks(present); got["bob"] != collab.EmailBounced {
		t.Errorf("marks %v", got)
	}
	w.add(time.Minute)
	a.reports(a.report("bounce", "bob", a.address("bob")))
	if got := a.marks(a.user("bob")); got["bob"] != collab.EmailBounced {
		t.Errorf("marks %v", got)
	}
}

// TestKilledAtReport kills the process that takes a report before each call to AWS, and repeats the
// message. There is one mark and one event, which the relay sends if its message is lost.
func TestKilledAtReport(t *testing.T) {
	t.Parallel()
	for killed, call := true, 1; killed; call++ {
		a, w := newAccount(t)
		hook := receive(t, nil)
		a.webhook("hook", hook.URL, collab.EmailUndeliverable)
		a.member("bob")
		text := a.report("bounce", "bob", a.address("bob"))
		p := w.start()
		p.killAt = killPoint{call: call}
		err := p.Take(p.ctx, text)
		if killed = p.ctx.Err() != nil; err != nil && !killed {
			t.Fatal(err)
		}
		a.reports(text)
		w.settle(w.start())
		ids := map[string]bool{}
		for _, post := range hook.posts() {
			ids[post.id] = true
		}
		if got := a.marks(a.user("bob")); got["bob"] != collab.EmailBounced || len(ids) != 1 {
			t.Errorf("killed at call %d: marks %v, events %v", call, got, ids)
		}
		if call > 30 {
			t.Fatal("a report takes more than 30 calls")
		}
	}
}
