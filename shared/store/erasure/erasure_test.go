package erasure_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/connections"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// The person who is forgotten, as everything that is planted has them.
const (
	person  = "pia-4711"
	name    = "Pia Planted"
	address = "pia@planted.example"
	words   = "what Pia wrote herself"
	alias   = "Fräulein P." // as a member alone
)

// traces are what must not be found of the person.
var traces = []string{person, name, address, words, alias}

// user is the person as JSON.
var user = collab.JSON(`{"userId":"` + person + `","name":"` + name + `","email":"` + address + `"}`)

// world is the stores on a clock of the test.
type world struct {
	testing.TB
	*directory.Store
	table    *store.Table // as the test itself reaches it
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
	tb := through.At(func() time.Time { return *now })
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
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) request() *request.Request { return storetest.Request(w.Store.Now()) }

// document opens a document, and makes it where it is missing.
func (w *world) document(org, doc string) collab.DocumentRef {
	w.Helper()
	of, err := w.OpenDocument(w.Context(), "acct", org, doc, collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	return of
}

func comment(id int64, by, text string) collab.Comment {
	c := collab.Comment{ID: id, Text: &text, AuthorID: by, CreatedAt: 1, LastUpdated: 1, From: collab.JSON(`{"userId":"` + by + `"}`)}
	if by == person {
		c.From = user
	}
	return c
}

// thread adds a thread; change may fill its head.
func (w *world) thread(doc collab.DocumentRef, id string, change func(*collab.Thread), comments ...collab.Comment) {
	w.Helper()
	th := &collab.Thread{
		Annotation: collab.Annotation{ID: id, Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN", CreatedAt: 1, LastUpdated: 1},
		Comments:   comments,
	}
	if len(comments) > 0 {
		th.SetCreator(&comments[0])
	}
	if change != nil {
		change(th)
	}
	w.must(w.threads.AddAnnotation(w.Context(), w.request(), doc, th, collab.NewAnnotation{}))
}

// notify adds a notification with its event, as it is after its delivery to users.
func (w *world) notify(doc collab.DocumentRef, id string, by collab.User, fill func(*collab.Notification), users ...string) {
	w.Helper()
	n := collab.Notification{ID: id, DocumentID: doc.Document, Incarnation: doc.Incarnation, ActionUser: by, Headline: "x", CreatedAt: w.Millis()}
	if fill != nil {
		fill(&n)
	}
	r := w.request()
	ev := collab.In(doc)
	ev.ID, ev.Type, ev.Time, ev.Notify, ev.Actor, ev.Notification = r.IDs.Next(), collab.NotificationAdded, n.CreatedAt, true, &by, &n
	ev.NotifyAll = users == nil
	for _, u := range users {
		ev.People = append(ev.People, w.user(u))
	}
	_, err := w.inbox.AddNotification(w.Context(), r, doc.OrganizationRef, n, &ev)
	w.must(err)
	if users == nil {
		w.must(w.inbox.AddToInboxOfAll(w.Context(), doc.OrganizationRef, n))
		return
	}
	_, err = w.inbox.AddAudience(w.Context(), doc.OrganizationRef, n, ev.ID, users...)
	w.must(err)
	w.must(w.inbox.AddToInbox(w.Context(), doc.OrganizationRef, n, users))
	for _, u := range users {
		w.must(w.outbox.AddMail(w.Context(), outbox.MailThread{DocumentRef: doc, User: u}, ev.ID))
		w.must(w.inbox.ChangeNotification(w.Context(), w.request(), doc.OrganizationRef, collab.NotificationChange{ID: id, Read: []string{u}}))
	}
}

func (w *world) user(id string) (u collab.User) {
	u.UserID = id
	if id == person {
		w.must(json.Unmarshal(user, &u))
	}
	return u
}

// plant puts the person into everything that an organization has.
func (w *world) plant(org string) {
	w.Helper()
	ctx, doc := w.Context(), w.document(org, "plan")
	in := doc.OrganizationRef
	w.must(w.ChangeOrganizations(ctx, w.request(), []string{org}, false, func(_ int, o *collab.Organization) error {
		o.Metadata = collab.JSON(`{"owner":` + string(user) + `}`)
		return nil
	})[0])
	w.must(w.ChangeDocuments(ctx, w.request(), in, []string{"plan"}, func(_ int, d *collab.Document) error {
		d.Metadata = collab.JSON(`{"ownerUserId":"` + person + `"}`)
		return nil
	})[0])
	folder, err := w.OpenFolder(ctx, w.request(), in, "f", true)
	w.must(err)
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
}

func (w *world) plantThreads(doc collab.DocumentRef) {
	w.Helper()
	w.thread(doc, "of the person", func(th *collab.Thread) {
		th.AssignedTo, th.ResolvedBy = user, person
		th.Context = collab.JSON(`{"reviewer":` + string(user) + `,"note":"` + words + `"}`)
		th.Kept = collab.JSON(`{"type":"suggestion","statusUpdatedByUserId":"` + person + `","suggestion":{"summary":"` + words + `"}}`)
		th.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{person, "bob"}}
	}, comment(1, person, words), comment(2, "bob", "fine, {{"+person+"}}"), comment(3, person, words), comment(4, person, words))
	w.thread(doc, "alone", func(th *collab.Thread) {
		th.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{person}}
	}, comment(1, person, words))
	tagged := comment(1, "bob", "ask {{"+person+"}} or {{cid}}")
	tagged.HTML = new("<p>ask {{" + person + "}}</p>")
	tagged.TaggedUserContacts = collab.JSON(`[{"userId":"` + person + `","text":"@` + name + `","contact":` + string(user) + `},{"userId":"cid"}]`)
	tagged.Context, tagged.Kept = collab.JSON(`{"to":`+string(user)+`,"mail":"`+address+`"}`), collab.JSON(`{"agent":{"by":"`+person+`"},"actions":[{"by":`+string(user)+`}],
		"progress":{"state":"x","visibleToUserIds":["`+person+`","bob"]}}`)
	w.thread(doc, "of bob", func(th *collab.Thread) { th.AssignedTo = user }, tagged)
	w.thread(doc, "deleted", func(th *collab.Thread) {
		th.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{person, "bob"}}
	}, comment(1, person, words))
	_, errs, err := w.threads.DeleteAnnotations(w.Context(), w.request(), doc, []string{"deleted"}, collab.AnnotationDeletion{})
	w.must(errors.Join(append(errs, err)...))
	_, err = w.threads.SetSeen(w.Context(), w.request(), doc, person, []string{"of bob"}, true)
	w.must(err)
	w.must(w.threads.SetAllSeen(w.Context(), w.request(), doc, person, true))
}

func (w *world) plantNotifications(doc collab.DocumentRef) {
	w.Helper()
	bob := collab.User{UserID: "bob"}
	w.notify(doc, doc.Organization+"-of-them", w.user(person), func(n *collab.Notification) { n.Body = words }, "bob", "cid")
	w.notify(doc, doc.Organization+"-to-them", bob, nil, person)
	w.notify(doc, doc.Organization+"-to-some", bob, func(n *collab.Notification) {
		n.TemplateData = map[string]collab.JSON{"recipientUser": user, "assignedTo": collab.JSON(`"` + name + `"`)}
		n.Body, n.Metadata = "Welcome "+name+", at "+address+", or "+alias, collab.JSON(`{"for":"`+person+`"}`)
	}, person, "cid")
	w.notify(doc, doc.Organization+"-to-all", bob, func(n *collab.Notification) { n.BodyData = map[string]collab.JSON{"who": user} })
	w.must(w.inbox.ChangeNotification(w.Context(), w.request(), doc.OrganizationRef,
		collab.NotificationChange{ID: doc.Organization + "-to-all", Read: []string{person}}))
}

// plantDelivery puts the person into what an account has of events on their way.
func (w *world) plantDelivery(doc collab.DocumentRef) {
	w.Helper()
	ctx := w.Context()
	w.must(w.hooks.AddWebhook(ctx, "acct", 10, collab.Webhook{ID: "hook", URL: "https://example.com", CreatedAt: w.Millis()}))
	live := connections.Store{Table: w.Table}
	watch := collab.Watch{Account: "acct", Organization: doc.Organization, User: person, Documents: []string{"plan"}, Inbox: true}
	_, _, err := live.AddTicket(ctx, watch)
	w.must(err)
	w.must(live.Connect(ctx, collab.Connection{Watch: watch, ID: "c=", At: w.Millis()}))
	later := store.NewItem(keys.Key{PK: keys.DocumentPartition(doc), SK: "of a later version"})
	later["somebody"] = store.Text(person)
	w.must(w.Put(ctx, later))
}

// text is all that an item holds, its keys too.
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
				if err != nil {
					t.Fatal(err)
				}
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

// found lists the items that have a trace of the person, but those of organizations that are left out.
func (w *world) found(but ...string) (list []string) {
	w.Helper()
	for _, it := range storetest.Scan(w.TB, w.table) {
		k := it.Key()
		if slices.ContainsFunc(but, func(org string) bool {
			return keys.InOrganization(k.PK, "acct", org) || k == keys.Organization("acct", org)
		}) || strings.Contains(k.PK, "#EVT#") || strings.Contains(k.PK, "#JOB#") || strings.HasPrefix(k.PK, "DUE#") { // they expire
			continue
		}
		all := text(w.TB, it)
		for _, trace := range traces {
			if strings.Contains(all, trace) {
				list = append(list, fmt.Sprintf("%s has %q: %s", k, trace, all))
				break
			}
		}
	}
	return list
}

// erase begins to forget the person in organizations, all for none, and returns the job.
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
	*w.now = w.now.Add(2 * time.Second)
	return job
}

// run carries a job on until it is done; the event of it has been handled.
func (w *world) run(job string) {
	w.Helper()
	for range 10_000 {
		next, err := w.jobs.RunJob(w.context, "acct", job)
		w.must(err)
		if next == 0 {
			return
		}
		w.heard(job)
		if at := time.UnixMilli(next); at.After(*w.now) {
			*w.now = at
		}
	}
	w.Fatal("the job does not end")
}

// heard has the events of a job delivered to nobody.
func (w *world) heard(job string) {
	w.Helper()
	j, err := w.outbox.Job(w.Context(), "acct", job)
	w.must(err)
	for _, id := range j.Erasure.Events {
		at, err := w.outbox.Pending(w.Context(), collab.EventRef{Account: "acct", ID: id}, collab.EventWork)
		w.must(err)
		if at != nil {
			w.must(w.outbox.Finish(w.Context(), *at))
		}
	}
}

// TestForgotten: of a person who is in every place, nothing is found after the job; another organization is as it was.
func TestForgotten(t *testing.T) {
	for _, bounded := range []bool{true, false} {
		t.Run(fmt.Sprint("bounded ", bounded), func(t *testing.T) {
			w := begin(t)
			if bounded {
				w.jobs.Erasure.Bound(1) // in many steps
			}
			w.plant("acme")
			w.plant("other")
			w.plantDelivery(w.document("acme", "plan"))
			before := w.in("other")
			if planted := w.found(); len(planted) < 70 { // the test would find nothing of nothing
				t.Fatalf("only %d items name the person", len(planted))
			}
			var job string
			if bounded {
				job = w.erase([]string{person, "nobody"}, "acme")
				w.run(job)
				if diff := cmp.Diff(before, w.in("other")); diff != "" {
					t.Errorf("the other organization (- before, + after):\n%s", diff)
				}
				for _, it := range w.found("other") {
					if !strings.Contains(it, "other") { // its events and who unsubscribed there
						t.Error(it)
					}
				}
			} else {
				job = w.erase([]string{person, "nobody"})
				w.run(job)
				for _, it := range w.found() {
					t.Error(it)
				}
			}
			status, err := w.outbox.JobStatus(t.Context(), "acct", job)
			if w.must(err); status.State != collab.JobDone || status.Left != 0 || status.LastAt == 0 {
				t.Errorf("%+v", status)
			}
			w.left()
		})
	}
}

// in is what an organization has, by key.
func (w *world) in(org string) map[string]string {
	all := map[string]string{}
	for _, it := range storetest.Scan(w.TB, w.table) {
		if k := it.Key(); keys.InOrganization(k.PK, "acct", org) || k == keys.Organization("acct", org) {
			all[k.String()] = text(w.TB, it)
		}
	}
	return all
}

// left checks what is left of the organization acme.
func (w *world) left() {
	w.Helper()
	doc := w.document("acme", "plan")
	var shown []string
	_, err := w.threads.Walk(w.Context(), doc.OrganizationRef, collab.AnnotationQuery{}, nil, 10, func(id string, th *collab.Thread) bool {
		shown = append(shown, fmt.Sprintf("%s of %s to %s for %v", id, th.From, th.AssignedTo, th.Visibility))
		for _, c := range th.Comments {
			shown = append(shown, fmt.Sprintf("  %d by %s: %s %s %s", c.ID, c.AuthorID, collab.Deref(c.Text), collab.Deref(c.HTML), c.TaggedUserContacts))
		}
		return true
	})
	w.must(err)
	const erased = `{"userId":"erased-user","name":"erased user"}`
	want := []string{
		"alone of " + erased + " to  for &{restricted  []}",
		`of bob of {"userId":"bob"} to ` + erased + " for <nil>",
		`  1 by bob: ask {{erased-user}} or {{cid}} <p>ask {{erased-user}}</p> [{"contact":` + erased + `,"userId":"erased-user"},{"userId":"cid"}]`,
		"of the person of " + erased + " to " + erased + " for &{restricted  [bob]}",
		"  1 by erased-user:   ",
		"  2 by bob: fine, {{erased-user}}  ",
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
	if diff := cmp.Diff([]string{"acme-to-all  [] ", `acme-to-some Welcome erased user, at erased user, or erased user [cid] {"for":"erased-user"}`}, have); diff != "" {
		w.Errorf("cid's inbox (- want, + got):\n%s", diff)
	}
	members, err := w.Members(w.Context(), doc.OrganizationRef, []string{person, "bob"})
	if w.must(err); len(members) != 1 {
		w.Errorf("members %v", members)
	}
}

// TestForgottenKilled kills the process that forgets after ever more of its requests; the next one goes on, and ends as one that lived.
func TestForgottenKilled(t *testing.T) {
	w := begin(t)
	w.plant("acme")
	w.plantDelivery(w.document("acme", "plan"))
	job := w.erase([]string{person, "nobody"})
	for after := 1; ; after += 4 {
		mortal := newWorld(t, w.table, storetest.Killed(t, w.table, after), w.now)
		next, err := mortal.jobs.RunJob(t.Context(), "acct", job)
		if err == nil && next == 0 {
			break
		}
		w.heard(job)
		if at := time.UnixMilli(next); err == nil && at.After(*w.now) {
			*w.now = at
		}
	}
	for _, it := range w.found() {
		t.Error(it)
	}
	w.left()
	w.run(w.erase([]string{person})) // once more
	w.left()
}
