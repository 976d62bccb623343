package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestConsistency: reads by document and by id see every acknowledged write.
func TestConsistency(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	s := on(storetest.Watched(t, storetest.New(t), func(operation, body string) *http.Response {
		var request struct {
			IndexName      string
			ConsistentRead bool
			RequestItems   map[string]struct{ ConsistentRead bool }
		}
		must.Do(t, json.Unmarshal([]byte(body), &request))
		for _, batch := range request.RequestItems {
			request.ConsistentRead = batch.ConsistentRead
		}
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprintf("%s %v", cmp.Or(request.IndexName, operation), request.ConsistentRead)] = true
		return nil
	}))
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	// Cached from then on.
	opened(t.Context(), s.Directory, org, collab.AnnotationQuery{Documents: []string{"doc"}})
	th := storetest.Thread("a", "u", 1)
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
		clear(seen)
		if err := tt.f(); err != nil {
			t.Fatal(tt.name, err)
		}
		if diff := gocmp.Diff(tt.want, slices.Sorted(maps.Keys(seen))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestIDsTakeTwoRounds walks 20 ids without documents, in cached documents: all look-ups are
// concurrent, then all threads.
func TestIDsTakeTwoRounds(t *testing.T) {
	table := storetest.New(t)
	org := on(table).mustOrganization(t, "org", "d1", "d2")
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprint("a", i))
		on(table).mustAdd(t, org.Document([]string{"d1", "d2"}[i%2]), storetest.Thread(ids[i], "u", 1))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var calls atomic.Int64
	waves := [2]chan bool{make(chan bool), make(chan bool)}
	s := on(storetest.Watched(t, table, func(string, string) *http.Response {
		n := calls.Add(1)
		if 0 < n && n <= 40 { // a wave passes when it is complete
			wave := waves[(n-1)/20]
			if n%20 == 0 {
				close(wave)
			}
			select {
			case <-wave:
			case <-ctx.Done():
			}
		}
		return nil
	}))
	calls.Store(-1_000) // until the documents are cached
	_, _, err := s.Directory.Open(ctx, org.Account, org.Organization, "", []string{"d1", "d2"})
	must.Do(t, err)
	calls.Store(0)
	n := 0
	if _, err := s.Walk(ctx, org, collab.AnnotationQuery{IDs: ids}, nil, 1000, func(_ string, th *collab.Thread) bool {
		if th != nil {
			n++
		}
		return true
	}); err != nil || n != 20 || calls.Load() != 40 {
		t.Errorf("%d annotations in %d calls, %v", n, calls.Load(), err)
	}
}
