package threads

import (
	"context"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"
)

// limited returns a context with the bound of a person's request.
func limited(ctx context.Context, read, write float64) (context.Context, *collab.Usage) {
	u := &collab.Usage{}
	u.SetBound(&collab.Bound{Page: read / 2, Read: read, Write: write, Reserve: func(float64, bool) error { return nil }})
	return collab.WithUsage(ctx, u), u
}

// TestBoundedRetry changes a comment of 340,000 bytes within a bound that one attempt exhausts. Another
// request changes the comment meanwhile: the next attempt uses the reservation of the lost one.
func TestBoundedRetry(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	th := storetest.Thread("large", "ann", 1)
	th.Comments[0].Text = new(strings.Repeat("x", 340_000))
	w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, th, collab.NewAnnotation{}))
	id := th.Comments[0].ID
	react := func(ctx context.Context, emoji string, meanwhile func()) {
		t.Helper()
		failures, err := w.UpdateComments(ctx, newRequest(0), w.doc, "large", collab.CommentChange{IDs: []int64{id}, Change: func(c *collab.Comment) (err error) {
			meanwhile()
			c.Reactions, err = c.Reactions.Add(emoji, "ann")
			return err
		}})
		w.must(err)
		w.must(failures[id])
	}
	ctx, u := limited(t.Context(), 1_500, 500)
	attempts := 0
	react(ctx, "👍", func() {
		if attempts++; attempts < 3 {
			react(t.Context(), []string{"🎉", "🚀"}[attempts-1], func() {})
		}
	})
	found, err := w.Comments(t.Context(), w.doc, "large", []int64{id})
	w.must(err)
	if _, written, _ := u.Total(); len(found[id].Reactions) != 3 || attempts != 3 || written < 3*660 {
		t.Errorf("%d reactions after %d attempts with %.0f write units", len(found[id].Reactions), attempts, written)
	}
}

// TestBoundedCount counts threads within a bound that does not allow all reads: totals are lower bounds,
// and no error.
func TestBoundedCount(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	for _, id := range []string{"b", "c"} {
		w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, storetest.Thread(id, "ann", 1), collab.NewAnnotation{}))
	}
	for _, test := range []struct {
		read float64
		want collab.AnnotationCount
	}{
		{1_500, collab.AnnotationCount{Total: 3, Unread: 3}},
		{129.25, collab.AnnotationCount{Total: 3, UnreadAtLeast: true}},
		{10, collab.AnnotationCount{TotalIsAtLeast: true, UnreadAtLeast: true}},
	} {
		ctx, _ := limited(t.Context(), test.read, 500)
		counts, err := w.Count(ctx, []collab.DocumentRef{w.doc}, nil, "bob", nil)
		if w.must(err); len(counts) != 1 || counts[0].Total != test.want.Total || counts[0].TotalIsAtLeast != test.want.TotalIsAtLeast ||
			counts[0].UnreadAtLeast != test.want.UnreadAtLeast {
			t.Errorf("within %.2f read units: %+v, want %+v", test.read, counts, test.want)
		}
	}
}
