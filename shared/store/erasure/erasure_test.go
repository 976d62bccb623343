package erasure_test

import (
	"bytes"
	"collabdata/shared/store/task"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// The user to erase, in all planted data.
const (
	person  = "pia-4711"
	name    = "Pia Planted"
	address = "pia@planted.example"
	words   = "what Pia wrote herself"
	alias   = "Fräulein P." // only as a member
)

var traces = []string{person, name, address, words, alias}

var user = collab.JSON(`{"userId":"` + person + `","name":"` + name + `","email":"` + address + `"}`)

type world struct {
	testing.TB
	*directory.Store
	table    *store.Table // without the world's wrappers
	threads  *threads.Store
	outbox   *outbox.Store
	inbox    *inbox.Store
	hooks    *hooks.Store
	accounts *accounts.Store
	jobs     *deletion.Store
	now      *time.Time
	context  context.Context // of jobs
}

func newWorld(t testing.TB, table, through *store.Table, now *time.Time) *world {
	tb := through.At(func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		return *now
	}).Sleeping(func(_ context.Context, d time.Duration) error {
		clock.Lock()
		defer clock.Unlock()
		*now = now.Add(max(d, 0))
		return nil
	})
	d := directory.New(tb)
	o := outbox.New(tb)
	th := threads.New(d, o)
	in := inbox.New(o, d)
	return &world{t, d, table, th, o, in, hooks.New(o), accounts.New(tb), deletion.New(th, in), now, t.Context()}
}

func begin(t testing.TB) *world {
	table, now := storetest.New(t), new(time.Now())
	return newWorld(t, table, table, now)
}

func (w *world) must(err error) {
	w.Helper()
	must.Do(w, err)
}

func (w *world) request() *request.Request { return storetest.Request(w.Store.Now()) }

func (w *world) document(org, doc string) collab.DocumentRef {
	w.Helper()
	of, err := w.OpenDocument(w.Context(), "acct", org, doc, collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	return of
}

func comment(id int64, by, text string) collab.Comment {
	c := storetest.Comment(by, id, 1)
	if c.Text = &text; by == person {
		c.From = user
	}
	return c
}

// thread adds a thread. change, unless nil, fills its head.
func (w *world) thread(doc collab.DocumentRef, id string, change func(*collab.Thread), comments ...collab.Comment) {
	w.Helper()
	th := storetest.Thread(id, "", 0)
	th.From, th.CreatorID, th.CreatedAt, th.LastUpdated, th.Comments = nil, "", 1, 1, comments
	if len(comments) > 0 {
		th.SetCreator(&comments[0])
	}
	if change != nil {
		change(th)
	}
	w.must(w.threads.AddAnnotation(w.Context(), w.request(), doc, th, collab.NewAnnotation{}))
}

// notify adds a notification with its event, in the state after its delivery to users.
func (w *world) notify(doc collab.DocumentRef, id string, by collab.User, fill func(*collab.Notification), users ...string) {
	w.Helper()
	n := collab.Notification{ID: id, DocumentID: doc.Document, Incarnation: doc.Incarnation, ActionUser: by, Headline: "x", CreatedAt: w.Millis()}
	if fill != nil {
		fill(&n)
	}
	r := w.request()
	ev := collab.In(doc)
	ev.ID, ev.Type, ev.Time, ev.Notify, ev.Actor, ev.NotificationID = r.IDs.Next(), collab.NotificationAdded, n.CreatedAt, true, by.Acting(), n.ID
	ev.NotifyAll = users == nil
	_, err := w.inbox.AddNotification(w.Context(), r, doc.OrganizationRef, n, collab.Map(users, w.user), &ev)
	w.must(err)
	if users == nil {
		w.must(w.inbox.AddToInboxOfAll(w.Context(), doc.OrganizationRef, n))
		return
	}
	w.must(w.inbox.AddToInbox(w.Context(), doc.OrganizationRef, n, storetest.Placed(users...)))
	for _, u := range users {
		notice := outbox.NoticeAbout(outbox.Recipient{OrganizationRef: doc.OrganizationRef, User: u}, "email")
		_, err := w.outbox.Touch(w.Context(), notice.Task(), w.Millis(), task.Addition{Body: notice.Body(), From: inbox.Position(n)}, outbox.Expiry(w.Millis()))
		w.must(err)
		w.must(w.inbox.ChangeNotification(w.Context(), w.request(), doc.OrganizationRef, collab.NotificationChange{ID: id, Read: []string{u}}))
		w.must(w.inbox.ReadUntil(w.Context(), doc.OrganizationRef, u, 1))
	}
}

func (w *world) user(id string) (u collab.User) {
	u.UserID = id
	if id == person {
		w.must(json.Unmarshal(user, &u))
	}
	return u
}

// plant puts the user into everything that an organization has.
func (w *world) plant(org string) {
	w.Helper()
	ctx, doc := w.Context(), w.document(org, "plan")
	in := doc.OrganizationRef
	folder, err := w.OpenFolder(ctx, w.request(), in, "f", true)
	w.must(err)
	left, err := w.OpenFolder(ctx, w.request(), in, "left", true)
	w.must(err)
	for _, taken := range []collab.Resource{{OrganizationRef: in, Folder: left}, {OrganizationRef: in}} {
		w.must(w.ChangeMembers(ctx, w.request(), taken, []string{person}, true, func(int, *collab.Member) {})[0])
		w.must(w.DeleteMembers(ctx, w.request(), taken, []string{person})[0])
	}
	w.must(w.BringBack(ctx, doc, map[string]collab.Millis{person: w.Millis() + 60_000}))
	for _, of := range []collab.Resource{{OrganizationRef: in}, {OrganizationRef: in, Document: doc}, {OrganizationRef: in, Folder: folder}} {
		for _, err := range w.ChangeMembers(ctx, w.request(), of, []string{person, "bob"}, true, func(i int, m *collab.Member) {
			if i == 0 {
				m.User = w.user(person)
				m.Name = new(alias)
			}
		}) {
			w.must(err)
		}
	}
	w.must(w.ChangeGroups(ctx, w.request(), in, []string{"g"}, func(int, *collab.UserGroup) {})[0])
	w.must(w.AddGroupUsers(ctx, w.request(), in, "g", []string{person})[0])
	other := w.document(org, "left")
	w.must(w.ChangeMembers(ctx, w.request(), collab.Resource{OrganizationRef: in, Document: other}, []string{person}, true, func(int, *collab.Member) {})[0])
	w.must(w.DeleteMembers(ctx, w.request(), collab.Resource{OrganizationRef: in, Document: other}, []string{person})[0])
	for _, documents := range [][]string{nil, {"plan", "not there yet"}} {
		w.must(w.SetPreferences(ctx, in, []string{person, "bob"}, documents, collab.Preferences{Inbox: collab.PreferMine}))
	}
	w.plantThreads(doc)
	w.plantNotifications(doc)
	w.must(w.accounts.Unsubscribe(ctx, unsubscribe.Recipient{Account: "acct", Organization: org, User: person, Email: address}))
	marked, err := w.MarkUndeliverable(ctx, in, collab.Undeliverable{UserID: person, Email: address, Reason: collab.EmailBounced, Time: 1})
	if w.must(err); !marked {
		w.must(errors.New("the address was marked before"))
	}
}

func (w *world) plantThreads(doc collab.DocumentRef) {
	w.Helper()
	w.thread(doc, "of the person", func(th *collab.Thread) {
		th.AssignedTo, th.ResolvedBy = user, person
		th.Context = collab.JSON(`{"reviewer":` + string(user) + `,"note":"` + words + `"}`)
		th.Suggestion = collab.JSON(`{"status":"accepted","summary":"` + words + `"}`)
		th.Kept = collab.JSON(`{"statusUpdatedByUserId":"` + person + `"}`)
		th.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{person, "bob"}}
	}, comment(1, person, words), comment(2, "bob", "fine, {{"+person+"}}"), comment(3, person, words), comment(4, person, words))
	w.thread(doc, "alone", func(th *collab.Thread) {
		th.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{person}}
	}, comment(1, person, words))
	tagged := comment(1, "bob", "ask {{"+person+"}} or {{cid}}")
	tagged.HTML = new("<p>ask {{" + person + "}}</p>")
	tagged.TaggedUserContacts = collab.JSON(`[{"userId":"` + person + `","text":"@` + name + `","contact":` + string(user) + `},{"userId":"cid"}]`)
	tagged.Removed = &collab.Mentions{Users: []string{person, "cid"}}
	tagged.Agent = collab.JSON(`{"runBy":` + string(user) + `}`)
	tagged.Kept = collab.JSON(`{"actions":[{"by":` + string(user) + `}],"progress":{"state":"x","visibleToUserIds":["` + person + `","bob"]}}`)
	tagged.Reactions = collab.Reactions{{Emoji: "👍", Users: []string{person, "cid"}}, {Emoji: "🎉", Users: []string{person}}}
	w.thread(doc, "of bob", func(th *collab.Thread) {
		th.AssignedTo = user
		th.Suggestion = collab.JSON(`{"status":"rejected","resolvedBy":` + string(user) + `,"rejectReason":"` + words + `"}`)
	}, tagged)
	_, err := w.threads.Follow(w.Context(), w.request(), doc, []string{person, "cid"}, collab.LevelAll)
	w.must(err)
	w.must(errors.Join(w.threads.SetLevel(w.Context(), w.request(), doc, []string{"of bob"}, []string{person, "cid"}, collab.LevelNone, nil)...))
	w.thread(doc, "deleted", func(th *collab.Thread) {
		th.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{person, "bob"}}
	}, comment(1, person, words))
	_, errs, err := w.threads.DeleteAnnotations(w.Context(), w.request(), doc, []string{"deleted"}, collab.AnnotationDeletion{})
	w.must(errors.Join(append(errs, err)...))
	_, err = w.threads.SetRead(w.Context(), w.request(), doc, person, []string{"of bob"}, true, nil)
	w.must(err)
	w.must(w.threads.SetAllRead(w.Context(), w.request(), doc, person, true))
}

func (w *world) plantNotifications(doc collab.DocumentRef) {
	w.Helper()
	bob := collab.User{UserID: "bob"}
	w.notify(doc, doc.Organization+"-of-them", w.user(person), func(n *collab.Notification) { n.Body = words }, "bob", "cid")
	w.notify(doc, doc.Organization+"-to-them", bob, nil, person)
	w.notify(doc, doc.Organization+"-to-some", bob, func(n *collab.Notification) {
		n.TemplateData, n.AssignedTo = map[string]collab.JSON{"recipientUser": user}, new(w.user(person))
		n.SharedWith = []string{person, "cid"}
		n.Body, n.Metadata = "Welcome", collab.JSON(`{"for":"`+doc.Document+`"}`)
	}, person, "cid")
	w.notify(doc, doc.Organization+"-to-all", bob, func(n *collab.Notification) { n.BodyData = map[string]collab.JSON{"who": user} })
	w.must(w.inbox.ChangeNotification(w.Context(), w.request(), doc.OrganizationRef,
		collab.NotificationChange{ID: doc.Organization + "-to-all", Read: []string{person}}))
}

func text(t testing.TB, it store.Item) string {
	var b strings.Builder
	var write func(v types.AttributeValue)
	write = func(v types.AttributeValue) {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintln(&b, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintln(&b, v.Value)
		case *types.AttributeValueMemberB:
			if z, err := gzip.NewReader(bytes.NewReader(v.Value)); err == nil {
				whole, err := io.ReadAll(z)
				must.Do(t, err)
				fmt.Fprintln(&b, string(whole))
			}
			fmt.Fprintln(&b, string(v.Value))
		case *types.AttributeValueMemberL:
			for _, e := range v.Value {
				write(e)
			}
		case *types.AttributeValueMemberM:
			for _, name := range slices.Sorted(maps.Keys(v.Value)) {
				fmt.Fprint(&b, name, " ")
				write(v.Value[name])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(it)) {
		fmt.Fprint(&b, name, " ")
		write(it[name])
	}
	return b.String()
}

// found lists the items with a trace of the user, by kind. It ignores the organizations but, and
// expiring items without users' texts.
func (w *world) found(but ...string) map[string][]string {
	w.Helper()
	list := map[string][]string{}
	for _, it := range storetest.Scan(w.TB, w.table) {
		kind, p := keys.KindOf(it.Key())
		if kind == nil || kind.Of == nil || slices.Contains(but, p.Org) {
			continue
		}
		all := text(w.TB, it)
		if slices.ContainsFunc(traces, func(trace string) bool { return strings.Contains(all, trace) }) {
			list[kind.Name] = append(list[kind.Name], all)
		}
	}
	return list
}

// erase starts to erase users in organizations, or in all if there are none, and returns the job.
func (w *world) erase(users []string, organizations ...string) string {
	w.Helper()
	var refs []collab.OrganizationRef
	for _, org := range organizations {
		of, err := w.FindOrganization(w.Context(), "acct", org, false)
		w.must(err)
		refs = append(refs, of)
	}
	job, err := w.jobs.Erasure.Erase(w.Context(), w.request(), users, refs)
	w.must(err)
	return job
}

func (w *world) run(job string) {
	w.Helper()
	for range 10_000 {
		next, err := storetest.Run(w.context, w.jobs.Outbox.Store, outbox.JobTask("acct", job), w.jobs.RunJob)
		w.must(err)
		if next == 0 {
			return
		}
		if at := time.UnixMilli(next); at.After(*w.now) {
			*w.now = at
		}
	}
	w.Fatal("the job does not end")
}

// TestErased: after the job, no trace of the user remains in any attribute that the table of kinds
// lists, or in any kind with a user in the key. Another organization is unchanged.
func TestErased(t *testing.T) {
	t.Parallel()
	for _, bounded := range []bool{true, false} {
		t.Run(fmt.Sprint("bounded ", bounded), func(t *testing.T) {
			w := begin(t)
			if bounded {
				w.jobs.Erasure.Bound(1, 1) // in many steps
			}
			w.plant("acme")
			w.plant("other")
			planted := w.found()
			for _, kind := range keys.Kinds() {
				if kind == keys.ARemoval {
					continue // TestRemovalOutlives covers it
				}
				if kind.Of != nil && (kind.NamesUser() || kind.Users != "") && len(planted[kind.Name]) == 0 {
					t.Errorf("no %s has the person: the test would find nothing of nothing", kind.Name)
				}
				for _, path := range strings.Fields(kind.Users) {
					attribute, member, _ := strings.Cut(path, ".")
					if !slices.ContainsFunc(planted[kind.Name], func(all string) bool {
						return strings.Contains(all, attribute+" ") && strings.Contains(all, member)
					}) {
						t.Errorf("no %s has %s", kind.Name, path)
					}
				}
			}
			before := w.in("other")
			var job string
			if bounded {
				job = w.erase([]string{person, "nobody"}, "acme")
				w.run(job)
				if diff := cmp.Diff(before, w.in("other")); diff != "" {
					t.Errorf("the other organization (- before, + after):\n%s", diff)
				}
			} else {
				job = w.erase([]string{person, "nobody"})
				w.run(job)
			}
			left := w.found()
			if bounded {
				left = w.found("other")
			}
			if len(left) > 0 {
				t.Error(left)
			}
			status, err := w.outbox.JobStatus(t.Context(), "acct", job)
			if w.must(err); status.State != collab.JobDone || status.Left != 0 || status.LastAt == 0 {
				t.Errorf("%+v", status)
			}
			w.left()
		})
	}
}

func inOrganization(k keys.Key) string {
	_, p := keys.KindOf(k)
	return p.Org
}

func (w *world) in(org string) map[string]string {
	all := map[string]string{}
	for _, it := range storetest.Scan(w.TB, w.table) {
		if k := it.Key(); inOrganization(k) == org {
			all[k.String()] = text(w.TB, it)
		}
	}
	return all
}

func (w *world) left() {
	w.Helper()
	doc := w.document("acme", "plan")
	var shown []string
	_, err := w.threads.Walk(w.Context(), doc.OrganizationRef, collab.AnnotationQuery{}, nil, 10, func(id string, th *collab.Thread) bool {
		shown = append(shown, fmt.Sprintf("%s of %s to %s for %v, %s", id, th.From, th.AssignedTo, th.Visibility, th.SuggestionStatus()))
		for _, c := range th.Comments {
			shown = append(shown, fmt.Sprintf("  %d by %s: %s %s %s %v", c.ID, c.AuthorID, collab.Deref(c.Text), collab.Deref(c.HTML), c.TaggedUserContacts, c.Reactions))
		}
		return true
	})
	w.must(err)
	const erased = `{"userId":"erased-user","name":"erased user"}`
	want := []string{
		"alone of " + erased + " to  for &{restricted  []}, ",
		`of bob of {"userId":"bob"} to ` + erased + " for <nil>, rejected",
		`  1 by bob: ask {{erased-user}} or {{cid}} <p>ask {{erased-user}}</p> [{"contact":` + erased + `,"userId":"erased-user"},{"userId":"cid"}] [{👍 [cid]}]`,
		"of the person of " + erased + " to " + erased + " for &{restricted  [bob]}, accepted",
		"  1 by erased-user:    []",
		"  2 by bob: fine, {{erased-user}}   []",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		w.Errorf("threads (- want, + got):\n%s", diff)
	}
	inbox, _, err := w.inbox.Notifications(w.Context(), doc.OrganizationRef, collab.NotificationQuery{
		NotificationFilter: collab.NotificationFilter{User: "cid"},
	}, "", 10)
	w.must(err)
	var have []string
	for _, e := range inbox {
		have = append(have, fmt.Sprintf("%s %s %v %s", e.ID, e.Body, e.To, e.Metadata))
	}
	slices.Sort(have)
	if diff := cmp.Diff([]string{"acme-to-all  [] ", `acme-to-some Welcome [cid] {"for":"plan"}`}, have); diff != "" {
		w.Errorf("cid's inbox (- want, + got):\n%s", diff)
	}
	members, err := w.Members(w.Context(), doc.OrganizationRef, []string{person, "bob"})
	if w.must(err); len(members) != 1 {
		w.Errorf("members %v", members)
	}
}

// TestEscaped: ids are also erased if stored JSON escapes them.
func TestEscaped(t *testing.T) {
	t.Parallel()
	w := begin(t)
	doc := w.document("acme", "plan")
	const escaped, named = `"pia\u002d4711"`, `{"userId":"pia\u002d4711","name":"\u0050ia"}`
	c := comment(1, "bob", "x")
	c.TaggedUserContacts = collab.JSON(`[{"userId":` + escaped + `,"contact":` + named + `}]`)
	c.Agent, c.Kept = collab.JSON(`{"by":`+named+`}`), collab.JSON(`{"progress":{"visibleToUserIds":[`+escaped+`,"bob"]}}`)
	w.thread(doc, "a", func(th *collab.Thread) {
		th.AssignedTo, th.Kept = collab.JSON(named), collab.JSON(`{"statusUpdatedByUserId":`+escaped+`,"actions":[{"of":`+named+`}]}`)
	}, c)
	w.run(w.erase([]string{person}))
	th, err := w.threads.RecentComments(t.Context(), doc, "a", collab.MaxCommentID, 1)
	w.must(err)
	got := []collab.JSON{th.AssignedTo, th.Kept, th.Comments[0].TaggedUserContacts, th.Comments[0].Agent, th.Comments[0].Kept}
	const erased = `{"userId":"erased-user","name":"erased user"}`
	want := []collab.JSON{
		collab.JSON(erased), collab.JSON(`{"actions":[{"of":` + erased + `}],"statusUpdatedByUserId":"erased-user"}`),
		collab.JSON(`[{"contact":` + erased + `,"userId":"erased-user"}]`), collab.JSON(`{"by":` + erased + `}`),
		collab.JSON(`{"progress":{"visibleToUserIds":["bob"]}}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}

// TestRemovalOutlives: marks of removed users outlive the erasure, without an id. A mark that it
// made stays as long as a token of the user may be valid, an earlier one forever, and a later one
// is unchanged.
func TestRemovalOutlives(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.plant("acme")
	doc := w.document("acme", "left")
	other := w.document("other", "plan")
	of := func(d collab.DocumentRef) collab.Resource { return collab.Resource{OrganizationRef: d.OrganizationRef} }
	in := func(d collab.DocumentRef) collab.Resource {
		return collab.Resource{OrganizationRef: d.OrganizationRef, Document: d}
	}
	remove := func(r collab.Resource) {
		w.must(w.ChangeMembers(t.Context(), w.request(), r, []string{person}, true, func(int, *collab.Member) {})[0])
		w.must(w.DeleteMembers(t.Context(), w.request(), r, []string{person})[0])
	}
	remove(of(other))
	job := w.erase([]string{person, "nobody"})
	late := w.document("third", "plan")
	remove(in(late))
	w.run(job)
	mark := func(what string, k keys.Key, user string) (left time.Duration) {
		t.Helper()
		it, err := w.Get(t.Context(), k)
		if w.must(err); it == nil || it.Text(keys.RemovedUser) != user {
			t.Fatalf("the mark of %s is %v", what, it)
		}
		if it[keys.Expires] == nil {
			return 0
		}
		return time.Unix(it.Number(keys.Expires), 0).Sub(*w.now)
	}
	for _, user := range []string{person, "nobody"} {
		left := mark("the erasure", keys.Removed(doc.OrganizationRef, user), "")
		if left < collab.MaxTokenLife+store.ClockSkew || left > collab.MaxTokenLife+time.Minute {
			t.Errorf("the mark of the erasure expires %v after it", left)
		}
	}
	folder, err := w.OpenFolder(t.Context(), w.request(), doc.OrganizationRef, "left", false)
	w.must(err)
	for what, left := range map[string]time.Duration{
		"an earlier users/delete at a folder":       mark("users/delete at a folder", keys.RemovedFromFolder(folder, person), ""),
		"an earlier users/delete":                   mark("users/delete", keys.Removed(other.OrganizationRef, person), ""),
		"an earlier users/delete at a document":     mark("users/delete at a document", keys.RemovedFrom(doc, person), ""),
		"a users/delete at a document after it all": mark("a later users/delete", keys.RemovedFrom(late, person), person),
	} {
		if left != 0 {
			t.Errorf("the mark of %s expires %v after the erasure", what, left)
		}
	}
}

// TestErasedKilled kills the process after more and more of its requests. The next process
// continues and ends with the same result.
func TestErasedKilled(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.plant("acme")
	job := w.erase([]string{person, "nobody"})
	for after := 1; ; after += 4 {
		mortal := newWorld(t, w.table, storetest.Killed(t, w.table, after), w.now)
		next, err := storetest.Run(t.Context(), mortal.jobs.Outbox.Store, outbox.JobTask("acct", job), mortal.jobs.RunJob)
		if err == nil && next == 0 {
			break
		}
		if at := time.UnixMilli(next); err == nil && at.After(*w.now) {
			*w.now = at
		}
	}
	if left := w.found(); len(left) > 0 {
		t.Error(left)
	}
	w.left()
	w.run(w.erase([]string{person})) // again
	w.left()
}

// TestAddedAgain: data added under the id after the deletion was answered is kept, even if the
// deletion's calls are slow.
func TestAddedAgain(t *testing.T) {
	t.Parallel()
	table, now := storetest.New(t), new(time.Now())
	w := newWorld(t, table, table, now)
	w.plant("acme")
	slow := storetest.Watched(t, table, func(string, string) *http.Response { // by the test's clock
		clock.Lock()
		defer clock.Unlock()
		*now = now.Add(10 * time.Millisecond)
		return nil
	})
	job := newWorld(t, table, slow, now).erase([]string{person})
	doc := w.document("acme", "plan")
	org := doc.OrganizationRef
	at := []collab.Resource{{OrganizationRef: org, Document: doc}}
	w.must(w.ChangeMembers(t.Context(), w.request(), collab.Resource{OrganizationRef: org}, []string{person}, true, func(_ int, m *collab.Member) {
		m.User = collab.User{UserID: person}.Over(m.User) // like users/add
	})[0])
	if grants, err := w.Query(t.Context(), store.Scan{PK: keys.GrantPartition(org), Keys: store.Children(keys.GrantsOf(person))}); err != nil || len(grants) > 0 {
		t.Errorf("they have %v, %v", grants, err)
	}
	w.must(w.AddGrants(t.Context(), w.request(), person, at, []collab.Grant{{Role: collab.RoleViewer}}))
	w.must(w.AddGroupUsers(t.Context(), w.request(), org, "g", []string{person})[0])
	w.thread(doc, "new", nil, comment(1, person, "new words"))
	_, err := w.threads.AddComments(t.Context(), w.request(), doc, "of the person", collab.NewComments{Comments: []collab.Comment{comment(5, person, "new words")}})
	w.must(err)
	w.notify(doc, "new-of-them", w.user(person), nil, "bob")
	w.notify(doc, "new-to-them", w.user("bob"), nil, person)
	w.must(w.SetPreferences(t.Context(), org, []string{person}, nil, collab.Preferences{Inbox: collab.PreferAll}))
	w.run(job)
	found, err := w.threads.Comments(t.Context(), doc, "of the person", []int64{1, 3, 4, 5})
	if last := found[5]; err != nil || len(found) != 4 || last.AuthorID != person || found[4].AuthorID != collab.ErasedUser {
		t.Errorf("comments %+v, %v", found, err)
	}
	if _, err := w.inbox.Notification(t.Context(), org, "new-of-them"); err != nil {
		t.Error(err)
	}
	list, _, err := w.inbox.Notifications(t.Context(), org, collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: person}}, "", 10)
	if err != nil || len(list) == 0 || list[0].ID != "new-to-them" || list[0].ReadAt == 0 {
		t.Errorf("their inbox has %+v, %v", list, err)
	}
	th, err := w.threads.RecentComments(t.Context(), doc, "new", 2, 10)
	if err != nil || th == nil || th.CreatorID != person || len(th.Comments) != 1 || *th.Comments[0].Text != "new words" {
		t.Errorf("%+v, %v", th, err)
	}
	members, err := w.Members(t.Context(), org, []string{person})
	if m := members[person]; err != nil || len(members) != 1 || m.Name != nil || m.Email != nil {
		t.Errorf("members %+v, %v", members, err)
	}
	p, _, err := w.OrganizationPreferences(t.Context(), org, person)
	if err != nil || p.Inbox != collab.PreferAll {
		t.Errorf("preferences %+v, %v", p, err)
	}
	users, err := w.GroupUsers(t.Context(), org, "g", "", 10)
	if err != nil || len(users) != 1 {
		t.Errorf("the group has %v, %v", users, err)
	}
	standings, err := w.Standings(t.Context(), org, collab.StandingQuery{Users: []string{person}, Documents: []collab.DocumentRef{doc}})
	if w.must(err); !standings.Documents[0][0].Viewer(w.Millis()).May {
		t.Error("they may not see the document")
	}
}

// TestManyUnanswered checks that the job deletes more comments at the end of a thread than one read
// returns.
func TestManyUnanswered(t *testing.T) {
	t.Parallel()
	w := begin(t)
	doc := w.document("acme", "plan")
	comments := []collab.Comment{comment(1, "bob", "x")}
	for i := range int64(120) {
		comments = append(comments, comment(i+2, person, words))
	}
	w.thread(doc, "many", nil, comments[:60]...)
	_, err := w.threads.AddComments(t.Context(), w.request(), doc, "many", collab.NewComments{Comments: comments[60:]})
	w.must(err)
	w.run(w.erase([]string{person}))
	if left := w.found(); len(left) > 0 {
		t.Error(left)
	}
}

// TestAddedMeanwhile checks that the job keeps an item that is written again, and a removal that is
// made again, between its read and its write.
func TestAddedMeanwhile(t *testing.T) {
	t.Parallel()
	w := begin(t)
	doc := w.document("acme", "plan")
	org := doc.OrganizationRef
	prefer := func(p collab.Preference) {
		w.must(w.SetPreferences(t.Context(), org, []string{person}, nil, collab.Preferences{Inbox: p}))
	}
	remove := func() {
		in := collab.Resource{OrganizationRef: org, Document: doc}
		w.must(w.ChangeMembers(t.Context(), w.request(), in, []string{person}, true, func(int, *collab.Member) {})[0])
		w.must(w.DeleteMembers(t.Context(), w.request(), in, []string{person})[0])
	}
	prefer(collab.PreferMine)
	remove()
	job := w.erase([]string{person})
	removed := keys.RemovedFrom(doc, person)
	again := map[string]func(){keys.OrganizationPreference(org, person).SK: func() { prefer(collab.PreferNone) }, removed.SK: remove}
	var mu sync.Mutex
	next := func(body string) func() {
		mu.Lock()
		defer mu.Unlock()
		for sk, do := range again {
			if strings.Contains(body, `"`+sk+`"`) {
				delete(again, sk)
				return do
			}
		}
		return nil
	}
	slow := storetest.Watched(t, w.table, func(operation, body string) *http.Response {
		if strings.Contains(operation, "Get") || strings.HasSuffix(operation, "Query") {
			return nil
		}
		if do := next(body); do != nil {
			do()
		}
		return nil
	})
	newWorld(t, w.table, slow, w.now).run(job)
	p, _, err := w.OrganizationPreferences(t.Context(), org, person)
	if err != nil || p.Inbox != collab.PreferNone {
		t.Errorf("preferences %+v, %v", p, err)
	}
	if it, err := w.Get(t.Context(), removed); err != nil || it.Text(keys.RemovedUser) != person {
		t.Errorf("the removal is %v, %v", it, err)
	}
	if len(again) > 0 {
		t.Errorf("not written are %v", slices.Collect(maps.Keys(again)))
	}
}

// clock guards the clocks of tests.
var clock sync.Mutex

// TestAccessEnds: access ends in each of 31 organizations, in the request or in the job.
func TestAccessEnds(t *testing.T) {
	t.Parallel()
	for inOne, cutOff := range map[int]bool{31: true, 30: false, 5: false} {
		w := begin(t)
		w.jobs.Erasure.Bound(0, inOne)
		for n := range 31 {
			doc := w.document(fmt.Sprintf("org-%02d", n), "plan")
			w.must(w.AddGrants(t.Context(), w.request(), person, []collab.Resource{{OrganizationRef: doc.OrganizationRef, Document: doc}},
				[]collab.Grant{{Role: collab.RoleEditor}}))
		}
		request := w.request()
		id, err := w.jobs.Erasure.Erase(t.Context(), request, []string{person}, nil)
		w.must(err)
		atOnce := slices.Contains(request.Tasks(), outbox.JobTask("acct", id))
		if job, err := w.jobs.Outbox.Job(t.Context(), "acct", id); err != nil || job.Erasure.CutOff != cutOff || atOnce == cutOff {
			t.Errorf("%d in a request: the job continues at once: %v, %+v, %v", inOne, atOnce, job.Erasure, err)
		}
		w.run(id)
		if left := w.found(); len(left) > 0 {
			t.Errorf("%d in a request: %v", inOne, left)
		}
	}
}

// TestFollowed: readers of a document's changes learn of the deleted data.
func TestFollowed(t *testing.T) {
	t.Parallel()
	w := begin(t)
	doc := w.document("acme", "plan")
	w.thread(doc, "blanked", nil, comment(1, "bob", "first"), comment(2, person, words), comment(3, "bob", "answered"))
	w.thread(doc, "shorter", nil, comment(1, "bob", "first"), comment(2, person, words))
	w.thread(doc, "mentions", nil, comment(1, "bob", "ask {{"+person+"}}"))
	w.thread(doc, "untouched", nil, comment(1, "bob", "x"))
	w.thread(doc, "deleted", nil, comment(1, person, words))
	since := w.Millis()
	*w.now = w.now.Add(time.Minute)
	_, errs, err := w.threads.DeleteAnnotations(t.Context(), w.request(), doc, []string{"deleted"}, collab.AnnotationDeletion{})
	w.must(errors.Join(append(errs, err)...))
	*w.now = w.now.Add(time.Minute)
	from := w.Millis()
	w.run(w.erase([]string{person}))
	var changed []string
	q := collab.AnnotationQuery{Found: []collab.DocumentRef{doc}, UpdatedAfter: &from}
	_, err = w.threads.Walk(t.Context(), doc.OrganizationRef, q, nil, 10, func(id string, _ *collab.Thread) bool {
		changed = append(changed, id)
		return true
	})
	slices.Sort(changed)
	if err != nil || !slices.Equal(changed, []string{"blanked", "mentions", "shorter"}) {
		t.Errorf("changed are %v, %v", changed, err)
	}
	if gone, _, err := w.threads.Left(t.Context(), doc, since, nil, 10); err != nil || len(gone) != 1 || gone[0].CreatorID != collab.ErasedUser {
		t.Errorf("gone are %+v, %v", gone, err)
	}
}

// TestOthersStay: data of others that equals the id or name of the user is kept: ids of places,
// names, words.
func TestOthersStay(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"user_12345678", "may"} {
		w := begin(t)
		other := collab.JSON(`{"userId":"other","name":"` + id + `","email":"office@example.com"}`)
		for _, place := range [][2]string{{id, "plan"}, {"acme", id}} {
			doc := w.document(place[0], place[1])
			w.must(w.ChangeMembers(t.Context(), w.request(), collab.Resource{OrganizationRef: doc.OrganizationRef}, []string{id}, true,
				func(_ int, m *collab.Member) {
					m.User = collab.User{UserID: id, Name: new(id), Email: new("office@example.com")}
				})[0])
			w.notify(doc, "n-"+place[0], collab.User{UserID: "other", Name: new(id)}, func(n *collab.Notification) {
				n.Body, n.SourceData = id+" asks", collab.JSON(`{"url":"https://example.com/`+id+`","kind":"`+id+`"}`)
			}, "cid")
			c := comment(1, "other", id)
			c.From, c.Context = other, collab.JSON(`{"of":"`+id+`"}`)
			w.thread(doc, "of other", func(th *collab.Thread) {
				th.LocationID, th.Location = id, collab.JSON(`{"id":"`+id+`"}`)
				th.TargetElement, th.AssignedTo = collab.JSON(`{"elementId":"`+id+`"}`), other
				th.Suggestion = collab.JSON(`{"status":"rejected","resolvedBy":` + string(other) + `,"rejectReason":"` + id + `"}`)
			}, c)
		}
		before := w.inAll("thread", "comment", "notification")
		w.run(w.erase([]string{id}))
		if diff := cmp.Diff(before, w.inAll("thread", "comment", "notification")); diff != "" {
			t.Errorf("(- before, + after)\n%s", diff)
		}
	}
}

func (w *world) inAll(kinds ...string) map[string]string {
	all := map[string]string{}
	for _, it := range storetest.Scan(w.TB, w.table) {
		if k, _ := keys.KindOf(it.Key()); k != nil && slices.Contains(kinds, k.Name) {
			all[it.Key().String()] = text(w.TB, it)
		}
	}
	return all
}

// TestMentionInHTML: ids are often addresses, and HTML escapes them.
func TestMentionInHTML(t *testing.T) {
	t.Parallel()
	const id = "o'brien&co@example.com"
	w := begin(t)
	c := comment(1, "bob", "ask {{"+id+"}} {{ or {{cid}}")
	c.HTML = new("<p>ask {{o&#39;brien&amp;co@example.com}} {{o&apos;brien&#x26;co@example.com}}</p>")
	doc := w.document("acme", "plan")
	w.thread(doc, "of bob", nil, c)
	w.run(w.erase([]string{id}))
	th, err := w.threads.RecentComments(t.Context(), doc, "of bob", 2, 10)
	w.must(err)
	want := "ask {{erased-user}} {{ or {{cid}} <p>ask {{erased-user}} {{erased-user}}</p>"
	if got := *th.Comments[0].Text + " " + *th.Comments[0].HTML; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCollect checks that pages of any size have all data of a user, none of others and nothing
// deleted. A call looks at a limited number of items and of bytes.
func TestCollect(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.plant("acme")
	doc, gone := w.document("acme", "plan"), w.document("acme", "gone")
	w.thread(doc, "of others", nil, comment(1, "bob", "x"))
	left := store.ItemOf(keys.Comment(doc, "of others", 9), comment(9, person, "x"))
	left[keys.Birth] = store.Text("of a deleted thread")
	w.must(w.Put(t.Context(), left))
	w.thread(gone, "gone", nil, comment(1, person, "x"))
	w.must(storetest.ChangeDocument(t.Context(), w.Store, gone, func(d *collab.Document) { d.DeletedAt = 1 }))
	const notifications = 101 // more than are read at once
	w.must(store.Each(t.Context(), notifications, func(ctx context.Context, i int) error {
		n := collab.Notification{ID: fmt.Sprint("more", i), DocumentID: "plan", Incarnation: doc.Incarnation, CreatedAt: w.Millis()}
		_, err := w.inbox.Derive(ctx, doc.OrganizationRef, n, nil)
		return errors.Join(err, w.inbox.AddToInbox(ctx, doc.OrganizationRef, n, storetest.Placed(person)))
	}))
	collect := func(page int) (list []string, calls int) {
		t.Helper()
		for at := new(collab.PersonalPosition); at != nil; calls++ {
			if calls > 1_000 {
				t.Fatal("no end")
			}
			n := 0
			var err error
			at, err = w.jobs.Erasure.Collect(t.Context(), doc.OrganizationRef, person, *at, func(d collab.PersonalData) bool {
				if n++; n > page {
					return false
				}
				if a := d.Annotation; a != nil {
					list = append(list, a.ID)
				}
				if c := d.Comment; c != nil {
					list = append(list, fmt.Sprint(c.Annotation, " ", c.ID))
				}
				for _, r := range d.Reactions {
					list = append(list, fmt.Sprint(r.Annotation, " ", r.Comment, r.Emoji))
				}
				if e := d.Notification; e != nil {
					list = append(list, e.ID)
				}
				if d.Member != nil || d.Grant != nil || d.Group != "" || d.Preferences != nil || d.ReadState != nil {
					list = append(list, "other")
				}
				return true
			})
			w.must(err)
		}
		return list, calls
	}
	all, calls := collect(1_000)
	if calls != 1 {
		t.Errorf("all take %d calls", calls)
	}
	var threads []string
	for _, text := range all {
		if strings.HasPrefix(text, "of ") || strings.HasPrefix(text, "alone") || text == "gone" || text == "deleted" {
			threads = append(threads, text)
		}
	}
	want := []string{"alone", "alone 1", "of bob", "of bob 1", "of bob 1👍", "of bob 1🎉", "of the person", "of the person 1", "of the person 3", "of the person 4"}
	if diff := cmp.Diff(want, threads); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if n := len(all) - len(threads); n != notifications+12 {
		t.Errorf("%d others: %q", n, all) // notifications to everyone are unwanted
	}
	for _, test := range []struct{ page, items, bytes, calls int }{{7, 10_000, 10_000_000, len(all) / 7}, {1_000, 1, 10_000_000, 2}, {1_000, 10_000, 1, 2}} {
		w.jobs.Erasure.Look(test.items, test.bytes)
		list, calls := collect(test.page)
		if diff := cmp.Diff(all, list); diff != "" || calls < test.calls {
			t.Errorf("%+v takes %d calls:\n%s", test, calls, diff)
		}
	}
}
