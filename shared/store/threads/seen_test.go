package threads

import (
	"context"
	"fmt"
	"testing"

	"collabdata/shared/collab"
)

// TestSeenBudgets holds what it costs to say what is read and to count it: what nobody opened costs nothing, and a count reads threads only
// where the index leaves open whether they are unread.
func TestSeenBudgets(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	doc := org.Document("doc")
	l := newLoader(t, s)
	l.organization(org)
	l.document(doc, collab.RootFolder)
	const annotations = 400
	for i := range annotations {
		th := newThread(fmt.Sprintf("a%03d", i), fmt.Sprint("u", i%2), 2, 300)
		if i%4 == 0 {
			th.StatusID = "RARE"
		}
		l.head(doc, &th.Annotation)
		for i := range th.Comments {
			l.comment(doc, th.ID, &th.Comments[i])
		}
	}
	l.wait()
	holds := func(name string, units float64, f func(ctx context.Context) error) {
		t.Helper()
		cost, calls := spent(t, f)
		if t.Logf("%s: %.1f units, %d calls", name, cost, calls); cost > units {
			t.Errorf("%s: %.1f units, at most %.1f", name, cost, units)
		}
	}
	count := func(user string, statuses []string, total, unread int64) func(context.Context) error {
		return func(ctx context.Context) error {
			got, err := s.Count(ctx, []collab.DocumentRef{doc}, statuses, user)
			if want := (collab.AnnotationCount{Total: total, Unread: unread}); err == nil && got[0] != want {
				err = fmt.Errorf("%+v, want %+v", got[0], want)
			}
			return err
		}
	}
	holds("all", 12, count("", nil, annotations, 0))
	holds("in a status", 4, count("", []string{"RARE"}, annotations/4, 0))
	holds("of one who has seen nothing", 12+annotations/2+1, count("eve", nil, annotations, annotations))
	set := func(ids ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			errs, err := s.SetSeen(ctx, newRequest(5_000), doc, "eve", ids, true)
			for _, e := range errs {
				if err == nil {
					err = e
				}
			}
			return err
		}
	}
	holds("read one", 4, set("a001"))
	holds("read it again", 3, set("a001"))
	holds("of one who has seen one", 12+annotations/2+1, count("eve", nil, annotations, annotations-1))
	holds("read all of the document", 1.5, func(ctx context.Context) error { return s.SetAllSeen(ctx, newRequest(6_000), doc, "eve", true) })
	holds("of one who has seen all", 12.5, count("eve", nil, annotations, 0))
}
