package store

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// dump returns all that is stored of a document's annotations, shown or not.
func dump(t *testing.T, s *Store, doc collab.DocumentRef) []item {
	t.Helper()
	items, err := s.query(t.Context(), scan{
		pk: table.DocumentPartition(doc.Account, doc.Organization, doc.Document), keys: everything, strong: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// TestRefusedAddChangesNothing adds what is there already: all that is stored stays as it is.
func TestRefusedAddChangesNothing(t *testing.T) { onEach(t, testRefusedAddChangesNothing) }

func testRefusedAddChangesNothing(t *testing.T, s *Store) {
	doc := s.mustOrganization(t, "org").Document("doc")
	for _, n := range []int{1, 90, 500} {
		s.mustAdd(t, doc, newThread(fmt.Sprint("a", n), "u", n, 10))
	}
	before := dump(t, s, doc)
	if len(before) != 3+1+90+500 {
		t.Fatalf("%d items", len(before))
	}
	unchanged := func(what string, err error, want collab.Code) {
		t.Helper()
		mustCode(t, what, err, want)
		if diff := cmp.Diff(before, dump(t, s, doc), cmp.Comparer(equal)); diff != "" {
			t.Fatalf("%s changed something (- before, + after):\n%s", what, diff)
		}
	}
	for _, there := range []int{1, 90, 500} {
		for _, n := range []int{1, 90, 500} {
			err := s.AddAnnotation(t.Context(), doc, newThread(fmt.Sprint("a", there), "other", n, 20), newIDs().Mark())
			unchanged(fmt.Sprintf("an add with %d comments where one with %d is", n, there), err, collab.AlreadyExists)
		}
		for _, n := range []int{1, 500} {
			comments := make([]collab.Comment, n)
			for i := range comments {
				comments[i] = newComment(int64(1_000+i), "other", 20)
			}
			comments[n/2].ID = 1
			_, err := s.AddComments(t.Context(), doc, fmt.Sprint("a", there), collab.NewComments{Comments: comments, IDs: newIDs()})
			unchanged(fmt.Sprintf("%d comments, one of which is there", n), err, collab.AlreadyExists)
		}
	}
	large := newThread("large", "u", 100, 10)
	large.Comments[70].Text = ptr(strings.Repeat("x", collab.MaxItemBytes))
	unchanged("a comment too large", s.AddAnnotation(t.Context(), doc, large, newIDs().Mark()), collab.InvalidArgument)
	large = newThread("large", "u", 1, 10)
	large.Context = collab.JSON(`"` + strings.Repeat("x", collab.MaxItemBytes) + `"`)
	unchanged("a head too large", s.AddAnnotation(t.Context(), doc, large, newIDs().Mark()), collab.InvalidArgument)
	_, err := s.AddComments(t.Context(), doc, "none", collab.NewComments{Comments: newThread("", "u", 100, 10).Comments, IDs: newIDs()})
	unchanged("comments of no annotation", err, collab.NotFound)
}

// TestLargest adds and changes annotations whose comments are many and large: no transaction is larger than DynamoDB takes.
func TestLargest(t *testing.T) {
	s := newStore(t)
	doc := s.mustOrganization(t, "org").Document("doc")
	const large = collab.MaxItemBytes - 2_000
	th := newThread("a", "u", 10, large)
	th.Context = collab.JSON(`"` + strings.Repeat("x", large) + `"`)
	ev := &collab.Event{ID: "e", Account: "acct", OrganizationID: "org", DocumentID: "doc"}
	for i := range collab.MaxPeople {
		ev.People = append(ev.People, collab.User{UserID: fmt.Sprintf("%0256d", i), Name: ptr(strings.Repeat("n", 4_000)), Email: ptr(strings.Repeat("m", 1_000))})
	}
	if err := s.AddAnnotation(t.Context(), doc, th, newIDs().Mark(), ev); err != nil {
		t.Fatal("add", err)
	}
	if got, err := s.Event(t.Context(), "acct", "e"); err != nil || len(got.People) != collab.MaxPeople {
		t.Fatal("event", err)
	}
	ids, err := s.AddComments(t.Context(), doc, "a", collab.NewComments{Comments: newThread("", "u", 14, large).Comments[10:], IDs: newIDs()})
	if err != nil || len(ids) != 4 {
		t.Fatal("add comments", err)
	}
	few := newThread("", "u", 12, large).Comments
	for i := range few {
		few[i].ID = 0
	}
	if made, err := s.AddComments(t.Context(), doc, "a", collab.NewComments{Comments: few, IDs: newIDs()}); err != nil || len(made) != 12 {
		t.Fatal("add comments that are more than a transaction", err)
	}
	err = s.UpdateAnnotation(t.Context(), doc, "a", newIDs().Mark(), true, func(th *collab.Thread) ([]*collab.Event, error) {
		for i := range th.Comments {
			th.Comments[i].Text = ptr(strings.Repeat("y", large))
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal("update", err)
	}
	failed, err := s.UpdateComments(t.Context(), doc, "a", collab.CommentChange{IDs: ids, Mark: newIDs().Mark(), Change: func(c *collab.Comment) error {
		c.Text = ptr(strings.Repeat("z", large+10_000*int(c.ID-13)))
		return nil
	}})
	if err != nil || len(failed) != 1 || collab.CodeOf(failed[14]) != collab.InvalidArgument {
		t.Fatal("update comments", err, failed)
	}
}

// cut is a transport that stops for good after so many requests, as when the process is killed.
type cut struct {
	next aws.HTTPClient
	left atomic.Int64
}

func (c *cut) Do(r *http.Request) (*http.Response, error) {
	if c.left.Add(-1) < 0 {
		return nil, errors.New("killed")
	}
	return c.next.Do(r.WithContext(context.WithoutCancel(r.Context()))) // what was sent is done
}

// killed returns the store as a process reaches it that is killed after so many requests.
func (s *Store) killed(t *testing.T, after int) *Store {
	cfg := config(t)
	c := &cut{next: cfg.HTTPClient}
	c.left.Store(int64(after))
	cfg.HTTPClient = c
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	return New(cfg, s.table, s.now, rand.Reader)
}

// killPoints are the numbers of requests after which a bulk write of so many is killed: all at its beginning and end, and some of those
// in between, where it puts its comments in no order.
func killPoints(requests int) []int {
	var list []int
	for k := range requests + 1 {
		if k < 6 || k%7 == 0 || k > requests-5 {
			list = append(list, k)
		}
	}
	return list
}

// TestKilledAdd kills a bulk add after its requests: the whole annotation is visible or nothing of it. Then the request is
// repeated, which ends it, or another one wants the same annotation: it has to wait 15 minutes for what is left to be abandoned.
func TestKilledAdd(t *testing.T) {
	s := newStore(t)
	s.wait = func(int) time.Duration { return 0 }
	var later atomic.Bool
	s.now = func() time.Time {
		if later.Load() {
			return time.Now().Add(batchLife + time.Second)
		}
		return time.Now()
	}
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	const comments = transactComments + 3
	const requests = 1 + comments + 1
	add := func(s *Store, k int, creator string, mark string) error {
		return s.AddAnnotation(t.Context(), doc, newThread(fmt.Sprintf("a%03d", k), creator, comments, 10), mark)
	}
	marks := make([]string, requests+1)
	points := killPoints(requests)
	parallel(len(points), func(i int) {
		k := points[i]
		marks[k] = newIDs().Mark()
		err := add(s.killed(t, k), k, "u", marks[k])
		if (err == nil) != (k == requests) {
			t.Errorf("killed after %d requests: %v", k, err)
		}
	})
	whole := func(k int) string { return fmt.Sprintf("doc/a%03d:%d", k, comments) }
	want := []string{whole(requests)}
	check := func() {
		t.Helper()
		slices.Sort(want)
		for _, q := range []collab.AnnotationQuery{{Documents: []string{"doc"}}, {Creators: []string{"u", "v"}}} {
			got := s.list(t, org, q, 1000)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s", diff)
			}
		}
	}
	check()

	again := []int{0, 1, 2, 21, comments, requests - 1}
	parallel(len(again), func(i int) { mustCode(t, "the same request again", add(s, again[i], "u", marks[again[i]]), "") })
	for _, k := range again {
		want = append(want, whole(k))
	}
	others := []int{3, 4, 35, 63, requests - 3}
	parallel(len(others), func(i int) {
		mustCode(t, "another request", add(s, others[i], "v", newIDs().Mark()), collab.Aborted)
	})
	check()
	later.Store(true)
	parallel(len(others), func(i int) {
		mustCode(t, "another request later", add(s, others[i], "v", newIDs().Mark()), "")
	})
	for _, k := range others {
		want = append(want, whole(k))
	}
	check()
}

// TestKilledComments does the same to comments, with generated ids, with given ones, and with both. Before the request is repeated others write: its
// comments get other ids then, and what it had put is not shown beside them.
func TestKilledComments(t *testing.T) {
	s := newStore(t)
	s.wait = func(int) time.Duration { return 0 }
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	const comments = transactComments + 3
	const requests = 1 + comments + 1
	thread := func(k int) *collab.Thread {
		return s.threads(t, org, collab.AnnotationQuery{Documents: []string{"doc"}, IDs: []string{fmt.Sprintf("a%03d", k)}})[0]
	}
	points := killPoints(requests)
	parallel(len(points), func(i int) {
		k := points[i]
		th := newThread(fmt.Sprintf("a%03d", k), "u", 1, 10)
		if err := s.AddAnnotation(t.Context(), doc, th, newIDs().Mark()); err != nil {
			t.Error(err)
			return
		}
		start := time.Now()
		seed := []byte(th.ID)
		add := func(s *Store) ([]int64, error) {
			list := make([]collab.Comment, comments)
			for i := range list {
				list[i] = newComment(0, "v", 10)
				if k%3 > 0 && i%(k%3) == 0 { // none, all, or every other one
					list[i].ID = int64(100 + i)
				}
			}
			return s.AddComments(t.Context(), doc, th.ID, collab.NewComments{Comments: list, IDs: collab.NewIDs(start, seed)})
		}
		ids, err := add(s.killed(t, k))
		if (err == nil) != (k == requests) {
			t.Errorf("killed after %d requests: %v", k, err)
		}
		want := 1
		if k == requests {
			want += comments
		}
		if got := len(thread(k).Comments); got != want {
			t.Errorf("killed after %d requests: %d comments, want %d", k, got, want)
		}
		// Another comment gets an id amid those that the request has generated.
		other := collab.NewIDs(start.Add(40*time.Microsecond), []byte("other"))
		if _, err := s.AddComments(t.Context(), doc, th.ID, collab.NewComments{Comments: []collab.Comment{newComment(0, "w", 10)}, IDs: other}); err != nil {
			t.Error("another comment", err)
		}
		again, err := add(s)
		if err != nil || len(again) != comments {
			t.Errorf("killed after %d requests: the repeat: %v", k, err)
			return
		}
		if diff := cmp.Diff(ids, again); k == requests && diff != "" {
			t.Error("the repeat of a request that came to its end answers other ids", diff)
		}
		got := thread(k)
		var of []int64
		for _, c := range got.Comments {
			if string(c.From) == string(userJSON("v")) {
				of = append(of, c.ID)
			}
		}
		slices.Sort(again)
		if diff := cmp.Diff(again, of); diff != "" || len(got.Comments) != 1+1+comments {
			t.Errorf("killed after %d requests: %d comments, %s", k, len(got.Comments), diff)
		}
	})
}

// parallel runs f for 0 to n-1, some at once.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			f(i)
			<-slots
		})
	}
	wg.Wait()
}

const childTable = "STORE_TEST_CHILD" // names the table to the child of TestKilledProcess

// ticking prints a line for each request that was answered.
type ticking struct{ next aws.HTTPClient }

func (c ticking) Do(r *http.Request) (*http.Response, error) {
	response, err := c.next.Do(r)
	fmt.Println("answered")
	return response, err
}

// TestKilledProcess kills processes that add annotations of 500 comments, one after the other.
func TestKilledProcess(t *testing.T) {
	const comments = 500
	if name := os.Getenv(childTable); name != "" {
		cfg := config(t)
		cfg.HTTPClient = ticking{cfg.HTTPClient}
		s := New(cfg, name, time.Now, rand.Reader)
		doc := collab.OrganizationRef{Account: "acct", Organization: "org"}.Document("doc")
		for i := 0; ; i++ {
			s.mustAdd(t, doc, newThread(fmt.Sprintf("%d-%d", os.Getpid(), i), "u", comments, 10))
		}
	}

	s := newStore(t)
	org := s.mustOrganization(t, "org")
	shown := 0
	for _, requests := range []int{1, 2, 200, 500, 501, 502, 503, 750} {
		ctx, cancel := context.WithCancel(t.Context())
		child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledProcess$") // it is killed, not asked to end
		child.Env = append(os.Environ(), childTable+"="+s.table, "AWS_ENDPOINT_URL_DYNAMODB="+*config(t).BaseEndpoint)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		seen := 0
		for seen < requests && lines.Scan() {
			seen++
		}
		cancel()
		if child.Wait(); seen < requests {
			t.Fatalf("the child ended by itself after %d requests: %s", seen, lines.Text())
		}
		got := s.list(t, org, collab.AnnotationQuery{Documents: []string{"doc"}}, 1000)
		for _, entry := range got {
			if !strings.HasSuffix(entry, ":"+strconv.Itoa(comments)) {
				t.Errorf("killed after %d requests: %s is visible", requests, entry)
			}
		}
		if len(got) < shown || requests > 502 && len(got) == shown {
			t.Errorf("killed after %d requests: %d annotations, %d before", requests, len(got), shown)
		}
		shown = len(got)
	}
}
