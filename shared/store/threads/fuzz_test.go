package threads

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

var (
	fuzzSeed  = flag.Uint64("walk.seed", 1, "seed of what random walks do")
	fuzzWalks = flag.Int("walk.walks", 15, "how many random queries are walked, plainly and others through the chaos transport")
)

// TestRandomWalks walks random queries in random pages with writes between pages: unwritten
// annotations come exactly once, in the order of a quiet walk.
func TestRandomWalks(t *testing.T) { storetest.OnEach(t, on, testRandomWalks) }

func testRandomWalks(t *testing.T, s *Store) {
	seed := *fuzzSeed
	if strings.HasSuffix(t.Name(), "chaos") {
		seed++ // other walks
	}
	f := newFuzz(t, s, seed)
	byDriver := map[string]int{}
	for range *fuzzWalks {
		q := f.query()
		quiet := f.walk(q, 1000, func() {})
		size := []int{1, 3, 7, 20}[f.random.IntN(4)]
		if diff := cmp.Diff(quiet, f.walk(q, size, f.write)); diff != "" {
			t.Fatalf("seed %d, query %+v, pages of %d:\n%s", seed, q, size, diff)
		}
		p := newPlan(f.org, &q)
		byDriver[p.index]++
	}
	t.Logf("walks by driver: %v", byDriver)
}

// fuzz is a random organization. Fixed annotations are never written again.
type fuzz struct {
	t       *testing.T
	s       *Store
	org     collab.OrganizationRef
	random  *rand.Rand
	fixed   map[string]bool // as <document>/<id>
	movable [][2]string
	n       int // annotations
}

var (
	fuzzDocuments = []string{"d1", "d2 x", "d3#", "d4", "d5"}
	fuzzPlaces    = []string{"l1", "l2", "l3", ""}
	fuzzUsers     = []string{"u1", "u2", "u3"}
	fuzzStatuses  = []string{"OPEN", "DONE", "RARE"}
)

const fuzzStart = 1_000_000 // the earliest time

func newFuzz(t *testing.T, s *Store, seed uint64) *fuzz {
	f := &fuzz{
		t: t, s: s, org: s.mustOrganization(t, "org", fuzzDocuments...), random: rand.New(rand.NewPCG(seed, 7)), fixed: map[string]bool{},
	}
	s.mustFolder(t, f.org, "f", fuzzDocuments[:3]...)
	for range 90 {
		doc, id := f.add()
		if f.random.IntN(3) > 0 {
			f.fixed[doc+"/"+id] = true
		} else {
			f.movable = append(f.movable, [2]string{doc, id})
		}
	}
	return f
}

func (f *fuzz) pick(list []string) string { return list[f.random.IntN(len(list))] }

func (f *fuzz) status() string {
	if f.random.IntN(30) == 0 {
		return "RARE"
	}
	return f.pick(fuzzStatuses[:2])
}

func (f *fuzz) add() (doc, id string) {
	doc, id = f.pick(fuzzDocuments), fmt.Sprintf("%s%04d", f.pick([]string{"a", "a b", "a#", "z", "A"}), f.n)
	f.n++
	th := storetest.Thread(id, f.pick(fuzzUsers), f.random.IntN(4))
	th.LocationID, th.StatusID = f.pick(fuzzPlaces), f.status()
	th.CreatedAt = fuzzStart + f.random.Int64N(1000)
	th.LastUpdated = th.CreatedAt + f.random.Int64N(1000)
	f.s.mustAdd(f.t, f.org.Document(doc), th)
	return doc, id
}

func (f *fuzz) some(list []string, most int) []string {
	if f.random.IntN(3) > 0 {
		return nil
	}
	c := slices.Clone(list)
	f.random.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	return c[:1+f.random.IntN(min(most, len(c)))]
}

func (f *fuzz) window() (after, before *collab.Millis) {
	if f.random.IntN(5) > 0 {
		return nil, nil
	}
	after = new(fuzzStart + f.random.Int64N(1500))
	if f.random.IntN(2) == 0 {
		before = new(*after + f.random.Int64N(1500))
	}
	return after, before
}

func (f *fuzz) query() collab.AnnotationQuery {
	q := collab.AnnotationQuery{
		Documents: f.some(
			fuzzDocuments, 5,
		), Locations: f.some(fuzzPlaces[:3], 3), Creators: f.some(fuzzUsers, 2), Statuses: f.some(fuzzStatuses, 2),
	}
	if f.random.IntN(4) == 0 {
		q.Folder = f.pick([]string{"f", collab.RootFolder})
	}
	q.UpdatedAfter, q.UpdatedBefore = f.window()
	q.CreatedAfter, q.CreatedBefore = f.window()
	return q
}

// write changes up to three movable annotations, or adds some.
func (f *fuzz) write() {
	for range f.random.IntN(4) {
		m := f.movable[f.random.IntN(len(f.movable))]
		doc, at := f.org.Document(m[0]), fuzzStart+f.random.Int64N(3000)
		switch f.random.IntN(4) {
		case 0, 1:
			status, place := f.status(), f.pick(fuzzPlaces)
			must.Do(f.t, f.s.UpdateAnnotations(f.t.Context(), newRequest(at), doc, []string{m[1]}, collab.AnnotationChange{
				Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
					a.StatusID, a.LocationID, a.LastUpdated = status, place, max(a.LastUpdated, at)
					return nil, nil
				},
			})[0])
		case 2:
			c := storetest.Comment(f.pick(fuzzUsers), 0, at)
			add := collab.NewComments{Comments: []collab.Comment{c}}
			if _, err := f.s.AddComments(f.t.Context(), newRequest(0), doc, m[1], add); err != nil {
				f.t.Fatal(err)
			}
		case 3:
			doc, id := f.add()
			f.movable = append(f.movable, [2]string{doc, id})
		}
	}
}

// walk returns the fixed annotations of a walk, and writes between its pages.
func (f *fuzz) walk(q collab.AnnotationQuery, size int, write func()) (got []string) {
	for from := []byte(nil); ; {
		next, err := f.s.Walk(
			f.t.Context(),
			f.org,
			opened(f.t.Context(), f.s.Directory, f.org, q),
			from,
			size,
			func(id string, th *collab.Thread) bool {
				if f.fixed[th.Document+"/"+id] {
					got = append(got, th.Document+"/"+id)
				}
				return true
			},
		)
		must.Do(f.t, err)
		if from = next; next == nil {
			return got
		}
		write()
	}
}
