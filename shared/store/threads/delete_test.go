package threads

import (
	"errors"
	"fmt"
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
	for more := job.Rest != nil; more; {
		more, err = w.DeleteRest(w.t.Context(), &job)
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

// TestDeleteBehindLater adds more threads after a deletion than a call deletes, here 20, with lower
// ids than the rest. The job skips them, whatever the selector, but deletes an earlier one from a
// process whose clock was ahead.
func TestDeleteBehindLater(t *testing.T) {
	for name, sel := range map[string]collab.Selector{"all": {}, "at a place": {Locations: []string{"l"}}} {
		t.Run(name, func(t *testing.T) {
			w := newWriting(t, storetest.New(t))
			w.mostDeleted, w.skew = 20, 50*time.Millisecond
			add := func(prefix string, n int, at collab.Millis) {
				store.All(n, func(i int) {
					th := storetest.Thread(fmt.Sprint(prefix, i), "ann", 0)
					th.Location, th.LocationID = collab.JSON(`{"id":"l"}`), "l"
					w.must(w.AddAnnotation(t.Context(), newRequest(at), w.doc, th, collab.NewAnnotation{}))
				})
			}
			add("b", w.mostDeleted+1, 10_000)
			r := newRequest(0)
			add("z", 1, r.Millis()+40) // from a process whose clock is ahead
			_, _, err := w.DeleteAnnotations(t.Context(), r, w.doc, nil, collab.AnnotationDeletion{Selector: sel})
			w.must(err)
			add("a", w.mostDeleted+1, r.Millis()+1_000)
			w.sweep(r.JobID())
			ids, err := w.Select(t.Context(), w.doc, sel, 2*w.mostDeleted)
			if err != nil || len(ids) != w.mostDeleted+1 || slices.ContainsFunc(ids, func(id string) bool { return id[0] != 'a' }) {
				t.Errorf("%d are left, %v", len(ids), err)
			}
		})
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
