package threads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
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

// stored returns the sort keys of everything in the document's partition.
func (w *writing) stored() (itemKeys []string) {
	w.t.Helper()
	items, err := w.Query(w.t.Context(), store.Scan{PK: keys.DocumentPartition(w.doc), Keys: store.Everything, Strong: true})
	w.must(err)
	for _, it := range items {
		itemKeys = append(itemKeys, it.Text(keys.SK))
	}
	return itemKeys
}

// sweep does what a job does, but for its order in time: it deletes the rest, and sweeps the threads that the request deleted.
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

// TestDeleteAnnotations deletes a thread, adds it again, and sweeps: nothing of the old one shows or stays, and nothing of the new one
// goes.
func TestDeleteAnnotations(t *testing.T) {
	storetest.OnEach(t, func(t *testing.T, tb *store.Table) {
		w := newWriting(t, tb)
		_, err := w.add("a", commentBy("bob", 7, 1_000), commentBy("bob", 8, 1_000))
		w.must(err)
		r := newRequest(0)
		_, errs := w.delete(r, "a", "none")
		w.must(errs[0])
		storetest.WantCode(t, "no such annotation", errs[1], collab.NotFound)
		_, err = w.add("a", commentBy("bob", 0, 2_000))
		storetest.WantCode(t, "a comment to what is deleted", err, collab.NotFound)
		for _, err := range w.ListComments(t.Context(), w.doc, "a", 0, 10) {
			storetest.WantCode(t, "comments of what is deleted", err, collab.NotFound)
		}
		w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, thread("a", "cid", 1), collab.NewAnnotation{}))
		if ids, err := w.add("a", commentBy("eve", 7, 3_000)); err != nil || !slices.Equal(ids, []int64{7}) {
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
	})
}

// TestDeleteBehindLater has more threads added after a deletion than a call deletes, which is 20 here, with ids that come before those that
// it left: its job passes them over, whatever the selector, but takes one from before whose clock was ahead.
func TestDeleteBehindLater(t *testing.T) {
	for name, sel := range map[string]collab.Selector{"all": {}, "at a place": {Locations: []string{"l"}}} {
		t.Run(name, func(t *testing.T) {
			w := newWriting(t, storetest.New(t))
			w.mostDeleted, w.skew = 20, 50*time.Millisecond
			add := func(prefix string, n int, at collab.Millis) {
				store.All(n, func(i int) {
					th := thread(fmt.Sprint(prefix, i), "ann", 0)
					th.Location, th.LocationID = collab.JSON(`{"id":"l"}`), "l"
					w.must(w.AddAnnotation(t.Context(), newRequest(at), w.doc, th, collab.NewAnnotation{}))
				})
			}
			add("b", w.mostDeleted+1, 10_000)
			r := newRequest(0)
			add("z", 1, r.Millis()+40) // by a process whose clock is ahead
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

// TestDeletedWhileWritten has writers add, comment, update and delete threads of the same ids, through faults: what was acknowledged is
// there or deleted by an acknowledged or failed deletion, nothing is resurrected, and once the jobs have run nothing is stored that does
// not show.
func TestDeletedWhileWritten(t *testing.T) {
	tb := storetest.New(t)
	w := newWriting(t, tb)
	const clients, rounds = 8, 25
	var mu sync.Mutex
	var jobs []string
	births := map[string][]string{} // authors of first comments by annotation, in acknowledged adds
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			s := on(storetest.Chaos(t, tb))
			random := rand.New(rand.NewPCG(11, uint64(c)))
			for i := range rounds {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				r, id, name := newRequest(0), fmt.Sprint("x", random.IntN(3)), fmt.Sprintf("c%d-%d", c, i)
				switch random.IntN(5) {
				case 0, 1:
					th := thread(id, name, 1)
					if s.AddAnnotation(ctx, r, w.doc, th, collab.NewAnnotation{}) == nil {
						mu.Lock()
						births[id] = append(births[id], name)
						mu.Unlock()
					}
				case 2:
					_, _ = s.AddComments(ctx, r, w.doc, id, collab.NewComments{Comments: []collab.Comment{commentBy(name, 0, r.Millis())}})
				case 3:
					_ = s.UpdateAnnotations(ctx, r, w.doc, []string{id}, resolve(r.Millis()))
				case 4:
					_, _, _ = s.DeleteAnnotations(ctx, r, w.doc, []string{id}, collab.AnnotationDeletion{})
					mu.Lock()
					jobs = append(jobs, r.JobID())
					mu.Unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	for _, id := range jobs {
		w.sweep(id)
	}
	shown := 0
	for _, id := range []string{"x0", "x1", "x2"} {
		head, err := w.Get(t.Context(), headKey(w.doc, id))
		w.must(err)
		look, err := w.Get(t.Context(), keys.AnnotationID(w.doc, id))
		w.must(err)
		if (head == nil) == leads(look) {
			t.Errorf("%s: head %v, look-up %v", id, head != nil, look)
		}
		if head == nil {
			continue
		}
		shown++
		for c, err := range w.ListComments(t.Context(), w.doc, id, 0, 1_000) {
			w.must(err)
			shown++
			if c.ID == 1 && c.AuthorID != head.Text(keys.Creator) {
				t.Errorf("%s of %s shows the first comment of %s", id, head.Text(keys.Creator), c.AuthorID)
			}
		}
	}
	own := 2 // the thread that newWriting makes
	if got := len(w.stored()); got != shown+own {
		t.Errorf("%d items are stored, and %d show: %v", got, shown+own, w.stored())
	}
	if len(births) == 0 || len(jobs) == 0 {
		t.Error("nothing was added, or nothing deleted")
	}
}

// TestDeleteComments deletes comments, some of which are not there, and all: the annotation stays, later than before.
func TestDeleteComments(t *testing.T) {
	storetest.OnEach(t, func(t *testing.T, tb *store.Table) {
		w := newWriting(t, tb)
		_, err := w.add("a", commentBy("bob", 7, 1_000), commentBy("bob", 8, 1_000), commentBy("bob", 9, 1_000))
		w.must(err)
		r := newRequest(50_000)
		delete := func(req *request.Request, ids []int64) ([]int64, map[int64]error) {
			ids, failures, err := w.DeleteComments(t.Context(), req, w.doc, "a", ids, nil, nil)
			w.must(err)
			return ids, failures
		}
		_, failures := delete(r, []int64{8, 100})
		if len(failures) != 1 || collab.CodeOf(failures[100]) != collab.NotFound {
			t.Errorf("%v", failures)
		}
		head, comments := w.items("a")
		if len(comments) != 3 || head.Number(keys.LastUpdated) != 50_000 {
			t.Errorf("%d comments, lastUpdated %d", len(comments), head.Number(keys.LastUpdated))
		}
		_, err = w.add("a", commentBy("cid", 8, 60_000))
		w.must(err)
		_, again := delete(storetest.Again(r), []int64{8, 100})
		if _, comments := w.items("a"); len(again) != 1 || len(comments) != 4 {
			t.Errorf("again: %v, and of the comment that was added since %d are left", again, len(comments))
		}
		ids, failures := delete(newRequest(70_000), nil)
		if head, comments := w.items("a"); len(failures) != 0 || head == nil || len(comments) != 0 {
			t.Errorf("all of %v: %v, %d left", ids, failures, len(comments))
		}
		_, _, err = w.DeleteComments(t.Context(), newRequest(0), w.doc, "none", []int64{1}, nil, nil)
		storetest.WantCode(t, "no such annotation", err, collab.NotFound)
	})
}

// TestDeleteCommentsOfAuthors deletes comments by their authors, as often as it is tried; where too much is to be looked at for them it
// deletes nothing.
func TestDeleteCommentsOfAuthors(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	_, err := w.add("a", commentBy("bob", 7, 1_000), commentBy("cid", 8, 1_000), commentBy("bob", 9, 1_000))
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
		c := commentBy("eve", 100+id, 60_000)
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

// TestDeleteLatestComment deletes comments of a busy thread, whose time key is later than the deletion: who asks what is new since the last
// comment learns of it.
func TestDeleteLatestComment(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	const at = 2_000_000_000_000
	for _, later := range []int64{0, 100, 150} {
		_, err := w.add("a", commentBy("bob", 10+later, at+later))
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

// TestSeenOfDeleted deletes a thread that a user has read, and one that was marked as unread in a document that is read, and adds others
// under their ids whose comments are as old: what was said of those that were does not hold for them, nor do comments that are not swept
// yet count.
func TestSeenOfDeleted(t *testing.T) {
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
	set := func(user string, seen bool) {
		errs, err := w.SetSeen(t.Context(), newRequest(0), w.doc, user, []string{"a"}, seen)
		w.must(errors.Join(append(errs, err)...))
	}
	set("reader", true)
	w.must(w.SetAllSeen(t.Context(), newRequest(0), w.doc, "other", true))
	set("other", false)
	if ids, n := unread("reader"); len(ids) != 0 || n != 0 {
		t.Errorf("read: %v, %d", ids, n)
	}
	if ids, n := unread("other"); len(ids) != 1 || n != 1 {
		t.Errorf("marked as unread: %v, %d", ids, n)
	}
	_, err := w.add("a", commentBy("bob", 7, time.Now().UnixMilli()+60_000))
	w.must(err)
	r := newRequest(0)
	_, errs := w.delete(r, "a")
	w.must(errs[0])
	w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, thread("a", "ann", 1), collab.NewAnnotation{}))
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
	w.sweep(r.JobID())
	said, err := w.Query(t.Context(), store.Scan{PK: keys.SeenPartition(w.doc), Keys: store.Everything, Strong: true})
	w.must(err)
	want := []string{keys.Seen(w.doc, "other").SK, keys.SeenThread(w.doc, "reader", "a").SK}
	if got := collab.Map(said, func(it store.Item) string { return it.Text(keys.SK) }); !slices.Equal(got, want) {
		t.Errorf("swept, there are %q, want %q", got, want)
	}
}
