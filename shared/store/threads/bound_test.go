package threads

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// limited returns a context with the bound of a person's request.
func limited(ctx context.Context, read, write float64) (context.Context, *collab.Usage) {
	u := &collab.Usage{}
	u.SetBound(&collab.Bound{Page: read / 2, Read: read, Write: write, Reserve: func(float64, bool) error { return nil }})
	return collab.WithUsage(ctx, u), u
}

// TestBoundedRetry changes a comment of 340,000 bytes within a bound that one attempt exhausts.
// Another request changes the comment meanwhile: the next attempt uses the reservation of the lost
// one.
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

// TestBoundedCount counts threads within a bound that does not allow all reads: totals are lower
// bounds, and no error.
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

// TestCountBounds checks that a count examines a limited number of annotations, and looks into a
// limited number of threads of all documents together.
func TestCountBounds(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	const threads = 31
	must.Do(t, store.Each(t.Context(), threads-1, func(ctx context.Context, i int) error {
		th := storetest.Thread(fmt.Sprint("b", i), "ann", 1)
		if i < 2 {
			th.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{"eve"}}
		}
		return w.AddAnnotation(ctx, newRequest(0), w.doc, th, collab.NewAnnotation{})
	}))
	eve := collab.Viewers{{User: "eve", May: true}}
	for _, test := range []struct {
		bound, limit int
		viewers      collab.Viewers
		want         collab.AnnotationCount
	}{
		{threads, threads, nil, collab.AnnotationCount{Total: threads, Unread: threads}},
		{threads - 1, threads, nil, collab.AnnotationCount{Total: threads - 1, Unread: threads - 1, TotalIsAtLeast: true, UnreadAtLeast: true}},
		{threads, threads - 1, nil, collab.AnnotationCount{Total: threads, Unread: threads - 1, UnreadAtLeast: true}},
		{threads, threads, eve, collab.AnnotationCount{Total: threads, Unread: threads}},
		{threads, 1, eve, collab.AnnotationCount{Total: threads - 1, Unread: 1, TotalIsAtLeast: true, UnreadAtLeast: true}},
	} {
		got, err := w.countIn(t.Context(), w.doc, nil, "bob", test.viewers, test.bound, test.limit)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%d of %d, as %v: %v (-want +got):\n%s", test.limit, test.bound, test.viewers, err, diff)
		}
	}
	docs := []collab.DocumentRef{w.doc}
	for i := range mostLooked/(threads-1) - 1 {
		docs = append(docs, w.doc.OrganizationRef.Document(fmt.Sprint("other", i)))
	}
	counts, err := w.Count(t.Context(), docs, nil, "bob", nil)
	if want := (collab.AnnotationCount{Total: threads, Unread: threads - 1, UnreadAtLeast: true}); err != nil || counts[0] != want {
		t.Errorf("in %d documents: %+v, %v", len(docs), counts[0], err)
	}
}

// TestUnreadIn looks for a comment by another user behind three of the user: on the next page,
// beyond the bytes that are read, and in a deleted thread with the same id.
func TestUnreadIn(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	for _, test := range []struct {
		thread, birth string
		size          int
		unread, sure  bool
	}{{"small", "", 1, true, true}, {"large", "", 340_000, false, false}, {"again", "other", 1, false, true}} {
		w.another(t, test.thread)
		for i := range int64(3) {
			c := storetest.Comment("bob", 0, 1_000*(i+1))
			c.Text = new(strings.Repeat("x", test.size))
			_, err := w.add(test.thread, c)
			w.must(err)
		}
		k := headKey(w.doc, test.thread)
		head, err := w.Get(t.Context(), k)
		if w.must(err); test.birth != "" {
			head[keys.AddedBy] = store.Text(test.birth)
		}
		unread, sure, err := w.unreadIn(t.Context(), k, head, "bob", 0)
		if err != nil || unread != test.unread || sure != test.sure {
			t.Errorf("%s: unread %v, sure %v, %v", test.thread, unread, sure, err)
		}
	}
}
