package threads

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/testing/storetest"
)

// TestReact changes a comment without a time, concurrently: no change is lost, lastUpdated stays,
// and Left names the thread once.
func TestReact(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	began := time.Now().UnixMilli()
	th := storetest.Thread("reacted", "ann", 1)
	w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, th, collab.NewAnnotation{}))
	before, err := w.Head(t.Context(), w.doc, "reacted")
	w.must(err)
	const users = 4
	errs := store.All(users, func(i int) error {
		failures, err := w.UpdateComments(t.Context(), newRequest(0), w.doc, "reacted", collab.CommentChange{
			IDs: []int64{th.Comments[0].ID},
			Change: func(c *collab.Comment) (err error) {
				c.Reactions, err = c.Reactions.Add("👍", fmt.Sprint("user ", i))
				return err
			},
		})
		return cmp.Or(err, failures[th.Comments[0].ID])
	})
	for _, err := range errs {
		w.must(err)
	}
	found, err := w.Comments(t.Context(), w.doc, "reacted", []int64{th.Comments[0].ID})
	w.must(err)
	for i := range users {
		if r := found[th.Comments[0].ID].Reactions; !r.Has("👍", fmt.Sprint("user ", i)) {
			t.Errorf("the reaction of user %d is lost: %v", i, r)
		}
	}
	after, err := w.Head(t.Context(), w.doc, "reacted")
	if w.must(err); after.LastUpdated != before.LastUpdated {
		t.Errorf("lastUpdated moved from %d to %d", before.LastUpdated, after.LastUpdated)
	}
	gone, changed, err := w.Left(t.Context(), w.doc, began, nil, 1)
	if w.must(err); gone != nil || len(changed) != 1 || changed[0] != "reacted" {
		t.Errorf("gone %v, changed %v; want thread reacted changed", gone, changed)
	}
	if _, changed, err := w.Left(t.Context(), w.doc, began, nil, 0); err != nil || len(changed) != 1 {
		t.Errorf("changed %v, %v; want it whatever fits", changed, err)
	}
}
