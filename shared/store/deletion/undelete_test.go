package deletion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/deletion"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/interleave"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
)

const undelete = 24 * time.Hour

// data are the items of a table that operations work on, by key, but jobs, events, and counts of changes with who made them.
func data(t *testing.T, tb *store.Table) map[string]string {
	t.Helper()
	others := regexp.MustCompile(`^(DUE|A#acct#(JOB|EVT)#)`)
	all := map[string]string{}
	pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(storetest.Config(t)), &dynamodb.ScanInput{TableName: aws.String(tb.Name())})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			k := store.Item(it).Key()
			for _, name := range []string{keys.Writer, keys.Rev, keys.Deletion} {
				delete(it, name)
			}
			text, err := json.Marshal(it)
			if err != nil {
				t.Fatal(err)
			}
			if !others.MatchString(k.PK) && k.SK != "TREE" {
				all[k.String()] = string(text)
			}
		}
	}
	return all
}

// world is an organization with what operations put into it, and some of that deleted, on a clock of the test.
type world struct {
	*process
	table *store.Table
	now   time.Time
	org   collab.OrganizationRef
	doc   collab.DocumentRef
}

func newWorld(t *testing.T, tb *store.Table) *world {
	w := &world{table: tb, now: time.Now()}
	w.process = w.on(t, w.table)
	w.fill()
	return w
}

// on is another process of the world.
func (w *world) on(t *testing.T, tb *store.Table) *process {
	return newProcess(t, tb, func() time.Time { return w.now }, undelete)
}

func (w *world) request() *request.Request { return storetest.Request(w.now) }

// fill adds the document plan in folder g in folder f in the organization acme, with threads of which one is deleted, and with grants and
// preferences; and a document in g that is deleted alone.
func (w *world) fill() {
	ctx := w.Context()
	var err error
	w.org, err = w.OpenOrCreateOrganization(ctx, "acct", "acme", true)
	w.must(err)
	for _, err := range w.AddFolders(ctx, w.request(), w.org, []collab.Folder{
		{ID: "f", Parent: collab.RootFolder, Access: collab.AccessRestricted}, {ID: "g", Parent: "f"}, {ID: "h", Parent: "g"},
	}) {
		w.must(err)
	}
	for id, folder := range map[string]string{"plan": "g", "gone": "g", "other": "f"} {
		w.must(w.add(w.org, folder, id))
	}
	w.doc, err = w.open()
	w.must(err)
	for _, id := range []string{"a", "b", "gone"} {
		w.must(w.thread(w.doc, id))
	}
	_, errs, err := w.threads.DeleteAnnotations(ctx, w.request(), w.doc, []string{"gone"}, collab.AnnotationDeletion{})
	w.must(err)
	w.must(errs[0])
	folder, err := w.OpenFolder(ctx, w.request(), w.org, "f", false)
	w.must(err)
	w.must(w.AddGrants(ctx, w.request(), "ann", []collab.Resource{
		{OrganizationRef: w.org, Folder: folder}, {OrganizationRef: w.org, Document: w.doc},
	}, make([]collab.Grant, 2)))
	of := collab.Resource{OrganizationRef: w.org}
	w.must(w.ChangeMembers(ctx, w.request(), of, []string{"bob"}, true, func(int, *collab.Member) {})[0])
	w.must(w.ChangeMembers(ctx, w.request(), of, []string{"cid"}, true, func(int, *collab.Member) {})[0])
	w.must(w.DeleteMembers(ctx, w.request(), of, []string{"cid"})[0])
	w.must(w.SetPreferences(ctx, w.org, []string{"bob"}, []string{"plan"}, collab.Preferences{Inbox: collab.PreferNone}))
	w.must(w.delete("document", "gone", w.request()))
}

// delete deletes something by a request.
func (w *world) delete(noun, id string, req *request.Request) (err error) {
	errs := make([]error, 1)
	switch noun {
	case "organization":
		_, err = w.DeleteOrganizations(w.Context(), req, []string{id}, errs)
	case "folder":
		_, err = w.DeleteFolder(w.Context(), req, w.org, id)
	case "document":
		_, err = w.DeleteDocuments(w.Context(), req, w.org, []string{id}, errs)
	}
	if err == nil {
		err = errs[0]
	}
	return err
}

// restore restores something by a process.
func (w *world) restore(p *process, noun, id string) (done deletion.Restored, err error) {
	switch noun {
	case "organization":
		return done, p.RestoreOrganization(p.Context(), "acct", id)
	case "folder":
		return p.RestoreFolder(p.Context(), w.org, id)
	}
	return done, p.RestoreDocument(p.Context(), w.org, id)
}

// run runs the job of a request to its end, at a time after its deletion, and returns how many items it swept.
func (w *world) run(req *request.Request) int64 {
	w.Helper()
	if next, err := w.RunJob(w.Context(), "acct", req.JobID()); err != nil || next != 0 {
		w.Fatalf("the job goes on at %d: %v", next, err)
	}
	p, err := w.Outbox.JobProgress(w.Context(), "acct", req.JobID())
	if err != nil || p.State != collab.JobDone {
		w.Fatalf("the job: %+v, %v", p, err)
	}
	return p.Done
}

var nouns = map[string]string{"organization": "acme", "folder": "f", "document": "plan"}

// TestRestore deletes each kind of thing and restores it, by a process that dies after each of its requests and by another after it: all
// is as it was, what was deleted singly stays deleted, and the deletion's job, and a repeat of it, do nothing.
func TestRestore(t *testing.T) {
	for noun, id := range nouns {
		t.Run(noun, func(t *testing.T) {
			storetest.OnEach(t, func(t *testing.T, tb *store.Table) {
				w := newWorld(t, tb)
				before := data(t, w.table)
				for after := 0; ; after++ {
					r := w.request()
					w.must(w.delete(noun, id, r))
					if _, err := w.OpenDocument(t.Context(), "acct", "acme", "plan", collab.CreateFlags{}); collab.CodeOf(err) != collab.NotFound {
						t.Fatalf("after its deletion: %v", err)
					}
					if noun != "organization" {
						if list, _, _, err := w.ListDocuments(t.Context(), w.org, "g", "", 0); err != nil || len(list) > 0 {
							t.Errorf("listed %v, %v", list, err)
						}
					}
					_, killed := w.restore(w.on(t, storetest.Killed(t, w.table, after)), noun, id)
					if _, err := w.restore(w.process, noun, id); err != nil {
						t.Fatalf("killed after %d requests: %v", after, err)
					}
					if diff := cmp.Diff(before, data(t, w.table)); diff != "" {
						t.Fatalf("killed after %d requests: %s", after, diff)
					}
					w.must(w.delete(noun, id, storetest.Again(r)))
					w.now = w.now.Add(undelete + outbox.SweepAfter)
					if n := w.run(r); n > 0 {
						t.Errorf("its job swept %d items", n)
					}
					if diff := cmp.Diff(before, data(t, w.table)); diff != "" {
						t.Fatalf("after its job: %s", diff)
					}
					if killed == nil {
						break
					}
				}
				if may, err := w.MaySee(t.Context(), w.doc, "", []string{"ann", "bob"}); err != nil || !may["ann"] || may["bob"] {
					t.Errorf("%v may see it, %v", may, err)
				}
			})
		})
	}
}

// TestNotRestored holds what cannot be restored, and why.
func TestNotRestored(t *testing.T) {
	for noun, id := range nouns {
		t.Run(noun, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, storetest.New(t))
			fails := func(id string, code collab.Code, why string) {
				t.Helper()
				before := data(t, w.table)
				if _, err := w.restore(w.process, noun, id); collab.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), why) {
					t.Errorf("%s: %v, want %s: %s", id, err, code, why)
				}
				if diff := cmp.Diff(before, data(t, w.table)); diff != "" {
					t.Error(diff)
				}
			}
			add := func() {
				t.Helper()
				w.now = w.now.Add(directory.CacheTTL + 2*time.Second)
				switch noun {
				case "folder":
					_, err := w.OpenFolder(t.Context(), w.request(), w.org, id, true)
					w.must(err)
				default:
					_, err := w.open()
					w.must(err)
				}
			}
			fails("none", collab.NotFound, "there was none")
			fails(id, collab.FailedPrecondition, "is not deleted")
			r := w.request()
			w.must(w.delete(noun, id, r))
			w.now = w.now.Add(undelete + time.Millisecond)
			fails(id, collab.FailedPrecondition, "is over")
			w.now = w.now.Add(-2 * time.Millisecond)
			_, err := w.restore(w.process, noun, id)
			w.must(err)
			w.must(w.delete(noun, id, w.request()))
			add()
			fails(id, collab.FailedPrecondition, "once an id is added again")
			again := w.request()
			w.must(w.delete(noun, id, again))
			w.now = w.now.Add(undelete + outbox.SweepAfter)
			w.run(again)
			fails(id, collab.NotFound, "nothing is left")
			if noun == "organization" {
				w.run(r)
				if left := data(t, w.table); len(left) != 0 {
					t.Errorf("%v is left", left)
				}
			}
			p := newProcess(t, w.table, func() time.Time { return w.now }, 0) // where nothing can be restored
			w.Store = p.Store
			add()
			w.must(w.delete(noun, id, w.request()))
			fails(id, collab.FailedPrecondition, "is over")
		})
	}
}

// pausing is a client of an actor that pauses before the calls about an item.
type pausing struct {
	actor *interleave.Actor
	about string
	next  aws.HTTPClient
}

func (p pausing) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(body, []byte(p.about)) && !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "Query") {
		p.actor.Pause()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return p.next.Do(r)
}

// TestRestoreMeetsSweep restores things while their job begins, in each order of their calls about its item: either everything is there, or
// nothing.
func TestRestoreMeetsSweep(t *testing.T) {
	about := map[string]string{"organization": `"ORG#acme"`, "folder": `"FLD#h"`, "document": `"DOC#plan"`}
	for noun, id := range map[string]string{"organization": "acme", "folder": "h", "document": "plan"} {
		t.Run(noun, func(t *testing.T) {
			t.Parallel()
			restored := 0
			tried := interleave.Orders(func(choose func(int) int) {
				w := newWorld(t, storetest.New(t))
				before := data(t, w.table)
				r := w.request()
				w.must(w.delete(noun, id, r))
				through := func(a *interleave.Actor, ahead time.Duration) *process {
					tb := storetest.Through(t, w.table, func(next aws.HTTPClient) aws.HTTPClient { return pausing{a, about[noun], next} })
					return newProcess(t, tb, func() time.Time { return w.now.Add(ahead) }, undelete)
				}
				restore := interleave.Start(math.MaxInt, func(a *interleave.Actor) error {
					_, err := w.restore(through(a, 0), noun, id)
					return err
				})
				sweep := interleave.Start(math.MaxInt, func(a *interleave.Actor) error {
					_, err := through(a, undelete+outbox.SweepAfter).RunJob(t.Context(), "acct", r.JobID())
					return err
				})
				interleave.Run(choose, nil, restore, sweep)
				w.must(sweep.Err)
				w.now = w.now.Add(undelete + outbox.SweepAfter)
				w.run(r)
				if restore.Err == nil {
					restored++
					if diff := cmp.Diff(before, data(t, w.table)); diff != "" {
						t.Error(diff)
					}
					return
				}
				if !strings.Contains(restore.Err.Error(), "is over") && !strings.Contains(restore.Err.Error(), "nothing is left") {
					t.Error(restore.Err)
				}
				if it, err := w.Get(t.Context(), keys.Thing(w.org, collab.Thing(noun), id)); it != nil || err != nil {
					t.Errorf("%v is left, %v", it, err)
				}
			})
			if restored == 0 || restored == tried {
				t.Errorf("restored in %d of %d orders", restored, tried)
			}
		})
	}
}

// TestRestoreFolderInPart holds that what was added again stays as it is, and what lay in it stays deleted; that a document waits for its
// folder; and that grants on a folder are none on the one that was added under its id.
func TestRestoreFolderInPart(t *testing.T) {
	w := newWorld(t, storetest.New(t))
	ctx := t.Context()
	w.must(w.delete("folder", "f", w.request()))
	if _, err := w.restore(w.process, "document", "plan"); collab.CodeOf(err) != collab.FailedPrecondition ||
		!strings.Contains(err.Error(), `folder "g"`) {
		t.Errorf("a document without its folder: %v", err)
	}
	if _, err := w.restore(w.process, "folder", "g"); collab.CodeOf(err) != collab.FailedPrecondition ||
		!strings.Contains(err.Error(), `folder "f"`) {
		t.Errorf("a folder without its own: %v", err)
	}
	_, err := w.OpenFolder(ctx, w.request(), w.org, "g", true)
	w.must(err)
	done, err := w.restore(w.process, "folder", "f")
	if want := (deletion.Restored{Folders: 1, Documents: 1, Left: 2}); err != nil || done != want { // plan and h lay in g
		t.Errorf("%+v, %v", done, err)
	}
	_, err = w.restore(w.process, "document", "plan") // into the new g, as the operator says so
	w.must(err)
	if list, _, _, err := w.ListDocuments(ctx, w.org, "g", "", 0); err != nil || len(list) != 1 || list[0] != w.doc {
		t.Errorf("%v, %v", list, err)
	}

	w.must(w.delete("folder", "f", w.request()))
	for _, err := range w.AddFolders(ctx, w.request(), w.org, []collab.Folder{{ID: "f", Parent: collab.RootFolder, Access: collab.AccessRestricted}}) {
		w.must(err)
	}
	again, err := w.Standings(ctx, w.org, "", []string{"ann"}, []string{"f"}, nil)
	if err != nil || again.Folders["f"].Of("ann").Grant(w.now.UnixMilli()) != nil {
		t.Errorf("%+v, %v", again.Folders["f"], err)
	}
}

// TestJobsOfTwoDeletions: the job of a deletion that was undone leaves the next one its time, and each job sweeps its own incarnation, in
// whatever order they run.
func TestJobsOfTwoDeletions(t *testing.T) {
	w := newWorld(t, storetest.New(t))
	before := data(t, w.table)
	first := w.request()
	w.must(w.delete("document", "plan", first))
	_, err := w.restore(w.process, "document", "plan")
	w.must(err)
	w.now = w.now.Add(undelete / 2)
	w.must(w.delete("document", "plan", w.request()))
	w.now = w.now.Add(undelete/2 + outbox.SweepAfter)
	w.run(first)
	_, err = w.restore(w.process, "document", "plan")
	w.must(err)
	if diff := cmp.Diff(before, data(t, w.table)); diff != "" {
		t.Error(diff)
	}

	var all []*request.Request
	remove := func(noun, id string) {
		all = append(all, w.request())
		w.must(w.delete(noun, id, all[len(all)-1]))
		w.now = w.now.Add(directory.CacheTTL + 2*time.Second)
	}
	remove("organization", "acme")
	for range 2 {
		doc, err := w.open()
		w.must(err)
		w.org = doc.OrganizationRef
		w.must(w.thread(doc, "a"))
		remove("document", "plan")
	}
	remove("organization", "acme")
	w.now = w.now.Add(undelete + outbox.SweepAfter)
	for _, r := range all[1:] {
		w.run(r)
	}
	w.run(all[0])
	if left := data(t, w.table); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
