package delivery_test

import (
	"bytes"
	"collabdata/shared/keys"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/mail"

	"github.com/google/go-cmp/cmp"
)

// in returns the account for events in another document.
func (a *account) in(document string) *account {
	a.Helper()
	other := *a
	var err error
	other.doc, err = a.db.Directory.OpenDocument(a.Context(), a.id, "org", document, collab.CreateFlags{Document: true})
	a.must(err)
	return &other
}

// group adds a group of users.
func (a *account) group(id string, users ...string) {
	a.Helper()
	org := a.doc.OrganizationRef
	name := func(_ int, g *collab.UserGroup) { g.Name = "Engineering" }
	a.must(errors.Join(a.db.Directory.ChangeGroups(a.Context(), a.request(), org, []string{id}, name)...))
	a.must(errors.Join(a.db.Directory.AddGroupUsers(a.Context(), a.request(), org, id, users)...))
}

// see marks threads of the document as seen by a user, or all if there are none.
func (a *account) see(user string, threads ...string) {
	a.Helper()
	if threads == nil {
		a.must(a.db.Threads.SetAllRead(a.Context(), a.request(), a.doc, user, true))
		return
	}
	a.did(a.db.Threads.SetRead(a.Context(), a.request(), a.doc, user, threads, true, nil))
}

// level sets a user's level for a thread.
func (a *account) level(user, thread string, level collab.Level) {
	a.Helper()
	a.must(errors.Join(a.db.Threads.SetLevel(a.Context(), a.request(), a.doc, []string{thread}, []string{user}, level, nil)...))
}

// frequency sets a user's schedule of emails.
func (a *account) frequency(user string, m collab.MailTimes) {
	a.Helper()
	a.must(a.db.Directory.SetMailTimes(a.Context(), a.doc.OrganizationRef, []string{user}, m))
}

// TestOnlyUnseen checks that emails omit events that the recipient has seen, read in the inbox, or
// replied after.
func TestOnlyUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, did := range map[string]func(a *account, ev *collab.Event){
		"the thread is seen":   func(a *account, _ *collab.Event) { a.see("bob", "thread") },
		"the document is seen": func(a *account, _ *collab.Event) { a.see("bob") },
		"all is read": func(a *account, _ *collab.Event) {
			a.must(a.db.Inbox.ReadUntil(a.Context(), a.doc.OrganizationRef, "bob", a.millis()))
		},
		"the notification is read":   func(a *account, ev *collab.Event) { a.read("bob", ev.ID) },
		"the thread is answered":     func(a *account, _ *collab.Event) { a.answer("bob", "thread") },
		"it is muted":                func(a *account, _ *collab.Event) { a.level("bob", "thread", collab.LevelNone) },
		"all but mentions are muted": func(a *account, _ *collab.Event) { a.level("bob", "thread", collab.LevelMentions) },
		"another thread is seen":     func(a *account, _ *collab.Event) { a.comment("other"); a.see("bob", "other") },
	} {
		t.Run(name, func(t *testing.T) {
			a := w.account()
			p := w.start()
			ev := a.comment("thread", a.user("bob"), a.user("cid"))
			w.send(ev)
			w.drain(p)
			w.add(time.Minute)
			did(a, ev)
			w.settle(p)
			want, why := []string{}, "seen"
			if strings.Contains(name, "muted") {
				why = "muted"
			}
			if strings.Contains(name, "mentions") || strings.Contains(name, "another") {
				want, why = []string{"ann mentioned you · doc"}, "reached "
			}
			if diff := cmp.Diff(want, a.mailsTo("bob")); diff != "" {
				t.Error(diff)
			}
			if got, _ := a.explained(ev); got["bob"][1] != why {
				t.Errorf("explained as %q, want %q", got["bob"], why)
			}
			if len(a.mailsTo("cid")) != 1 {
				t.Error("the other has no mail")
			}
			later := a.comment("thread", a.user("bob"))
			w.send(later)
			w.settle(p)
			if got := len(a.mailsTo("bob")) - len(want); (got == 1) != (name != "it is muted") {
				t.Errorf("%d mails of what came later", got)
			}
		})
	}
}

// read marks a notification as read.
func (a *account) read(user, id string) {
	a.Helper()
	a.must(a.db.Inbox.ChangeNotification(a.Context(), a.request(), a.doc.OrganizationRef, collab.NotificationChange{ID: id, Read: []string{user}}))
}

// answer adds a comment of a user without notifying anyone.
func (a *account) answer(user, thread string) {
	a.Helper()
	text := "an answer"
	a.record(thread, collab.CommentAdded, func(ev *draft) { ev.Notify, ev.Actor = false, &collab.User{UserID: user} },
		collab.Comment{Text: &text, From: collab.JSON(fmt.Sprintf(`{"userId":%q}`, user)), AuthorID: user})
}

// TestDaily checks that users with daily emails get one at eight, across a change to summer time,
// in their language, with unseen events, newest thread first.
func TestDaily(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	w.must(err)
	// summer time starts in the next night
	w.moveTo(time.Date(2027, time.March, 27, 9, 0, 0, 0, berlin))
	a := w.account()
	plan, budget, risks := a.in("plan"), a.in("budget"), a.in("risks")
	a.memberIs(a.user("bob"), "de")
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailDaily, Hour: 8, Zone: "Europe/Berlin"})
	var mails []mail.Email
	p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
	for i := range 12 {
		doc := []*account{plan, budget, risks}[i/4]
		ev := doc.comment(fmt.Sprint("thread", i%2), a.user("bob"))
		w.send(ev)
		w.settleUntil(p, w.Now().Add(time.Hour))
	}
	if len(mails) > 0 {
		t.Fatalf("%d mails before eight", len(mails))
	}
	budget.see("bob", "thread0")
	w.settle(p)
	if diff := cmp.Diff([]string{"10 ungelesene Benachrichtigungen"}, a.mailsTo("bob")); diff != "" {
		t.Fatal(diff)
	}
	if text := w.sentEmails()[a.address("bob")][0].Text; !strings.Contains(text, "ann hat Sie erwähnt\n\nann, 27. März 2027, 20:00 CET:") {
		t.Error(text)
	}
	if at, want := w.Now(), time.Date(2027, time.March, 28, 8, 0, 0, 0, berlin); at.Before(want) || at.After(want.Add(time.Minute)) {
		t.Errorf("it left at %v", at.In(berlin))
	}
	var got []string
	for _, t := range mails[0].Threads {
		got = append(got, fmt.Sprintf("%s %s %d", t.Document, t.AnnotationID, len(t.Events)))
	}
	want := []string{"risks thread1 2", "risks thread0 2", "budget thread1 2", "plan thread1 2", "plan thread0 2"}
	if diff := cmp.Diff(want, got); diff != "" || mails[0].More != 0 {
		t.Error(diff)
	}
}

// kept keeps sent emails.
type kept struct {
	delivery.Mailer
	*world
	list *[]mail.Email
}

func (k *kept) Send(ctx context.Context, n mail.Email) error {
	*k.list = append(*k.list, n)
	return k.Mailer.Send(ctx, n)
}

// TestMailTimes checks the times of hourly and daily emails around changes of summer time.
func TestMailTimes(t *testing.T) {
	t.Parallel()
	daily := func(hour int64, zone string) collab.MailTimes {
		return collab.MailTimes{Frequency: collab.MailDaily, Hour: hour, Zone: zone}
	}
	for _, test := range []struct {
		of        collab.MailTimes
		now, want string
	}{
		{collab.MailTimes{Frequency: collab.MailHourly}, "2027-03-01T10:00:00Z", "2027-03-01T11:00:00Z"},
		{collab.MailTimes{Frequency: collab.MailHourly}, "2027-03-01T10:59:59Z", "2027-03-01T11:00:00Z"},
		{daily(8, ""), "2027-03-01T08:00:00Z", "2027-03-02T08:00:00Z"},
		{daily(8, "Europe/Berlin"), "2027-03-27T08:00:00Z", "2027-03-28T06:00:00Z"},
		{daily(8, "Europe/Berlin"), "2027-10-30T07:00:00Z", "2027-10-31T07:00:00Z"},
		// two o'clock does not exist
		{daily(2, "Europe/Berlin"), "2027-03-27T12:00:00Z", "2027-03-28T01:00:00Z"},
		// midnight does not exist
		{daily(0, "America/Havana"), "2026-03-08T04:30:00Z", "2026-03-08T05:00:00Z"},
		{daily(0, "America/Santiago"), "2026-09-06T03:30:00Z", "2026-09-06T04:00:00Z"},
		{daily(0, "Atlantic/Azores"), "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
		{daily(0, "Asia/Kolkata"), "2027-03-01T18:30:00Z", "2027-03-02T18:30:00Z"},
		{daily(8, "none"), "2027-03-01T07:00:00Z", "2027-03-01T08:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, test.now)
		if got := test.of.Due(now, now).UTC().Format(time.RFC3339); err != nil || got != test.want {
			t.Errorf("%+v after %s: %s, want %s", test.of, test.now, got, test.want)
		}
	}
	if now := time.Now(); !(collab.MailTimes{}).Due(now, now).Equal(now) {
		t.Error("an instant mail has a time")
	}
}

// TestSooner checks that a waiting daily email is sent within an hour of the next event after its
// recipient switches to hourly emails.
func TestSooner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.moveTo(time.Date(2027, time.March, 1, 9, 0, 0, 0, time.UTC))
	a := w.account()
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailDaily, Hour: 8})
	p := w.start()
	say := func() {
		w.send(a.comment("thread", a.user("bob")))
		w.settleUntil(p, w.Now().Add(5*time.Minute))
	}
	say()
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailHourly})
	say()
	w.settleUntil(p, w.Now().Add(65*time.Minute))
	want := []string{"ann mentioned you (and 1 more) · doc"}
	if diff := cmp.Diff(want, a.mailsTo("bob")); diff != "" {
		t.Error(diff)
	}
	w.settle(p)
	if diff := cmp.Diff(want, a.mailsTo("bob")); diff != "" {
		t.Errorf("in the end: %s", diff)
	}
}

// TestMidnight checks that there is only one daily email if summer time starts at its hour,
// midnight.
func TestMidnight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	havana, err := time.LoadLocation("America/Havana")
	w.must(err)
	w.moveTo(time.Date(2027, time.March, 13, 23, 5, 0, 0, havana))
	a := w.account()
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailDaily, Hour: 0, Zone: "America/Havana"})
	p := w.start()
	for range 3 {
		w.send(a.comment("thread", a.user("bob")))
		w.settleUntil(p, w.Now().Add(6*time.Minute))
		w.moveTo(w.Now().Add(6 * time.Minute))
	}
	if got := a.mailsTo("bob"); len(got) > 0 {
		t.Errorf("by %s bob has %q", w.Now().In(havana), got)
	}
	w.settle(p)
	if diff := cmp.Diff([]string{"ann mentioned you (and 2 more) · doc"}, a.mailsTo("bob")); diff != "" {
		t.Error(diff)
	}
}

// TestNothingLeft checks that a mention that arrives while a daily email finds nothing left to tell
// is for the email of the next day.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.moveTo(time.Date(2027, time.March, 1, 9, 0, 0, 0, time.UTC))
	a := w.account()
	a.member("bob")
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailDaily, Hour: 10})
	others, p := w.startWithoutMail(), w.start()
	first := a.comment("thread", a.user("bob"))
	w.send(first)
	w.drain(p)
	a.read("bob", first.ID)
	var meanwhile atomic.Bool
	p.flaw = &flaw{at: func(op string, body []byte) bool { // before the end of the first entry's wait is recorded
		if op == "UpdateItem" && bytes.Contains(body, []byte(`"`+keys.EmailEndedAt+`"`)) && !meanwhile.Swap(true) {
			w.send(a.comment("other", a.user("bob")))
			w.drain(others)
		}
		return false
	}}
	w.settleUntil(p, time.Date(2027, time.March, 2, 9, 59, 0, 0, time.UTC))
	if got := a.mailsTo("bob"); len(got) != 0 || !meanwhile.Load() {
		t.Errorf("before the email of the next day bob has %q; mentioned meanwhile: %v", got, meanwhile.Load())
	}
	w.settle(p)
	if got := a.mailsTo("bob"); len(got) != 1 {
		t.Errorf("in the end bob has %q", got)
	}
}

// TestMeanwhile checks that events during the sending of a daily email are in the next one.
func TestMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.moveTo(time.Date(2027, time.March, 1, 9, 0, 0, 0, time.UTC))
	a := w.account()
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailDaily, Hour: 10})
	others, sent := w.startWithoutMail(), 0
	p := w.start(func(o *delivery.Options) {
		o.Mailer = &during{Mailer: o.Mailer, do: func() {
			if sent++; sent == 1 {
				w.send(a.comment("thread", a.user("bob")))
				w.drain(others)
			}
		}}
	})
	w.send(a.comment("thread", a.user("bob")))
	w.settleUntil(p, time.Date(2027, time.March, 2, 9, 59, 0, 0, time.UTC))
	if got := a.mailsTo("bob"); len(got) != 1 {
		t.Errorf("within a day bob has %q", got)
	}
	w.settle(p)
	if got := a.mailsTo("bob"); len(got) != 2 {
		t.Errorf("in the end bob has %q", got)
	}
}

// during runs a function while an email is sent.
type during struct {
	delivery.Mailer
	do func()
}

func (d *during) Send(ctx context.Context, n mail.Email) error {
	d.do()
	return d.Mailer.Send(ctx, n)
}

// TestDisabledMeanwhile checks that an email waits a day for its disabled organization or account,
// and is then dropped.
func TestDisabledMeanwhile(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(a *account, off bool){
		"account": func(a *account, off bool) { a.change(func(c *collab.Account) { c.Disabled = off }) },
		"organization": func(a *account, off bool) {
			a.must(errors.Join(a.db.Directory.ChangeOrganizations(a.Context(), a.request(), []string{"org"}, false, func(_ int, o *collab.Organization) error { o.Disabled = off; return nil })...))
		},
	} {
		for hours, want := range map[time.Duration]int{23: 1, 26: 0} {
			t.Run(fmt.Sprint(name, hours), func(t *testing.T) {
				t.Parallel()
				a, w := newAccount(t)
				p := w.start()
				ev := a.comment("thread", a.user("bob"))
				w.send(ev)
				w.drain(p)
				set(a, true)
				w.settleUntil(p, w.Now().Add(hours*time.Hour))
				set(a, false)
				w.settle(p)
				if got := a.mailsTo("bob"); len(got) != want {
					t.Errorf("mails %q", got)
				}
				if got, _ := a.explained(ev); want == 0 && got["bob"][1] != "the organization was disabled" {
					t.Errorf("explained as %q", got["bob"])
				}
			})
		}
	}
}

// throttled is an email service that accepts no emails.
type throttled struct{}

func (throttled) Send(context.Context, mail.Email) error { return mail.ErrThrottled }

// TestDisabledAgain checks that an email waits a day from each time when its account is disabled.
func TestDisabledAgain(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	disable := func(off bool) { a.change(func(c *collab.Account) { c.Disabled = off }) }
	busy := w.start(func(o *delivery.Options) { o.Mailer = throttled{} })
	w.send(a.comment("thread", a.user("bob")))
	w.drain(busy)
	for range 2 {
		disable(true)
		w.settleUntil(busy, w.Now().Add(20*time.Hour))
		disable(false)
		w.settleUntil(busy, w.Now().Add(time.Hour))
	}
	w.settle(w.start())
	if got := a.mailsTo("bob"); len(got) != 1 {
		t.Errorf("mails %q", got)
	}
}

// TestCountsAll checks that an email about many events shows the newest ones and counts all others.
func TestCountsAll(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
	var mails []mail.Email
	p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
	const n = 130
	for i := range n {
		w.send(a.comment(fmt.Sprint("thread", i%40), a.user("bob")))
		w.add(time.Millisecond)
	}
	w.settle(p)
	told := 0
	for _, th := range mails[0].Threads {
		told += len(th.Events)
	}
	if len(mails) != 1 || told != 20 || mails[0].More != n-told {
		t.Errorf("%d mails, of which the first tells of %d and counts %d more; want all %d", len(mails), told, mails[0].More, n)
	}
}

// TestPortions checks that an email shows twenty entries, although some of the newest are muted.
// Counted entries end as counted, or with the others.
func TestPortions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		meanwhile func(*account)
		rejected  string // a user with rejected emails
		mails     int
		newest    string // explained outcome of the newest entries that are not muted
		oldest    string
	}{
		"it leaves": {func(*account) {}, "", 1, "reached ", "only counted: the email shows newer ones"},
		"rejected":  {func(*account) {}, "bob", 0, "the email service rejected it", "the email service rejected it"},
		"unsubscribed": {func(a *account) {
			a.must(a.db.Accounts.Unsubscribe(a.Context(), a.recipient("bob", a.address("bob"))))
		}, "", 0, "unsubscribed", "unsubscribed"},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.account(func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
			var mails []mail.Email
			p := w.start(func(o *delivery.Options) {
				o.Mailer = rejecting{&kept{Mailer: o.Mailer, world: w, list: &mails}, test.rejected}
			})
			var evs []*collab.Event
			for i := range 35 {
				thread := fmt.Sprint("thread", i)
				if i >= 30 {
					thread = "muted"
				}
				evs = append(evs, a.comment(thread, a.user("bob")))
				w.add(time.Millisecond)
			}
			w.send(evs...)
			w.drain(p)
			a.level("bob", "muted", collab.LevelNone)
			test.meanwhile(a)
			w.settle(p)
			if len(mails) != test.mails || test.mails > 0 && (len(mails[0].Threads) != 20 || mails[0].More != 10) {
				t.Errorf("mails %+v", mails)
			}
			for i, want := range map[int]string{0: test.oldest, 29: test.newest} {
				if got, _ := a.explained(evs[i]); got["bob"][1] != want {
					t.Errorf("number %d is explained as %q", i, got["bob"])
				}
			}
		})
	}
}

// TestBehindMuted checks that an email shows entries older than a hundred events in a muted thread.
func TestBehindMuted(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
	var mails []mail.Email
	p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
	w.send(a.comment("one", a.user("bob")))
	for range 110 {
		w.add(time.Millisecond)
		w.send(a.comment("busy", a.user("bob")))
	}
	w.drain(p)
	a.level("bob", "busy", collab.LevelNone)
	w.settle(p)
	if len(mails) != 1 || len(mails[0].Threads) != 1 || mails[0].More != 0 || mails[0].Threads[0].AnnotationID != "one" {
		t.Errorf("mails %+v", mails)
	}
}

// TestReadAmongMany checks that a daily email omits a read event, although its recipient has read
// 210 others since.
func TestReadAmongMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.moveTo(time.Date(2027, time.March, 1, 9, 0, 0, 0, time.UTC))
	a := w.account()
	busy := a.in("busy")
	a.frequency("bob", collab.MailTimes{Frequency: collab.MailDaily, Hour: 8})
	a.prefer("bob", collab.Preferences{Email: collab.PreferNone}, "busy")
	var mails []mail.Email
	p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
	first := a.says("one", "the first", a.user("bob"))
	w.send(first)
	w.drain(p)
	a.read("bob", first.ID)
	var many []*collab.Event
	for i := range 210 {
		w.add(time.Second)
		many = append(many, busy.says(fmt.Sprint("busy", i), "busy", a.user("bob")))
	}
	w.send(many...)
	w.drain(p)
	for _, ev := range many {
		busy.read("bob", ev.ID)
	}
	w.add(time.Minute)
	last := a.says("two", "the last", a.user("bob"))
	w.send(last)
	w.settle(p)
	if len(mails) != 1 || len(mails[0].Threads) != 1 || mails[0].More != 0 || mails[0].Threads[0].AnnotationID != "two" {
		t.Errorf("mails %+v", mails)
	}
}

// TestBatches checks the account's settings for combining and delaying emails.
func TestBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const at, late = time.Minute, 4*time.Minute + 59*time.Second
	one, two := "ann mentioned you · doc", "ann mentioned you (and 1 more) · doc"
	for name, test := range map[string]struct {
		batch collab.MailBatch
		delay int64
		on    map[time.Duration][]string // threads with a comment, by time
		after time.Duration              // until the last email has left
		want  []string
	}{
		"each event":               {collab.BatchEvent, 3600, map[time.Duration][]string{0: {"one", "one"}, at: {"two"}}, at, []string{one, one, one}},
		"each thread":              {collab.BatchThread, 10, map[time.Duration][]string{0: {"one", "two", "one"}}, 10 * time.Second, []string{two, one}},
		"a thread, within":         {"", 0, map[time.Duration][]string{0: {"one"}, late: {"one"}}, 5 * time.Minute, []string{two}},
		"a thread, afterwards":     {"", 0, map[time.Duration][]string{0: {"one"}, at: {"one"}, 7 * time.Minute: {"one"}}, 12 * time.Minute, []string{two, one}},
		"each person":              {collab.BatchPerson, 600, map[time.Duration][]string{0: {"one", "two"}, at: {"one"}}, 10 * time.Minute, []string{"3 unread notifications"}},
		"each person, after hours": {collab.BatchPerson, 7200, map[time.Duration][]string{0: {"one", "two"}}, 2 * time.Hour, []string{"2 unread notifications"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.account(func(s *collab.Settings) { s.MailBatch, s.MailDelaySeconds = test.batch, test.delay })
			p := w.start()
			began := w.Now()
			for _, wait := range slices.Sorted(maps.Keys(test.on)) {
				w.settleUntil(p, began.Add(wait))
				w.moveTo(began.Add(wait))
				for _, thread := range test.on[wait] {
					w.send(a.comment(thread, a.user("bob")))
				}
			}
			w.settle(p)
			got := a.mailsTo("bob")
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if took := w.Now().Sub(began); took < test.after || took > test.after+11*time.Minute {
				t.Errorf("after %v", took)
			}
		})
	}
}

// TestSameThread checks that threads with the same id in two documents have separate emails.
func TestSameThread(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	other := a.in("other")
	w.run(a.comment("thread", a.user("bob")), other.comment("thread", a.user("bob")))
	got := a.mailsTo("bob")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"ann mentioned you · doc", "ann mentioned you · other"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFollow checks that followers of a thread are notified of every event, and that users who
// muted it get none, or only mentions.
func TestFollow(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	a.begin("thread")
	for _, user := range []string{"bob", "cid", "dan"} {
		a.member(user)
	}
	a.level("bob", "thread", collab.LevelAll)
	a.level("cid", "thread", collab.LevelNone)
	a.level("dan", "thread", collab.LevelMentions)
	p := w.start()
	plain := a.comment("thread")
	w.add(time.Millisecond)
	named := a.comment("thread", a.user("cid"), a.user("dan"))
	w.send(plain, named)
	w.settle(p)
	for user, want := range map[string][]string{"bob": {named.ID, plain.ID}, "cid": {}, "dan": {named.ID}, "eve": {}} {
		if diff := cmp.Diff(want, a.inbox(user)); diff != "" {
			t.Errorf("%s: %s", user, diff)
		}
		if got := len(a.mailsTo(user)); got != min(len(want), 1) {
			t.Errorf("%s has %d mails", user, got)
		}
	}
}

// TestGroupsAreTold checks that members of a mentioned group are notified once if they may see the
// thread, also if they only want mentions.
func TestGroupsAreTold(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	a.group("eng", "ann", "bob", "cid", "dan")
	for _, user := range []string{"bob", "cid", "dan"} {
		a.member(user)
	}
	a.begin("thread")
	a.level("dan", "thread", collab.LevelMentions)
	a.remove("cid")
	text := "Look, {{eng}}"
	ev := a.record("thread", collab.CommentAdded, func(ev *draft) { ev.Actor = &collab.User{UserID: "ann"} }, collab.Comment{
		Text: &text, From: collab.JSON(`{"userId":"ann"}`), AuthorID: "ann",
		TaggedUserContacts: collab.JSON(`[{"organizationUserGroupId":"eng","text":"Engineering"},{"userId":"bob"}]`),
	})
	w.run(ev)
	for user, want := range map[string]int{"ann": 0, "bob": 1, "cid": 0, "dan": 1, "eve": 0} {
		if got := len(a.inbox(user)); got != want {
			t.Errorf("%s has %d notifications, want %d", user, got, want)
		}
	}
	if diff := cmp.Diff([]string{"ann mentioned you · doc"}, a.mailsTo("dan")); diff != "" {
		t.Errorf("dan, who only wants mentions: %s", diff)
	}
	if diff := cmp.Diff([]string{"ann mentioned you · doc"}, a.mailsTo("bob")); diff != "" || !strings.Contains(a.sentEmails()[a.address("bob")][0].Text, "Look, @Engineering") {
		t.Errorf("%s: %v", diff, a.sentEmails()[a.address("bob")])
	}
}

// TestLargeGroups checks that of a large group, only the first 200 members with access are
// mentioned. At most 1,000 members of a comment's groups are examined.
func TestLargeGroups(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	users := func(letter string, n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprintf("%s%03d", letter, i))
		}
		return ids
	}
	a.group("some", users("s", 210)...)
	a.group("more", users("t", 600)...)
	a.group("most", users("u", 600)...)
	a.group("few", users("v", 3)...)
	a.put("doc", func(d *collab.Document) { d.Access = collab.AccessRestricted })
	// the first 1,000 end at u189
	for _, u := range []string{"s000", "s209", "t599", "u189", "u190", "v002"} {
		a.grant(u)
	}
	a.member("s209")
	open := a.in("open")
	open.begin("private")
	open.show("private", &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{"s209"}})
	for _, test := range []struct {
		in     *account
		thread string
		groups []string
		want   []string
	}{
		{a, "one group", []string{"some"}, []string{"s000", "s209"}},
		{open, "private", []string{"some"}, []string{"s209"}}, // everyone sees the document
		{open, "public", []string{"some"}, users("s", collab.MaxGroupMention)},
		{a, "a small group", []string{"few"}, []string{"v002"}},
		{a, "many groups", []string{"some", "more", "most", "few"}, []string{"s000", "s209", "t599", "u189"}},
	} {
		text := "Look"
		tags := collab.Map(test.groups, func(g string) string { return fmt.Sprintf(`{"organizationUserGroupId":%q,"text":"Group"}`, g) })
		ev := test.in.record(test.thread, collab.CommentAdded, byAnn, collab.Comment{
			Text: &text, From: collab.JSON(`{"userId":"ann"}`), AuthorID: "ann", TaggedUserContacts: collab.JSON("[" + strings.Join(tags, ",") + "]"),
		})
		w.run(ev)
		got, _ := a.reached(ev, slices.Concat(users("s", 210), []string{"t599", "u188", "u189", "u190", "v002"})...)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.thread, diff)
		}
	}
	if got := a.mailsTo("s209"); len(got) != 3 || slices.ContainsFunc(got, func(subject string) bool { return !strings.HasPrefix(subject, "ann mentioned you") }) {
		t.Errorf("mails to s209: %q", got)
	}
}

// TestMailBudget checks the table units of an email: few units per further event in a thread, and
// at most 130 for many threads. Other events are counted.
func TestMailBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reads := map[string]float64{}
	for _, test := range []struct {
		name            string
		events, threads int
		told            int // minimum number of threads
	}{{"one", 1, 1, 1}, {"grouped", 11, 1, 1}, {"many", 24, 24, 3}} {
		a := w.account(func(s *collab.Settings) { s.MailBatch = collab.BatchPerson })
		var mails []mail.Email
		p := w.start(func(o *delivery.Options) { o.Mailer = &kept{Mailer: o.Mailer, world: w, list: &mails} })
		for i := range test.events {
			w.send(a.comment(fmt.Sprint("thread", i%test.threads), a.user("bob")))
			w.add(time.Millisecond)
		}
		w.drain(p)
		w.add(time.Hour)
		var usage collab.Usage
		calls := len(p.calls)
		w.must(p.take(collab.WithUsage(t.Context(), &usage), a.email("bob")))
		reads[test.name], _, _ = usage.Total()
		t.Logf("%s: %.1f read units, calls %v", test.name, reads[test.name], p.calls[calls:])
		if len(mails) != 1 {
			t.Fatalf("%s: %d mails", test.name, len(mails))
		}
		told, last := mails[0].Threads, fmt.Sprint("thread", test.threads-1)
		if reads[test.name] > 135 || len(told) < test.told || len(told) > 1 && len(told)+mails[0].More != test.events || told[0].AnnotationID != last {
			t.Errorf("%s: %.1f read units for %d threads, %d more, the first %s", test.name, reads[test.name], len(told), mails[0].More, told[0].AnnotationID)
		}
	}
	if more := (reads["grouped"] - reads["one"]) / 10; more > 2.2 {
		t.Errorf("%.1f read units for each event more", more)
	}
}

var (
	duePeople = flag.Int("due.people", 24, "`people` of TestManyDueAtOnce")
	dueRate   = flag.Int("due.rate", 6, "`mails` a minute that its mail service takes")
)

// TestManyDueAtOnce checks that emails due in the same minute are each sent once, about as fast as
// the email service accepts them.
func TestManyDueAtOnce(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	var evs []*collab.Event
	for first := 0; first < *duePeople; first += collab.MaxPeople {
		var people []collab.User
		for i := range min(collab.MaxPeople, *duePeople-first) {
			people = append(people, a.user(fmt.Sprintf("user%05d", first+i)))
		}
		w.must(a.db.Directory.SetMailTimes(
			t.Context(), a.doc.OrganizationRef, collab.Map(people, func(u collab.User) string { return u.UserID }), collab.MailTimes{Frequency: collab.MailHourly},
		))
		evs = append(evs, a.notification(func(ev *draft) { ev.People = people }))
	}
	w.send(evs...)
	s := &limited{world: w, got: map[string]int{}}
	began := time.Now()
	w.settle(w.start(func(o *delivery.Options) { o.Mailer = s }))
	took := w.Now().Sub(s.first)
	t.Logf("%d mails in %v, by the test's clock in %v; %d were refused", len(s.got), time.Since(began), took, s.refused)
	if atBest := time.Duration(*duePeople / *dueRate) * time.Minute; took > 2*atBest+45*time.Minute {
		t.Errorf("it took %v; the mail service takes them in %v", took, atBest)
	}
	if len(s.got) != *duePeople || slices.Max(slices.Collect(maps.Values(s.got))) != 1 {
		t.Errorf("%d of %d have a mail: %v", len(s.got), *duePeople, s.got)
	}
	if log := w.log.String(); !strings.Contains(log, "emails wait: SES") || strings.Contains(log, "message to come again") {
		t.Errorf("a refused mail fails: %s", log)
	}
}

// limited is an email service that accepts dueRate emails a minute.
type limited struct {
	*world
	mu      sync.Mutex
	first   time.Time
	minute  int64
	n       int
	refused int
	got     map[string]int
}

func (l *limited) Send(_ context.Context, n mail.Email) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if minute := l.millis() / 60_000; minute != l.minute {
		l.minute, l.n = minute, 0
	}
	if l.first.IsZero() {
		l.first = l.Now()
	}
	if l.n++; l.n > *dueRate {
		l.refused++
		return mail.ErrThrottled
	}
	l.got[n.To.UserID]++
	return nil
}
