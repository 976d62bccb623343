package threads

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/storetest"
)

// pages walks the whole list in pages of most, and returns the number of annotations on each. Each
// page costs at most a number of units.
func (s *Store) pages(t *testing.T, org collab.OrganizationRef, q collab.AnnotationQuery, most int, units float64) (sizes []int) {
	t.Helper()
	for from := []byte(nil); ; {
		var next []byte
		size := 0
		cost, calls := spent(t, func(ctx context.Context) (err error) {
			next, err = s.Walk(ctx, org, opened(ctx, s.Directory, org, q), from, most, func(string, *collab.Thread) bool {
				size++
				return true
			})
			return err
		})
		t.Logf("page of %d: %.1f units, %d calls", size, cost, calls)
		if cost > units {
			t.Errorf("a page of %d cost %.1f units, at most %.0f", size, cost, units)
		}
		if sizes = append(sizes, size); next == nil {
			return sizes
		}
		if len(sizes) == 100 || string(from) == string(next) {
			t.Fatal("the walk does not end")
		}
		from = next
	}
}

// TestSiftedPagesEnd walks threads that fail a filter without an index: pages cost at most 400
// units.
func TestSiftedPagesEnd(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	org := collab.OrganizationRef{Account: "acct", Organization: "org"}
	l := newLoader(t, s)
	l.organization(org)
	const small, large = 700, 16 // annotations of 1 and 250 KB
	for d, n := range map[string]int{"small": small, "large": large} {
		l.document(org.Document(d), collab.RootFolder)
		for i := range n {
			th := sized(storetest.Thread(fmt.Sprintf("%s%04d", d, i), "u", 1), 700)
			if d == "large" {
				th = sized(storetest.Thread(fmt.Sprintf("%s%04d", d, i), "u", 5), 50_000)
			}
			if i == n-1 {
				th.ResolvedBy = "ann"
			}
			l.head(org.Document(d), &th.Annotation)
			for i := range th.Comments {
				l.comment(org.Document(d), th.ID, &th.Comments[i])
			}
		}
	}
	l.wait()
	for name, q := range map[string]collab.AnnotationQuery{
		"all":              {},
		"latest first":     {Order: collab.Descending},
		"earliest first":   {Order: collab.Ascending},
		"by an index":      {Creators: []string{"u"}},
		"in documents":     {Documents: []string{"large", "small"}},
		"in one, by order": {Documents: []string{"large"}, Order: collab.Descending},
	} {
		t.Run(name, func(t *testing.T) {
			q.ResolvedBy = []string{"ann"}
			want := 2
			if len(q.Documents) == 1 {
				want = 1
			}
			found := 0
			for _, n := range s.pages(t, org, q, 1000, 400) {
				found += n
			}
			if found != want {
				t.Errorf("%d annotations, want %d", found, want)
			}
		})
	}
}

// TestWalkEndsPages walks much that does not match: pages end after 500 sources or 10,000 entries,
// and cost at most 400 units even with the longest ids.
func TestWalkEndsPages(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	org := collab.OrganizationRef{Account: strings.Repeat("a", 256), Organization: strings.Repeat("o", 256)}
	long := func(n int, size int) string { return fmt.Sprintf("%0*d", size, n) }
	l := newLoader(t, s)
	l.organization(org)
	const annotations = 900 // more than a page examines, in each index
	const documents = mostSources + 50
	for i := range documents {
		l.document(org.Document(long(i, 600)), collab.RootFolder)
	}
	empty := collab.OrganizationRef{Account: "acct", Organization: "empty"}
	l.organization(empty)
	for i := range documents {
		l.document(empty.Document(fmt.Sprint(i)), collab.RootFolder)
	}
	// One is in an unlisted document.
	marked := map[int]bool{documents - 1: true, annotations - 1: true}
	for i := range annotations {
		doc := org.Document(long(i, 600))
		th := storetest.Thread(long(i, 256), long(0, 256), 0)
		th.LocationID, th.StatusID = long(0, 256), long(i%2, 256)
		if marked[i] {
			th.StatusID = "marked"
		}
		l.head(doc, &th.Annotation)
	}
	l.wait()

	sum := func(list []int) (n int) {
		for _, v := range list {
			n += v
		}
		return n
	}
	t.Run("sources", func(t *testing.T) {
		got := s.pages(t, org, collab.AnnotationQuery{Folder: collab.RootFolder, Statuses: []string{"marked"}}, 1000, 400)
		if sum(got) != 1 || len(got) != 2 {
			t.Error(got)
		}
	})
	for name, q := range map[string]collab.AnnotationQuery{
		"empty documents": {}, "a folder of empty documents": {Folder: collab.RootFolder, Creators: []string{"u"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.pages(t, empty, q, 1000, 400); sum(got) != 0 || len(got) != 2 {
				t.Error(got)
			}
		})
	}
	for name, q := range map[string]collab.AnnotationQuery{
		"location and time":     {Locations: []string{long(0, 256)}, CreatedBefore: new(int64(999))},
		"window and status":     {UpdatedAfter: new(int64(1)), Statuses: []string{"marked"}},
		"creator and a time":    {Creators: []string{long(0, 256)}, CreatedAfter: new(int64(1_001))},
		"locations and creator": {Locations: []string{"none", long(0, 256)}, Creators: []string{long(0, 256)}, Statuses: []string{long(0, 256), "marked", "x"}, CreatedBefore: new(int64(9))},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.pages(t, org, q, 1000, 400)
			want := 0
			if name == "window and status" {
				want = 1 // the other document does not exist
			}
			if sum(got) != want || len(got) != 2 {
				t.Error(got)
			}
		})
	}
}

// loader writes items as fast as the emulator accepts them.
type loader struct {
	items chan store.Item
	wg    sync.WaitGroup
}

func newLoader(t testing.TB, s *Store) *loader {
	l := &loader{items: make(chan store.Item, 1000)}
	for range 4 {
		l.wg.Go(func() {
			for more := true; more; {
				var writes []store.Write
				for len(writes) < 100 {
					it, ok := <-l.items
					if more = ok; !ok {
						break
					}
					writes = append(writes, store.Put(it))
				}
				if writes == nil {
					return
				}
				if _, err := s.Write(t.Context(), writes...); err != nil {
					t.Error("load", err)
				}
			}
		})
	}
	return l
}

func (l *loader) organization(org collab.OrganizationRef) {
	l.items <- store.NewItem(keys.Organization(org.Account, org.Organization))
}

func (l *loader) document(doc collab.DocumentRef, folder string) {
	k := keys.Document(doc.OrganizationRef, doc.Document)
	it := store.NewItem(k)
	it[keys.Parent], it[keys.DocAnn] = store.Text(folder), store.Text(k.SK)
	it[keys.In] = store.Text(keys.FolderPartition(doc.OrganizationRef, folder))
	l.items <- it
}

// head writes a head with no later comment.
func (l *loader) head(doc collab.DocumentRef, a *collab.Annotation) {
	it := headItem(doc, a)
	it[keys.Upd] = store.Text(keys.UpdatedInDocument(a.LastUpdated, a.ID))
	it[keys.Org] = store.Text(keys.UpdatedPartition(doc.OrganizationRef))
	it[keys.OrgUpd] = store.Text(keys.UpdatedInOrganization(a.LastUpdated, doc, a.ID))
	l.items <- it
}

func (l *loader) comment(doc collab.DocumentRef, ann string, c *collab.Comment) {
	it, err := commentItem(doc, ann, c, "")
	if err != nil {
		panic(err)
	}
	l.items <- it
}

func (l *loader) wait() {
	close(l.items)
	l.wg.Wait()
}

const perDocument = 100 // annotations

// load writes an organization with documents, five in a folder, each with perDocument annotations
// of one comment. Every tenth annotation is by each of ten creators, every 25th at each of 25
// locations, every third in each of three statuses. Three annotations of creator u1 have the status
// rare. Comments and look-up items that no test reads are omitted.
func (l *loader) load(t testing.TB, org collab.OrganizationRef, documents int) {
	annotations := documents * perDocument
	l.organization(org)
	for d := range documents {
		doc := org.Document(fmt.Sprintf("doc%03d", d))
		folder := fmt.Sprint("folder", d/5)
		if d%5 == 0 {
			l.items <- store.NewItem(keys.Folder(org, folder))
		}
		l.document(doc, folder)
		for a := range perDocument {
			n := d*perDocument + a
			th := sized(storetest.Thread(fmt.Sprintf("annotation-%08d", n), fmt.Sprint("u", n%10), 1), 400)
			th.LocationID, th.StatusID = fmt.Sprint("l", n%25), fmt.Sprint("s", n%3)
			rare := n == 1 || n == annotations/2+1 || n == annotations-9
			if rare {
				th.StatusID = "rare"
			}
			th.Location = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.LocationID))
			th.Status = collab.JSON(fmt.Sprintf(`{"id":%q}`, th.StatusID))
			th.CreatedAt, th.LastUpdated = int64(1_000_000+n*10), int64(1_000_000+n*10)
			l.head(doc, &th.Annotation)
			if d < 5 || rare {
				l.comment(doc, th.ID, &th.Comments[0])
				l.items <- store.NewItem(keys.AnnotationID(doc, th.ID))
			}
		}
	}
}

// many writes an organization whose annotations are only in the index by time.
func (l *loader) many(org collab.OrganizationRef, annotations int) {
	l.organization(org)
	for n := range annotations {
		id := fmt.Sprint(n)
		it := store.NewItem(keys.Annotation(org.Document("doc"), id))
		it[keys.Creator] = store.Text("u")
		it[keys.Org] = store.Text(keys.UpdatedPartition(org))
		it[keys.OrgUpd] = store.Text(keys.UpdatedInOrganization(1_000_000, org.Document("doc"), id))
		l.items <- it
	}
}

// TestReadBudgets reads pages of an organization with 500 annotations and of one with three times
// as many: both stay within the budgets.
func TestReadBudgets(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	orgs := []collab.OrganizationRef{{Account: "acct", Organization: "small"}, {Account: "acct", Organization: "large"}}
	l := newLoader(t, s)
	l.load(t, orgs[0], 5)
	l.load(t, orgs[1], 15)
	many := collab.OrganizationRef{Account: "acct", Organization: "many"}
	l.many(many, mostEntries+10)
	l.wait()

	const most = 20
	var ids []string
	for i := range most {
		ids = append(ids, fmt.Sprintf("annotation-%08d", i*3))
	}
	at := func(n int) *collab.Millis { return new(int64(1_000_000 + n*10)) }
	tests := []struct {
		name     string
		q        collab.AnnotationQuery
		want     int // annotations on the page
		examined int // index entries, at most
		queries  int // of indexes, at most
		// Units for other reads: documents of a folder, look-ups of ids.
		further float64
	}{
		{"document", collab.AnnotationQuery{Documents: []string{"doc001"}}, most, 0, 0, 0},
		{"location", collab.AnnotationQuery{Locations: []string{"l7"}}, most, most + 1, 1, 0},
		{"location in a document", collab.AnnotationQuery{Documents: []string{"doc002"}, Locations: []string{"l7"}}, 4, 4, 1, 0},
		{
			"two locations in two documents",
			collab.AnnotationQuery{Documents: []string{"doc002", "doc004"}, Locations: []string{"l7", "l3"}},
			16,
			16,
			4,
			0,
		},
		{"creator", collab.AnnotationQuery{Creators: []string{"u3"}}, most, most + 1, 1, 0},
		{"status", collab.AnnotationQuery{Statuses: []string{"s2"}}, most, most + 1, 1, 0},
		{"creator and status", collab.AnnotationQuery{Creators: []string{"u3"}, Statuses: []string{"s2", "s1"}}, most, 2 * most, 3, 0},
		{"creator and a status that three have", collab.AnnotationQuery{Creators: []string{"u1"}, Statuses: []string{"rare"}}, 3, most + 4, 2, 0},
		{"location, creator and a status that three have", collab.AnnotationQuery{
			Locations: []string{"l1", "l6", "l11", "l16", "l21"}, Creators: []string{"u1"}, Statuses: []string{"rare"}}, 3, 150, 6, 0},
		{"updated in a window", collab.AnnotationQuery{UpdatedAfter: at(100)}, most, most + 1, 1, 0},
		{"updated in a window of a document", collab.AnnotationQuery{Documents: []string{"doc001"}, UpdatedAfter: at(150)}, most, most + 1, 1, 0},
		{
			"updated in a window by a creator",
			collab.AnnotationQuery{UpdatedAfter: at(100), Creators: []string{"u5", "u6"}},
			most,
			5*most + 50,
			5,
			0,
		},
		{"created in a window", collab.AnnotationQuery{CreatedAfter: at(100), CreatedBefore: at(400)}, most, most + 1, 1, 0},
		{"folder", collab.AnnotationQuery{Folder: "folder0"}, most, 0, 0, 1},
		{"folder and status", collab.AnnotationQuery{Folder: "folder0", Statuses: []string{"s1"}}, most, most + 1, 1, 1},
		{"ids", collab.AnnotationQuery{IDs: ids}, most, 0, 0, most},
		{"ids in a document", collab.AnnotationQuery{Documents: []string{"doc000"}, IDs: ids}, most, 0, 0, 0},
		{"all of the organization", collab.AnnotationQuery{}, most, 0, 0, 20},
	}
	const (
		thread = 1_000.0 // approximate bytes of a head and its comment
		index  = 300.0   // approximate bytes of an index entry

		// At most this many documents have the annotations of a page; each is looked up.
		documents = 5.0
	)
	for _, tt := range tests {
		var figures [2]float64
		var of [2]int
		for i, org := range orgs {
			s.Directory = directory.New(s.Table) // empty cache
			taken := 0
			figures[i], of[i] = spent(t, func(ctx context.Context) error {
				_, err := s.Walk(ctx, org, opened(ctx, s.Directory, org, tt.q), nil, most, func(_ string, th *collab.Thread) bool {
					if th != nil {
						taken++
					}
					return true
				})
				return err
			})
			if taken != tt.want {
				t.Errorf("%s of the %s organization: %d annotations, want %d", tt.name, org.Organization, taken, tt.want)
			}
		}
		budget := 1 + tt.further
		if tt.q.Documents == nil {
			budget += documents / 2
		}
		switch {
		case tt.q.IDs != nil: // strongly consistent
			budget += float64(tt.want)
		case tt.examined == 0: // a page of documents
			budget += 1.25*float64(tt.want)*thread/4096 + 1
		default:
			budget += 0.5*float64(tt.want) + 1.1*float64(tt.examined)*index/8192 + float64(tt.queries)
		}
		differ := math.Abs(figures[1]-figures[0]) / figures[0]
		t.Logf(
			"%-50s small %5.1f units %2d calls, large %5.1f units %2d calls, budget %5.1f", tt.name, figures[0], of[0], figures[1], of[1], budget,
		)
		// If few match, the walk reads more of a filter's index in a larger organization.
		if max(figures[0], figures[1]) > budget || differ > 0.1 && tt.want == most {
			t.Errorf("%s: %.1f units in the small organization, %.1f in the large one, budget %.1f", tt.name, figures[0], figures[1], budget)
		}
	}
	// Nothing matches: the first page ends after 10,000 entries.
	if sizes := s.pages(t, many, collab.AnnotationQuery{UpdatedAfter: at(0), Creators: []string{"nobody"}}, most, 400); len(sizes) != 2 {
		t.Errorf("%d pages", len(sizes))
	}
}
