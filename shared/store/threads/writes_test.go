package threads

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

func on(t *store.Table) *Store {
	d := directory.New(t)
	return New(d, outbox.New(t))
}

// writing is an annotation to write, and its document, which is read item by item.
type writing struct {
	*Store
	t   testing.TB
	doc collab.DocumentRef
	ann string
}

// newWriting returns a document with the annotation a, which has one comment.
func newWriting(t testing.TB, tb *store.Table) *writing {
	t.Helper()
	w := &writing{Store: on(tb), t: t}
	var err error
	w.doc, err = w.Directory.OpenDocument(t.Context(), "acct", "org", "doc", collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	return w.another(t, "a")
}

// another adds another annotation with one comment.
func (w *writing) another(t testing.TB, ann string) *writing {
	t.Helper()
	w = &writing{Store: w.Store, t: t, doc: w.doc, ann: ann}
	w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, storetest.Thread(ann, "ann", 1), collab.NewAnnotation{}))
	return w
}

// sized gives the comments of a thread texts of a size.
func sized(th *collab.Thread, size int) *collab.Thread {
	text := strings.Repeat("x", size)
	for i := range th.Comments {
		th.Comments[i].Text = &text
	}
	return th
}

func (w *writing) must(err error) {
	w.t.Helper()
	must.Do(w.t, err)
}

func newRequest(at collab.Millis) *request.Request {
	if at == 0 {
		return storetest.Request(time.Now())
	}
	return storetest.Request(time.UnixMilli(at))
}

func (w *writing) add(ann string, comments ...collab.Comment) ([]int64, error) {
	return w.AddComments(w.t.Context(), newRequest(0), w.doc, ann, collab.NewComments{Comments: comments})
}

func (w *writing) items(ann string) (store.Item, []collab.Comment) {
	w.t.Helper()
	k := keys.Annotation(w.doc, ann)
	items, err := w.Query(w.t.Context(), store.Scan{PK: k.PK, Keys: threadSpan(k.SK), Strong: true})
	w.must(err)
	if len(items) == 0 || items[0].Key() != k {
		return nil, nil
	}
	var comments []collab.Comment
	for _, it := range items[1:] {
		c, err := readComment(it)
		w.must(err)
		comments = append(comments, c)
	}
	return items[0], comments
}

// mustHold checks the invariant of the time key: it is not earlier than a comment, and at most a
// quarter second later than the head's own time.
func (w *writing) mustHold(when string) {
	w.t.Helper()
	head, comments := w.items(w.ann)
	key, own := timeKey(head), head.Number(keys.LastUpdated)
	for _, c := range comments {
		if c.LastUpdated > key {
			w.t.Fatalf("%s: comment %d of %d can be seen, and the time key stands at %d", when, c.ID, c.LastUpdated, key)
		}
	}
	if key < own || key > own+quarter {
		w.t.Fatalf("%s: the time key stands at %d, lastUpdated at %d", when, key, own)
	}
}

// TestAddCommentsAgain repeats a call with a lost answer, after others took ids that it would have
// generated.
func TestAddCommentsAgain(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	start := time.UnixMilli(1_700_000_000_000)
	taken := start.UnixMicro()
	_, err := w.add("a", storetest.Comment("bob", taken, 2_000), storetest.Comment("bob", taken+2, 2_000))
	w.must(err)
	for _, comments := range [][]collab.Comment{
		{storetest.Comment("cid", 0, 3_000)},
		{storetest.Comment("dan", 0, 3_000), storetest.Comment("dan", 0, 3_000), storetest.Comment("dan", 5, 3_000), storetest.Comment("dan", 0, 3_000)},
	} {
		r := newRequest(start.UnixMilli())
		first, err := w.AddComments(t.Context(), r, w.doc, "a", collab.NewComments{Comments: comments})
		w.must(err)
		before, _ := w.items("a")
		again, err := w.AddComments(t.Context(), storetest.Again(r), w.doc, "a", collab.NewComments{Comments: comments})
		w.must(err)
		if after, _ := w.items("a"); !reflect.DeepEqual(before, after) {
			t.Errorf("a repeat changed the head from %v to %v", before, after)
		}
		_, stored := w.items("a")
		var got []int64
		for _, c := range stored {
			if c.AuthorID == comments[0].AuthorID && c.ID != 5 {
				got = append(got, c.ID)
			}
		}
		want := append([]int64(nil), first...)
		if len(want) == 4 {
			want = append(want[:2:2], want[3])
		}
		if diff := cmp.Diff(first, again); diff != "" || cmp.Diff(want, got) != "" {
			t.Errorf("added %v, again %v, stored %v", first, again, got)
		}
	}
}

// TestUpdateCommentsAnew changes comments of which one can be changed only after a concurrent
// write.
func TestUpdateCommentsAnew(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	_, err := w.add("a", storetest.Comment("bob", 2, 1_000))
	w.must(err)
	text := func(s string) func(*collab.Comment) error {
		return func(c *collab.Comment) error { c.Text = &s; return nil }
	}
	others := sync.OnceFunc(func() {
		failures, err := w.UpdateComments(t.Context(), newRequest(5_000), w.doc, "a", collab.CommentChange{
			IDs: []int64{1, 2}, At: 5_000, Change: text("theirs"),
		})
		w.must(errors.Join(err, failures[1], failures[2]))
	})
	failures, err := w.UpdateComments(t.Context(), newRequest(6_000), w.doc, "a", collab.CommentChange{
		IDs: []int64{1, 2}, At: 6_000,
		Change: func(c *collab.Comment) error {
			defer others()
			if c.ID == 1 && *c.Text != "theirs" {
				return collab.Errorf(collab.InvalidArgument, "no")
			}
			return text("ours")(c)
		},
		Event: func(*collab.Annotation, []collab.Comment, []collab.Comment) *collab.Event { return nil },
	})
	w.must(err)
	_, comments := w.items("a")
	if len(failures) != 0 || *comments[0].Text != "ours" || *comments[1].Text != "ours" {
		t.Errorf("%v: %q, %q", failures, *comments[0].Text, *comments[1].Text)
	}
}

// TestUpdateComments500 updates the maximum of comments in one call, with events.
func TestUpdateComments500(t *testing.T) {
	t.Parallel()
	w := newWriting(t, storetest.New(t))
	ids := []int64{1}
	for len(ids) < 500 {
		var more []collab.Comment
		for range min(90, 500-len(ids)) {
			ids = append(ids, int64(len(ids)+1))
			more = append(more, storetest.Comment("bob", ids[len(ids)-1], 1_000))
		}
		_, err := w.add("a", more...)
		w.must(err)
	}
	events := 0
	failures, err := w.UpdateComments(t.Context(), newRequest(6_000), w.doc, "a", collab.CommentChange{
		IDs: ids, At: 6_000,
		Change: func(c *collab.Comment) error { c.LastUpdated = 6_000; return nil },
		Event: func(_ *collab.Annotation, _, comments []collab.Comment) *collab.Event {
			events++
			return &collab.Event{ID: fmt.Sprint("e", events), Account: "acct", Type: collab.CommentUpdated}
		},
	})
	w.must(err)
	_, comments := w.items("a")
	for _, c := range comments {
		if c.LastUpdated != 6_000 {
			t.Fatalf("comment %d was not updated", c.ID)
		}
	}
	if len(comments) != 500 || len(failures) != 0 || events != 6 {
		t.Errorf("%d comments, %v, %d events", len(comments), failures, events)
	}
}
