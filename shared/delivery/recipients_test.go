package delivery_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/keys"

	"github.com/google/go-cmp/cmp"
)

// reached returns the users with a notification of the event, and those with an email.
func (a *account) reached(ev *collab.Event, users ...string) (inbox, mail []string) {
	a.Helper()
	mails := a.sentEmails()
	for _, u := range users {
		if slices.Contains(a.inbox(u), notificationID(ev)) {
			inbox = append(inbox, u)
		}
		if len(mails[a.address(u)]) > 0 {
			mail = append(mail, u)
		}
	}
	return inbox, mail
}

// checkReached checks which users an event reached.
func (a *account) checkReached(t *testing.T, ev *collab.Event, users, wantInbox, wantMail []string) {
	t.Helper()
	inbox, mail := a.reached(ev, users...)
	if diff := cmp.Diff(wantInbox, inbox); diff != "" {
		t.Error("inbox", diff)
	}
	if diff := cmp.Diff(wantMail, mail); diff != "" {
		t.Error("mail", diff)
	}
}

func notificationID(ev *collab.Event) string {
	if ev.NotificationID != "" {
		return ev.NotificationID
	}
	return ev.ID
}

// TestRecipients checks the recipients: tagged users, the assignee, earlier participants of the
// thread, and followers of the document, at the addresses in the event, the members or the thread.
// The user who acted and later participants are excluded.
func TestRecipients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mailed := []string{"author", "creator", "mentioned", "moved"}
	for name, test := range map[string]struct {
		happens func(a *account) *collab.Event
		also    []string // by email, too
		inbox   []string // not by email
	}{
		"a comment": {func(a *account) *collab.Event {
			return a.record("thread", collab.CommentAdded, byAnn, a.by("ann", a.user("tagged"), a.user("ann")))
		}, []string{"tagged"}, nil},
		"a status": {func(a *account) *collab.Event { return a.record("thread", collab.AnnotationStatusChanged, byAnn) }, nil, nil},
		"a comment in a document that some follow": {func(a *account) *collab.Event {
			a.member("follower")
			a.did(a.db.Threads.Follow(a.Context(), a.request(), a.doc, []string{"ann", "author", "follower"}, collab.LevelAll))
			return a.record("thread", collab.CommentAdded, byAnn, a.by("ann"))
		}, nil, []string{"follower"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.account(grouping(true))
			a.member("moved")
			moved := a.by("moved")
			moved.From = collab.JSON(`{"userId":"moved","email":"old@` + a.id + `.example"}`)
			a.add(&collab.Thread{
				Annotation: collab.Annotation{ID: "thread", Status: open, StatusID: "OPEN", From: a.by("creator").From, AssignedTo: collab.JSON(`{"userId":"assignee"}`)},
			}, nil)
			a.record("thread", collab.CommentAdded, quiet, a.by("author"), a.by("ann", a.user("mentioned")), moved, a.by(collab.ErasedUser))
			ev := test.happens(a)
			w.add(time.Millisecond)
			a.record("thread", collab.CommentAdded, quiet, a.by("late", a.user("late")))
			w.run(ev)
			mail := slices.Sorted(slices.Values(append(test.also, mailed...)))
			inbox := slices.Sorted(slices.Values(slices.Concat(mail, test.inbox, []string{"assignee"})))
			a.checkReached(t, ev, slices.Sorted(slices.Values(append(inbox, "ann", "late", collab.ErasedUser))), inbox, mail)
			if len(w.sentEmails()["old@"+a.id+".example"]) > 0 {
				t.Error("a mail went to an address that the member has no more")
			}
		})
	}
}

// TestFollower checks that activity that only concerns followers of a document reaches channels
// with ALL, when it happens and when an email leaves. A mention also reaches channels with MINE.
func TestFollower(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after collab.Preferences // of the document
		mention       bool
		inbox, mails  int
	}{
		"by default":            {inbox: 1},
		"email ALL":             {before: collab.Preferences{Email: collab.PreferAll}, after: collab.Preferences{Email: collab.PreferAll}, inbox: 1, mails: 1},
		"inbox MINE, email ALL": {before: collab.Preferences{Inbox: collab.PreferMine, Email: collab.PreferAll}, after: collab.Preferences{Inbox: collab.PreferMine, Email: collab.PreferAll}, mails: 1},
		"email ALL, then MINE":  {before: collab.Preferences{Email: collab.PreferAll}, after: collab.Preferences{Email: collab.PreferMine}, inbox: 1},
		"mentioned, inbox MINE": {before: collab.Preferences{Inbox: collab.PreferMine}, after: collab.Preferences{Inbox: collab.PreferMine}, mention: true, inbox: 1, mails: 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, w := newAccount(t)
			a.member("bob")
			a.did(a.db.Threads.Follow(t.Context(), a.request(), a.doc, []string{"bob"}, collab.LevelAll))
			a.prefer("bob", test.before)
			comment := a.by("ann")
			if test.mention {
				comment = a.by("ann", a.user("bob"))
			}
			p := w.start()
			w.send(a.record("thread", collab.CommentAdded, byAnn, comment))
			w.drain(p)
			a.prefer("bob", test.after)
			w.settle(p)
			if inbox, mails := len(a.inbox("bob")), len(a.mailsTo("bob")); inbox != test.inbox || mails != test.mails {
				t.Errorf("%d notifications and %d emails, want %d and %d", inbox, mails, test.inbox, test.mails)
			}
		})
	}
}

// TestFollowersOfBusyThread checks that people in a thread do not crowd out its followers, or
// followers of its document.
func TestFollowersOfBusyThread(t *testing.T) {
	t.Parallel()
	a, _ := newAccount(t)
	var comments []collab.Comment
	for i := range 25 {
		var tagged []collab.User
		for j := range collab.MaxPeople / 20 {
			tagged = append(tagged, collab.User{UserID: fmt.Sprintf("user%02d%02d", i, j)})
		}
		comments = append(comments, a.by("author", tagged...))
	}
	a.record("thread", collab.CommentAdded, quiet, comments...)
	a.did(a.db.Threads.Follow(t.Context(), a.request(), a.doc, []string{"reader"}, collab.LevelAll))
	ev := a.comment("thread")
	wants := func(user string, want bool) {
		t.Helper()
		page, err := a.start().Explain(t.Context(), ref(ev), user, "", 1)
		a.must(err)
		if got := len(page.People) == 1; got != want {
			t.Errorf("%s is a recipient: %v, want %v", user, got, want)
		}
	}
	wants("user2449", true)
	wants("user0000", false)
	wants("reader", true)
	a.level("follower", "thread", collab.LevelAll)
	wants("follower", true)
}

// TestManyFollowers checks that an event reaches as many followers of a thread and of its document
// as each can have.
func TestManyFollowers(t *testing.T) {
	t.Parallel()
	a, _ := newAccount(t)
	a.record("thread", collab.CommentAdded, quiet, a.by("author"))
	users := func(kind string, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("%s%04d", kind, i))
		}
		return list
	}
	want := users("document", collab.MaxFollowers)
	for part := range slices.Chunk(want, 100) {
		a.did(a.db.Threads.Follow(t.Context(), a.request(), a.doc, part, collab.LevelAll))
	}
	ofThread := users("thread", collab.MaxFollows)
	for part := range slices.Chunk(ofThread, 100) {
		a.must(errors.Join(a.db.Threads.SetLevel(t.Context(), a.request(), a.doc, []string{"thread"}, part, collab.LevelAll, nil)...))
	}
	want = append(append([]string{"author"}, want...), ofThread...)
	p := a.start(func(o *delivery.Options) { o.PageSize = len(want) + 1 })
	page, err := p.Explain(t.Context(), ref(a.comment("thread")), "", "", len(want)+1)
	a.must(err)
	var got []string
	for _, p := range page.People {
		got = append(got, p.UserID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("recipients (-want +got)", diff)
	}
}

// TestOwnBroadcast checks that a notification to everyone does not reach its sender, in either way
// of delivery, and is not unread for the sender.
func TestOwnBroadcast(t *testing.T) {
	t.Parallel()
	for _, verify := range []bool{false, true} {
		a, w := newAccount(t)
		all := collab.Preferences{Inbox: collab.PreferAll, Email: collab.PreferAll}
		for _, user := range []string{"ann", "bob"} {
			a.member(user)
			a.prefer(user, all)
		}
		ev := a.notification(func(ev *draft) { ev.NotifyAll, ev.VerifyAccess = true, verify })
		w.run(ev)
		a.checkReached(t, ev, []string{"ann", "bob"}, []string{"bob"}, []string{"bob"})
		for user, want := range map[string]int{"ann": 0, "bob": 1} {
			unread, _, err := a.db.Inbox.Reader(a.doc.OrganizationRef, user).Unread(t.Context(), "", func([]string) (own, all map[string]bool, err error) {
				counts := map[string]bool{"doc": true}
				return counts, counts, nil
			})
			if a.must(err); len(unread) != want {
				t.Errorf("%s has %d unread, want %d", user, len(unread), want)
			}
		}
	}
}

// TestFilledAddress checks that the member's current address overrides one that the service filled
// into a person's tag, but not one that a back end sent. For others, the tag's address is used.
func TestFilledAddress(t *testing.T) {
	t.Parallel()
	for _, byPerson := range []bool{true, false} {
		a, w := newAccount(t)
		a.member("member")
		old := func(user string) string { return "old-" + a.address(user) }
		tagged := func(user string) collab.User { return collab.User{UserID: user, Email: new(old(user))} }
		ev := a.record("thread", collab.CommentAdded, func(ev *draft) { byAnn(ev); ev.ByPerson = byPerson },
			a.by("ann", tagged("member"), tagged("guest")))
		w.run(ev)
		got := slices.Sorted(maps.Keys(w.sentEmails()))
		want := []string{old("guest"), a.address("member")}
		if !byPerson {
			want = []string{old("guest"), old("member")}
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("by a person %v: mails go to %v, want %v", byPerson, got, want)
		}
	}
}

// TestLongThread checks that the last hundred comments and the creator determine the participants
// of a thread.
func TestLongThread(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t, grouping(true))
	for batch := range 2 {
		var comments []collab.Comment
		for i := range 60 {
			comments = append(comments, a.by(fmt.Sprintf("user%03d", 60*batch+i)))
		}
		a.record("thread", collab.CommentAdded, quiet, comments...)
	}
	ev := a.record("thread", collab.AnnotationUpdated, func(*draft) {})
	w.run(ev)
	want := []string{"user000", "user020", "user119"}
	a.checkReached(t, ev, append(want, "user019"), want, want)
}

// TestPreferences checks that preferences for the document override those for the organization,
// unless the account disabled them.
func TestPreferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const all, mine, none = collab.PreferAll, collab.PreferMine, collab.PreferNone
	set := map[string][2]collab.Preferences{ // for the organization and the document
		"default":      {},
		"all":          {{Inbox: all, Email: all}},
		"mine":         {{Inbox: mine, Email: mine}},
		"none":         {{Inbox: none, Email: none}},
		"all.here":     {{Inbox: none, Email: none}, {Inbox: all, Email: all}},
		"none.here":    {{Inbox: all, Email: all}, {Inbox: none, Email: none}},
		"no.mail.here": {{Email: all}, {Email: none}},
	}
	users := slices.Sorted(maps.Keys(set))
	for name, test := range map[string]struct {
		all, off    bool
		inbox, mail []string
	}{
		"named":                     {false, false, []string{"all", "all.here", "default", "mine", "no.mail.here"}, []string{"all", "all.here", "default", "mine"}},
		"to all":                    {true, false, []string{"all", "all.here", "default", "no.mail.here"}, []string{"all", "all.here"}},
		"named, the setting is off": {false, true, users, users},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.account(func(s *collab.Settings) { s.NotificationPreferencesOff = test.off })
			for _, u := range users {
				a.member(u)
				a.prefer(u, set[u][0])
				a.prefer(u, set[u][1], "doc")
			}
			ev := a.notification(func(ev *draft) {
				if ev.NotifyAll = test.all; !test.all {
					ev.People = collab.Map(users, a.user)
				}
			})
			w.run(ev)
			a.checkReached(t, ev, users, test.inbox, test.mail)
		})
	}
}

// TestAccess checks that with verifyUserPermissions, only users with access to the document are
// notified.
func TestAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	users, members, granted := []string{"granted", "member", "stranger"}, []string{"granted", "member"}, []string{"granted"}
	for _, test := range []struct {
		access      collab.Access
		gone, all   bool
		inbox, mail []string
	}{
		{access: collab.AccessPublic, inbox: users, mail: users},
		{access: "", inbox: members, mail: members},
		{access: collab.AccessRestricted, inbox: granted, mail: granted},
		{gone: true},
		{access: collab.AccessPublic, all: true, inbox: members},
		{access: collab.AccessRestricted, all: true, inbox: granted},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			a := w.account()
			a.member("member")
			a.member("granted")
			a.grant("granted")
			a.put("doc", func(d *collab.Document) { d.Access = test.access })
			ev := a.notification(func(ev *draft) {
				if ev.VerifyAccess, ev.NotifyAll = true, test.all; !test.all {
					ev.People = collab.Map(users, a.user)
				}
				if test.gone {
					ev.DocumentID = "gone"
				}
			})
			w.run(ev)
			a.checkReached(t, ev, users, test.inbox, test.mail)
		})
	}
}

// TestPermissionProvider checks that the provider alone decides, and that nobody is notified after
// an invalid response.
func TestPermissionProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var asked atomic.Int32
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		tries  int32
		want   []string
	}{
		{"says yes to one", say(200, `{"userIds":["bob"]}`), 1, []string{"bob"}},
		{"says yes to one who was not asked about", say(200, `{"userIds":["eve","bob"]}`), 1, []string{"bob"}},
		{"says yes to nobody", say(200, `{"userIds":[]}`), 1, nil},
		{"fails", say(500, `{"userIds":["bob"]}`), 3, nil},
		{"refuses", say(403, ``), 3, nil},
		{"redirects", answer(302, ""), 3, nil},
		{"answers no JSON", say(200, `yes`), 3, nil},
		{"says too much", say(200, `{"userIds":["bob"`+strings.Repeat(" ", 100_000)+`]}`), 3, nil},
		{"fails once", func() http.HandlerFunc {
			var n atomic.Int32
			return func(rw http.ResponseWriter, r *http.Request) {
				if n.Add(1) == 1 {
					reset(rw, r)
					return
				}
				say(200, `{"userIds":["cid"]}`)(rw, r)
			}
		}(), 2, []string{"cid"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked.Store(0)
			r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
				asked.Add(1)
				if req.Header.Get("Authorization") != "Bearer s3cret" || req.Method != http.MethodPost {
					t.Errorf("%s with %q", req.Method, req.Header.Get("Authorization"))
				}
				test.answer(rw, req)
			})
			a := w.account()
			a.provider(r.URL+"/may", "s3cret")
			a.member("bob") // membership does not matter
			ev := a.notification(func(ev *draft) {
				ev.VerifyAccess, ev.People = true, []collab.User{{UserID: "bob"}, {UserID: "cid"}}
			})
			w.must(w.start().take(t.Context(), event(ev)))
			inbox, _ := a.reached(ev, "bob", "cid", "eve")
			if diff := cmp.Diff(test.want, inbox); diff != "" {
				t.Error(diff)
			}
			if asked.Load() != test.tries {
				t.Errorf("asked %d times", asked.Load())
			}
			const question = `{"organizationId":"org","documentId":"doc","userIds":["bob","cid"]}`
			if r.posts()[0].body != question {
				t.Errorf("asked %s", r.posts()[0].body)
			}
		})
	}
}

func say(status int, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
		io.WriteString(rw, body)
	}
}

// TestPermissionProviderHangs checks that after two attempts of two seconds the process asks
// nothing for a while, and events wait. After ten minutes of that, nobody is notified. A provider
// in a private network is not called.
func TestPermissionProviderHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var answers atomic.Bool
	r := receive(t, func(rw http.ResponseWriter, req *http.Request) {
		if answers.Load() {
			fmt.Fprint(rw, `{"userIds": ["bob"]}`)
			return
		}
		<-req.Context().Done()
	})
	a := w.account()
	p := w.start()
	var events []*collab.Event
	for _, test := range []struct {
		url      string
		shortest time.Duration
		asked    int
	}{{r.URL + "/may", 4 * time.Second, 2}, {r.URL + "/may", 0, 2}, {"http://10.0.0.1/may", 0, 2}} {
		a.provider(test.url, "s")
		ev := a.notification(func(ev *draft) { ev.VerifyAccess, ev.People = true, []collab.User{{UserID: "bob"}} })
		start := time.Now()
		w.must(p.take(t.Context(), event(ev)))
		if work := w.work(ev); work == nil || work.Attempts > 0 || work.Due != w.now.Add(access.SilentPause).UnixMilli() {
			t.Errorf("pending %+v", work)
		}
		// webhooks would take three times 15 s
		if took := time.Since(start); took < test.shortest || took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		if len(r.posts()) != test.asked || len(a.inbox("bob")) != 0 {
			t.Errorf("asked %d times, bob has %v", len(r.posts()), a.inbox("bob"))
		}
		events = append(events, ev)
	}
	a.provider(r.URL+"/may", "s")
	for _, test := range []struct {
		answers        bool
		wait           time.Duration
		ev             *collab.Event
		asked, entries int
		pending        bool
	}{
		{false, 31 * time.Second, events[0], 3, 0, true},
		{true, 31 * time.Second, events[0], 4, 1, false},
		{false, 10 * time.Minute, events[1], 6, 1, false}, // two time-outs, and its time is over
		{true, 31 * time.Second, events[1], 6, 1, false},
	} {
		answers.Store(test.answers)
		w.add(test.wait)
		w.must(p.take(t.Context(), event(test.ev)))
		if len(r.posts()) != test.asked || len(a.inbox("bob")) != test.entries || (w.work(test.ev) != nil) != test.pending {
			t.Errorf("asked %d times, bob has %v, pending %+v; want %+v", len(r.posts()), a.inbox("bob"), w.work(test.ev), test)
		}
	}
}

// TestManyRecipients checks that recipients are handled in pages with separate messages, and that
// the provider is asked about 50 at a time. Its response may escape non-ASCII characters, with six
// bytes for each two of an id.
func TestManyRecipients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var questions atomic.Int32
	r := receive(t, nil)
	r.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		questions.Add(1)
		var q struct{ UserIDs []string }
		if err := json.NewDecoder(req.Body).Decode(&q); err != nil || len(q.UserIDs) > 50 {
			t.Errorf("asked about %d users: %v", len(q.UserIDs), err)
		}
		for i, id := range q.UserIDs {
			q.UserIDs[i] = strconv.QuoteToASCII(id)
		}
		fmt.Fprintf(rw, `{"userIds":[%s]}`, strings.Join(q.UserIDs, ","))
	})
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprint("to all: ", all), func(t *testing.T) {
			questions.Store(0)
			a := w.account()
			a.provider(r.URL+"/may", "s")
			const page, n = 60, 2*60 + 10
			var people []collab.User
			var entries []keys.Key
			for i := range n {
				u := collab.User{UserID: fmt.Sprintf("%03d", i) + strings.Repeat("ж", 126)}
				people = append(people, u)
				if all {
					a.memberIs(u, "")
				}
			}
			ev := a.notification(func(ev *draft) {
				if ev.VerifyAccess, ev.NotifyAll = true, all; !all {
					ev.People = people
				}
			})
			for _, u := range people {
				entries = append(entries, keys.UserNotification(a.doc.OrganizationRef, u.UserID, ev.Time, ev.NotificationID))
			}
			p := w.start(func(o *delivery.Options) { o.PageSize = page })
			for _, want := range []int{page, 2 * page, n} {
				w.must(p.take(t.Context(), event(ev)))
				if found, err := a.db.Outbox.GetAll(t.Context(), entries, true); len(found) != want || err != nil {
					t.Errorf("%d have it, %v, want %d of %d", len(found), err, want, n)
				}
			}
			if messages, err := w.events.Waiting(t.Context()); messages != 2 || err != nil {
				t.Errorf("%d messages, %v; want two for the other inboxes", messages, err)
			}
			w.settle(p)
			if n := questions.Load(); n < 5 || n > 10 { // some messages repeat a question
				t.Errorf("%d questions", n)
			}
		})
	}
}

// TestOneEntryForAll checks that a notification to all is written once, however many members there
// are.
func TestOneEntryForAll(t *testing.T) {
	t.Parallel()
	a, w := newAccount(t)
	for i := range 20 {
		a.member(fmt.Sprint("user", i))
	}
	ev := a.notification(func(ev *draft) { ev.NotifyAll = true })
	w.send(ev)
	p := w.start()
	var usage collab.Usage
	p.ctx = collab.WithUsage(p.ctx, &usage)
	w.settle(p)
	if _, write, _ := usage.Total(); write > 10 {
		t.Errorf("%.1f write units", write)
	}
	users := []string{"user0", "user19"}
	a.checkReached(t, ev, users, users, nil)
}
