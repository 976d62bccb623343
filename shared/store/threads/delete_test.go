package threads

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"
)

func (w *writing) delete(req *request.Request, ids ...string) ([]string, []error) {
	w.t.Helper()
	ids, errs, err := w.DeleteAnnotations(w.t.Context(), req, w.doc, ids, collab.AnnotationDeletion{})
	w.must(err)
	return ids, errs
}

// stored returns the sort keys in the document's partition.
func (w *writing) stored() (itemKeys []string) {
	w.t.Helper()
	items, err := w.Query(w.t.Context(), store.Scan{PK: keys.DocumentPartition(w.doc), Keys: store.Everything, Strong: true})
	w.must(err)
	for _, it := range items {
		itemKeys = append(itemKeys, it.Text(keys.SK))
	}
	return itemKeys
}

// sweep works like a job, regardless of its time: it deletes the rest, and sweeps the deleted
// threads.
func (w *writing) sweep(id string) {
	w.t.Helper()
	job, err := w.Outbox.Job(w.t.Context(), "acct", id)
	if collab.CodeOf(err) == collab.NotFound {
		return // nothing was deleted
	}
	w.must(err)
	next := ""
	for more := job.Rest != nil; more; more = next != "" {
		next, err = w.DeleteRest(w.t.Context(), &job, next)
		w.must(err)
	}
	for _, th := range job.Threads {
		for done := false; !done; {
			_, done, err = w.Sweep(w.t.Context(), job.Document(job.Things[0]), th.ID, 500)
			w.must(err)
		}
	}
}

// TestDeleteAnnotations deletes a thread, adds it again, and sweeps: nothing of the old one
// remains, and the new one is complete.
func TestDeleteAnnotations(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	_, err := w.add("a", storetest.Comment("bob", 7, 1_000), storetest.Comment("bob", 8, 1_000))
	w.must(err)
	r := newRequest(0)
	_, errs := w.delete(r, "a", "none")
	w.must(errs[0])
	storetest.WantCode(t, "no such annotation", errs[1], collab.NotFound)
	_, err = w.add("a", storetest.Comment("bob", 0, 2_000))
	storetest.WantCode(t, "a comment to what is deleted", err, collab.NotFound)
	for _, err := range w.ListComments(t.Context(), w.doc, "a", 0, 10) {
		storetest.WantCode(t, "comments of what is deleted", err, collab.NotFound)
	}
	w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, storetest.Thread("a", "cid", 1), collab.NewAnnotation{}))
	if ids, err := w.add("a", storetest.Comment("eve", 7, 3_000)); err != nil || !slices.Equal(ids, []int64{7}) {
		t.Errorf("the id of a comment that was deleted: %v, %v", ids, err)
	}
	_, errs = w.delete(storetest.Again(r), "a", "none")
	w.must(errs[0])
	var authors []string
	for c, err := range w.ListComments(t.Context(), w.doc, "a", 0, 10) {
		w.must(err)
		authors = append(authors, c.AuthorID)
	}
	if fmt.Sprint(authors) != "[cid eve]" {
		t.Errorf("the annotation that was added again has comments by %v", authors)
	}
	failures, err := w.UpdateComments(
		t.Context(), newRequest(0), w.doc, "a", collab.CommentChange{IDs: []int64{8}, Change: func(*collab.Comment) error { return nil }},
	)
	w.must(err)
	storetest.WantCode(t, "an update of a comment that was deleted", failures[8], collab.NotFound)
	w.sweep(r.JobID())
	if got := w.stored(); len(got) != 3 || strings.Contains(fmt.Sprint(got), fmt.Sprintf("%016d", 8)) {
		t.Errorf("swept, there are %v", got)
	}
}

// TestDeleteUnanswered answers between the check and the deletion: the thread is kept.
func TestDeleteUnanswered(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	answered := false
	s := on(storetest.Watched(t, w.Table, func(_, body string) *http.Response {
		if strings.Contains(body, `"Delete"`) && !answered {
			answered = true
			_, err := w.add("a", storetest.Comment("bob", 7, collab.Millis(time.Now().Add(time.Second).UnixMilli())))
			w.must(err)
		}
		return nil
	}))
	_, errs, err := s.DeleteAnnotations(t.Context(), newRequest(0), w.doc, []string{"a"}, collab.AnnotationDeletion{Unanswered: true})
	w.must(err)
	storetest.WantCode(t, "a thread that was answered meanwhile", errs[0], collab.FailedPrecondition)
	_, errs = w.delete(newRequest(0), "a")
	w.must(errs[0]) // it existed
}

// TestDeleteLast deletes the last comment of a thread of its author: the thread goes with it, also
// if the deletion is repeated after a lost answer, unless somebody comments meanwhile.
func TestDeleteLast(t *testing.T) {
	for name, comments := range map[string]bool{"alone": false, "answered meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			w := newWriting(t, storetest.New(t))
			_, err := w.add("a", storetest.Comment("ann", 7, 1_000))
			w.must(err)
			s := on(storetest.Watched(t, w.Table, func(_, body string) *http.Response {
				if strings.Contains(body, `"ANN#a"`) && strings.Contains(body, `"Delete"`) && comments {
					comments = false
					_, err := w.add("a", storetest.Comment("bob", 8, collab.Millis(time.Now().Add(time.Second).UnixMilli())))
					w.must(err)
				}
				return nil
			}))
			r := newRequest(0)
			ids, failures, err := s.DeleteOwnComments(t.Context(), r, w.doc, "a", nil, "ann", nil)
			if err != nil || len(ids) != 2 || len(failures) > 0 {
				t.Fatalf("%v, %v, %v", ids, failures, err)
			}
			if _, _, err := s.DeleteOwnComments(t.Context(), storetest.Again(r), w.doc, "a", nil, "ann", nil); err != nil {
				t.Errorf("repeated: %v", err)
			}
			w.sweep(r.JobID())
			left := 0
			for _, err := range w.ListComments(t.Context(), w.doc, "a", 0, 10) {
				if name == "alone" {
					storetest.WantCode(t, "the thread", err, collab.NotFound)
					continue
				}
				w.must(err)
				left++
			}
			if name != "alone" && left != 1 {
				t.Errorf("%d comments are left", left)
			}
			if got := w.stored(); name == "alone" && len(got) != 0 {
				t.Errorf("stored: %v", got)
			}
		})
	}
}

// TestDeleteRestIsBounded checks that a part of a job searches a bounded number of annotations of
// other agents, and that the parts together delete all of its own.
func TestDeleteRestIsBounded(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	all := w.addFindings()
	w.MaxDeleted = 5
	r := newRequest(0)
	sel := collab.Selector{Agent: &collab.AgentFilter{ID: "linter"}}
	_, _, err := w.DeleteAnnotations(t.Context(), r, w.doc, nil, collab.AnnotationDeletion{Selector: sel})
	w.must(err)
	job, err := w.Outbox.Job(t.Context(), "acct", r.JobID())
	w.must(err)
	w.mostSearched = 20
	before := w.stored()
	next, err := w.DeleteRest(t.Context(), &job, "")
	w.must(err)
	if next < "f020" || next >= "f048" || !slices.Equal(w.stored(), before) { // agents of the job begin at f048
		t.Fatalf("the first part ends at %q", next)
	}
	for parts := 1; next != ""; parts++ {
		if next, err = w.DeleteRest(t.Context(), &job, next); err != nil || parts > len(all) {
			t.Fatalf("part %d ends at %q, %v", parts, next, err)
		}
	}
	left, err := w.Select(t.Context(), w.doc, collab.Selector{}, collab.MaxDeleted)
	w.must(err)
	for id, f := range all {
		if slices.Contains(left, id) == (f.agent == "linter") {
			t.Errorf("%s of the agent %q is left: %t", id, f.agent, slices.Contains(left, id))
		}
	}
}

// TestDeleteBehindLater adds more threads after a deletion than a call deletes, here 20, with lower
// ids than the rest. The job skips them, whatever the selector and the bound of a request, but
// deletes an earlier one from a process whose clock was ahead.
func TestDeleteBehindLater(t *testing.T) {
	linter := &collab.AgentFilter{ID: "linter"}
	for name, sel := range map[string]collab.Selector{
		"all": {}, "at a place": {Locations: []string{"l"}},
		"by an agent": {Agent: linter}, "by an agent at a place": {Agent: linter, Locations: []string{"l"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriting(t, storetest.New(t))
			w.MaxDeleted, w.mostSearched, w.skew = 20, 22, 50*time.Millisecond
			add := func(prefix string, n int, at collab.Millis) {
				store.All(n, func(i int) error {
					th := storetest.Thread(fmt.Sprint(prefix, i), "ann", 1)
					th.Location, th.LocationID = collab.JSON(`{"id":"l"}`), "l"
					storetest.ByAgent(th, `{"agentId":"linter"}`)
					w.must(w.AddAnnotation(t.Context(), newRequest(at), w.doc, th, collab.NewAnnotation{}))
					return nil
				})
			}
			add("b", w.MaxDeleted+1, 10_000)
			r := newRequest(0)
			add("z", 1, r.Millis()+40) // from a process whose clock is ahead
			_, _, err := w.DeleteAnnotations(t.Context(), r, w.doc, nil, collab.AnnotationDeletion{Selector: sel})
			w.must(err)
			add("a", w.MaxDeleted+1, r.Millis()+1_000)
			w.sweep(r.JobID())
			ids, err := w.Select(t.Context(), w.doc, sel, 2*w.MaxDeleted)
			if err != nil || len(ids) != w.MaxDeleted+1 || slices.ContainsFunc(ids, func(id string) bool { return id[0] != 'a' }) {
				t.Errorf("%d are left, %v", len(ids), err)
			}
		})
	}
}

// finding is an annotation with properties that selectors of agents combine with.
type finding struct{ agent, page, suggestion, place, creator string }

// addFindings adds an annotation for each combination of properties. Those of the agent linter have
// the last ids.
func (w *writing) addFindings() map[string]finding {
	w.t.Helper()
	all := map[string]finding{}
	for _, agent := range []string{"", "other", "linter"} {
		for _, page := range []string{"https://a.example/other", "https://a.example/page"} {
			for _, suggestion := range []string{"", "accepted", "pending"} {
				for _, place := range []string{"elsewhere", "l"} {
					for _, creator := range []string{"ann", "bot"} {
						all[fmt.Sprintf("f%03d", len(all))] = finding{agent, page, suggestion, place, creator}
					}
				}
			}
		}
	}
	ids := slices.Sorted(maps.Keys(all))
	store.All(len(ids), func(i int) error {
		f := all[ids[i]]
		th := storetest.Thread(ids[i], f.creator, 2)
		th.Location, th.LocationID = collab.JSON(fmt.Sprintf(`{"id":%q}`, f.place)), f.place
		if f.agent != "" {
			storetest.ByAgent(th, fmt.Sprintf(`{"agentId":%q,"url":%q}`, f.agent, f.page+"#top"))
		}
		if f.suggestion != "" {
			th.Suggestion = collab.JSON(fmt.Sprintf(`{"status":%q}`, f.suggestion))
		}
		w.must(w.AddAnnotation(w.t.Context(), newRequest(0), w.doc, th, collab.NewAnnotation{}))
		return nil
	})
	return all
}

// TestDeleteByAgents deletes by selectors of agents, alone and with others, over more annotations
// than a page of the store, and nothing else.
func TestDeleteByAgents(t *testing.T) {
	page := []string{"https://a.example/page"}
	for name, of := range map[string]struct {
		sel     collab.Selector
		matches func(f finding) bool
	}{
		"agent": {collab.Selector{Agent: &collab.AgentFilter{ID: "linter"}}, func(f finding) bool { return f.agent == "linter" }},
		"suggestions": {collab.Selector{Agent: &collab.AgentFilter{Suggestions: true}}, func(f finding) bool {
			return f.agent != "" && f.suggestion == "pending"
		}},
		"pages": {collab.Selector{Agent: &collab.AgentFilter{Pages: page}}, func(f finding) bool {
			return f.agent != "" && f.page == page[0]
		}},
		"all of agents": {collab.Selector{Agent: &collab.AgentFilter{ID: "linter", Suggestions: true, Pages: page}}, func(f finding) bool {
			return f.agent == "linter" && f.suggestion == "pending" && f.page == page[0]
		}},
		"agent at a place": {collab.Selector{Agent: &collab.AgentFilter{ID: "linter"}, Locations: []string{"l"}}, func(f finding) bool {
			return f.agent == "linter" && f.place == "l"
		}},
		"pages of a creator": {collab.Selector{Agent: &collab.AgentFilter{Pages: page}, Creators: []string{"bot", "none"}}, func(f finding) bool {
			return f.agent != "" && f.page == page[0] && f.creator == "bot"
		}},
		"all": {
			collab.Selector{
				Agent:     &collab.AgentFilter{ID: "linter", Suggestions: true, Pages: page},
				Locations: []string{"l", "elsewhere"}, Creators: []string{"ann"},
			},
			func(f finding) bool {
				return f.agent == "linter" && f.suggestion == "pending" && f.page == page[0] && f.creator == "ann"
			},
		},
		"none": {collab.Selector{Agent: &collab.AgentFilter{ID: "none"}}, func(finding) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnEach(t, on, func(t *testing.T, s *Store) {
				w := newWriting(t, s.Table)
				others, gone := []string{"a"}, []string(nil)
				for id, f := range w.addFindings() {
					if of.matches(f) {
						gone = append(gone, id)
					} else {
						others = append(others, id)
					}
				}
				slices.Sort(gone)
				slices.Sort(others)
				_, refusals, err := w.DeleteAnnotations(t.Context(), newRequest(0), w.doc, others, collab.AnnotationDeletion{Selector: of.sel})
				w.must(err)
				for _, err := range refusals {
					storetest.WantCode(t, "one of the others, by its id", err, collab.NotFound)
				}
				if ids, err := w.Select(t.Context(), w.doc, of.sel, collab.MaxDeleted); err != nil || !slices.Equal(ids, gone) {
					t.Errorf("selected %v, want %v; %v", ids, gone, err)
				}
				ids, errs, err := w.DeleteAnnotations(t.Context(), newRequest(0), w.doc, nil, collab.AnnotationDeletion{Selector: of.sel})
				if err := errors.Join(append(errs, err)...); err != nil || !slices.Equal(ids, gone) {
					t.Errorf("deleted %v, want %v; %v", ids, gone, err)
				}
				if left, err := w.Select(t.Context(), w.doc, collab.Selector{}, collab.MaxDeleted); err != nil || !slices.Equal(left, others) {
					t.Errorf("left %v, want %v; %v", left, others, err)
				}
			})
		})
	}
}

// TestDeleteByAgentsBound looks for an agent in as many annotations as are allowed, then in one
// more: the request is refused, and changes nothing. Other selectors narrow the search.
func TestDeleteByAgentsBound(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	all := len(w.addFindings()) + 1
	request := func(most int, sel collab.Selector) (*request.Request, []string, error) {
		w.mostSearched = most
		r := newRequest(0)
		ids, errs, err := w.DeleteAnnotations(t.Context(), r, w.doc, nil, collab.AnnotationDeletion{Selector: sel})
		return r, ids, errors.Join(append(errs, err)...)
	}
	linter := &collab.AgentFilter{ID: "linter"}
	for name, of := range map[string]struct {
		sel  collab.Selector
		most int
	}{
		"of the document": {collab.Selector{Agent: linter}, all},
		"at a place":      {collab.Selector{Agent: linter, Locations: []string{"l"}}, (all - 1) / 2},
		"of a creator":    {collab.Selector{Agent: linter, Creators: []string{"bot"}}, (all - 1) / 2},
	} {
		before := w.stored()
		r, _, err := request(of.most-1, of.sel)
		storetest.WantCode(t, name, err, collab.FailedPrecondition)
		if want := fmt.Sprintf("agents are looked for in at most %d annotations", of.most-1); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if _, err := w.Outbox.Job(t.Context(), "acct", r.JobID()); collab.CodeOf(err) != collab.NotFound || !slices.Equal(w.stored(), before) {
			t.Errorf("%s: something changed, %v", name, err)
		}
	}
	if _, ids, err := request(all/2, collab.Selector{Agent: linter, Locations: []string{"l"}}); err != nil || len(ids) != 12 {
		t.Errorf("at a place: %v, %v", ids, err)
	}
	if _, ids, err := request(all-12, collab.Selector{Agent: linter}); err != nil || len(ids) != 12 {
		t.Errorf("the others: %v, %v", ids, err)
	}
}

// TestDeleteLatestComment deletes comments of a busy thread, whose time key is later than the
// deletion: a read of news since the last comment finds it.
func TestDeleteLatestComment(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	const at = 2_000_000_000_000
	for _, later := range []int64{0, 100, 150} {
		_, err := w.add("a", storetest.Comment("bob", 10+later, at+later))
		w.must(err)
	}
	_, _, err := w.DeleteComments(t.Context(), newRequest(at+200), w.doc, "a", []int64{110, 160}, nil, nil)
	w.must(err)
	if head, _ := w.items("a"); head.Number(keys.LastUpdated) != at+200 || timeKey(head) != at+quarter {
		t.Errorf(
			"lastUpdated %d and time key %d, want %d and %d", head.Number(keys.LastUpdated), timeKey(head), int64(at+200), int64(at+quarter),
		)
	}
}

// TestReadStatesOfDeleted deletes a read thread and an unread thread of a read document, and adds
// others with their ids and equally old comments. The old marks do not apply, and unswept comments
// do not count.
func TestReadStatesOfDeleted(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	unread := func(user string) (ids []string, counted int64) {
		t.Helper()
		q := collab.AnnotationQuery{Found: []collab.DocumentRef{w.doc}, Documents: []string{w.doc.Document}, UnreadFor: user, UnreadOnly: true}
		_, err := w.Walk(t.Context(), w.doc.OrganizationRef, q, nil, 10, func(id string, _ *collab.Thread) bool {
			ids = append(ids, id)
			return true
		})
		w.must(err)
		n, err := w.Count(t.Context(), []collab.DocumentRef{w.doc}, nil, user, nil)
		w.must(err)
		return ids, n[0].Unread
	}
	set := func(user string, read bool) {
		errs, err := w.SetRead(t.Context(), newRequest(0), w.doc, user, []string{"a"}, read, nil)
		w.must(errors.Join(append(errs, err)...))
	}
	set("reader", true)
	w.must(w.SetAllRead(t.Context(), newRequest(0), w.doc, "other", true))
	set("other", false)
	if ids, n := unread("reader"); len(ids) != 0 || n != 0 {
		t.Errorf("read: %v, %d", ids, n)
	}
	if ids, n := unread("other"); len(ids) != 1 || n != 1 {
		t.Errorf("marked as unread: %v, %d", ids, n)
	}
	_, err := w.add("a", storetest.Comment("bob", 7, time.Now().UnixMilli()+60_000))
	w.must(err)
	_, errs := w.delete(newRequest(0), "a")
	w.must(errs[0])
	w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, storetest.Thread("a", "ann", 1), collab.NewAnnotation{}))
	if ids, n := unread("reader"); len(ids) != 1 || n != 1 {
		t.Errorf("added again, to who had read: %v, %d", ids, n)
	}
	if ids, n := unread("other"); len(ids) != 0 || n != 0 {
		t.Errorf("added again, to who had read all but what was deleted: %v, %d", ids, n)
	}
	if ids, n := unread("ann"); len(ids) != 0 || n != 0 {
		t.Errorf("added again, to its author, while bob's comment is not swept: %v, %d", ids, n)
	}
	set("reader", true)
	if ids, n := unread("reader"); len(ids) != 0 || n != 0 {
		t.Errorf("read again: %v, %d", ids, n)
	}
}

// TestDeleteCommentsOfAuthors deletes comments by author, and repeats it. If the search is too
// large, it deletes nothing.
func TestDeleteCommentsOfAuthors(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	_, err := w.add("a", storetest.Comment("bob", 7, 1_000), storetest.Comment("cid", 8, 1_000), storetest.Comment("bob", 9, 1_000))
	w.must(err)
	r := newRequest(50_000)
	for _, req := range []*request.Request{r, storetest.Again(r)} {
		ids, failures, err := w.DeleteComments(t.Context(), req, w.doc, "a", nil, []string{"bob"}, nil)
		if err != nil || len(failures) != 0 || !slices.Equal(ids, []int64{7, 9}) {
			t.Errorf("%v, %v, %v", ids, failures, err)
		}
	}
	large := strings.Repeat("x", 300_000)
	for id := range int64(34) {
		c := storetest.Comment("eve", 100+id, 60_000)
		c.Text = &large
		_, err := w.add("a", c)
		w.must(err)
	}
	_, _, err = w.DeleteComments(t.Context(), newRequest(70_000), w.doc, "a", nil, []string{"cid"}, nil)
	storetest.WantCode(t, "10 MB of others", err, collab.FailedPrecondition)
	_, failures, err := w.DeleteComments(t.Context(), newRequest(70_000), w.doc, "a", []int64{8, 100}, []string{"cid"}, nil)
	if _, left := w.items("a"); err != nil || collab.CodeOf(failures[100]) != collab.NotFound || len(left) != 1+34 {
		t.Errorf("%v, %v, %d left", failures, err, len(left))
	}
}
