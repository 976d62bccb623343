package threads

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

func resolve(now collab.Millis) collab.AnnotationChange {
	return collab.AnnotationChange{Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
		a.StatusID, a.Status, a.LastUpdated = "DONE", collab.JSON(`{"id":"DONE"}`), max(a.LastUpdated, now)
		return nil, nil
	}}
}

// TestUpdateNotSelected: comments of a thread that an update does not select are unchanged.
func TestUpdateNotSelected(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	not := resolve(6_000)
	not.Select = func(*collab.Annotation) error { return collab.Errorf(collab.FailedPrecondition, "not this one") }
	not.Comment = func(*collab.Comment) (bool, error) { t.Error("its comments are changed"); return true, nil }
	err := w.UpdateAnnotations(t.Context(), newRequest(6_000), w.doc, []string{"a"}, not)[0]
	storetest.WantCode(t, "not selected", err, collab.FailedPrecondition)
}

// TestUpdateNotNarrowed: a thread does not change if its audience may not become smaller.
func TestUpdateNotNarrowed(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	narrows := collab.AnnotationChange{
		Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
			a.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{"bob"}}
			return nil, nil
		},
		Narrow: func(context.Context, *collab.Annotation, *collab.Annotation) error {
			return collab.Errorf(collab.FailedPrecondition, "not this one")
		},
	}
	err := w.UpdateAnnotations(t.Context(), newRequest(6_000), w.doc, []string{"a"}, narrows)[0]
	storetest.WantCode(t, "not narrowed", err, collab.FailedPrecondition)
	if th, err := w.RecentComments(t.Context(), w.doc, "a", 1, 10); err != nil || th.Visibility != nil {
		t.Errorf("%+v, %v", th, err)
	}
}

// TestUpdateMovesForward: an update with an earlier time than a comment's leaves the thread's time.
func TestUpdateMovesForward(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	_, err := w.add("a", storetest.Comment("bob", 0, 9_000))
	w.must(err)
	earlier := collab.AnnotationChange{Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
		a.LastUpdated = 5_000
		return nil, nil
	}}
	w.must(w.UpdateAnnotations(t.Context(), newRequest(5_000), w.doc, []string{"a"}, earlier)[0])
	head, err := w.Get(t.Context(), headKey(w.doc, "a"))
	if w.must(err); timeKey(head) < 9_000 {
		t.Errorf("the time is %d", timeKey(head))
	}
}

// TestUpdateInParts: comments that exceed the bytes of a transaction are changed in several, with
// an event of each.
func TestUpdateInParts(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	const comments, size = 12, 300_000
	var ids []int64
	for i := range int64(comments) {
		c := storetest.Comment("bob", 0, 1_000+i)
		c.Text = new(strings.Repeat("x", size))
		added, err := w.add("a", c)
		w.must(err)
		ids = append(ids, added...)
	}
	var parts []int
	failures, err := w.UpdateComments(t.Context(), newRequest(6_000), w.doc, "a", collab.CommentChange{
		IDs: ids, At: 6_000,
		Change: func(c *collab.Comment) error { c.LastUpdated = 6_000; return nil },
		Event: func(_ *collab.Annotation, _, changed []collab.Comment) *collab.Event {
			parts = append(parts, len(changed))
			return &collab.Event{ID: fmt.Sprint("e", len(parts)), Account: "acct", Type: collab.CommentUpdated}
		},
	})
	w.must(err)
	if want := []int{store.MaxWriteBytes / (size + 1_000), comments - store.MaxWriteBytes/(size+1_000)}; len(failures) > 0 || !slices.Equal(parts, want) {
		t.Errorf("%v, in parts of %v, want %v", failures, parts, want)
	}
}

// TestUpdateLeavesDeleted: updates leave a comment of a deleted thread with the same id.
func TestUpdateLeavesDeleted(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	old, err := commentItem(w.doc, "a", &collab.Comment{ID: 9}, "")
	w.must(err)
	old[keys.Birth] = store.Text("earlier")
	w.must(w.Put(t.Context(), old))
	change := resolve(6_000)
	change.Comment = func(c *collab.Comment) (bool, error) {
		if c.ID == 9 {
			t.Error("it is changed with its thread")
		}
		return false, nil
	}
	w.must(w.UpdateAnnotations(t.Context(), newRequest(6_000), w.doc, []string{"a"}, change)[0])
	failures, err := w.UpdateComments(t.Context(), newRequest(7_000), w.doc, "a", collab.CommentChange{
		IDs: []int64{1, 9}, At: 7_000, Change: func(c *collab.Comment) error { c.HTML = c.Text; return nil },
	})
	w.must(err)
	storetest.WantCode(t, "a comment of a deleted thread", failures[9], collab.NotFound)
}

// TestUpdateKeepsUnknown: a write keeps attributes of a later version.
func TestUpdateKeepsUnknown(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	for _, k := range []keys.Key{keys.Annotation(w.doc, "a"), keys.Comment(w.doc, "a", 1)} {
		later := store.Update(k, expression.Set(expression.Name("later"), expression.Value("kept")))
		_, err := w.Write(t.Context(), later)
		w.must(err)
	}
	w.must(w.UpdateAnnotations(t.Context(), newRequest(5_000), w.doc, []string{"a"}, resolve(5_000))[0])
	w.must(w.UpdateAnnotations(t.Context(), newRequest(6_000), w.doc, []string{"a"}, swap("ann", "zoe", 6_000))[0])
	_, err := w.UpdateComments(t.Context(), newRequest(7_000), w.doc, "a", collab.CommentChange{
		IDs: []int64{1}, At: 7_000, Change: func(c *collab.Comment) error { c.HTML, c.Text = c.Text, nil; return nil },
	})
	w.must(err)
	_, err = w.add("a", storetest.Comment("bob", 0, 8_000))
	w.must(err)
	for _, k := range []keys.Key{keys.Annotation(w.doc, "a"), keys.Comment(w.doc, "a", 1)} {
		it, err := w.Get(t.Context(), k)
		w.must(err)
		if it.Text("later") != "kept" || it["txt"] != nil {
			t.Errorf("%v", it)
		}
	}
}

func swap(a, b string, now collab.Millis) collab.AnnotationChange {
	other := map[string]string{a: b, b: a}
	return collab.AnnotationChange{
		Comment: func(c *collab.Comment) (bool, error) {
			id, ok := other[c.AuthorID]
			if ok {
				c.AuthorID, c.From, c.LastUpdated = id, storetest.User(id), max(c.LastUpdated, now)
			}
			return ok, nil
		},
		Head: func(_ int, h *collab.Annotation, _ bool) ([]*collab.Event, error) {
			if id, ok := other[h.CreatorID]; ok {
				h.CreatorID, h.From = id, storetest.User(id)
			}
			h.LastUpdated = max(h.LastUpdated, now)
			return nil, nil
		},
	}
}

// swapping makes the annotation a thread of 200 comments by ann and bob in turn, created by ann.
func (w *writing) swapping() {
	w.t.Helper()
	for first := int64(2); first <= 200; first += 90 {
		var more []collab.Comment
		for id := first; id < min(first+90, 201); id++ {
			more = append(more, storetest.Comment([]string{"bob", "ann"}[id%2], id, 1_000))
		}
		_, err := w.add(w.ann, more...)
		w.must(err)
	}
}

// mustBeSwapped checks that a thread's users were swapped exactly once.
func (w *writing) mustBeSwapped() {
	w.t.Helper()
	head, comments := w.items(w.ann)
	if head.Text(keys.Creator) != "bob" || len(comments) != 200 {
		w.t.Errorf("the creator is %s, there are %d comments", head.Text(keys.Creator), len(comments))
	}
	for _, c := range comments {
		if want := []string{"ann", "bob"}[c.ID%2]; c.AuthorID != want {
			w.t.Fatalf("comment %d is by %s, want %s", c.ID, c.AuthorID, want)
		}
	}
}

// TestSwapKilled kills a swap after each of its requests. Others then write swapped and unswapped
// comments, and the swap is repeated with its mark: everything is swapped exactly once.
func TestSwapKilled(t *testing.T) {
	tb := storetest.New(t)
	document := newWriting(t, tb)
	for after := range 7 {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			w := document.another(t, fmt.Sprint("killed", after))
			w.swapping()
			change := swap("ann", "bob", 5_000)
			r := newRequest(5_000)
			killed := on(storetest.Killed(t, tb, after)).UpdateAnnotations(t.Context(), r, w.doc, []string{w.ann}, change)[0]
			w.mustHold("killed")
			_, err := w.UpdateComments(t.Context(), newRequest(6_000), w.doc, w.ann, collab.CommentChange{
				IDs: []int64{1, 100, 200}, At: 6_000,
				Change: func(c *collab.Comment) error { c.Context, c.LastUpdated = collab.JSON(`{}`), 6_000; return nil },
			})
			w.must(err)
			w.must(w.UpdateAnnotations(t.Context(), newRequest(6_500), w.doc, []string{w.ann}, resolve(6_500))[0])
			w.must(w.UpdateAnnotations(t.Context(), storetest.Again(r), w.doc, []string{w.ann}, change)[0])
			w.mustBeSwapped()
			w.mustHold("repeated")
			if _, comments := w.items(w.ann); string(comments[99].Context) != `{}` {
				t.Error("another's change was lost")
			}
			if (killed == nil) != (after >= 6) {
				t.Errorf("killed after %d requests: %v", after, killed)
			}
		})
	}
}

// TestUpdateOfAnEndedRequest: changes that did not happen because time ran out are reported as
// errors.
func TestUpdateOfAnEndedRequest(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	long := storetest.Thread("long", "ann", 60)
	w.mustAdd(t, w.doc, long)
	ctx, cancel := context.WithCancel(t.Context())
	change := collab.CommentChange{At: 7_000, Change: func(c *collab.Comment) error {
		cancel()
		c.Text = new("changed")
		return nil
	}}
	for _, c := range long.Comments {
		change.IDs = append(change.IDs, c.ID)
	}
	failures, err := w.UpdateComments(ctx, newRequest(7_000), w.doc, "long", change)
	w.must(err)
	for _, id := range change.IDs {
		it, err := w.Get(t.Context(), commentKey(w.doc, "long", id))
		w.must(err)
		if failures[id] == nil && it.Text("txt") != "changed" {
			t.Errorf("comment %d was left as it is, without a failure", id)
		}
	}
}
