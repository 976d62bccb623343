package erasure_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// asked is a transport that keeps what was asked of the table.
type asked struct {
	next aws.HTTPClient

	mu     sync.Mutex
	bodies []string
}

func (a *asked) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.mu.Lock()
	a.bodies = append(a.bodies, r.Header.Get("X-Amz-Target")+" "+string(body))
	a.mu.Unlock()
	return a.next.Do(r)
}

// TestReadsWhatIsMeant: a job reads nothing of an organization that is not meant, or of another account, and never the whole table.
func TestReadsWhatIsMeant(t *testing.T) {
	table := storetest.New(t)
	a := &asked{}
	now := table.Now()
	w := newWorld(t, table, storetest.Through(t, table, func(next aws.HTTPClient) aws.HTTPClient {
		a.next = next
		return a
	}), &now)
	w.plant("acme")
	w.plant("left-alone")
	_, err := w.OpenDocument(t.Context(), "another-account", "acme", "plan", collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	job := w.erase([]string{person}, "acme")
	a.bodies = nil
	w.run(job)
	if len(a.bodies) < 100 {
		t.Fatalf("only %d requests", len(a.bodies))
	}
	queries := 0
	for _, body := range a.bodies {
		if strings.Contains(body, ".Scan ") || strings.Contains(body, "another-account") || strings.Contains(body, keys.Join("O", "left-alone")) {
			t.Error(body)
		}
		if strings.Contains(body, ".Query ") {
			queries++
		}
	}
	t.Logf("%d requests, %d of them queries", len(a.bodies), queries)
}

// TestNamesAreKeptFirst: a name that stands only where the end of a thread is deleted, far from where its comments are read, is not lost
// where the step dies.
func TestNamesAreKeptFirst(t *testing.T) {
	w := begin(t)
	doc := w.document("acme", "plan")
	in := collab.Resource{OrganizationRef: doc.OrganizationRef}
	w.must(w.ChangeMembers(t.Context(), w.request(), in, []string{"cid"}, true, func(int, *collab.Member) {})[0])
	w.notify(doc, "of-bob", collab.User{UserID: "bob"}, func(n *collab.Notification) { n.Body = "Welcome " + alias }, "cid")
	var comments []collab.Comment
	for id := range 250 {
		c := comment(int64(id+1), person, strings.Repeat("x", 9_000)) // the first 120 are a megabyte
		if id == 120 {
			c.From = collab.JSON(`{"userId":"` + person + `","name":"` + alias + `"}`)
		}
		comments = append(comments, c)
	}
	w.thread(doc, "long", nil, comments[0])
	for part := range slices.Chunk(comments[1:], 80) {
		_, err := w.threads.AddComments(t.Context(), w.request(), doc, "long", collab.NewComments{Comments: part})
		w.must(err)
	}
	job := w.erase([]string{person})
	for after := 1; ; after += 16 {
		mortal := newWorld(t, w.table, storetest.Killed(t, w.table, after), w.now)
		next, err := mortal.jobs.RunJob(t.Context(), "acct", job)
		if err == nil && next == 0 {
			break
		}
		w.heard(job)
		if at := time.UnixMilli(next); err == nil && at.After(*w.now) {
			*w.now = at
		}
	}
	for _, it := range w.found() {
		t.Error(it)
	}
}

// TestStepIsBounded: whatever an account has, a step holds a few megabytes, and where it goes on fits into an item.
func TestStepIsBounded(t *testing.T) {
	w := begin(t)
	long := func(of string, n int) string { return fmt.Sprintf("%s%03d", strings.Repeat(of, n-3), len(of)) }
	var users []string
	for i := range 30 {
		users = append(users, fmt.Sprintf("%s%03d", strings.Repeat("u", collab.MaxID-3), i))
	}
	large := store.Text(strings.Repeat("x", 390_000))
	orgs := []string{long("o", collab.MaxID), "small"}
	for _, org := range orgs {
		for i := range 24 {
			doc := w.document(org, fmt.Sprintf("%s%03d", strings.Repeat("d", collab.MaxDocumentID-3), i))
			for n := range 3 {
				it := store.NewItem(keys.Comment(doc, "a", int64(n+1)))
				it["txt"] = large
				w.must(w.Put(t.Context(), it))
			}
		}
	}
	sizes, positions, err := w.jobs.Erasure.Steps(t.Context(), "acct", outbox.JobErasure{Users: users})
	w.must(err)
	total, longest := 0, 0
	for i, size := range sizes {
		total, longest = total+size, max(longest, len(positions[i]))
		if size > 10_000_000 {
			t.Errorf("a step reads %d bytes", size)
		}
	}
	if total < 2*24*3*390_000 {
		t.Errorf("%d bytes were read in all", total)
	}
	if longest > 100_000 {
		t.Errorf("a position has %d bytes", longest)
	}
	t.Logf("%d steps, the largest position has %d bytes", len(sizes), longest)
}
