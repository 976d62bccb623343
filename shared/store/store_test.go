package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/localstack/localstacktest"
	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

var tables atomic.Int64

// client is shared by all tests.
var client = localstacktest.Config("").HTTPClient

// config returns how to reach the emulator.
func config(t testing.TB) aws.Config {
	cfg := localstacktest.Config(localstacktest.DynamoDB(t))
	cfg.HTTPClient = client
	return cfg
}

// newStore returns a store on a table of its own.
func newStore(t testing.TB, change ...func(*aws.Config)) *Store {
	t.Helper()
	cfg := config(t)
	name := fmt.Sprintf("store-%d-%d", time.Now().UnixNano(), tables.Add(1))
	if err := New(cfg, name, time.Now, rand.Reader).CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&cfg)
	}
	return New(cfg, name, time.Now, rand.Reader)
}

func (s *Store) mustOrganization(t testing.TB, org string, documents ...string) collab.OrganizationRef {
	t.Helper()
	ref := collab.OrganizationRef{Account: "acct", Organization: org}
	for _, d := range append(documents, "doc") {
		if err := s.CheckDocument(t.Context(), ref.Document(d), collab.CreateFlags{Organization: true, Document: true}); err != nil {
			t.Fatal(err)
		}
	}
	return ref
}

func newIDs() *collab.IDs {
	seed := make([]byte, 16)
	rand.Read(seed)
	return collab.NewIDs(time.Now(), seed)
}

func ptr[T any](v T) *T { return &v }

func userJSON(id string) collab.JSON { return collab.JSON(fmt.Sprintf(`{"userId":%q}`, id)) }

// newThread returns an annotation by ann with comments 1 to n of size bytes each.
func newThread(id, creator string, n, size int) *collab.Thread {
	t := &collab.Thread{Annotation: collab.Annotation{
		ID: id, From: userJSON(creator), CreatorID: creator, Status: collab.JSON(`{"id":"OPEN"}`), StatusID: "OPEN",
		CreatedAt: 1_000, LastUpdated: 1_000, Authors: map[string]collab.Millis{creator: 1_000}, LastComment: int64(n),
	}}
	for i := range n {
		t.Comments = append(t.Comments, newComment(int64(i+1), creator, size))
	}
	return t
}

func newComment(id int64, author string, size int) collab.Comment {
	return collab.Comment{ID: id, Text: ptr(strings.Repeat("x", size)), From: userJSON(author), CreatedAt: 1_000, LastUpdated: 1_000}
}

// list walks the whole list in pages of size and returns what it gave as doc/id:number of comments.
func (s *Store) list(t testing.TB, org collab.OrganizationRef, q collab.AnnotationQuery, size int) []string {
	t.Helper()
	got := []string{}
	for from := []byte(nil); ; {
		next, err := s.Walk(t.Context(), org, q, from, size, func(id string, th *collab.Thread) bool {
			if th == nil {
				got = append(got, "-"+id)
			} else {
				got = append(got, fmt.Sprintf("%s/%s:%d", th.Document, th.ID, len(th.Comments)))
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if next == nil {
			return got
		}
		from = next
	}
}

func (s *Store) mustAdd(t testing.TB, doc collab.DocumentRef, th *collab.Thread) {
	t.Helper()
	if err := s.AddAnnotation(t.Context(), doc, th, newIDs().Mark()); err != nil {
		t.Fatal(err)
	}
}

func TestAddAnnotation(t *testing.T) { onEach(t, testAddAnnotation) }

func testAddAnnotation(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	for _, n := range []int{0, 1, 90, 91, 500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			id := fmt.Sprint("ann", n)
			s.mustAdd(t, doc, newThread(id, "ann", n, 10))
			want := []string{fmt.Sprintf("doc/%s:%d", id, n)}
			q := collab.AnnotationQuery{IDs: []string{id}}
			if diff := cmp.Diff(want, s.list(t, org, q, 1000)); diff != "" {
				t.Fatal(diff)
			}
			again := newThread(id, "bob", n, 20)
			err := s.AddAnnotation(t.Context(), doc, again, newIDs().Mark())
			if collab.CodeOf(err) != collab.AlreadyExists {
				t.Fatalf("second add: %v", err)
			}
			for _, query := range []collab.AnnotationQuery{q, {Documents: []string{"doc"}, Creators: []string{"ann"}}} {
				for _, th := range s.threads(t, org, query) {
					for _, c := range th.Comments {
						if th.ID == id && string(c.From) != string(userJSON("ann")) {
							t.Fatalf("comment %d was changed by a failed add", c.ID)
						}
					}
				}
			}
		})
	}
}

func (s *Store) threads(t testing.TB, org collab.OrganizationRef, q collab.AnnotationQuery) []*collab.Thread {
	t.Helper()
	var list []*collab.Thread
	next, err := s.Walk(t.Context(), org, q, nil, 1000, func(_ string, th *collab.Thread) bool {
		list = append(list, th)
		return true
	})
	if err != nil || next != nil {
		t.Fatalf("walk: %v, next %s", err, next)
	}
	return list
}

func TestAddComments(t *testing.T) { onEach(t, testAddComments) }

func testAddComments(t *testing.T, s *Store) {
	doc := s.mustOrganization(t, "org").Document("doc")
	s.mustAdd(t, doc, newThread("a", "ann", 1, 10))
	bare := newThread("bare", "", 0, 10)
	bare.From, bare.Authors = nil, nil
	s.mustAdd(t, doc, bare)
	add := func(ann string, comments ...collab.Comment) ([]int64, error) {
		return s.AddComments(t.Context(), doc, ann, collab.NewComments{Comments: comments, IDs: newIDs()})
	}
	ids, err := add("a", newComment(0, "bob", 5), newComment(7, "bob", 5), newComment(0, "cid", 5))
	if err != nil {
		t.Fatal(err)
	}
	if !(ids[0] > 7 && ids[1] == 7 && ids[2] > ids[0]) {
		t.Errorf("ids %v", ids)
	}
	more, err := add("a", newComment(0, "bob", 5))
	if err != nil || more[0] <= ids[2] {
		t.Errorf("ids %v after %v, %v", more, ids, err)
	}
	if _, err := add("a", newComment(0, "bob", 5), newComment(7, "bob", 5)); collab.CodeOf(err) != collab.AlreadyExists {
		t.Errorf("id taken: %v", err)
	}
	many := make([]collab.Comment, 500)
	for i := range many {
		many[i] = newComment(int64(i+1), "dan", 5)
	}
	if _, err := add("a", many...); collab.CodeOf(err) != collab.AlreadyExists {
		t.Errorf("one of 500 ids taken: %v", err)
	}
	if _, err := add("none", newComment(0, "bob", 5)); collab.CodeOf(err) != collab.NotFound {
		t.Errorf("unknown annotation: %v", err)
	}
	if _, err := add("bare", newComment(0, "eve", 5)); err != nil {
		t.Error(err)
	}
	for i := range many {
		many[i] = newComment(0, "dan", 5)
	}
	if _, err := add("bare", many...); err != nil {
		t.Error(err)
	}
	org := doc.OrganizationRef
	want := []string{"doc/a:5", "doc/bare:501"}
	if diff := cmp.Diff(want, s.list(t, org, collab.AnnotationQuery{Documents: []string{"doc"}}, 1000)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:], s.list(t, org, collab.AnnotationQuery{Creators: []string{"eve"}}, 1000)); diff != "" {
		t.Error("the author of the first comment is the creator", diff)
	}
	head := s.threads(t, org, collab.AnnotationQuery{IDs: []string{"a"}})[0]
	if len(head.Authors) != 3 {
		t.Errorf("authors %v", head.Authors)
	}
}

func TestWalk(t *testing.T) { onEach(t, testWalk) }

func testWalk(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org", "d1", "d2", "empty")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.PutFolder(t.Context(), org, collab.Folder{ID: "f", Name: "F"}))
	must(s.PutDocument(t.Context(), org, collab.Document{ID: "d2", Folder: "f"}))
	for i, d := range []string{"d1", "d1", "d2", "d2", "d1"} {
		th := newThread(fmt.Sprint("a", i), fmt.Sprint("u", i%2), i, 10)
		th.LocationID = fmt.Sprint("l", i%3)
		th.Location = collab.JSON(`{"id":"` + th.LocationID + `"}`)
		th.StatusID = fmt.Sprint("s", i%4)
		th.CreatedAt = int64(100 * (i + 1))
		th.LastUpdated = int64(1000 - 100*i)
		s.mustAdd(t, org.Document(d), th)
	}
	all := []string{"d1/a0:0", "d1/a1:1", "d1/a4:4", "d2/a2:2", "d2/a3:3"}
	pick := func(is ...int) []string {
		list := []string{}
		for _, i := range is {
			list = append(list, all[i])
		}
		return list
	}
	tests := []struct {
		name string
		q    collab.AnnotationQuery
		want []string
	}{
		{"everything", collab.AnnotationQuery{}, all},
		{"a document", collab.AnnotationQuery{Documents: []string{"d2"}}, pick(3, 4)},
		{"documents in the order asked", collab.AnnotationQuery{Documents: []string{"d2", "none", "d1"}}, pick(3, 4, 0, 1, 2)},
		{"a folder", collab.AnnotationQuery{Folder: "f"}, pick(3, 4)},
		{"no folder", collab.AnnotationQuery{Folder: "root"}, pick(0, 1, 2)},
		{"ids in the order asked", collab.AnnotationQuery{IDs: []string{"a3", "x", "a0"}}, []string{all[4], "-x", all[0]}},
		{"ids in a document", collab.AnnotationQuery{Documents: []string{"d1"}, IDs: []string{"a3", "a0"}}, []string{"-a3", all[0]}},
		{"ids in a folder", collab.AnnotationQuery{Folder: "f", IDs: []string{"a3", "a0", "x"}}, []string{all[4], "-x"}},
		{"ids that fail a filter", collab.AnnotationQuery{IDs: []string{"a3", "a0"}, Creators: []string{"u0"}}, pick(0)},
		{"locations in the order asked", collab.AnnotationQuery{Locations: []string{"l1", "l0"}}, pick(1, 2, 0, 4)},
		{"locations in a document", collab.AnnotationQuery{Documents: []string{"d2", "d1"}, Locations: []string{"l1", "l0"}}, pick(4, 1, 2, 0)},
		{"locations in a folder", collab.AnnotationQuery{Folder: "f", Locations: []string{"l1", "l0"}}, pick(4)},
		{"creators", collab.AnnotationQuery{Creators: []string{"u1"}}, pick(1, 4)},
		{"statuses", collab.AnnotationQuery{Statuses: []string{"s0"}}, pick(0, 2)},
		{"creator and status", collab.AnnotationQuery{Creators: []string{"u0"}, Statuses: []string{"s0"}}, pick(0, 2)},
		{"updated window", collab.AnnotationQuery{UpdatedAfter: ptr(int64(700)), UpdatedBefore: ptr(int64(900))}, pick(4, 3, 1)},
		{"updated window in a document", collab.AnnotationQuery{Documents: []string{"d1"}, UpdatedAfter: ptr(int64(600))}, pick(2, 1, 0)},
		{"created window", collab.AnnotationQuery{CreatedAfter: ptr(int64(300))}, pick(2, 4, 3)},
		{"created before", collab.AnnotationQuery{CreatedBefore: ptr(int64(300))}, pick(3, 1, 0)},
		{"all filters", collab.AnnotationQuery{Documents: []string{"d1"}, Folder: "root", Locations: []string{"l1"}, Creators: []string{"u0"},
			Statuses: []string{"s0"}, UpdatedAfter: ptr(int64(1)), CreatedBefore: ptr(int64(999))}, pick(2)},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 2, 1000} {
			t.Run(fmt.Sprint(tt.name, "/", size), func(t *testing.T) {
				if diff := cmp.Diff(tt.want, s.list(t, org, tt.q, size)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
	_, err := s.Walk(t.Context(), org, collab.AnnotationQuery{Folder: "nope"}, nil, 10, nil)
	if collab.CodeOf(err) != collab.NotFound {
		t.Errorf("unknown folder: %v", err)
	}
}

func TestUpdateAnnotation(t *testing.T) { onEach(t, testUpdateAnnotation) }

func testUpdateAnnotation(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	s.mustAdd(t, doc, newThread("a", "ann", 100, 10))
	err := s.UpdateAnnotation(t.Context(), doc, "a", newIDs().Mark(), true, func(th *collab.Thread) ([]*collab.Event, error) {
		th.StatusID, th.Status, th.LastUpdated = "DONE", collab.JSON(`{"id":"DONE"}`), 5_000
		for i := range th.Comments {
			th.Comments[i].From = userJSON("zoe")
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	th := s.threads(t, org, collab.AnnotationQuery{Statuses: []string{"DONE"}})[0]
	for _, c := range th.Comments {
		if string(c.From) != `{"userId":"zoe"}` || c.Rev != 2 {
			t.Fatalf("comment %d: %s rev %d", c.ID, c.From, c.Rev)
		}
	}
	if len(th.Comments) != 100 || th.Rev != 2 || th.LastUpdated != 5_000 {
		t.Errorf("%d comments, rev %d, lastUpdated %d", len(th.Comments), th.Rev, th.LastUpdated)
	}
	ids, missing, err := s.SelectAnnotations(t.Context(), doc, collab.Selector{IDs: []string{"a", "b"}}, 10)
	if err != nil || fmt.Sprint(ids, missing) != "[a] [b]" {
		t.Error(ids, missing, err)
	}
	if ids, _, err = s.SelectAnnotations(t.Context(), doc, collab.Selector{}, 10); err != nil || fmt.Sprint(ids) != "[a]" {
		t.Error(ids, err)
	}
	_, err = s.UpdateComments(t.Context(), doc, "a", collab.CommentChange{IDs: []int64{1, 2, 999}, Mark: newIDs().Mark(), Change: func(c *collab.Comment) error {
		c.Text, c.LastUpdated = ptr("new"), 6_000
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	th = s.threads(t, org, collab.AnnotationQuery{UpdatedAfter: ptr(int64(6_000))})[0]
	if *th.Comments[0].Text != "new" || *th.Comments[2].Text == "new" {
		t.Error("texts", *th.Comments[0].Text, *th.Comments[2].Text)
	}
}

func TestEventKeepsItsPeople(t *testing.T) { onEach(t, testEventKeepsItsPeople) }

func testEventKeepsItsPeople(t *testing.T, s *Store) {
	doc := s.mustOrganization(t, "org").Document("doc")
	ev := &collab.Event{ID: "e", Type: collab.AnnotationAdded, Account: "acct", OrganizationID: "org", DocumentID: "doc", Time: 1}
	for i := range collab.MaxPeople {
		ev.People = append(ev.People, collab.User{UserID: fmt.Sprintf("user-%04d", i), Name: ptr(strings.Repeat("n", 200))})
	}
	if err := s.AddAnnotation(context.Background(), doc, newThread("a", "ann", 90, 10), newIDs().Mark(), ev); err != nil {
		t.Fatal(err)
	}
	got, err := s.Event(t.Context(), "acct", "e")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(ev)
	have, _ := json.Marshal(got)
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		t.Error(diff)
	}
}
