package threads

import (
	"context"
	"fmt"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// seenAs is the sight of a user that sees every document, and is no member.
type seenAs string

func (user seenAs) Viewers(_ context.Context, documents []collab.DocumentRef, _ time.Time) (map[collab.DocumentRef]collab.Viewers, error) {
	found := map[collab.DocumentRef]collab.Viewers{}
	for _, d := range documents {
		found[d] = collab.Viewers{{User: string(user), May: true}}
	}
	return found, nil
}

// loadHidden loads n threads of a document, one comment each. The user eve sees one in each, the
// public ones.
func loadHidden(t testing.TB, s *Store, doc collab.DocumentRef, n, each int, v *collab.Visibility) {
	l := newLoader(t, s)
	l.organization(doc.OrganizationRef)
	l.document(doc, collab.RootFolder)
	for i := range n {
		th := sized(storetest.Thread(fmt.Sprintf("a%05d", i), "u", 1), 200)
		if th.LocationID = "l"; (i+1)%each != 0 {
			th.Visibility = v
		}
		l.head(doc, &th.Annotation)
		l.comment(doc, th.ID, &th.Comments[0])
	}
	l.wait()
}

var hiddenWalks = map[string]collab.AnnotationQuery{
	"by document":  {Documents: []string{"plan"}},
	"all":          {},
	"by location":  {Documents: []string{"plan"}, Locations: []string{"l"}},
	"by creator":   {Creators: []string{"u"}},
	"latest first": {Documents: []string{"plan"}, Order: collab.Descending},
}

// TestHiddenPagesEnd walks 700 threads as a user that sees 2 of them: pages cost at most 400 units,
// and the walk finds both. The index suffices to skip threads for members.
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
