package threads

import (
	"net/http"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestBusyThread counts the cost of comments at several times, in a process that has seen the
// thread and in one that has not.
func TestBusyThread(t *testing.T) {
	plain := storetest.New(t)
	doc := newWriting(t, plain).doc
	var mu sync.Mutex
	var sent []string
	start := func() *Store {
		return on(storetest.Watched(t, plain, func(operation, _ string) *http.Response {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, operation)
			return nil
		}))
	}
	one, other := start(), start()
	for _, step := range []struct {
		name string
		in   *Store
		at   collab.Millis
		want []string
	}{
		{"quiet", one, 10_000, []string{"UpdateItem", "PutItem"}},
		{"of the same time", one, 10_000, []string{"GetItem", "PutItem"}},
		{"a little later", one, 10_010, []string{"UpdateItem", "PutItem"}},
		{"in the same quarter", one, 10_249, []string{"GetItem", "PutItem"}},
		{"in the same quarter, not seen", other, 10_200, []string{"UpdateItem", "PutItem"}},
		{"in the same quarter, seen", other, 10_201, []string{"GetItem", "PutItem"}},
		{"in the next quarter", other, 10_300, []string{"UpdateItem", "PutItem"}},
		{"in the next quarter, seen as it was before", one, 10_301, []string{"UpdateItem", "PutItem"}},
		{"much later", one, 20_000, []string{"UpdateItem", "PutItem"}},
		{"much later, seen as it was before", other, 20_000, []string{"UpdateItem", "PutItem"}},
	} {
		sent = nil
		add := collab.NewComments{Moved: true, Comments: []collab.Comment{storetest.Comment("ann", 0, step.at)}}
		if _, err := step.in.AddComments(t.Context(), newRequest(0), doc, "a", add); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, sent); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}
