package threads

import (
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
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

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
	r.Body = io.NopCloser(strings.NewReader(string(body)))
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
	s := on(storetest.Through(t, storetest.New(t), func(next aws.HTTPClient) aws.HTTPClient {
		c.next = next
		return c
	}))
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	opened(t.Context(), s.Directory, org, collab.AnnotationQuery{Documents: []string{"doc"}}) // known from then on
	th := newThread("a", "u", 1, 10)
	th.LocationID = "l"
	s.mustAdd(t, doc, th)
	walk := func(q collab.AnnotationQuery) func() error {
		return func() error {
			_, err := s.Walk(t.Context(), org, opened(t.Context(), s.Directory, org, q), nil, 10, func(string, *collab.Thread) bool { return true })
			return err
		}
	}
	selects := func(sel collab.Selector) func() error {
		return func() error { _, err := s.Select(t.Context(), doc, sel, 10); return err }
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
		{"walk over ids in a folder", walk(collab.AnnotationQuery{Folder: collab.RootFolder, IDs: []string{"a"}}), []string{"BatchGetItem false", "Query true"}},
		{"walk of a location", walk(collab.AnnotationQuery{Locations: []string{"l"}}), []string{"Query false", "index-in false"}},
		{"walk of a creator in a document", walk(collab.AnnotationQuery{Documents: documents, Creators: []string{"u"}}), []string{"Query false", "index-by false"}},
		{"walk of a status", walk(collab.AnnotationQuery{Statuses: []string{"OPEN"}}), []string{"Query false", "index-st false"}},
		{"walk by time", walk(collab.AnnotationQuery{UpdatedAfter: new(int64(1))}), []string{"Query false", "index-org false"}},
		{"walk of a document by time", walk(collab.AnnotationQuery{Documents: documents, UpdatedAfter: new(int64(1))}), []string{"Query false", "index-upd false"}},
		{"selection of all", selects(collab.Selector{}), []string{"Query true"}},
		{"selection by creator", selects(collab.Selector{Creators: []string{"u"}}), []string{"index-by false"}},
		{"comments", func() error {
			for _, err := range s.ListComments(t.Context(), doc, "a", 0, 10) {
				return err
			}
			return nil
		}, []string{"Query true"}},
		{"recent comments", func() error { _, err := s.RecentComments(t.Context(), doc, "a", 9, 9); return err }, []string{"BatchGetItem false", "Query false"}},
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

// wave is a transport that lets requests pass in waves: none of a wave passes before as many wait as it has.
type wave struct {
	next  aws.HTTPClient
	mu    sync.Mutex
	sizes []int // of the waves to come; none: everything passes
	here  int
	open  chan struct{}
}

func (w *wave) Do(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if len(w.sizes) == 0 {
		w.mu.Unlock()
		return w.next.Do(r)
	}
	if w.here == 0 {
		w.open = make(chan struct{})
	}
	open := w.open
	if w.here++; w.here == w.sizes[0] {
		w.sizes, w.here = w.sizes[1:], 0
		close(open)
	}
	w.mu.Unlock()
	select {
	case <-open:
		return w.next.Do(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestIDsTakeTwoRounds walks 20 ids without documents, in documents that are known: all look-ups go side by side, then all threads.
func TestIDsTakeTwoRounds(t *testing.T) {
	table := storetest.New(t)
	org := on(table).mustOrganization(t, "org", "d1", "d2")
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprint("a", i))
		on(table).mustAdd(t, org.Document([]string{"d1", "d2"}[i%2]), newThread(ids[i], "u", 1, 10))
	}
	w := &wave{}
	s := on(storetest.Through(t, table, func(next aws.HTTPClient) aws.HTTPClient {
		w.next = next
		return w
	}))
	_, _, err := s.Directory.Open(t.Context(), org.Account, org.Organization, "", []string{"d1", "d2"})
	must.Do(t, err)
	w.sizes = []int{20, 20}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n := 0
	if _, err := s.Walk(ctx, org, collab.AnnotationQuery{IDs: ids}, nil, 1000, func(_ string, th *collab.Thread) bool {
		if th != nil {
			n++
		}
		return true
	}); err != nil || n != 20 || len(w.sizes) != 0 {
		t.Errorf("%d annotations, waves left %v, %v", n, w.sizes, err)
	}
}
