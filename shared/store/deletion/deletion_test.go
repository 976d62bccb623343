package deletion_test

import (
	"collabdata/shared/store/task"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// process is the stores of one process, with the test's clock.
type process struct {
	*testing.T
	*deletion.Store
	threads *threads.Store
}

// runJob does a step of a job, and returns the time of the next.
func (p *process) runJob(ctx context.Context, job string) (collab.Millis, error) {
	return storetest.Run(ctx, p.Outbox.Store, outbox.JobTask("acct", job), p.RunJob)
}

// jobs returns the jobs whose messages a request sends.
func jobs(r *request.Request) []collab.TaskRef {
	return collab.Where(r.Tasks(), func(t collab.TaskRef) bool { return t.Kind == collab.JobTask })
}

func newProcess(t *testing.T, tb *store.Table, now func() time.Time) *process {
	tb = tb.At(now)
	d := directory.New(tb)
	o := outbox.New(tb)
	th := threads.New(d, o)
	return &process{t, deletion.New(th, inbox.New(o, d)), th}
}

func (p *process) must(err error) {
	p.Helper()
	must.Do(p, err)
}

// open opens the document plan of the organization acme, and adds both if they do not exist.
func (p *process) open() (collab.DocumentRef, error) {
	return p.OpenDocument(p.Context(), "acct", "acme", "plan", collab.CreateFlags{Organization: true, Document: true})
}

func (p *process) add(org collab.OrganizationRef, folder, doc string) error {
	r := storetest.Request(p.Now())
	if _, err := p.OpenFolder(p.Context(), r, org, folder, false); err != nil {
		return err
	}
	return p.AddDocuments(p.Context(), r, org, folder, []string{doc}, func(_ int, d *collab.Document) error { return nil })[0]
}

func (p *process) thread(doc collab.DocumentRef, id string) error {
	return p.threads.AddAnnotation(p.Context(), storetest.Request(p.Now()), doc, storetest.Thread(id, "u", 1), collab.NewAnnotation{})
}

// below lists the items of all incarnations of the organization acme, except expiring ones, by a
// scan of the whole table.
func below(t *testing.T, tb *store.Table) (itemKeys []string) {
	t.Helper()
	for _, it := range storetest.Scan(t, tb) {
		k := it.Key()
		kind, p := keys.KindOf(k)
		if kind != nil && !kind.Expires && it[keys.Expires] == nil && p.Org == "acme" {
			itemKeys = append(itemKeys, k.String())
		}
	}
	slices.Sort(itemKeys)
	return itemKeys
}

// TestDeleteAndAddAgain deletes a document and its organization. They are unreachable here at once,
// elsewhere after the cache's lifetime. They cannot be added before that; then they are empty, and
// the job sweeps only the old ones.
func TestDeleteAndAddAgain(t *testing.T) {
	for name, remove := range map[string]func(p *process, doc collab.DocumentRef) (string, error){
		"document": func(p *process, doc collab.DocumentRef) (string, error) {
			return p.DeleteDocuments(p.Context(), storetest.Request(p.Now()), doc.OrganizationRef, []string{"plan"}, make([]error, 1))
		},
		"organization": func(p *process, _ collab.DocumentRef) (string, error) {
			return p.DeleteOrganizations(p.Context(), storetest.Request(p.Now()), []string{"acme"}, make([]error, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tb := storetest.New(t)
			now := time.Now()
			clock := func() time.Time { return now }
			here, there := newProcess(t, tb, clock), newProcess(t, tb, clock)
			doc, err := here.open()
			here.must(err)
			here.must(here.thread(doc, "a"))
			_, err = there.open()
			here.must(err)
			job, err := remove(here, doc)
			here.must(err)
			if _, err := here.OpenDocument(t.Context(), "acct", "acme", "plan", collab.CreateFlags{}); collab.CodeOf(err) != collab.NotFound {
				t.Errorf("here: %v", err)
			}
			if _, err := here.open(); collab.CodeOf(err) != collab.Unavailable {
				t.Errorf("added again at once: %v", err)
			}
			if old, err := there.open(); err != nil || there.thread(old, "late") != nil {
				t.Errorf("a process that has it in its cache: %v", err)
			}
			now = now.Add(directory.CacheTTL + 2*time.Second)
			if _, err := there.OpenDocument(t.Context(), "acct", "acme", "plan", collab.CreateFlags{}); collab.CodeOf(err) != collab.NotFound {
				t.Errorf("there, later: %v", err)
			}
			again, err := there.open()
			here.must(err)
			if again == doc {
				t.Errorf("it is the old one: %+v", again)
			}
			here.must(there.thread(again, "a"))
			var shown []string
			_, err = there.threads.Walk(
				t.Context(),
				again.OrganizationRef,
				collab.AnnotationQuery{},
				nil,
				10,
				func(id string, th *collab.Thread) bool {
					shown = append(shown, id)
					return true
				},
			)
			here.must(err)
			if len(shown) != 1 {
				t.Errorf("the new one shows %v", shown)
			}
			here.run(job)
			// Head, comment, look-up item; organization, document.
			if left := below(t, tb); len(left) != 5 {
				t.Errorf("there are %v", left)
			}
		})
	}
}

// tell adds a notification in the state after deliver: in the lists of users, or in that for all
// without users, with an email about it.
func (p *process) tell(doc collab.DocumentRef, id string, users ...string) {
	p.Helper()
	n := collab.Notification{
		ID:          id,
		DocumentID:  doc.Document,
		Incarnation: doc.Incarnation,
		ActionUser:  collab.User{UserID: "boss"},
		CreatedAt:   p.Millis(),
	}
	ev := collab.In(doc)
	ev.ID, ev.Type, ev.Time, ev.Notify, ev.NotifyAll = "event-of-"+id, collab.NotificationAdded, n.CreatedAt, true, len(users) == 0
	ev.NotificationID = n.ID
	named := collab.Map(users, func(u string) collab.User { return collab.User{UserID: u} })
	_, err := p.Inbox.AddNotification(p.Context(), storetest.Request(p.Now()), doc.OrganizationRef, n, named, &ev)
	p.must(err)
	if len(users) == 0 {
		p.must(p.Inbox.AddToInboxOfAll(p.Context(), doc.OrganizationRef, n))
		return
	}
	p.must(p.Inbox.AddToInbox(p.Context(), doc.OrganizationRef, n, storetest.Placed(users...)))
	p.email(doc.OrganizationRef, users[0], n)
}

func (p *process) email(org collab.OrganizationRef, user string, n collab.Notification) {
	p.Helper()
	notice := outbox.NoticeAbout(outbox.Recipient{OrganizationRef: org, User: user}, "email")
	_, err := p.Outbox.Touch(p.Context(), notice.Task(), p.Millis(), task.Addition{Body: notice.Body(), From: inbox.Position(n)}, outbox.Expiry(p.Millis()))
	p.must(err)
}

func (p *process) read(org collab.OrganizationRef, id, user string) {
	p.Helper()
	p.must(p.Inbox.ChangeNotification(p.Context(), storetest.Request(p.Now()), org, collab.NotificationChange{ID: id, Read: []string{user}}))
}

// fill adds everything that a document can have, with users that are no members.
func (p *process) fill(doc collab.DocumentRef) {
	p.Helper()
	org := doc.OrganizationRef
	for _, id := range []string{"a", "b", "c"} {
		p.must(p.thread(doc, id))
	}
	p.must(p.SetPreferences(p.Context(), org, []string{"ann"}, []string{doc.Document}, collab.Preferences{Inbox: collab.PreferNone}))
	_, err := p.threads.SetRead(p.Context(), storetest.Request(p.Now()), doc, "ann", []string{"a"}, true, nil)
	p.must(err)
	p.must(p.threads.SetAllRead(p.Context(), storetest.Request(p.Now()), doc, "bob", true))
	in := collab.Resource{OrganizationRef: org, Document: doc}
	for _, err := range p.ChangeMembers(p.Context(), storetest.Request(p.Now()), in, []string{"ann", "cid"}, true, func(int, *collab.Member) {}) {
		p.must(err)
	}
	p.must(p.DeleteMembers(p.Context(), storetest.Request(p.Now()), in, []string{"cid"})[0])
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprint("user", i))
	}
	p.tell(doc, "many", many...)
	p.read(org, "many", "user7")
	p.tell(doc, "one", "stranger")
	p.tell(doc, "all")
	p.read(org, "all", "stranger")
	comment := collab.Notification{
		ID:           "comment",
		DocumentID:   doc.Document,
		Incarnation:  doc.Incarnation,
		AnnotationID: "a",
		CreatedAt:    p.Millis(),
	}
	users := []string{"eve", "stranger"}
	_, err = p.Inbox.Derive(p.Context(), org, comment, users)
	p.must(err)
	p.must(p.Inbox.AddToInbox(p.Context(), org, comment, storetest.Placed(users...)))
	p.email(org, users[0], comment)
}

// later returns another process, with a clock that is ahead.
func (p *process) later(by time.Duration) *process {
	return newProcess(p.T, p.Table, func() time.Time { return p.Now().Add(by) })
}

func (p *process) run(job string) {
	p.Helper()
	next, err := p.later(outbox.SweepAfter+time.Second).runJob(p.Context(), job)
	p.must(err)
	if got, err := p.Outbox.JobProgress(p.Context(), "acct", job); next != 0 || err != nil || got.State != collab.JobDone {
		p.Errorf("the job: %+v, %v", got, err)
	}
}

// runAll runs all jobs, and the jobs that they add, to their ends.
func (p *process) runAll() {
	p.Helper()
	for by, ran := time.Hour, true; ran; by += time.Hour {
		ran = false
		for _, it := range storetest.Scan(p.T, p.Table) {
			ref, err := keys.ParseTask(it.Key())
			if err == nil && ref.Kind == collab.JobTask && it[keys.Due] != nil {
				ran = true
				_, err := p.later(by).runJob(p.Context(), ref.ID)
				p.must(err)
			}
		}
	}
}

// TestSweptWhole deletes a full document, then its organization, and finds nothing after the jobs.
func TestSweptWhole(t *testing.T) {
	tb := storetest.New(t)
	p := newProcess(t, tb, time.Now)
	plan, err := p.open()
	p.must(err)
	org := plan.OrganizationRef
	p.must(p.SetPreferences(t.Context(), org, []string{"ann"}, nil, collab.Preferences{Inbox: collab.PreferNone}))
	p.must(p.SetPreferences(t.Context(), org, []string{"ann"}, []string{"not there yet"}, collab.Preferences{Inbox: collab.PreferNone}))
	p.tell(plan, "stays", "stranger")
	before := below(t, tb)
	other, err := p.OpenDocument(t.Context(), "acct", "acme", "other", collab.CreateFlags{Document: true})
	p.must(err)
	p.fill(other)
	p.must(p.thread(other, "deleted before"))
	_, errs, err := p.threads.DeleteAnnotations(t.Context(), storetest.Request(time.Now()), other, []string{"deleted before"}, collab.AnnotationDeletion{})
	p.must(errors.Join(append(errs, err)...))
	job, err := p.DeleteDocuments(t.Context(), storetest.Request(time.Now()), org, []string{"other"}, make([]error, 1))
	p.must(err)
	p.run(job)
	if diff := cmp.Diff(before, below(t, tb)); diff != "" {
		t.Errorf("a document was added and deleted (- before, + after):\n%s", diff)
	}
	for _, it := range storetest.Scan(t, tb) {
		if strings.HasPrefix(it.Key().PK, keys.Notification(org, "many").PK) {
			t.Errorf("of a notification %s is left", it.Key())
		}
	}
	p.fill(plan)
	for _, err := range p.ChangeGroups(t.Context(), storetest.Request(time.Now()), org, []string{"g"}, func(int, *collab.UserGroup) {}) {
		p.must(err)
	}
	for _, err := range p.AddGroupUsers(t.Context(), storetest.Request(time.Now()), org, "g", []string{"ann", "stranger"}) {
		p.must(err)
	}
	job, err = p.DeleteOrganizations(t.Context(), storetest.Request(time.Now()), []string{"acme", "none"}, make([]error, 2))
	p.must(err)
	p.run(job)
	if left := below(t, tb); len(left) > 0 {
		t.Errorf("of the organization there are %v", left)
	}
}

// TestFolderKilled kills the process that deletes a folder after each of its requests: the repeat
// leaves no documents.
func TestFolderKilled(t *testing.T) {
	tb := storetest.New(t)
	for after := 1; ; after++ {
		p := newProcess(t, tb, time.Now)
		org, err := p.OpenOrCreateOrganization(t.Context(), "acct", fmt.Sprint("o", after), true)
		p.must(err)
		folders := []collab.Folder{{ID: "a", Parent: collab.RootFolder}, {ID: "b", Parent: "a"}}
		for _, err := range p.AddFolders(t.Context(), storetest.Request(time.Now()), org, folders) {
			p.must(err)
		}
		for _, id := range []string{"a", "b"} {
			p.must(p.add(org, id, id))
		}
		r := storetest.Request(time.Now())
		_, err = newProcess(t, storetest.Killed(t, tb, after), time.Now).DeleteFolder(t.Context(), r, org, "a")
		if _, again := p.DeleteFolder(t.Context(), storetest.Again(r), org, "a"); again != nil {
			t.Errorf("killed after %d requests: %v", after, again)
		}
		if list, _, _, listing := p.ListDocuments(t.Context(), org, "", "", 0); listing != nil || len(list) > 0 {
			t.Errorf("killed after %d requests, %v are left, %v", after, list, listing)
		}
		if err == nil {
			return
		}
	}
}

// TestDeleteNotifications deletes more notifications than a call does, of a document or from an
// inbox. A job deletes the rest, except those added since. A repeat gives the same answer, and
// after all jobs nothing remains.
func TestDeleteNotifications(t *testing.T) {
	for name, of := range map[string]func(doc collab.DocumentRef) (q collab.NotificationQuery){
		"of a document":   func(doc collab.DocumentRef) (q collab.NotificationQuery) { q.Of = doc; return q },
		"out of an inbox": func(collab.DocumentRef) (q collab.NotificationQuery) { q.User = "bob"; return q },
	} {
		t.Run(name, func(t *testing.T) {
			tb := storetest.New(t)
			p := newProcess(t, tb, time.Now)
			const most = 40
			p.Bound(most, most)
			doc, err := p.open()
			p.must(err)
			org, q, empty := doc.OrganizationRef, of(doc), below(t, tb)
			tell := func(i int) error {
				n := collab.Notification{ID: fmt.Sprintf("n%04d", i), DocumentID: "plan", Incarnation: doc.Incarnation, CreatedAt: collab.Millis(1_000 + i)}
				_, err := p.Inbox.Derive(t.Context(), org, n, []string{"bob"})
				p.must(err)
				p.must(p.Inbox.AddToInbox(t.Context(), org, n, storetest.Placed("bob")))
				return nil
			}
			const all = most + 30
			store.All(all, tell)
			r := storetest.Request(time.Now())
			delete := func(req *request.Request, q collab.NotificationQuery) (ids []string, job string) {
				t.Helper()
				ids, errs, job, err := p.DeleteNotifications(t.Context(), req, org, q)
				for _, err := range append(errs, err) {
					p.must(err)
				}
				return ids, job
			}
			ids, job := delete(r, q)
			if len(ids) != most || ids[0] != fmt.Sprintf("n%04d", all-1) || ids[most-1] != "n0030" {
				t.Errorf("%d are deleted, the first is %s, the last %s", len(ids), ids[0], ids[len(ids)-1])
			}
			tell(all)
			if again, _ := delete(storetest.Again(r), q); !slices.Equal(again, ids) {
				t.Errorf("again: %d", len(again))
			}
			p.run(job)
			list, next, err := p.Inbox.Notifications(t.Context(), org, q, "", 100)
			if err != nil || len(list) != 1 || list[0].ID != fmt.Sprintf("n%04d", all) || next != "" {
				t.Errorf("there are %d, %v", len(list), err)
			}
			for range 2 { // those deleted only from an inbox still exist
				delete(storetest.Request(time.Now()), collab.NotificationQuery{Of: doc})
			}
			p.runAll()
			if diff := cmp.Diff(empty, below(t, tb)); diff != "" {
				t.Errorf("(- before, + after)\n%s", diff)
			}
		})
	}
}

// TestDeletionThatDied kills a process before each call of a deletion, and runs the job: the data
// is complete then. A repeat deletes it, and the job sweeps it.
func TestDeletionThatDied(t *testing.T) {
	for name, remove := range map[string]func(p *process, req *request.Request, doc collab.DocumentRef) error{
		"document": func(p *process, req *request.Request, doc collab.DocumentRef) error {
			errs := make([]error, 1)
			_, err := p.DeleteDocuments(p.Context(), req, doc.OrganizationRef, []string{"plan"}, errs)
			return errors.Join(err, errs[0])
		},
		"organization": func(p *process, req *request.Request, _ collab.DocumentRef) error {
			errs := make([]error, 1)
			_, err := p.DeleteOrganizations(p.Context(), req, []string{"acme"}, errs)
			return errors.Join(err, errs[0])
		},
		"annotation": func(p *process, req *request.Request, doc collab.DocumentRef) error {
			_, errs, err := p.threads.DeleteAnnotations(p.Context(), req, doc, []string{"a"}, collab.AnnotationDeletion{})
			return errors.Join(append(errs, err)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for calls, alive := 0, true; alive; calls++ {
				tb := storetest.New(t)
				p := newProcess(t, tb, time.Now)
				doc, err := p.open()
				p.must(err)
				before := len(below(t, tb))
				p.must(p.thread(doc, "a"))
				full := len(below(t, tb))
				r := storetest.Request(p.Now())
				alive = remove(newProcess(t, storetest.Killed(t, tb, calls), time.Now), r, doc) != nil
				run := func() {
					_, err := p.later(outbox.SweepAfter+time.Second).runJob(t.Context(), r.JobID())
					p.must(err)
				}
				run()
				if n := len(below(t, tb)); alive && n != full && n > before {
					t.Errorf("died before call %d: %d items are left of %d", calls+1, n, full)
				}
				p = newProcess(t, tb, time.Now)
				p.must(remove(p, storetest.Again(r), doc))
				run()
				if n := len(below(t, tb)); n > before || n > 0 && name == "organization" {
					t.Errorf("died before call %d: after the repeat %d items are left", calls+1, n)
				}
			}
		})
	}
}

// TestDeleteOfAgents deletes more annotations of an agent than a request does. The job completes
// though each message arrives twice, and the processes die later each time. It keeps those of
// others and later ones.
func TestDeleteOfAgents(t *testing.T) {
	for name, locations := range map[string][]string{"of a document": nil, "at places": {"l"}} {
		t.Run(name, func(t *testing.T) {
			tb := storetest.New(t)
			const most = 20
			p := newProcess(t, tb, time.Now)
			if p.threads.MaxDeleted != 1_000 {
				t.Errorf("a request deletes %d annotations that it does not name", p.threads.MaxDeleted)
			}
			p.threads.MaxDeleted = most
			doc, err := p.open()
			p.must(err)
			add := func(prefix, agent string, n int) (ids []string) {
				list := make([]*collab.Thread, n)
				for i := range list {
					list[i] = storetest.Thread(fmt.Sprintf("%s%04d", prefix, i), "bot", 1)
					list[i].Location, list[i].LocationID = collab.JSON(`{"id":"l"}`), "l"
					storetest.ByAgent(list[i], fmt.Sprintf(`{"agentId":%q}`, agent))
					ids = append(ids, list[i].ID)
				}
				for _, err := range p.threads.AddAnnotations(t.Context(), storetest.Request(p.Now()), doc, list, make([]collab.NewAnnotation, n)) {
					p.must(err)
				}
				return ids
			}
			others := add("a", "other", 10)
			add("b", "linter", most+10)
			others = append(others, add("c", "other", 10)...)
			r := storetest.Request(p.Now())
			d := collab.AnnotationDeletion{Selector: collab.Selector{Agent: &collab.AgentFilter{ID: "linter"}, Locations: locations}}
			ids, errs, err := p.threads.DeleteAnnotations(t.Context(), r, doc, nil, d)
			p.must(errors.Join(append(errs, err)...))
			if len(ids) != most {
				t.Errorf("the request deleted %d", len(ids))
			}
			others = append(others, add("d", "linter", 3)...)
			died := 0
			for calls, alive := 0, true; alive; calls += 3 {
				var messages [2]error
				store.All(len(messages), func(i int) error {
					dying := newProcess(t, storetest.Killed(t, tb, calls), time.Now)
					dying.threads.MaxDeleted = most
					_, messages[i] = dying.runJob(context.Background(), r.JobID())
					return nil
				})
				if alive = messages[0] != nil || messages[1] != nil; alive {
					died++
				}
			}
			p.run(r.JobID())
			left, err := p.threads.Select(t.Context(), doc, collab.Selector{}, collab.MaxDeleted)
			if err != nil || !slices.Equal(left, others) || died < 5 {
				t.Errorf("after %d deaths, %d are left, want %d; %v", died, len(left), len(others), err)
			}
		})
	}
}
