package removal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/removal"
	"collabdata/shared/store/threads"
	"collabdata/shared/table"
	"collabdata/shared/testing/storetest"
)

// process is the stores as one process has them, on a clock of the test.
type process struct {
	*testing.T
	*removal.Store
	threads *threads.Store
}

func newProcess(t *testing.T, tb *store.Table, now func() time.Time, undelete time.Duration) *process {
	tb = tb.At(now)
	d := directory.New(tb)
	o := outbox.New(tb, d)
	return &process{t, removal.New(d, o, undelete), threads.New(tb, d, o)}
}

func (p *process) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// open opens the document plan of the organization acme, and makes both where they are missing.
func (p *process) open() (collab.DocumentRef, error) {
	return p.OpenDocument(p.Context(), "acct", "acme", "plan", collab.CreateFlags{Organization: true, Document: true})
}

// thread adds a thread of a comment to a document.
func (p *process) thread(doc collab.DocumentRef, id string) error {
	text := "x"
	th := &collab.Thread{Annotation: collab.Annotation{ID: id, Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN", CreatedAt: 1, LastUpdated: 1},
		Comments: []collab.Comment{{ID: 1, Text: &text, From: collab.JSON(`{"userId":"u"}`), AuthorID: "u", CreatedAt: 1, LastUpdated: 1}}}
	return p.threads.AddAnnotation(p.Context(), storetest.Request(p.Now()), doc, th, collab.NewAnnotation{})
}

// below counts the items below the organization acme, whatever the incarnation, and its own.
func below(t *testing.T, tb *store.Table) (n int) {
	t.Helper()
	for _, incarnation := range []int{0, 1, 2} {
		org := collab.OrganizationRef{Account: "acct", Organization: "acme", Incarnation: incarnation}
		for _, doc := range []int{0, 1, 2} {
			d := org.Document("plan")
			d.Incarnation = doc
			for _, pk := range []string{table.DocumentPartition(d), table.PreferencePartition(d), table.SeenPartition(d), table.AnnotationIDPartition(org, "a")} {
				items, err := tb.Query(t.Context(), store.Scan{PK: pk, Keys: store.Everything, Strong: true})
				if err != nil {
					t.Fatal(err)
				}
				n += len(items)
			}
		}
		items, err := tb.Query(t.Context(), store.Scan{PK: table.OrganizationPartition(org), Keys: store.Everything, Strong: true})
		if err != nil {
			t.Fatal(err)
		}
		n += len(items)
	}
	it, err := tb.Get(t.Context(), table.Organization("acct", "acme"))
	if err != nil {
		t.Fatal(err)
	}
	if it != nil {
		n++
	}
	return n
}

// TestDeleteAndAddAgain deletes a document and its organization: at once out of reach here, within the belief elsewhere, not added again before that,
// then new and empty, and what the job sweeps is the old one alone.
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
			here, there := newProcess(t, tb, clock, 0), newProcess(t, tb, clock, 0)
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
				t.Errorf("a process that believes in it: %v", err)
			}
			now = now.Add(directory.Belief + time.Second)
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
			_, err = there.threads.Walk(t.Context(), again.OrganizationRef, collab.AnnotationQuery{}, nil, 10, func(id string, th *collab.Thread) bool {
				shown = append(shown, id)
				return true
			})
			here.must(err)
			if len(shown) != 1 {
				t.Errorf("the new one shows %v", shown)
			}
			for range 20 {
				here.must(here.threads.RunJob(t.Context(), "acct", job))
			}
			if p, err := here.Outbox.JobProgress(t.Context(), "acct", job); err != nil || p.State != collab.JobDone {
				t.Errorf("the job: %+v, %v", p, err)
			}
			if n := below(t, tb); n != 2+2+3 { // head, comment; organization, document; the look-up, three times counted
				t.Errorf("%d items are left", n)
			}
		})
	}
}

// TestSweptWhole deletes an organization with what it has, and finds nothing of it once the job is done.
func TestSweptWhole(t *testing.T) {
	tb := storetest.New(t)
	p := newProcess(t, tb, time.Now, 0)
	doc, err := p.open()
	p.must(err)
	for _, id := range []string{"a", "b", "c"} {
		p.must(p.thread(doc, id))
	}
	p.must(p.SetPreferences(context.Background(), doc.OrganizationRef, []string{"ann"}, []string{"plan"}, collab.Preferences{Inbox: collab.PreferNone}))
	job, err := p.DeleteOrganizations(t.Context(), storetest.Request(time.Now()), []string{"acme", "none"}, make([]error, 2))
	p.must(err)
	for range 20 {
		p.must(p.threads.RunJob(t.Context(), "acct", job))
	}
	if n := below(t, tb); n != 0 {
		t.Errorf("%d items are left", n)
	}
}

// TestFolderKilled deletes a folder, whose documents lie in two, by a process that dies behind each of its requests: the repeat leaves none of them.
func TestFolderKilled(t *testing.T) {
	tb := storetest.New(t)
	for after := 1; ; after++ {
		p := newProcess(t, tb, time.Now, 0)
		org, err := p.OpenOrMakeOrganization(t.Context(), "acct", fmt.Sprint("o", after), true)
		p.must(err)
		folders := []collab.Folder{{ID: "a", Parent: collab.RootFolder}, {ID: "b", Parent: "a"}}
		for _, err := range p.AddFolders(t.Context(), storetest.Request(time.Now()), org, folders) {
			p.must(err)
		}
		for _, err := range p.AddDocuments(t.Context(), storetest.Request(time.Now()), org, []string{"a", "b"}, func(i int, d *collab.Document) error {
			d.Folder = folders[i].ID
			return nil
		}) {
			p.must(err)
		}
		r := storetest.Request(time.Now())
		_, err = newProcess(t, storetest.Killed(t, tb, after), time.Now, 0).DeleteFolder(t.Context(), r, org, "a")
		if _, again := p.DeleteFolder(t.Context(), storetest.Again(r), org, "a"); again != nil {
			t.Errorf("killed behind %d requests: %v", after, again)
		}
		if list, _, _, listing := p.ListDocuments(t.Context(), org, "", "", 0); listing != nil || len(list) > 0 {
			t.Errorf("killed behind %d requests, %v are left, %v", after, list, listing)
		}
		if err == nil {
			return
		}
	}
}
