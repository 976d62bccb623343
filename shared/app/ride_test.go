package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// counting counts the requests to the table, and fails those behind a number.
type counting struct {
	aws.HTTPClient
	n    atomic.Int64
	most atomic.Int64 // 0 for any
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	if n, most := c.n.Add(1), c.most.Load(); most != 0 && n > most {
		return nil, fmt.Errorf("killed")
	}
	return c.HTTPClient.Do(r)
}

// TestClaimRides adds an annotation, and comments with an event, under an Idempotency-Key: the claim is made in the transaction of the data,
// and one more call keeps the answer. A repetition is answered from that; one behind a crash finishes the first attempt; another body is
// refused; twins write once.
func TestClaimRides(t *testing.T) {
	d := newDeployment(t)
	count := &counting{HTTPClient: d.table.HTTPClient}
	d.table.HTTPClient = count
	calls := func(f func()) int64 {
		before := count.n.Load()
		f()
		return count.n.Load() - before
	}
	add := func(key, text string) (status int, body string) {
		return d.call("/v2/commentannotations/add", key, "{}", `{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,
			"commentAnnotations":[{"commentData":[{"commentText":"`+text+`","from":{"userId":"u"}}]}]}`, long)
	}
	comment := func(key, text string) (status int, body string) {
		return d.call("/v2/commentannotations/comments/add", key, "{}", `{"organizationId":"o","documentId":"d","annotationId":"a",
			"commentData":[{"commentText":"`+text+`","from":{"userId":"u"},"triggerNotification":true}]}`, long)
	}
	d.call("/v2/commentannotations/add", "", "{}", `{"organizationId":"o","createOrganization":true,"documentId":"d","createDocument":true,
		"commentAnnotations":[{"annotationId":"a"}]}`, long)
	comment("", "warm")
	for _, op := range []struct {
		name  string
		call  func(key, text string) (int, string)
		calls int64
	}{{"add", add, 2}, {"comments add", comment, 3}} {
		t.Run(op.name, func(t *testing.T) {
			key := strings.ReplaceAll(op.name, " ", "-")
			var first, second string
			if n := calls(func() { _, first = op.call(key, op.name) }); n != op.calls || !strings.Contains(first, `"success"`) {
				t.Errorf("%d calls: %s", n, first)
			}
			if n := calls(func() { _, second = op.call(key, op.name) }); second != first || n > op.calls {
				t.Errorf("again, in %d calls: %s, first %s", n, second, first)
			}
			if status, body := op.call(key, "another"); status != 400 || !strings.Contains(body, "another body") {
				t.Errorf("with another body: %d %s", status, body)
			}

			count.most.Store(count.n.Load() + op.calls - 1) // the answer is not kept
			op.call(key+"-killed", op.name+" killed")
			count.most.Store(0)
			d.later.Add(int64(time.Minute)) // its lease has ended
			if status, body := op.call(key+"-killed", op.name+" killed"); status != 200 {
				t.Errorf("behind a crash: %d %s", status, body)
			}

			var twins sync.WaitGroup
			for range 4 {
				twins.Go(func() {
					if status, body := op.call(key+"-twins", op.name+" twins"); status != 200 && status != 409 {
						t.Errorf("a twin: %d %s", status, body)
					}
				})
			}
			twins.Wait()
		})
	}
	seen := map[string]int{}
	_, body := d.call("/v2/commentannotations/get", "", "{}", `{"organizationId":"o","documentId":"d"}`, long)
	for _, text := range []string{"add", "add killed", "add twins", "comments add", "comments add killed", "comments add twins"} {
		if seen[text] = strings.Count(body, `"commentText":"`+text+`"`); seen[text] != 1 {
			t.Errorf("%q is there %d times", text, seen[text])
		}
	}
}
