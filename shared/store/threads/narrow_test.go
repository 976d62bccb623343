package threads

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// lagging is a transport with a lagging index: while it lags, queries of the index return earlier
// answers.
type lagging struct {
	next  aws.HTTPClient
	index string
	mu    sync.Mutex
	lags  bool
	seen  map[string]string // answers by request
	stale int               // repeated answers
}

func (l *lagging) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if !strings.Contains(string(body), `"`+l.index+`"`) {
		return l.next.Do(r)
	}
	var request any // its members come in any order
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	key := fmt.Sprint(request)
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.seen[key]; ok && l.lags {
		l.stale++
		return http.ReadResponse(bufio.NewReader(strings.NewReader(before)), r)
	}
	response, err := l.next.Do(r)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	if err := response.Write(&b); err != nil {
		return nil, err
	}
	l.seen[key] = b.String()
	return http.ReadResponse(bufio.NewReader(strings.NewReader(b.String())), r)
}

// TestNarrowByLaggingIndex narrows a walk over two locations by an index of creators that misses an
// annotation's move between them. Until the index catches up, that annotation may be missing; all
// others come once, in order.
func TestNarrowByLaggingIndex(t *testing.T) {
	for _, tt := range []struct{ from, to string }{{"l1", "l2"}, {"l2", "l1"}} {
		l := &lagging{index: keys.IndexBy, seen: map[string]string{}}
		s := on(storetest.Through(t, storetest.New(t), func(next aws.HTTPClient) aws.HTTPClient {
			l.next = next
			return l
		}))
		org := s.mustOrganization(t, "org")
		doc := org.Document("doc")
		add := func(id, creator, location string) {
			th := storetest.Thread(id, creator, 0)
			th.LocationID = location
			s.mustAdd(t, doc, th)
		}
		for i := range 60 {
			add(fmt.Sprintf("a%02d", i), "others", []string{"l1", "l2"}[i%2])
		}
		add("b1", "rare", "l1")
		add("b2", "rare", "l2")
		add("moved", "rare", tt.from)
		walk := func() (got []string) {
			q := collab.AnnotationQuery{Locations: []string{"l1", "l2"}, Creators: []string{"rare"}}
			for _, e := range s.list(t, org, q, 1000) {
				got = append(got, strings.TrimSuffix(strings.TrimPrefix(e, "doc/"), ":0"))
			}
			return got
		}
		ordered := func(at string) []string {
			if at == "l1" {
				return []string{"b1", "moved", "b2"}
			}
			return []string{"b1", "b2", "moved"}
		}
		if diff := cmp.Diff(ordered(tt.from), walk()); diff != "" {
			t.Fatal(diff)
		}
		must.Do(t, s.UpdateAnnotations(t.Context(), newRequest(2_000), doc, []string{"moved"}, collab.AnnotationChange{
			Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
				a.LocationID = tt.to
				return nil, nil
			},
		})[0])
		l.lags = true
		got := strings.Join(walk(), " ")
		if l.stale == 0 {
			t.Error("no other index was looked into")
		}
		if got != "b1 b2" && got != strings.Join(ordered(tt.to), " ") {
			t.Errorf("from %s to %s while the index lags: %s", tt.from, tt.to, got)
		}
		l.lags = false
		if diff := cmp.Diff(ordered(tt.to), walk()); diff != "" {
			t.Error(diff)
		}
	}
}
