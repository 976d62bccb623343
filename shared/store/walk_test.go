package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// pages walks the whole list in pages of most, and returns how many annotations each page had; each costs at most so many units and lets
// the walk end.
func (s *Store) pages(t *testing.T, org collab.OrganizationRef, q collab.AnnotationQuery, most int, units float64) (sizes []int) {
	t.Helper()
	for from := []byte(nil); ; {
		var next []byte
		size := 0
		cost, calls := spent(t, func(ctx context.Context) (err error) {
			next, err = s.Walk(ctx, org, q, from, most, func(string, *collab.Thread) bool {
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

// TestWalkEndsPages walks through much that it does not take: pages end after 500 sources, after 10,000 entries, and before they cost more
// than 400 units though all ids are at their longest.
func TestWalkEndsPages(t *testing.T) {
	s := newStore(t)
	org := collab.OrganizationRef{Account: strings.Repeat("a", 256), Organization: strings.Repeat("o", 256)}
	long := func(n int, size int) string { return fmt.Sprintf("%0*d", size, n) }
	l := newLoader(t, s)
	l.items <- organizationItem(org.Account, collab.Organization{ID: org.Organization})
	const annotations, documents = 1_200, 1_100
	for i := range documents {
		l.items <- documentItem(org, collab.Document{ID: long(i, 600), Folder: collab.RootFolder})
	}
	empty := collab.OrganizationRef{Account: "acct", Organization: "empty"}
	l.items <- organizationItem(empty.Account, collab.Organization{ID: empty.Organization})
	for i := range documents {
		l.items <- documentItem(empty, collab.Document{ID: fmt.Sprint(i), Folder: collab.RootFolder})
	}
	var marked []string
	for i := range annotations {
		doc := org.Document(long(i, 600))
		th := newThread(long(i, 256), long(0, 256), 0, 0)
		th.LocationID, th.StatusID = long(0, 256), long(i%2, 256)
		if i%600 == 599 {
			th.StatusID = "marked"
			marked = append(marked, th.ID)
		}
		l.items <- headItem(doc, &th.Annotation)
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
		if sum(got) != 1 || len(got) < 3 { // one of the two is in a document that is not listed
			t.Error(got)
		}
	})
	for name, q := range map[string]collab.AnnotationQuery{
		"empty documents": {}, "a folder of empty documents": {Folder: collab.RootFolder, Creators: []string{"u"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.pages(t, empty, q, 1000, 400); sum(got) != 0 || len(got) != 3 {
				t.Error(got)
			}
		})
	}
	for name, q := range map[string]collab.AnnotationQuery{
		"location and time":     {Locations: []string{long(0, 256)}, CreatedBefore: ptr(int64(999))},
		"window and status":     {UpdatedAfter: ptr(int64(1)), Statuses: []string{"marked"}},
		"creator and a time":    {Creators: []string{long(0, 256)}, CreatedAfter: ptr(int64(1_001))},
		"locations and creator": {Locations: []string{"none", long(0, 256)}, Creators: []string{long(0, 256)}, Statuses: []string{long(0, 256), "marked", "x"}, CreatedBefore: ptr(int64(9))},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.pages(t, org, q, 1000, 400)
			want := 0
			if name == "window and status" {
				want = len(marked)
			}
			if sum(got) != want || len(got) < 2 {
				t.Error(got)
			}
		})
	}
}

// TestLargeThread walks past a thread that is larger than a page: it comes with as many comments as a page may hold, and says so.
func TestLargeThread(t *testing.T) { onEach(t, testLargeThread) }

func testLargeThread(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	const comments = 60
	s.mustAdd(t, doc, newThread("a", "u", 1, 10))
	s.mustAdd(t, doc, newThread("b", "u", comments, 100_000))
	s.mustAdd(t, doc, newThread("c", "u", 2, 10))
	for name, q := range map[string]collab.AnnotationQuery{
		"document": {Documents: []string{"doc"}}, "ids": {IDs: []string{"a", "b", "c"}}, "creator": {Creators: []string{"u"}},
		"organization": {}, "window": {Documents: []string{"doc"}, UpdatedAfter: ptr(int64(1))},
	} {
		var got []string
		for from := []byte(nil); ; {
			bytes := 0
			next, err := s.Walk(t.Context(), org, q, from, 1000, func(id string, th *collab.Thread) bool {
				for _, c := range th.Comments {
					bytes += len(*c.Text)
				}
				if bytes > pageBytes && len(th.Comments) < 50 || bytes > 2*pageBytes {
					return false
				}
				cut := ""
				if th.Truncated {
					cut = "…"
				}
				for i, c := range th.Comments {
					if c.ID != int64(i+1) {
						t.Fatalf("%s: comment %d of %s is %d", name, i, id, c.ID)
					}
				}
				if th.Truncated && (len(th.Comments)*100_000 < pageBytes-500_000 || len(th.Comments) == comments) {
					t.Errorf("%s: %d comments are a page", name, len(th.Comments))
				}
				got = append(got, id+cut)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if from = next; next == nil {
				break
			}
		}
		if diff := cmp.Diff([]string{"a", "b…", "c"}, got); diff != "" {
			t.Error(name, diff)
		}
	}
}

// TestForgedPositions walks from positions that no walk gave: each is refused, or gives annotations that pass the filters.
func TestForgedPositions(t *testing.T) {
	s := newStore(t)
	org := s.mustOrganization(t, "org", "d1", "d2")
	for i := range 8 {
		th := newThread(fmt.Sprint("a", i), fmt.Sprint("u", i%2), 1, 10)
		th.LocationID = fmt.Sprint("l", i%3)
		s.mustAdd(t, org.Document([]string{"d1", "d2"}[i/4]), th)
	}
	queries := []collab.AnnotationQuery{
		{}, {Documents: []string{"d2"}}, {Documents: []string{"d1", "d2"}, Locations: []string{"l1", "l2"}}, {Creators: []string{"u1"}},
		{Folder: collab.RootFolder}, {IDs: []string{"a1", "a7"}}, {UpdatedAfter: ptr(int64(1))}, {Documents: []string{"d1"}, UpdatedAfter: ptr(int64(1))},
		{Folder: collab.RootFolder, Statuses: []string{"OPEN"}},
	}
	var positions []string
	for _, d := range []string{"", "d1", "d2", "other", "d#", "\x01", strings.Repeat("d", 700)} {
		for _, v := range []int{-1, 0, 1, 2, 3, 1 << 40} {
			for _, k := range []string{"", "A", "~", "\x00", "d1#a1", "ANN#a1", "ANN#a1#CMT#~", "d2", strings.Repeat("k", 1025)} {
				p, err := json.Marshal(position{d, v, k})
				if err != nil {
					t.Fatal(err)
				}
				positions = append(positions, string(p))
			}
		}
	}
	positions = append(positions, "", "null", "[]", "{", `{"v":"x"}`, `{"v":1.5}`, "\xff")
	for _, q := range queries {
		whole := map[string]bool{}
		for _, e := range s.list(t, org, q, 1000) {
			whole[e] = true
		}
		for _, p := range positions {
			_, err := s.Walk(t.Context(), org, q, []byte(p), 1000, func(id string, th *collab.Thread) bool {
				if th != nil && !whole[fmt.Sprintf("%s/%s:%d", th.Document, th.ID, len(th.Comments))] {
					t.Errorf("%+v from %s gives %s of %s", q, p, id, th.Document)
				}
				return true
			})
			if err != nil && collab.CodeOf(err) != collab.InvalidArgument {
				t.Errorf("%+v from %s: %v", q, p, err)
			}
		}
	}
	for _, p := range []string{`{"v":1}`, `{"v":-1}`, `{"k":"` + strings.Repeat("k", 1025) + `"}`, `{"d":""}x`, "x"} {
		_, err := s.Walk(t.Context(), org, collab.AnnotationQuery{}, []byte(p), 1000, nil)
		mustCode(t, p[:min(len(p), 20)], err, collab.InvalidArgument)
	}
}

// recorder is a transport that keeps how each read asks for consistency.
type recorder struct {
	next aws.HTTPClient
	mu   sync.Mutex
	seen map[string]bool
}

func (c *recorder) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var request struct {
		IndexName      string
		ConsistentRead bool
		RequestItems   map[string]struct{ ConsistentRead bool }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	target := r.Header.Get("X-Amz-Target")
	what := target[strings.LastIndexByte(target, '.')+1:]
	if request.IndexName != "" {
		what = request.IndexName
	}
	for _, batch := range request.RequestItems {
		request.ConsistentRead = batch.ConsistentRead
	}
	c.mu.Lock()
	c.seen[fmt.Sprintf("%s %v", what, request.ConsistentRead)] = true
	c.mu.Unlock()
	return c.next.Do(r)
}

// TestConsistency holds which reads see every acknowledged write: those by document and by id.
func TestConsistency(t *testing.T) {
	c := &recorder{seen: map[string]bool{}}
	s := newStore(t, func(cfg *aws.Config) {
		c.next = cfg.HTTPClient
		cfg.HTTPClient = c
	})
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	th := newThread("a", "u", 1, 10)
	th.LocationID = "l"
	s.mustAdd(t, doc, th)
	walk := func(q collab.AnnotationQuery) func() error {
		return func() error {
			_, err := s.Walk(t.Context(), org, q, nil, 10, func(string, *collab.Thread) bool { return true })
			return err
		}
	}
	selects := func(sel collab.Selector) func() error {
		return func() error { _, _, err := s.SelectAnnotations(t.Context(), doc, sel, 10); return err }
	}
	documents := []string{"doc"}
	for _, tt := range []struct {
		name string
		f    func() error
		want []string
	}{
		{"walk of a document", walk(collab.AnnotationQuery{Documents: documents}), []string{"Query true"}},
		{"walk of all", walk(collab.AnnotationQuery{}), []string{"Query false"}},
		{"walk over ids", walk(collab.AnnotationQuery{IDs: []string{"a"}}), []string{"Query true"}},
		{"walk over ids in a document", walk(collab.AnnotationQuery{Documents: documents, IDs: []string{"a", "b"}}), []string{"Query true"}},
		{"walk over ids in a folder", walk(collab.AnnotationQuery{Folder: collab.RootFolder, IDs: []string{"a"}}), []string{"BatchGetItem true", "Query true"}},
		{"walk of a location", walk(collab.AnnotationQuery{Locations: []string{"l"}}), []string{"Query false", "index-in false"}},
		{"walk of a creator in a document", walk(collab.AnnotationQuery{Documents: documents, Creators: []string{"u"}}), []string{"Query false", "index-by false"}},
		{"walk of a status", walk(collab.AnnotationQuery{Statuses: []string{"OPEN"}}), []string{"Query false", "index-st false"}},
		{"walk by time", walk(collab.AnnotationQuery{UpdatedAfter: ptr(int64(1))}), []string{"Query false", "index-org false"}},
		{"walk of a document by time", walk(collab.AnnotationQuery{Documents: documents, UpdatedAfter: ptr(int64(1))}), []string{"Query false", "index-upd false"}},
		{"selection of all", selects(collab.Selector{}), []string{"Query true"}},
		{"selection by id", selects(collab.Selector{IDs: []string{"a"}}), []string{"BatchGetItem true"}},
		{"selection by creator", selects(collab.Selector{Creators: []string{"u"}}), []string{"index-by false"}},
		{"comments", func() error {
			_, err := s.ListComments(t.Context(), doc, "a", 0, 10, func(*collab.Comment) bool { return true })
			return err
		}, []string{"GetItem true", "Query true"}},
		{"update", func() error {
			return s.UpdateAnnotation(t.Context(), doc, "a", newIDs().Mark(), true, func(*collab.Thread) ([]*collab.Event, error) { return nil, nil })
		}, []string{"Query true", "UpdateItem false"}},
		{"preferences", func() error { _, err := s.Preferences(t.Context(), org, "u", documents); return err }, []string{"BatchGetItem true"}},
	} {
		clear(c.seen)
		if err := tt.f(); err != nil {
			t.Fatal(tt.name, err)
		}
		if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(c.seen))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestForgedPosition walks lists from behind keys that are longer than DynamoDB takes: the caller's mistake, where they would be in the list.
func TestForgedPosition(t *testing.T) {
	s := newStore(t)
	org := s.mustOrganization(t, "org")
	ctx, long := t.Context(), strings.Repeat("z", table.MaxSortKey)
	walk := func(q collab.AnnotationQuery, key string) error {
		from, err := json.Marshal(position{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Walk(ctx, org, q, from, 1, func(string, *collab.Thread) bool { return true })
		return err
	}
	for name, list := range map[string]func(position string) error{
		"organizations": func(position string) error {
			_, err := s.ListOrganizations(ctx, "acct", position, 1, func(collab.Organization) bool { return true })
			return err
		},
		"inbox": func(position string) error {
			_, _, err := s.Inbox(ctx, org, "u", position, 1)
			return err
		},
		"deliveries": func(position string) error {
			_, _, err := s.Deliveries(ctx, "acct", "hook", collab.DeliveryFilter{}, position, 1)
			return err
		},
		"statuses": func(position string) error { return walk(collab.AnnotationQuery{Statuses: []string{"OPEN"}}, position) },
		"times": func(position string) error {
			return walk(collab.AnnotationQuery{UpdatedAfter: new(collab.Millis)}, position)
		},
	} {
		mustCode(t, name, list(long), collab.InvalidArgument)
		mustCode(t, name+", a short one", list("z"), "")
	}
}
