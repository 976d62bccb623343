package threads

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// seenAs is the sight of a user who sees every document, and is no member.
type seenAs string

func (user seenAs) Viewers(_ context.Context, documents []collab.DocumentRef, _ time.Time) (map[collab.DocumentRef]collab.Viewers, error) {
	found := map[collab.DocumentRef]collab.Viewers{}
	for _, d := range documents {
		found[d] = collab.Viewers{{User: string(user), May: true}}
	}
	return found, nil
}

// loadHidden loads n threads of a document, one comment each, of which the user eve sees the public ones: one in each so many.
func loadHidden(t testing.TB, s *Store, doc collab.DocumentRef, n, each int, v *collab.Visibility) {
	l := newLoader(t, s)
	l.organization(doc.OrganizationRef)
	l.document(doc, collab.RootFolder)
	for i := range n {
		th := newThread(fmt.Sprintf("a%05d", i), "u", 1, 200)
		if th.LocationID = "l"; (i+1)%each != 0 {
			th.Visibility = v
		}
		l.head(doc, &th.Annotation)
		l.comment(doc, th.ID, &th.Comments[0])
	}
	l.wait()
}

// hiddenWalks are ways to read such a document.
var hiddenWalks = map[string]collab.AnnotationQuery{
	"by document":  {Documents: []string{"plan"}},
	"all":          {},
	"by location":  {Documents: []string{"plan"}, Locations: []string{"l"}},
	"by creator":   {Creators: []string{"u"}},
	"latest first": {Documents: []string{"plan"}, Order: collab.Descending},
}

// TestHiddenPagesEnd walks 700 threads as a person who sees 2 of them: pages end before they cost more than 400 units, and the walk finds
// both. Threads for members are passed over in the index.
func TestHiddenPagesEnd(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]*collab.Visibility{
		"restricted": {Type: collab.VisibilityRestricted, UserIDs: []string{"ann", "bob"}},
		"private":    {Type: collab.VisibilityOrganizationPrivate, OrganizationID: "org"},
	} {
		s := newStore(t)
		doc := collab.OrganizationRef{Account: "acct", Organization: "org"}.Document("plan")
		loadHidden(t, s, doc, 700, 350, v)
		for walk, q := range hiddenWalks {
			t.Run(name+", "+walk, func(t *testing.T) {
				q.Sight = seenAs("eve")
				sizes := s.pages(t, doc.OrganizationRef, q, 1000, 400)
				found := 0
				for _, n := range sizes {
					found += n
				}
				if found != 2 {
					t.Errorf("%d annotations, want 2", found)
				}
				if indexed := len(q.Locations)+len(q.Creators) > 0 || q.Order != ""; indexed && name == "private" && len(sizes) != 1 {
					t.Errorf("%d pages: threads that the index shows to be hidden were read", len(sizes))
				}
			})
		}
		n, err := s.Count(t.Context(), []collab.DocumentRef{doc}, nil, "", seenAs("eve"))
		if diff := cmp.Diff([]collab.AnnotationCount{{Total: 2}}, n); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// BenchmarkHiddenWalk walks 10,000 threads as a person who sees 10 of them.
func BenchmarkHiddenWalk(b *testing.B) {
	s := newStore(b)
	doc := collab.OrganizationRef{Account: "acct", Organization: "org"}.Document("plan")
	loadHidden(b, s, doc, 10_000, 1_000, &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{"ann", "bob"}})
	for name, q := range hiddenWalks {
		q.Sight = seenAs("eve")
		b.Run(name, func(b *testing.B) {
			var pages, units float64
			for b.Loop() {
				found := 0
				for from, more := []byte(nil), true; more; more = from != nil {
					cost, _ := spent(b, func(ctx context.Context) (err error) {
						from, err = s.Walk(ctx, doc.OrganizationRef, opened(ctx, s.Directory, doc.OrganizationRef, q), from, 1000,
							func(string, *collab.Thread) bool { found++; return true })
						return err
					})
					pages, units = pages+1, units+cost
				}
				if found != 10 {
					b.Fatalf("%d annotations, want 10", found)
				}
			}
			b.ReportMetric(pages/float64(b.N), "pages/op")
			b.ReportMetric(units/float64(b.N), "units/op")
		})
	}
}

// BenchmarkSight reads pages of 10 and of 500 threads of which nothing is hidden, for nobody and as a person: the time of the second is to be
// at most a tenth more. The person is asked about each time. The table has the latency of AWS.
func BenchmarkSight(b *testing.B) {
	cfg, table := storetest.Config(b), storetest.New(b)
	doc := collab.OrganizationRef{Account: "acct", Organization: "org"}.Document("plan")
	loadHidden(b, on(table), doc, 500, 1, nil)
	cfg.BaseEndpoint = aws.String(localstacktest.StartAWSLike(b).URL)
	s := on(store.New(cfg, table.Name(), time.Now, rand.Reader))
	checker := access.New(s.Directory, nil, webhook.NewGuard(nil), webhook.ClientOptions{}, time.Now, slog.New(slog.DiscardHandler))
	asked := func() collab.Sight { return checker.People(collab.Settings{}, "eve") }
	q := opened(b.Context(), s.Directory, doc.OrganizationRef, collab.AnnotationQuery{Documents: []string{"plan"}})
	for _, size := range []int{10, 500} {
		for _, of := range []struct {
			name  string
			sight func() collab.Sight
		}{{"everything", func() collab.Sight { return nil }}, {"as a person", asked}} {
			b.Run(fmt.Sprintf("%d, %s", size, of.name), func(b *testing.B) {
				for b.Loop() {
					q.Sight = of.sight()
					n := 0
					take := func(string, *collab.Thread) bool { n++; return true }
					if _, err := s.Walk(b.Context(), doc.OrganizationRef, q, nil, size, take); err != nil || n != size {
						b.Fatal(n, err)
					}
				}
			})
		}
	}
}

// BenchmarkOpen reads what a page of a document begins with, the 100 threads that were last changed, as a person: with 100,000 threads in the
// document it is to take at most twice the time as with 100.
func BenchmarkOpen(b *testing.B) {
	s := newStore(b)
	took := map[int]time.Duration{}
	for _, n := range []int{100, 100_000} {
		org := collab.OrganizationRef{Account: "acct", Organization: fmt.Sprint("org", n)}
		doc := org.Document("plan")
		loadHidden(b, s, doc, n, 1, nil)
		q := collab.AnnotationQuery{Documents: []string{"plan"}, Order: collab.Descending, UnreadFor: "eve", Sight: seenAs("eve")}
		q = opened(b.Context(), s.Directory, org, q)
		b.Run(fmt.Sprint("threads=", n), func(b *testing.B) {
			for b.Loop() {
				found := 0
				if _, err := s.Walk(b.Context(), org, q, nil, 100, func(string, *collab.Thread) bool { found++; return true }); err != nil || found != 100 {
					b.Fatalf("%d threads: %v", found, err)
				}
			}
			took[n] = b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(took[n])/float64(took[100]), "x-of-100")
		})
	}
}
