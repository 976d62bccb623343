package deletion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/storetest"
)

// through returns a process like p that reports its calls before they are made.
func (p *process) through(call func(name, body string) *http.Response) *process {
	return newProcess(p.T, storetest.Watched(p.T, p.Table, call), p.Now)
}

func marks(body, sk string) bool {
	return strings.Contains(body, `"`+sk+`"`) && strings.Contains(body, `":`+keys.DeletedAt+`"`)
}

// secret adds the organization acme with the member mallory, and the restricted folder secret in
// it.
func (p *process) secret() collab.OrganizationRef {
	p.Helper()
	org, err := p.OpenOrCreateOrganization(p.Context(), "acct", "acme", true)
	p.must(err)
	p.must(p.AddFolders(p.Context(), storetest.Request(p.Now()), org, []collab.Folder{
		{ID: "secret", Parent: collab.RootFolder, Access: collab.AccessRestricted},
	})[0])
	in := collab.Resource{OrganizationRef: org}
	p.must(p.ChangeMembers(p.Context(), storetest.Request(p.Now()), in, []string{"mallory"}, true, func(int, *collab.Member) {})[0])
	return org
}

// gone checks that documents and folders of an organization do not exist.
func (p *process) gone(org collab.OrganizationRef, documents, folders []string) {
	p.Helper()
	if list, err := p.DocumentsByID(p.Context(), org, documents); err != nil || len(list) > 0 {
		p.Errorf("of the documents there are %+v, %v", list, err)
	}
	if tree, err := p.FoldersAbove(p.Context(), org, folders); err != nil || len(tree) > 0 {
		p.Errorf("of the folders there are %+v, %v", tree, err)
	}
}

// TestFolderTakesAllAlong deletes a folder while others add to it and move into it, before each of
// the deletion's calls, with an outdated index. Everything that they added without an error is
// deleted.
func TestFolderTakesAllAlong(t *testing.T) {
	for at := int64(1); ; at++ {
		tb := storetest.New(t)
		p := newProcess(t, tb, time.Now)
		org := p.secret()
		p.must(p.add(org, "secret", "first"))
		p.must(p.AddFolders(t.Context(), storetest.Request(time.Now()), org, []collab.Folder{{ID: "elsewhere", Parent: collab.RootFolder}})[0])
		p.must(p.add(org, "elsewhere", "inside"))
		p.must(p.AddDocuments(t.Context(), storetest.Request(time.Now()), org, collab.RootFolder, []string{"moved"},
			func(int, *collab.Document) error { return nil })[0])
		meanwhile := map[string]func() error{
			"DOC#late": func() error { return p.add(org, "secret", "late") },
			"DOC#moved": func() error {
				return p.MoveDocuments(t.Context(), storetest.Request(time.Now()), org, "secret", []string{"moved"})[0]
			},
			"FLD#child": func() error {
				return p.AddFolders(t.Context(), storetest.Request(time.Now()), org, []collab.Folder{{ID: "child", Parent: "secret"}})[0]
			},
			"FLD#elsewhere": func() error {
				return p.ChangeFolder(t.Context(), storetest.Request(time.Now()), org, "elsewhere", func(f *collab.Folder) { f.Parent = "secret" })
			},
		}
		var calls atomic.Int64
		documents, folders := []string{"first"}, []string{"secret"}
		deleting := p.through(func(name, body string) *http.Response {
			if calls.Add(1) == at {
				for sk, do := range meanwhile {
					switch err := do(); {
					case err == nil && sk[:4] == keys.Documents:
						documents = append(documents, sk[4:])
					case err == nil:
						folders = append(folders, sk[4:])
					case collab.CodeOf(err) != collab.NotFound:
						t.Errorf("before call %d, %s: %v", at, sk, err)
					}
				}
			}
			if name == "Query" && strings.Contains(body, keys.IndexIn) {
				return storetest.Answer(200, map[string]any{"Items": []any{}, "Count": 0, "ScannedCount": 0})
			}
			return nil
		})
		_, err := deleting.DeleteFolder(t.Context(), storetest.Request(time.Now()), org, "secret")
		p.must(err)
		if slices.Contains(folders, "elsewhere") {
			documents = append(documents, "inside")
		}
		p.gone(org, documents, folders)
		if calls.Load() < at {
			return
		}
	}
}

// TestFolderDeletedMeanwhile deletes a folder between the reads and the write of an addition or
// move: that fails.
func TestFolderDeletedMeanwhile(t *testing.T) {
	for name, into := range map[string]func(p *process, org collab.OrganizationRef) error{
		"document added": func(p *process, org collab.OrganizationRef) error { return p.add(org, "secret", "new") },
		"document moved": func(p *process, org collab.OrganizationRef) error {
			return p.MoveDocuments(p.Context(), storetest.Request(p.Now()), org, "secret", []string{"other"})[0]
		},
		"folder added": func(p *process, org collab.OrganizationRef) error {
			return p.AddFolders(p.Context(), storetest.Request(p.Now()), org, []collab.Folder{{ID: "new", Parent: "secret"}})[0]
		},
		"folder moved": func(p *process, org collab.OrganizationRef) error {
			return p.ChangeFolder(p.Context(), storetest.Request(p.Now()), org, "other", func(f *collab.Folder) { f.Parent = "secret" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, storetest.New(t), time.Now)
			org := p.secret()
			p.must(p.AddFolders(t.Context(), storetest.Request(time.Now()), org, []collab.Folder{{ID: "other", Parent: collab.RootFolder}})[0])
			p.must(p.AddDocuments(t.Context(), storetest.Request(time.Now()), org, collab.RootFolder, []string{"other"},
				func(int, *collab.Document) error { return nil })[0])
			var once sync.Once
			err := into(p.through(func(name, _ string) *http.Response {
				if name == "TransactWriteItems" {
					once.Do(func() {
						_, err := p.DeleteFolder(context.Background(), storetest.Request(time.Now()), org, "secret")
						p.must(err)
					})
				}
				return nil
			}), org)
			if collab.CodeOf(err) != collab.NotFound {
				t.Errorf("%v", err)
			}
			p.gone(org, []string{"new"}, []string{"new", "secret"})
		})
	}
}

// TestFolderOfMany deletes a folder with more documents than a request deletes. The job deletes the
// rest; until then the folder's id is reserved, and only grants give access to the rest.
func TestFolderOfMany(t *testing.T) {
	tb := storetest.New(t)
	now := time.Now()
	p := newProcess(t, tb, func() time.Time { return now })
	org := p.secret()
	var documents []string
	for i := range 6 {
		documents = append(documents, fmt.Sprint("d", i))
		p.must(p.add(org, "secret", documents[i]))
	}
	dying := p.through(func(_, body string) *http.Response {
		if marks(body, "DOC#d5") {
			return storetest.Answer(400, storetest.Failure("ValidationException"))
		}
		return nil
	})
	r := storetest.Request(now)
	if _, err := dying.DeleteFolder(collab.WithRequestID(t.Context(), "the request"), r, org, "secret"); err == nil {
		t.Fatal("it did not die")
	}
	if len(jobs(r)) != 1 {
		t.Errorf("jobs to send: %v", jobs(r))
	}
	if _, err := p.DeleteFolder(t.Context(), storetest.Request(now), org, "secret"); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("deleted by another request: %v", err)
	}
	left, err := p.DocumentsByID(t.Context(), org, documents)
	p.must(err)
	if len(left) == 0 {
		t.Fatal("none is left")
	}
	of, err := p.Standings(t.Context(), org, collab.StandingQuery{
		Users: []string{"mallory"}, Documents: []collab.DocumentRef{left[0].Ref(org)}, Default: collab.AccessPublic,
	})
	p.must(err)
	if of.Documents[0][0].Grant(now.UnixMilli()) != nil {
		t.Error("mallory may see what is left")
	}
	again := func() error {
		return p.AddFolders(t.Context(), storetest.Request(now), org, []collab.Folder{{ID: "secret", Parent: collab.RootFolder}})[0]
	}
	if err := again(); collab.CodeOf(err) != collab.Unavailable {
		t.Errorf("added again: %v", err)
	}
	next, err := p.runJob(t.Context(), r.JobID())
	if sweepAt := now.Add(outbox.SweepAfter).UnixMilli(); err != nil || next != sweepAt {
		t.Errorf("the job goes on at %d, %v; want %d", next, err, sweepAt)
	}
	p.gone(org, documents, []string{"secret"})
	p.must(again())
}

// TestRepeatMeetsJob kills a deletion after it has stored its job, and repeats it when the job is
// due. The job runs before the repeat's mark: it waits again, and then sweeps everything.
func TestRepeatMeetsJob(t *testing.T) {
	for name, of := range map[string]struct {
		sk     string
		remove func(p *process, req *request.Request, doc collab.DocumentRef) error
	}{
		"document": {"DOC#plan", func(p *process, req *request.Request, doc collab.DocumentRef) error {
			errs := make([]error, 1)
			_, err := p.DeleteDocuments(p.Context(), req, doc.OrganizationRef, []string{"plan"}, errs)
			if err == nil {
				err = errs[0]
			}
			return err
		}},
		"annotation": {"ANN#a", func(p *process, req *request.Request, doc collab.DocumentRef) error {
			_, errs, err := p.threads.DeleteAnnotations(p.Context(), req, doc, []string{"a"}, collab.AnnotationDeletion{})
			if err == nil {
				err = errs[0]
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			p := newProcess(t, storetest.New(t), func() time.Time { return now })
			doc, err := p.open()
			p.must(err)
			p.must(p.thread(doc, "a"))
			r := storetest.Request(now)
			if of.remove(newProcess(t, storetest.Killed(t, p.Table, 2), p.Now), r, doc) == nil {
				t.Fatal("it did not die")
			}
			_, err = p.Outbox.Job(t.Context(), "acct", r.JobID())
			p.must(err)
			now = now.Add(outbox.SweepAfter + time.Second)
			ran := false
			repeat := p.through(func(name, body string) *http.Response {
				if name == "TransactWriteItems" && strings.Contains(body, `"`+of.sk+`"`) {
					ran = true
					_, err := p.runJob(context.Background(), r.JobID())
					p.must(err)
				}
				return nil
			})
			p.must(of.remove(repeat, storetest.Again(r), doc))
			now = now.Add(outbox.SweepAfter)
			if next, err := p.runJob(t.Context(), r.JobID()); err != nil || next != 0 || !ran {
				t.Errorf("the job goes on at %d, %v", next, err)
			}
			for _, k := range below(t, p.Table) {
				if strings.Contains(k, of.sk) || strings.Contains(k, "ANN#a") {
					t.Errorf("%s is stored", k)
				}
			}
		})
	}
}

// TestOldJob stops the first deletion's job during its sweep, while a second deletion of the id is
// swept and the id is added again. The first job deletes nothing of that. The reads of the last job
// do not grow with the number of deletions.
func TestOldJob(t *testing.T) {
	for name, remove := range map[string]func(p *process) string{
		"document": func(p *process) string {
			org, err := p.OpenOrganization(p.Context(), "acct", "acme")
			p.must(err)
			job, err := p.DeleteDocuments(p.Context(), storetest.Request(p.Now()), org, []string{"plan"}, make([]error, 1))
			p.must(err)
			return job
		},
		"organization": func(p *process) string {
			job, err := p.DeleteOrganizations(p.Context(), storetest.Request(p.Now()), []string{"acme"}, make([]error, 1))
			p.must(err)
			return job
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			p := newProcess(t, storetest.New(t), func() time.Time { return now })
			doc, err := p.open()
			p.must(err)
			p.must(p.thread(doc, "old"))
			first := remove(p)
			now = now.Add(directory.CacheTTL + 2*time.Second)
			_, err = p.open()
			p.must(err)
			second := remove(p)
			now = now.Add(outbox.SweepAfter)
			var once sync.Once
			var fresh collab.DocumentRef
			stalled := p.through(func(name, body string) *http.Response {
				if name == "Query" {
					once.Do(func() {
						_, err := p.runJob(context.Background(), second)
						p.must(err)
						fresh, err = p.open()
						p.must(err)
						p.must(p.thread(fresh, "new"))
					})
				}
				return nil
			})
			_, err = stalled.runJob(t.Context(), first)
			p.must(err)
			if _, err := p.threads.Head(t.Context(), fresh, "new"); err != nil || fresh.Incarnation == doc.Incarnation && name == "document" {
				t.Errorf("of what was added again, %+v: %v", fresh, err)
			}
			var queries [2]atomic.Int64
			for i, cycles := range []int{1, 5} {
				var last string
				for range cycles {
					_, err := p.open()
					p.must(err)
					last = remove(p)
					now = now.Add(directory.CacheTTL + 2*time.Second)
				}
				now = now.Add(outbox.SweepAfter)
				_, err := p.through(func(name, _ string) *http.Response {
					if name == "Query" {
						queries[i].Add(1)
					}
					return nil
				}).runJob(t.Context(), last)
				p.must(err)
			}
			if queries[0].Load() < queries[1].Load() {
				t.Errorf("the job after one cycle made %d queries, after five %d", queries[0].Load(), queries[1].Load())
			}
		})
	}
}

// TestLateRun: a slow run records its step after another has finished the job: the job stays done.
func TestLateRun(t *testing.T) {
	now := time.Now()
	p := newProcess(t, storetest.New(t), func() time.Time { return now })
	doc, err := p.open()
	p.must(err)
	_, err = p.OpenDocument(t.Context(), "acct", "acme", "other", collab.CreateFlags{Document: true})
	p.must(err)
	job, err := p.DeleteDocuments(t.Context(), storetest.Request(now), doc.OrganizationRef, []string{"plan", "other"}, make([]error, 2))
	p.must(err)
	now = now.Add(outbox.SweepAfter)
	var once sync.Once
	late := p.through(func(name, body string) *http.Response {
		if name == "UpdateItem" && strings.Contains(body, "PROGRESS") {
			once.Do(func() {
				_, err := p.runJob(context.Background(), job)
				p.must(err)
			})
		}
		return nil
	})
	if next, err := late.runJob(t.Context(), job); err != nil || next != 0 {
		t.Errorf("the late run: %d, %v", next, err)
	}
	done, err := p.Outbox.Task(t.Context(), outbox.JobTask("acct", job))
	p.must(err)
	if progress, err := outbox.ProgressOf(done); err != nil || progress.State != collab.JobDone || done.Expires == 0 {
		t.Errorf("%+v, %+v, %v", done, progress, err)
	}
}

// TestPreferenceBeforeDocument: a preference for a missing document applies to the document that is
// added later, also after the sweep. A preference for the deleted document does not.
func TestPreferenceBeforeDocument(t *testing.T) {
	now := time.Now()
	p := newProcess(t, storetest.New(t), func() time.Time { return now })
	doc, err := p.open()
	p.must(err)
	set := func(user string) {
		p.must(p.SetPreferences(t.Context(), doc.OrganizationRef, []string{user}, []string{"plan"}, collab.Preferences{Email: collab.PreferNone}))
	}
	set("old")
	job, err := p.DeleteDocuments(t.Context(), storetest.Request(now), doc.OrganizationRef, []string{"plan"}, make([]error, 1))
	p.must(err)
	set("new")
	p.run(job)
	now = now.Add(directory.CacheTTL + 2*time.Second)
	doc, err = p.open()
	p.must(err)
	of, err := p.UserPreferences(t.Context(), doc, []string{"old", "new"})
	if err != nil || of["old"].Document.Email == collab.PreferNone || of["new"].Document.Email != collab.PreferNone {
		t.Errorf("%+v, %v", of, err)
	}
	if len(slices.DeleteFunc(below(t, p.Table), func(k string) bool { return !strings.Contains(k, "#CFG ") })) != 1 {
		t.Errorf("stored: %v", below(t, p.Table))
	}
}

// TestStaleRead: a process caches a read from a replica that is a second old. Nothing is added
// again before the cache expires.
func TestStaleRead(t *testing.T) {
	now := time.Now()
	here := newProcess(t, storetest.New(t), func() time.Time { return now })
	doc, err := here.open()
	here.must(err)
	var replica atomic.Pointer[json.RawMessage]
	there := here.through(func(name, body string) *http.Response {
		if name == "BatchGetItem" && replica.Load() != nil && !strings.Contains(body, `"ConsistentRead":true`) {
			return storetest.Answer(200, *replica.Load())
		}
		return nil
	})
	item := func(k keys.Key, incarnation int64) string {
		return fmt.Sprintf(`{"pk":{"S":%q},"sk":{"S":%q},"inc":{"N":"%d"}}`, k.PK, k.SK, incarnation)
	}
	stale := json.RawMessage(fmt.Sprintf(`{"Responses":{%q:[%s,%s]},"UnprocessedKeys":{}}`, here.Table.Name(),
		item(keys.Organization("acct", "acme"), doc.OrganizationRef.Incarnation), item(keys.Document(doc.OrganizationRef, "plan"), doc.Incarnation)))
	_, err = here.DeleteDocuments(t.Context(), storetest.Request(now), doc.OrganizationRef, []string{"plan"}, make([]error, 1))
	here.must(err)
	now = now.Add(999 * time.Millisecond)
	replica.Store(&stale)
	old, err := there.OpenDocument(t.Context(), "acct", "acme", "plan", collab.CreateFlags{})
	here.must(err)
	replica.Store(nil)
	if old != doc {
		t.Fatalf("%+v was read", old)
	}
	fresh, err := here.open()
	for waited := 0; collab.CodeOf(err) == collab.Unavailable && waited < 200; waited++ {
		now = now.Add(50 * time.Millisecond)
		fresh, err = here.open()
	}
	here.must(err)
	if again, err := there.OpenDocument(t.Context(), "acct", "acme", "plan", collab.CreateFlags{}); err != nil || again != fresh {
		t.Errorf("it has %+v, %v; there is %+v", again, err, fresh)
	}
}

// TestJobOnNotificationsKeepsItsPlace deletes more notifications from an inbox than a call does:
// each step of the job continues after the last one, also in another process.
func TestJobOnNotificationsKeepsItsPlace(t *testing.T) {
	p := newProcess(t, storetest.New(t), time.Now)
	p.Bound(5, 5)
	doc, err := p.open()
	p.must(err)
	store.All(30, func(i int) error {
		p.tell(doc, fmt.Sprint("n", i))
		return nil
	})
	q := collab.NotificationQuery{NotificationFilter: collab.NotificationFilter{User: "bob"}}
	r := storetest.Request(time.Now())
	ids, _, job, err := p.DeleteNotifications(t.Context(), r, doc.OrganizationRef, q)
	if err != nil || len(ids) != 5 || len(jobs(r)) != 1 {
		t.Fatalf("%v, %v, jobs to send: %v", ids, err, jobs(r))
	}
	var reads []int // of each run
	for n := 0; ; n++ {
		var count atomic.Int64
		var noted atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		step := p.through(func(name, body string) *http.Response {
			if noted.Load() {
				cancel() // the run dies after its first step
			}
			if name == "Query" || name == "BatchGetItem" {
				count.Add(1)
			}
			if name == "UpdateItem" && strings.Contains(body, "PROGRESS") {
				noted.Store(true)
			}
			return nil
		})
		step.Bound(5, 5)
		next, err := step.runJob(ctx, job)
		cancel()
		if reads = append(reads, int(count.Load())); err == nil && next == 0 {
			break
		}
		if n > 10 {
			t.Fatalf("it never ends: %v", reads)
		}
	}
	if slices.Max(reads) > 2*slices.Min(reads)+5 {
		t.Errorf("the runs made these reads: %v", reads)
	}
	list, _, err := p.Inbox.Notifications(t.Context(), doc.OrganizationRef, q, "", 100)
	if err != nil || len(list) > 0 {
		t.Errorf("there are %d, %v", len(list), err)
	}
}

// TestRestartedMeanwhile checks that a run of a job leaves the job as a request that restarts it
// during the run stores it.
func TestRestartedMeanwhile(t *testing.T) {
	p := newProcess(t, storetest.New(t), time.Now)
	job := outbox.Job{ID: "j", Account: "acct", In: collab.OrganizationRef{Account: "acct", Organization: "acme"}, SweepAt: p.Now().UnixMilli(),
		Things: []outbox.JobThing{{Kind: collab.ADocument, ID: "gone"}}}
	_, _, err := p.Outbox.AddJob(t.Context(), job)
	p.must(err)
	restarted := job
	restarted.SweepAt += time.Hour.Milliseconds()
	var once sync.Once
	run := p.through(func(name, body string) *http.Response {
		if name == "UpdateItem" && strings.Contains(body, "#TASK#job#") { // its step is stored
			once.Do(func() {
				_, _, err := p.Outbox.AddJob(t.Context(), restarted)
				p.must(err)
			})
		}
		return nil
	})
	_, err = run.Outbox.Run(t.Context(), outbox.JobTask("acct", "j"), 0, run.RunJob)
	p.must(err)
	if got, err := p.Outbox.Job(t.Context(), "acct", "j"); err != nil || got.SweepAt != restarted.SweepAt {
		t.Errorf("%+v, %v", got, err)
	}
	if task, err := p.Outbox.Task(t.Context(), outbox.JobTask("acct", "j")); err != nil || task.Due != restarted.SweepAt {
		t.Errorf("%+v, %v", task, err)
	}
}
