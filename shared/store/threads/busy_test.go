package threads

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// operations is a transport that notes which operations it sends.
type operations struct {
	next aws.HTTPClient
	mu   sync.Mutex
	sent []string
}

// Do sends a request.
func (r *operations) Do(request *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	r.mu.Lock()
	r.sent = append(r.sent, operation)
	r.mu.Unlock()
	return r.next.Do(request)
}

// TestBusyThread counts what comments of several times cost, in a process that has seen the thread and in one that has not.
func TestBusyThread(t *testing.T) {
	plain := storetest.New(t)
	doc := newWriting(t, plain).doc
	type process struct {
		*Store
		*operations
	}
	start := func() process {
		r := &operations{}
		return process{on(storetest.Through(t, plain, func(next aws.HTTPClient) aws.HTTPClient { r.next = next; return r })), r}
	}
	one, other := start(), start()
	for _, step := range []struct {
		name string
		in   process
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
		step.in.sent = nil
		add := collab.NewComments{Comments: []collab.Comment{commentBy("ann", 0, step.at)}}
		if _, err := step.in.AddComments(t.Context(), newRequest(0), doc, "a", add); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, step.in.sent); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}
