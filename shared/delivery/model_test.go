package delivery_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/mail"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// sightModel is an independent model of an account that determines access.
type sightModel struct {
	*account
	t       *rapid.T
	access  map[string]collab.Access           // of the document "doc" and the folder "f"; "" for none
	inside  bool                               // the document is in the folder
	off     bool                               // the document is disabled
	members map[string]bool                    // of the organization
	grants  map[string]map[string]bool         // on the document and the folder, by user
	removed map[string]bool                    // from the organization
	group   map[string]bool                    // members of the group two
	threads map[string]*collab.Visibility      // existing ones
	said    map[string]map[int64]remark        // existing comments by thread
	levels  map[string]map[string]collab.Level // of threads, by user
	follows map[string]bool                    // followers of the document
	// for the document "doc" and the organization "", by user
	prefers map[string]map[string]collab.Preferences
	times   map[string]collab.MailTimes // by user
	facts   []*fact                     // events so far
	texts   int

	mu    sync.Mutex
	fault string          // the first
	more  map[string]bool // users with an email that only counted events

	moreDue   map[string]bool // likewise of notification.due
	changedAt collab.Millis   // time of the last change
}

type remark struct {
	text  string
	at    collab.Millis
	tags  []string // tagged users
	group bool     // it tags the group two

	past      []string // users that an earlier text tagged
	pastGroup bool     // an earlier text tagged the group
}

// fact is an event that may notify people.
type fact struct {
	*collab.Event
	shared []string           // users added to the thread's visibility
	was    remark             // the comment before an edit, with all that it has ever tagged
	fresh  *remark            // tags that an edit adds; nil if not an edit
	open   bool               // may be missing in some inboxes
	dead   bool               // its thread is deleted
	want   map[string]outcome // by user, at the time of the event

	unsure map[string]bool // by user: another outcome was possible before it reached all inboxes
	due    map[string]bool // by user: an email must contain it
	saw    map[string]bool // by user
	sawAt  map[string]collab.Millis
	told   map[string]*process // by user: process of the last email with it
	mailed map[string]bool     // by user: an email with it has left

	slackDue map[string]bool   // by user: a notification.due must contain it
	posted   map[string]string // by user: the notification.due that contained it
}

type outcome struct {
	inbox, mail, slack, mentioned bool
	follower                      bool // it only concerns them as followers of the document
}

// Names for random choices. ann writes, and never loses access.
var (
	readers = []string{"bob", "cid", "eve"}
	people  = append([]string{"ann"}, readers...)
	both    = []string{"t1", "t2"}
)

// sees implements the rules of SPEC without the service's code.
func (m *sightModel) sees(user, thread string) bool {
	visibility, there := m.threads[thread]
	if !there || m.off || m.removed[user] {
		return false
	}
	set, granted := m.access["doc"], m.grants["doc"][user]
	if m.inside {
		granted = granted || m.grants["f"][user]
		if set == "" {
			set = m.access["f"]
		}
	}
	switch set {
	case collab.AccessRestricted:
		if !granted {
			return false
		}
	case collab.AccessOrganizationPrivate:
		if !granted && !m.members[user] {
			return false
		}
	}
	switch {
	case visibility == nil:
		return true
	case visibility.Type == collab.VisibilityOrganizationPrivate:
		return m.members[user]
	}
	return user == "ann" || slices.Contains(visibility.UserIDs, user)
}

// find returns the thread of a text, if it currently exists.
func (m *sightModel) find(text string) (thread string, there bool) {
	for thread, list := range m.said {
		for _, c := range list {
			if c.text == text {
				return thread, true
			}
		}
	}
	return "", false
}

// blame records the first fault.
func (m *sightModel) blame(format string, args ...any) {
	if m.fault == "" {
		m.fault = fmt.Sprintf(format, args...)
	}
}

// holds records a fault if a user has a text that they may not see, or that does not exist.
func (m *sightModel) holds(user, text, where string) {
	if thread, there := m.find(text); !there || !m.sees(user, thread) {
		m.blame("%s of %s has %q; it is there: %v", where, user, text, there)
	}
}

// comment returns the comment of an event, or the zero remark. It reports whether the comment, or
// else the thread, exists.
func (m *sightModel) comment(f *fact) (c remark, there bool) {
	if len(f.CommentIDs) == 0 {
		return c, m.said[f.AnnotationID] != nil
	}
	c, there = m.said[f.AnnotationID][f.CommentIDs[0]]
	return c, there
}

// mentions reports whether a comment mentions a user, also by the group.
func (m *sightModel) mentions(c remark, user string) bool {
	return slices.Contains(c.tags, user) || c.group && m.group[user]
}

// wants reports whether a user wants an event on a channel, by their preference or the channel's
// default.
func (m *sightModel) wants(user string, of func(collab.Preferences) collab.Preference, without collab.Preference, follower bool) bool {
	p := cmp.Or(of(m.prefers[user]["doc"]), of(m.prefers[user][""]), without)
	return p == collab.PreferAll || p == collab.PreferMine && !follower
}

func (m *sightModel) wantsInbox(user string, follower bool) bool {
	return m.wants(user, func(p collab.Preferences) collab.Preference { return p.Inbox }, collab.PreferAll, follower)
}

func (m *sightModel) wantsEmail(user string, follower bool) bool {
	return m.wants(user, func(p collab.Preferences) collab.Preference { return p.Email }, collab.PreferMine, follower)
}

func (m *sightModel) wantsSlack(user string, follower bool) bool {
	return m.wants(user, func(p collab.Preferences) collab.Preference { return p.Further["slack"] }, "", follower)
}

// outcome returns how an event currently reaches a user.
func (m *sightModel) outcome(f *fact, user string) outcome {
	own, there := m.comment(f)
	if !there || f.dead || user == f.Actor.UserID {
		return outcome{}
	}
	named := own
	if f.fresh != nil {
		named.tags = collab.Where(own.tags, func(u string) bool { return slices.Contains(f.fresh.tags, u) })
		named.group = own.group && f.fresh.group
	}
	mentioned := m.mentions(named, user) && !m.mentions(f.was, user)
	concerned := mentioned || slices.Contains(f.shared, user)
	address := m.members[user] || concerned && slices.Contains(own.tags, user)
	if !f.NamedAlone {
		for _, c := range m.said[f.AnnotationID] {
			if c.at < f.Time && slices.Contains(c.tags, user) {
				concerned, address = true, true
			}
		}
		concerned = concerned || m.levels[user][f.AnnotationID] == collab.LevelAll
	}
	follower := !concerned && !f.NamedAlone && m.follows[user]
	if !concerned && !follower || !m.sees(user, f.AnnotationID) || m.mutes(f, user, mentioned) {
		return outcome{}
	}
	o := outcome{m.wantsInbox(user, follower), m.wantsEmail(user, follower) && address, m.wantsSlack(user, follower), mentioned, follower}
	if !o.inbox && !o.mail && !o.slack {
		return outcome{}
	}
	return o
}

// mutes reports whether a user's level for the thread blocks an event.
func (m *sightModel) mutes(f *fact, user string, mentioned bool) bool {
	level := m.levels[user][f.AnnotationID]
	return level == collab.LevelNone || level == collab.LevelMentions && !mentioned && !slices.Contains(f.shared, user)
}

// mayBeTold reports whether a channel may now tell a user of an event.
func (m *sightModel) mayBeTold(f *fact, user string, mentioned bool, wants func(string, bool) bool) bool {
	_, there := m.comment(f)
	return there && m.sees(user, f.AnnotationID) && !m.mutes(f, user, mentioned) && !f.saw[user] &&
		wants(user, f.want[user].follower && !f.unsure[user])
}

// watchedMailer checks each email of a process.
type watchedMailer struct {
	ses
	m *sightModel
}

func (w watchedMailer) Send(ctx context.Context, n mail.Email) error {
	if n.Account != w.m.id {
		return w.ses.Send(ctx, n) // of a failed run
	}
	told := w.look(n)
	err := w.ses.Send(ctx, n)
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if err == nil {
		for _, f := range told {
			f.mailed[n.To.UserID] = true
		}
		w.m.more[n.To.UserID] = w.m.more[n.To.UserID] || n.More > 0
	}
	return err
}

// look returns the events in an email, and records faults.
func (w watchedMailer) look(n mail.Email) (told []*fact) {
	m, to := w.m, n.To.UserID
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.Now(); m.times[to].Awake(now).After(now) && !m.off {
		m.blame("a mail comes to %s at %s, in the quiet hours of %+v", to, now, m.times[to])
	}
	for _, thread := range n.Threads {
		for _, c := range thread.Earlier {
			m.holds(to, *c.Text, "what was said earlier in a mail")
		}
		for _, e := range thread.Events {
			for _, c := range e.Comments {
				m.holds(to, *c.Text, "a mail")
			}
			i := slices.IndexFunc(m.facts, func(f *fact) bool { return f.Time == e.Time && f.AnnotationID == thread.AnnotationID })
			if i < 0 {
				m.blame("a mail tells %s of %+v, which did not happen", to, e)
				continue
			}
			f := m.facts[i]
			told = append(told, f)
			switch before := f.told[to]; {
			case !f.unsure[to] && (!f.want[to].mail || f.want[to].mentioned != e.Mentioned):
				m.blame("a mail tells %s of %+v; mentioned: %v, want %+v", to, f.Event, e.Mentioned, f.want[to])
			case !m.mayBeTold(f, to, e.Mentioned, m.wantsEmail):
				m.blame("a mail tells %s of %+v, which is gone, hidden, muted, unwanted, or seen: %v", to, f.Event, f.saw[to])
			// otherwise the earlier process was killed
			case before != nil && before.ctx.Err() == nil:
				m.blame("a second mail tells %s of %+v", to, f.Event)
			}
			f.told[to] = w.process
		}
	}
	return told
}

// slack receives the notification.due events of the channel slack, and records faults: an event
// with another channel, with an invisible text, of something seen, or of something told before.
func (m *sightModel) slack(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		Type      collab.EventType
		Timestamp time.Time
		Data      struct {
			UserID, Channel string
			Notifications   []struct{ NotificationID, Body string }
			More            int
		}
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	m.mu.Lock()
	defer m.mu.Unlock()
	to, at, id := body.Data.UserID, body.Timestamp.UnixMilli(), r.Header.Get("webhook-id")
	if err != nil || body.Type != collab.NotificationDue || body.Data.Channel != "slack" || len(body.Data.Notifications) == 0 {
		m.blame("slack received %+v, %v", body, err)
	}
	m.moreDue[to] = m.moreDue[to] || body.Data.More > 0
	for _, n := range body.Data.Notifications {
		i := slices.IndexFunc(m.facts, func(f *fact) bool { return f.ID == n.NotificationID })
		if i < 0 {
			m.blame("slack tells %s of %s, which did not happen", to, n.NotificationID)
			continue
		}
		f := m.facts[i]
		if n.Body != "" {
			m.holds(to, n.Body, "slack")
		}
		switch {
		case !f.unsure[to] && !f.want[to].slack:
			m.blame("slack tells %s of %+v, want %+v", to, f.Event, f.want[to])
		case f.saw[to] && f.sawAt[to] < at:
			m.blame("slack tells %s of %+v, which they have seen", to, f.Event)
		case at >= m.changedAt && !m.mayBeTold(f, to, f.want[to].mentioned || f.unsure[to], m.wantsSlack):
			m.blame("slack tells %s of %+v, which is gone, hidden, muted or unwanted", to, f.Event)
		case f.posted[to] != "" && f.posted[to] != id:
			m.blame("slack tells %s of %+v twice", to, f.Event)
		}
		f.posted[to] = id
	}
}

// seen records that a user has seen an event.
func (m *sightModel) seen(f *fact, user string) {
	if !f.saw[user] {
		f.saw[user], f.sawAt[user] = true, m.millis()
	}
}

// checker returns the API's checker of access.
func (m *sightModel) checker() *access.Checker {
	return access.New(m.db.Directory, m.db.Accounts, webhook.NewGuard(nil), webhook.ClientOptions{}, m.Now, slog.New(slog.DiscardHandler))
}

// ask calls an operation, decodes the data of its response, and returns the status.
func ask[Req, Data any](m *sightModel, op rpc.Operation[Req, Data], body string, data any) int {
	server := &rpc.Server{Now: m.Now, Random: bytes.NewReader(make([]byte, 1000)), Log: slog.New(slog.DiscardHandler)}
	r := httptest.NewRequest(http.MethodPost, "/path", strings.NewReader(`{"data":`+body+`}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	ctx := collab.WithIdentity(m.Context(), collab.Identity{Account: m.id, APIKey: "key"})
	rpc.Handle(server, op, rpc.Options{}).ServeHTTP(w, r.WithContext(ctx))
	var answer struct{ Result struct{ Data any } }
	answer.Result.Data = data
	m.must(json.Unmarshal(w.Body.Bytes(), &answer))
	return w.Code
}

// checkInbox checks that a user's inbox contains each expected notification once, with existing and
// visible texts.
func (m *sightModel) checkInbox(user string) {
	s := notifications.Service{Directory: m.db.Directory, Inbox: m.db.Inbox, Threads: m.db.Threads, Access: m.checker()}
	var list []notifications.Notification
	if status := ask(m, s.Get, fmt.Sprintf(`{"organizationId":"org","userId":%q}`, user), &list); status != http.StatusOK {
		m.t.Fatalf("the inbox of %s: %d", user, status)
	}
	ids, want, got := m.inbox(user), []string{}, []string{}
	known := 0
	for _, f := range m.facts {
		n := len(collab.Where(ids, func(id string) bool { return id == f.ID }))
		known += n
		if must := f.want[user].inbox; n > 1 || !f.unsure[user] && (n == 1 && !must || n == 0 && must && !f.open && !m.off) {
			m.t.Fatalf("the inbox of %s has %+v %d times, want %+v, unsure %v", user, f.Event, n, f.want[user], f.unsure[user])
		}
		if c, there := m.comment(f); n == 1 && there && !f.dead && m.sees(user, f.AnnotationID) {
			want = append(want, f.ID+" "+c.text)
		}
		if f.dead {
			list = slices.DeleteFunc(list, func(n notifications.Notification) bool { return n.ID == f.ID && n.Body == "" })
		}
	}
	for _, n := range list {
		got = append(got, n.ID+" "+n.Body)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := gocmp.Diff(want, got); diff != "" || known != len(ids) {
		m.t.Fatalf("the inbox of %s shows (- what is to be seen, + what is) of %q:\n%s", user, ids, diff)
	}
}

// checkReading checks that a user reads exactly the visible threads of the document.
func (m *sightModel) checkReading(user string) {
	s := commentannotations.Service{Directory: m.db.Directory, Threads: m.db.Threads, Access: m.checker()}
	var list []struct {
		AnnotationID string
		Comments     []struct{ CommentText string }
	}
	ask(m, s.Get, fmt.Sprintf(`{"organizationId":"org","documentId":"doc","asUserId":%q}`, user), &list)
	want, got := map[string][]string{}, map[string][]string{}
	for thread, list := range m.said {
		if m.sees(user, thread) {
			want[thread] = nil
			for _, c := range list {
				want[thread] = append(want[thread], c.text)
			}
			slices.Sort(want[thread])
		}
	}
	for _, th := range list {
		got[th.AnnotationID] = nil
		for _, c := range th.Comments {
			got[th.AnnotationID] = append(got[th.AnnotationID], c.CommentText)
		}
		slices.Sort(got[th.AnnotationID])
	}
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		m.t.Fatalf("%s reads the document (- what is to be seen, + what is):\n%s", user, diff)
	}
}

// happened adds an event to the model, and sends it or leaves it to the relay.
func (m *sightModel) happened(f fact) {
	f.open, f.want, f.unsure, f.due = true, map[string]outcome{}, map[string]bool{}, map[string]bool{}
	f.saw, f.told, f.mailed = map[string]bool{}, map[string]*process{}, map[string]bool{}
	f.sawAt, f.slackDue, f.posted = map[string]collab.Millis{}, map[string]bool{}, map[string]string{}
	for _, u := range people {
		f.want[u] = m.outcome(&f, u)
		f.due[u], f.slackDue[u] = f.want[u].mail, f.want[u].slack
	}
	m.facts = append(m.facts, &f)
	if rapid.Bool().Draw(m.t, "sent") {
		m.send(f.Event)
	}
}

// changed follows a change: other outcomes become possible for events not yet in inboxes, and
// emails no longer need events that became invisible.
func (m *sightModel) changed() {
	for _, f := range m.facts {
		for _, u := range people {
			f.unsure[u] = f.unsure[u] || f.open && (f.dead || m.outcome(f, u) != f.want[u])
			f.due[u] = f.due[u] && !f.unsure[u] && m.mayBeTold(f, u, f.want[u].mentioned, m.wantsEmail)
			f.slackDue[u] = f.slackDue[u] && !f.unsure[u] && m.mayBeTold(f, u, f.want[u].mentioned, m.wantsSlack)
		}
	}
	m.world.add(10 * time.Millisecond)
	m.changedAt = m.millis()
}

// watched starts a process with checked emails.
func (m *sightModel) watched() *process {
	return m.start(func(o *delivery.Options) { o.Mailer = watchedMailer{o.Mailer.(ses), m} })
}

// pass lets time pass while a process works, which may be killed at a call.
func (m *sightModel) pass(killAt int, work func(*process)) {
	if killAt > 0 {
		p := m.watched()
		p.killAt.call = killAt
		m.drain(p)
	}
	work(m.watched())
	for _, f := range m.facts {
		f.open = f.open && m.work(f.Event) != nil
	}
	if m.fault != "" {
		m.t.Fatal(m.fault)
	}
}

func (m *sightModel) user(label string) string { return rapid.SampledFrom(readers).Draw(m.t, label) }
func (m *sightModel) anyone() string           { return rapid.SampledFrom(people).Draw(m.t, "anyone") }
func (m *sightModel) thread() string           { return rapid.SampledFrom(both).Draw(m.t, "thread") }

func (m *sightModel) remark() remark {
	m.texts++
	tags := rapid.Permutation(people).Draw(m.t, "mentioned")[:rapid.IntRange(0, 2).Draw(m.t, "how many")]
	return remark{text: fmt.Sprint("text ", m.texts), at: m.millis(), tags: tags, group: rapid.IntRange(0, 3).Draw(m.t, "by group") == 0}
}

func (m *sightModel) tags(c remark) collab.JSON {
	list := collab.Map(c.tags, func(id string) collab.Tag {
		u := m.account.user(id)
		return collab.Tag{UserID: id, Contact: &u}
	})
	if c.group {
		list = append(list, collab.Tag{GroupID: "two"})
	}
	text, err := json.Marshal(list)
	m.must(err)
	return text
}

// share sets the visibility of a thread as ann, nil for everyone. It starts the thread if needed.
func (m *sightModel) share(thread string, is *collab.Visibility, alone bool) (ev *collab.Event) {
	raise := func(kind collab.EventType, before, head *collab.Annotation) *collab.Event {
		ev = m.event(kind)
		ev.Actor, ev.NamedAlone = &collab.User{UserID: "ann"}, alone
		ev.Describe(kind, head)
		ev.Share(before, head)
		return ev
	}
	if m.said[thread] == nil {
		head := collab.Annotation{
			ID: thread, Status: open, StatusID: "OPEN", CreatedAt: m.millis(), LastUpdated: m.millis(),
			From: collab.JSON(`{"userId":"ann"}`), CreatorID: "ann", Visibility: is,
		}
		m.add(&collab.Thread{Annotation: head}, raise(collab.AnnotationAdded, nil, &head))
		return ev
	}
	m.head(thread, func(head *collab.Annotation) *collab.Event {
		before := *head
		head.Visibility = is
		return raise(collab.AnnotationUpdated, &before, head)
	})
	return ev
}

// setTimes sets a random schedule of emails.
func (m *sightModel) setTimes(user string) {
	times := collab.MailTimes{
		Frequency: rapid.SampledFrom([]collab.MailFrequency{
			collab.MailInstant, collab.MailInstant, collab.MailHourly, collab.MailDaily, collab.MailWeekly,
		}).Draw(m.t, "frequency"),
		Day: collab.Monday,
		QuietHours: rapid.SampledFrom([]collab.QuietHours{
			{}, {}, collab.Quiet(20*60, 8*60, nil), collab.Quiet(0, 0, []collab.Weekday{"saturday", "sunday"}), collab.Quiet(12*60, 13*60, []collab.Weekday{"monday"}),
		}).Draw(m.t, "quiet"),
		Hour: rapid.SampledFrom([]int64{0, 8, 15}).Draw(m.t, "hour"),
		Zone: rapid.SampledFrom([]string{"Europe/Berlin", "America/Havana", ""}).Draw(m.t, "zone"),
	}
	m.times[user] = times
	m.frequency(user, times)
}

// setBatch sets random settings for combining and delaying emails.
func (m *sightModel) setBatch(s *collab.Settings) {
	s.MailBatch = rapid.SampledFrom([]collab.MailBatch{collab.BatchEvent, collab.BatchThread, collab.BatchPerson}).Draw(m.t, "batch")
	s.MailDelaySeconds = rapid.SampledFrom([]int64{10, 300, 1800}).Draw(m.t, "delay")
}

func (m *sightModel) on(thing string) []collab.Resource {
	r := collab.Resource{OrganizationRef: m.doc.OrganizationRef, Document: m.doc}
	if thing == "f" {
		folder, err := m.db.Directory.OpenFolder(m.Context(), m.request(), m.doc.OrganizationRef, "f", false)
		m.must(err)
		r = collab.Resource{OrganizationRef: m.doc.OrganizationRef, Folder: folder}
	}
	return []collab.Resource{r}
}

// actions returns the possible random actions.
func (m *sightModel) actions() map[string]func() {
	thing := func() string { return rapid.SampledFrom([]string{"doc", "f"}).Draw(m.t, "thing") }
	anyComment := func(thread string) int64 {
		ids := slices.Sorted(maps.Keys(m.said[thread]))
		if len(ids) == 0 {
			return 0
		}
		return rapid.SampledFrom(ids).Draw(m.t, "comment")
	}
	return map[string]func(){
		"comment": func() {
			thread, c := m.thread(), m.remark()
			ev := m.record(thread, collab.CommentAdded, byAnn, collab.Comment{
				Text: &c.text, From: collab.JSON(`{"userId":"ann"}`), AuthorID: "ann", TaggedUserContacts: m.tags(c),
			})
			if m.said[thread] == nil {
				m.said[thread], m.threads[thread] = map[int64]remark{}, nil
			}
			m.said[thread][ev.CommentIDs[0]] = c
			m.happened(fact{Event: ev})
		},
		"edit": func() {
			thread := m.thread()
			if id := anyComment(thread); id != 0 {
				was, is := m.said[thread][id], m.remark()
				was.tags, was.group = slices.Concat(was.tags, was.past), was.group || was.pastGroup
				is.at, is.past, is.pastGroup = was.at, was.tags, was.group
				m.said[thread][id] = is
				fresh := remark{group: is.group && !was.group}
				fresh.tags = collab.Where(is.tags, func(u string) bool { return !slices.Contains(was.tags, u) })
				m.happened(fact{Event: m.edit(thread, id, is.text, string(m.tags(is))), was: was, fresh: &fresh})
			}
		},
		"delete a comment": func() {
			thread := m.thread()
			if id := anyComment(thread); id != 0 {
				m.deleteComments(thread, id)
				delete(m.said[thread], id)
			}
		},
		"delete a thread": func() {
			thread := m.thread()
			if m.said[thread] != nil && rapid.IntRange(0, 2).Draw(m.t, "really") == 0 {
				m.deleteThread(thread)
				delete(m.said, thread)
				delete(m.threads, thread)
				for _, u := range people {
					delete(m.levels[u], thread)
				}
				for _, f := range m.facts {
					f.dead = f.dead || f.AnnotationID == thread
				}
			}
		},
		"share, narrow or widen": func() {
			thread := m.thread()
			is := rapid.SampledFrom([]*collab.Visibility{
				nil, {Type: collab.VisibilityOrganizationPrivate, OrganizationID: "org"},
				{Type: collab.VisibilityRestricted, UserIDs: []string{"bob"}}, {Type: collab.VisibilityRestricted, UserIDs: []string{"cid", "eve"}},
				{Type: collab.VisibilityRestricted, UserIDs: []string{"bob", "cid"}},
			}).Draw(m.t, "visibility")
			shared := collab.Where(is.Users(), func(u string) bool { return !slices.Contains(m.threads[thread].Users(), u) })
			ev := m.share(thread, is, rapid.Bool().Draw(m.t, "alone"))
			if m.said[thread] == nil {
				m.said[thread] = map[int64]remark{}
			}
			m.threads[thread] = is
			m.happened(fact{Event: ev, shared: shared})
		},
		"set who may": func() {
			types := []collab.Access{"", collab.AccessPublic, collab.AccessOrganizationPrivate, collab.AccessRestricted}
			to := rapid.SampledFrom(types).Draw(m.t, "access")
			if of := thing(); of == "doc" {
				m.access["doc"] = to
				m.put("doc", func(d *collab.Document) { d.Access = to })
			} else {
				m.access["f"] = to
				m.must(m.db.Directory.ChangeFolder(m.Context(), m.request(), m.doc.OrganizationRef, "f", func(f *collab.Folder) { f.Access = to }))
			}
		},
		"move": func() {
			m.inside = !m.inside
			m.put("doc", func(d *collab.Document) { d.Folder = map[bool]string{true: "f", false: collab.RootFolder}[m.inside] })
		},
		"disable or enable": func() {
			if m.off || rapid.IntRange(0, 3).Draw(m.t, "really") == 0 {
				m.off = !m.off
				m.put("doc", func(d *collab.Document) { d.Disabled = m.off })
			}
		},
		"add a member": func() {
			u := m.user("user")
			m.member(u)
			m.members[u] = true
			delete(m.removed, u)
		},
		"give": func() {
			of, u := thing(), m.user("user")
			m.must(m.db.Directory.AddGrants(m.Context(), m.request(), u, m.on(of), []collab.Grant{{Role: collab.RoleViewer}}))
			m.grants[of][u] = true
			delete(m.removed, u)
		},
		"take": func() {
			of, u := thing(), m.user("user")
			m.must(m.db.Directory.DeleteGrants(m.Context(), u, m.on(of)))
			delete(m.grants[of], u)
		},
		"remove": func() {
			u := m.user("user")
			if !m.members[u] && !m.grants["doc"][u] && !m.grants["f"][u] {
				return
			}
			m.remove(u)
			m.removed[u] = true
			delete(m.group, u)
			delete(m.members, u)
			delete(m.grants["doc"], u)
			delete(m.grants["f"], u)
		},
		"see": func() {
			thread, u := m.thread(), m.user("user")
			if m.said[thread] == nil {
				return
			}
			m.account.see(u, thread)
			for _, f := range m.facts {
				if f.AnnotationID == thread {
					m.seen(f, u)
				}
			}
		},
		"read one": func() {
			u := m.user("user")
			if ids := m.inbox(u); len(ids) > 0 {
				id := rapid.SampledFrom(ids).Draw(m.t, "notification")
				m.account.read(u, id)
				for _, f := range m.facts {
					if f.ID == id {
						m.seen(f, u)
					}
				}
			}
		},
		"mute or follow": func() {
			thread, u := m.thread(), m.user("user")
			if m.said[thread] == nil {
				return
			}
			levels := []collab.Level{collab.LevelDefault, collab.LevelAll, collab.LevelMentions, collab.LevelNone}
			m.levels[u][thread] = rapid.SampledFrom(levels).Draw(m.t, "level")
			m.level(u, thread, m.levels[u][thread])
		},
		"follow the document": func() {
			u := m.anyone()
			m.follows[u] = !m.follows[u]
			to := map[bool]collab.Level{true: collab.LevelAll, false: collab.LevelDefault}[m.follows[u]]
			m.did(m.db.Threads.Follow(m.Context(), m.request(), m.doc, []string{u}, to))
		},
		"prefer": func() {
			if m.off {
				return
			}
			u := m.user("user")
			drawn := rapid.SampledFrom([]collab.Preference{"", collab.PreferAll, collab.PreferMine, collab.PreferNone, collab.PreferNone})
			p := collab.Preferences{Inbox: drawn.Draw(m.t, "inbox"), Email: drawn.Draw(m.t, "email"), Further: map[string]collab.Preference{}}
			if slack := drawn.Draw(m.t, "slack"); slack != "" {
				p.Further["slack"] = slack
			}
			if rapid.Bool().Draw(m.t, "here") {
				m.prefers[u]["doc"] = p
				m.account.prefer(u, p, "doc")
			} else {
				m.prefers[u][""] = p
				m.account.prefer(u, p)
			}
		},
		"frequency": func() {
			m.setTimes(m.user("user"))
		},
		"batch": func() {
			var s collab.Settings
			m.setBatch(&s)
			m.change(func(c *collab.Account) {
				c.Settings.MailBatch, c.Settings.MailDelaySeconds = s.MailBatch, s.MailDelaySeconds
			})
		},
		"time": func() {
			d := rapid.SampledFrom([]time.Duration{time.Second, 2 * time.Minute, 6 * time.Minute, 70 * time.Minute}).Draw(m.t, "passes")
			end := m.Now().Add(d)
			m.pass(rapid.IntRange(-40, 60).Draw(m.t, "kill"), func(p *process) { m.settleUntil(p, end) })
		},
		"read": func() {
			u := m.user("user")
			m.checkReading(u)
			m.checkInbox(u)
		},
	}
}

// TestNoLeakToUnauthorized changes threads, access, preferences and settings at random, with kills.
// No user may get an invisible text in the inbox, in an email, or when reading the document, which
// must show every visible text. Inboxes contain expected notifications once. Emails omit seen,
// muted and unwanted events, and repeat none except after a kill. At the end, all required emails
// have left.
func TestNoLeakToUnauthorized(t *testing.T) {
	storetest.FewChecks(t, 4)
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &sightModel{
			t: rt, access: map[string]collab.Access{}, members: map[string]bool{}, removed: map[string]bool{},
			grants: map[string]map[string]bool{"doc": {}, "f": {}}, group: map[string]bool{"bob": true, "cid": true},
			threads: map[string]*collab.Visibility{}, said: map[string]map[int64]remark{}, levels: map[string]map[string]collab.Level{},
			follows: map[string]bool{}, prefers: map[string]map[string]collab.Preferences{}, times: map[string]collab.MailTimes{}, more: map[string]bool{}, moreDue: map[string]bool{},
		}
		m.account = w.account(m.setBatch)
		m.hooked(m.slack)
		m.changeHook("hook", func(h *collab.Webhook) { h.Channel = "slack" })
		for _, u := range people {
			m.levels[u], m.prefers[u] = map[string]collab.Level{}, map[string]collab.Preferences{}
			m.setTimes(u)
		}
		m.account.group("two", "bob", "cid")
		m.folder("f", "")
		actions := m.actions()
		names := slices.Sorted(maps.Keys(actions))
		often := []string{"comment", "edit", "share, narrow or widen", "time", "time"}
		names = append(names, slices.Concat(often, often, []string{"comment", "prefer", "mute or follow", "read"})...)
		for range rapid.IntRange(0, 3).Draw(rt, "settings") {
			actions[rapid.SampledFrom([]string{"add a member", "prefer", "follow the document"}).Draw(rt, "setting")]()
		}
		for range rapid.IntRange(30, 60).Draw(rt, "steps") {
			actions[rapid.SampledFrom(names).Draw(rt, "action")]()
			m.changed()
		}
		m.pass(0, w.settle)
		if m.off {
			actions["disable or enable"]()
		}
		for _, u := range people {
			m.checkReading(u)
			m.checkInbox(u)
			for _, f := range m.facts {
				if f.open || f.due[u] && !f.mailed[u] && !m.more[u] {
					rt.Errorf("%s had no mail of %+v, which they might see all the while; it is open: %v", u, f.Event, f.open)
				}
				if f.slackDue[u] && f.posted[u] == "" && !m.moreDue[u] {
					rt.Errorf("slack was not told to notify %s of %+v, which they might see all the while", u, f.Event)
				}
			}
		}
	})
}
