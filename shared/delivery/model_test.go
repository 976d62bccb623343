package delivery_test

import (
	"bytes"
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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// sightModel is what there is of an account, in words of its own: who may see what follows from it alone.
type sightModel struct {
	*account
	t       *rapid.T
	access  map[string]collab.Access      // of the document "doc" and the folder "f"; "" for none
	inside  bool                          // the document is in the folder
	off     bool                          // it is disabled
	members map[string]bool               // of the organization
	grants  map[string]map[string]bool    // on the document and the folder, by user
	removed map[string]bool               // from the organization
	threads map[string]*collab.Visibility // those that are there
	said    map[string]map[int64]string   // the texts that are there, by thread
	due     map[int64]map[string]bool     // by comment: whom it mentions, as long as they could see it all the while
	mailDue map[int64]map[string]bool     // of due, whom a comment names by address, as long as they have not seen it
	muted   map[string]map[string]bool    // threads, by user
	texts   int
	kills   int

	mu     sync.Mutex
	fault  string                    // the first
	saw    map[string]map[int64]bool // comments, by user
	mailed map[string]map[int64]int  // comments that mails told of, by user
	more   map[string]bool           // users who had a mail that only counted events
	group  map[string]bool           // who is in the group two
}

// The names that the model draws from. ann writes, and nothing is ever taken away from her.
var (
	readers = []string{"bob", "cid", "eve"}
	both    = []string{"t1", "t2"}
)

// sees is the rule: SPEC's words once more, and nothing of the service.
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

// find returns where a text is, as it is now.
func (m *sightModel) find(text string) (thread string, there bool) {
	for thread, texts := range m.said {
		for _, t := range texts {
			if t == text {
				return thread, true
			}
		}
	}
	return "", false
}

// holds notes a fault where a user holds a text that they might not see, or that is not there.
func (m *sightModel) holds(user, text, where string) {
	thread, there := m.find(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault == "" && (!there || !m.sees(user, thread)) {
		m.fault = fmt.Sprintf("%s of %s has %q; it is there: %v", where, user, text, there)
	}
}

// watchedMailer looks at each mail as it leaves.
type watchedMailer struct {
	delivery.Mailer
	m *sightModel
}

func (w watchedMailer) Send(ctx context.Context, n mail.Notice) error {
	to := n.To.UserID
	var told []int64
	for _, thread := range n.Threads {
		for _, e := range thread.Events {
			for _, c := range e.Comments {
				w.m.holds(to, *c.Text, "a mail")
				told = append(told, c.ID)
			}
		}
		for _, c := range thread.Earlier {
			w.m.holds(to, *c.Text, "what was said earlier in a mail")
		}
		if w.m.muted[to][thread.AnnotationID] {
			w.m.fault = fmt.Sprintf("a mail tells %s of the muted thread %s", to, thread.AnnotationID)
		}
	}
	err := w.Mailer.Send(ctx, n)
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	for _, id := range told {
		if w.m.saw[to][id] {
			w.m.fault = fmt.Sprintf("a mail tells %s of comment %d, which they have seen", to, id)
		}
		if err == nil {
			w.m.mailed[to][id]++
		}
	}
	w.m.more[to] = w.m.more[to] || n.More > 0
	return err
}

// checker answers who may see what, as in the API.
func (m *sightModel) checker() *access.Checker {
	return access.New(m.db.Directory, m.db.Accounts, webhook.NewGuard(nil), webhook.ClientOptions{}, m.Now, slog.New(slog.DiscardHandler))
}

// ask asks an operation, and reads the data of its answer. It returns the status.
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

// inboxTexts reads the inbox of a user.
func (m *sightModel) inboxTexts(user string) (texts []string) {
	s := notifications.Service{Directory: m.db.Directory, Inbox: m.db.Inbox, Threads: m.db.Threads, Access: m.checker()}
	var list []notifications.Notification
	if status := ask(m, s.Get, fmt.Sprintf(`{"organizationId":"org","userId":%q}`, user), &list); status != http.StatusOK {
		m.t.Fatalf("the inbox of %s: %d", user, status)
	}
	for _, n := range list {
		texts = append(texts, n.Body)
	}
	return texts
}

// checkReading reads the document as a user: what is read is what the user may see, and all of that.
func (m *sightModel) checkReading(user string) {
	s := commentannotations.Service{Directory: m.db.Directory, Threads: m.db.Threads, Access: m.checker()}
	var list []struct {
		AnnotationID string
		Comments     []struct{ CommentText string }
	}
	ask(m, s.Get, fmt.Sprintf(`{"organizationId":"org","documentId":"doc","asUserId":%q}`, user), &list)
	want, got := map[string][]string{}, map[string][]string{}
	for thread, texts := range m.said {
		if m.sees(user, thread) {
			want[thread] = slices.Sorted(maps.Values(texts))
		}
	}
	for _, th := range list {
		got[th.AnnotationID] = nil
		for _, c := range th.Comments {
			got[th.AnnotationID] = append(got[th.AnnotationID], c.CommentText)
		}
		slices.Sort(got[th.AnnotationID])
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		m.t.Fatalf("%s reads the document (- what is to be seen, + what is):\n%s", user, diff)
	}
}

// changed follows a change: who may not see a comment by now need not be told of it any more.
func (m *sightModel) changed() {
	for thread, texts := range m.said {
		for id := range texts {
			gone := func(user string, _ bool) bool { return !m.sees(user, thread) || m.muted[user][thread] }
			maps.DeleteFunc(m.due[id], gone)
			maps.DeleteFunc(m.mailDue[id], func(user string, _ bool) bool { return gone(user, false) || m.saw[user][id] })
		}
	}
	m.world.add(10 * time.Millisecond)
}

// pass lets time pass, in which a process works that may be killed at some call.
func (m *sightModel) pass(d time.Duration, killAt int) {
	end := m.Now().Add(d)
	watch := func(o *delivery.Options) { o.Mailer = watchedMailer{o.Mailer, m} }
	if killAt > 0 {
		p := m.start(watch)
		m.kills++
		p.killAt.call = killAt
		m.drain(p)
	}
	m.settleUntil(m.start(watch), end)
	if m.fault != "" {
		m.t.Fatal(m.fault)
	}
}

func (m *sightModel) user(label string) string { return rapid.SampledFrom(readers).Draw(m.t, label) }
func (m *sightModel) thread() string           { return rapid.SampledFrom(both).Draw(m.t, "thread") }

func (m *sightModel) on(thing string) []collab.Resource {
	r := collab.Resource{OrganizationRef: m.doc.OrganizationRef, Document: m.doc}
	if thing == "f" {
		folder, err := m.db.Directory.OpenFolder(m.Context(), m.request(), m.doc.OrganizationRef, "f", false)
		m.must(err)
		r = collab.Resource{OrganizationRef: m.doc.OrganizationRef, Folder: folder}
	}
	return []collab.Resource{r}
}

// actions are what may happen.
func (m *sightModel) actions() map[string]func() {
	thing := func() string { return rapid.SampledFrom([]string{"doc", "f"}).Draw(m.t, "thing") }
	anyText := func(thread string) int64 {
		ids := slices.Sorted(maps.Keys(m.said[thread]))
		if len(ids) == 0 {
			return 0
		}
		return rapid.SampledFrom(ids).Draw(m.t, "comment")
	}
	return map[string]func(){
		"comment": func() {
			thread := m.thread()
			m.texts++
			text := fmt.Sprint("text ", m.texts)
			people := rapid.Permutation(readers).Draw(m.t, "mentioned")[:rapid.IntRange(0, 3).Draw(m.t, "how many")]
			group := rapid.IntRange(0, 3).Draw(m.t, "by group") == 0
			comment := collab.Comment{Text: &text, From: collab.JSON(`{"userId":"ann"}`), AuthorID: "ann"}
			if group {
				comment.TaggedUserContacts, people = collab.JSON(`[{"organizationUserGroupId":"two"}]`), nil
			}
			ev := m.record(thread, collab.CommentAdded, func(ev *draft) {
				ev.Actor = &collab.User{UserID: "ann"}
				for _, u := range people {
					ev.People = append(ev.People, m.account.user(u))
				}
			}, comment)
			if group {
				people = slices.Collect(maps.Keys(m.group))
			}
			if m.said[thread] == nil {
				m.said[thread], m.threads[thread] = map[int64]string{}, nil
			}
			id := ev.CommentIDs[0]
			m.said[thread][id], m.due[id], m.mailDue[id] = text, map[string]bool{}, map[string]bool{}
			for _, u := range people {
				if m.due[id][u] = true; !group {
					m.mailDue[id][u] = true
				}
			}
			if rapid.Bool().Draw(m.t, "sent") {
				m.send(ev)
			}
		},
		"correct": func() {
			thread := m.thread()
			if id := anyText(thread); id != 0 {
				m.texts++
				m.said[thread][id] = fmt.Sprint("text ", m.texts)
				m.correct(thread, id, m.said[thread][id])
			}
		},
		"delete a comment": func() {
			thread := m.thread()
			if id := anyText(thread); id != 0 {
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
				for _, u := range readers {
					delete(m.muted[u], thread)
				}
			}
		},
		"narrow or widen": func() {
			thread := m.thread()
			if m.said[thread] == nil {
				return
			}
			visibility := rapid.SampledFrom([]*collab.Visibility{
				nil, {Type: collab.VisibilityOrganizationPrivate, OrganizationID: "org"},
				{Type: collab.VisibilityRestricted, UserIDs: []string{"bob"}}, {Type: collab.VisibilityRestricted, UserIDs: []string{"cid", "eve"}},
			}).Draw(m.t, "visibility")
			m.threads[thread] = visibility
			m.show(thread, visibility)
		},
		"set who may": func() {
			to := rapid.SampledFrom([]collab.Access{"", collab.AccessPublic, collab.AccessOrganizationPrivate, collab.AccessRestricted}).Draw(m.t, "access")
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
			for id := range m.said[thread] {
				m.saw[u][id] = true
			}
		},
		"mute or follow": func() {
			thread, u := m.thread(), m.user("user")
			if m.said[thread] == nil {
				return
			}
			level := rapid.SampledFrom([]collab.Level{collab.LevelDefault, collab.LevelAll, collab.LevelMentions, collab.LevelNone}).Draw(m.t, "level")
			m.level(u, thread, level)
			m.muted[u][thread] = level == collab.LevelNone
		},
		"time": func() {
			d := rapid.SampledFrom([]time.Duration{time.Second, 2 * time.Minute, 6 * time.Minute, 70 * time.Minute}).Draw(m.t, "passes")
			m.pass(d, rapid.IntRange(-40, 60).Draw(m.t, "kill"))
		},
		"read": func() {
			u := m.user("user")
			m.checkReading(u)
			for _, text := range m.inboxTexts(u) {
				m.holds(u, text, "the inbox")
			}
			if m.fault != "" {
				m.t.Fatal(m.fault)
			}
		},
	}
}

// TestNobodyLearns has threads, who may see them, and telling change at random, with kills: nobody ever holds a text that they might not
// see at that moment, in an inbox as it is read, in a mail as it leaves, or as a reader of the document, who misses nothing either. No mail
// tells of what its recipient has seen or muted, and none tells twice, unless a process was killed. In the end everybody who was mentioned,
// and could see the comment all the while, has it in the inbox, and who has not seen it has it in a mail.
func TestNobodyLearns(t *testing.T) {
	storetest.FewChecks(t, 10)
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		a := w.account(func(s *collab.Settings) {
			s.MailBatch = rapid.SampledFrom([]collab.MailBatch{collab.BatchEvent, collab.BatchThread, collab.BatchPerson}).Draw(rt, "batch")
			s.MailDelaySeconds = rapid.SampledFrom([]int64{10, 300, 1800}).Draw(rt, "delay")
		})
		m := &sightModel{
			account: a, t: rt, access: map[string]collab.Access{}, members: map[string]bool{}, removed: map[string]bool{},
			grants:  map[string]map[string]bool{"doc": {}, "f": {}},
			threads: map[string]*collab.Visibility{}, said: map[string]map[int64]string{}, due: map[int64]map[string]bool{},
			mailDue: map[int64]map[string]bool{}, muted: map[string]map[string]bool{}, saw: map[string]map[int64]bool{}, mailed: map[string]map[int64]int{},
			more: map[string]bool{}, group: map[string]bool{"bob": true, "cid": true},
		}
		for _, u := range readers {
			m.muted[u], m.saw[u], m.mailed[u] = map[string]bool{}, map[int64]bool{}, map[int64]int{}
			frequency := rapid.SampledFrom([]collab.MailFrequency{collab.MailInstant, collab.MailInstant, collab.MailHourly, collab.MailDaily}).Draw(rt, "frequency")
			a.frequency(u, collab.MailTimes{Frequency: frequency, Hour: 8, Zone: "Europe/Berlin"})
		}
		a.group("two", "bob", "cid")
		a.folder("f", "")
		actions := m.actions()
		names := slices.Sorted(maps.Keys(actions))
		names = append(names, "comment", "comment", "time", "read") // more often
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			actions[rapid.SampledFrom(names).Draw(rt, "action")]()
			m.changed()
		}
		m.pass(50*time.Hour, 0)
		for _, u := range readers {
			m.checkReading(u)
			texts := m.inboxTexts(u)
			for _, text := range texts {
				m.holds(u, text, "the inbox in the end")
			}
			for _, comments := range m.said {
				for id, text := range comments {
					if m.due[id][u] && !slices.Contains(texts, text) {
						rt.Errorf("%s could see %q all the while, and has %q", u, text, texts)
					}
					if m.mailDue[id][u] && m.mailed[u][id] == 0 && !m.more[u] {
						rt.Errorf("%s could see %q all the while, has not seen it, and had no mail", u, text)
					}
				}
			}
			for id, n := range m.mailed[u] {
				if n > 1+m.kills {
					rt.Errorf("%s was told %d times of comment %d by mail", u, n, id)
				}
			}
		}
		if m.fault != "" {
			rt.Fatal(m.fault)
		}
	})
}
