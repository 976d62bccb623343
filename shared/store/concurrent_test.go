package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// TestWritersTogether has three writers of one annotation, of different fields and of comments: none loses what another wrote, and none
// writes twice, though answers are lost.
func TestWritersTogether(t *testing.T) { onEach(t, testWritersTogether) }

func testWritersTogether(t *testing.T, s *Store) {
	doc := s.mustOrganization(t, "org").Document("doc")
	s.mustAdd(t, doc, newThread("a", "u", 1, 10))
	const rounds = 15
	done := map[string]*int{"context": new(int), "assignee": new(int), "comments": new(int)}
	count := func(writer string, err error) {
		switch collab.CodeOf(err) {
		case "":
			*done[writer]++
		case collab.Aborted: // five times others were faster
		default:
			t.Error(writer, err)
		}
	}
	increase := func(writer string, comments bool, field func(*collab.Thread) *collab.JSON) {
		err := s.UpdateAnnotation(t.Context(), doc, "a", newIDs().Mark(), comments, func(th *collab.Thread) ([]*collab.Event, error) {
			n := 0
			_ = json.Unmarshal(*field(th), &n)
			*field(th) = collab.JSON(fmt.Sprint(n + 1))
			return nil, nil
		})
		count(writer, err)
	}
	for i := range rounds {
		var wg sync.WaitGroup
		wg.Go(func() { increase("context", false, func(th *collab.Thread) *collab.JSON { return &th.Context }) })
		wg.Go(func() { increase("assignee", true, func(th *collab.Thread) *collab.JSON { return &th.AssignedTo }) })
		wg.Go(func() {
			comment := newComment(0, fmt.Sprint("u", i), 10)
			comment.LastUpdated = int64(2_000 + i)
			_, err := s.AddComments(t.Context(), doc, "a", collab.NewComments{Comments: []collab.Comment{comment}, IDs: newIDs()})
			count("comments", err)
		})
		wg.Wait()
	}
	th := s.threads(t, doc.OrganizationRef, collab.AnnotationQuery{IDs: []string{"a"}})[0]
	got := map[string]string{"context": string(th.Context), "assignee": string(th.AssignedTo), "comments": fmt.Sprint(len(th.Comments) - 1)}
	want := map[string]string{}
	for name, n := range done {
		want[name] = fmt.Sprint(*n)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := int64(1 + *done["context"] + *done["assignee"] + *done["comments"]); th.Rev != want {
		t.Errorf("rev %d after %d writes", th.Rev, want)
	}
	if len(th.Authors) != 1+rounds || th.LastUpdated != 2_000+rounds-1 {
		t.Errorf("%d authors, last updated %d", len(th.Authors), th.LastUpdated)
	}
}

// TestCommentsTogether adds comments with generated ids in one millisecond, few and many, from all sides.
func TestCommentsTogether(t *testing.T) { onEach(t, testCommentsTogether) }

func testCommentsTogether(t *testing.T, s *Store) {
	doc := s.mustOrganization(t, "org").Document("doc")
	s.mustAdd(t, doc, newThread("a", "u", 1, 10))
	start := time.UnixMilli(1_700_000_000_000)
	var mu sync.Mutex
	given := map[int64]string{1: "u"}
	var wg sync.WaitGroup
	for i, n := range []int{1, 100, 1, 95, 3, 1, 120, 2} {
		wg.Go(func() {
			author := fmt.Sprint("u", i)
			comments := make([]collab.Comment, n)
			for j := range comments {
				comments[j] = newComment(0, author, 10)
			}
			ids, err := s.AddComments(t.Context(), doc, "a", collab.NewComments{Comments: comments, IDs: collab.NewIDs(start, []byte(author))})
			if err != nil || !slices.IsSorted(ids) || len(ids) != n {
				t.Errorf("%d comments: %v, %v", n, ids, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				if given[id] != "" {
					t.Errorf("%d was given to %s and %s", id, given[id], author)
				}
				given[id] = author
			}
		})
	}
	wg.Wait()
	th := s.threads(t, doc.OrganizationRef, collab.AnnotationQuery{IDs: []string{"a"}})[0]
	got := map[int64]string{}
	for _, c := range th.Comments {
		var author collab.User
		if err := json.Unmarshal(c.From, &author); err != nil {
			t.Fatal(err)
		}
		got[c.ID] = author.UserID
	}
	if diff := cmp.Diff(given, got); diff != "" {
		t.Error(diff)
	}
}

// writers add, comment and update in a document until stop is called: annotations named n…, in between and behind those named a…; and,
// where touch is true, those named a… too. It returns what was added.
func writers(t *testing.T, s *Store, doc collab.DocumentRef, fixed []string, touch bool) (stop func() (added []string)) {
	var wg sync.WaitGroup
	done := make(chan struct{})
	var mu sync.Mutex
	var added []string
	for w := range 2 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				id := fmt.Sprintf("%s-n%d-%d", fixed[random.IntN(len(fixed))], w, i)
				th := newThread(id, "u", 1, 10)
				th.CreatedAt, th.LastUpdated = time.Now().UnixMilli(), time.Now().UnixMilli()
				if err := s.AddAnnotation(t.Context(), doc, th, newIDs().Mark()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				added = append(added, id)
				mu.Unlock()
				if touch {
					id = fixed[random.IntN(len(fixed))]
				}
				comments := make([]collab.Comment, 1+random.IntN(2))
				if i%16 == 3 {
					comments = make([]collab.Comment, transactComments+1)
				}
				for j := range comments {
					comments[j] = newComment(0, "v", 10)
					comments[j].LastUpdated = time.Now().UnixMilli()
				}
				if _, err := s.AddComments(t.Context(), doc, id, collab.NewComments{Comments: comments, IDs: newIDs()}); err != nil {
					t.Error(err)
				}
				err := s.UpdateAnnotation(t.Context(), doc, id, newIDs().Mark(), false, func(th *collab.Thread) ([]*collab.Event, error) {
					th.StatusID = fmt.Sprint("s", i)
					th.LastUpdated = max(th.LastUpdated, time.Now().UnixMilli())
					return nil, nil
				})
				if err != nil && collab.CodeOf(err) != collab.Aborted {
					t.Error(err)
				}
			}
		})
	}
	return func() []string {
		close(done)
		wg.Wait()
		return added
	}
}

// TestWalkMeanwhile walks while others write: an annotation that exists throughout is there exactly once.
func TestWalkMeanwhile(t *testing.T) { onEach(t, testWalkMeanwhile) }

func testWalkMeanwhile(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	var fixed []string
	for i := range 60 {
		id := fmt.Sprintf("a%03d", i)
		fixed = append(fixed, id)
		th := newThread(id, "me", 1+i%3, 10)
		th.LocationID = "l"
		s.mustAdd(t, doc, th)
	}
	stop := writers(t, s, doc, fixed, true)
	for name, q := range map[string]collab.AnnotationQuery{
		"document":     {Documents: []string{"doc"}},
		"organization": {},
		"location":     {Locations: []string{"l"}},
		"creator":      {Documents: []string{"doc"}, Creators: []string{"x", "me"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, entry := range s.list(t, org, q, 4) {
				id, _, _ := strings.Cut(strings.TrimPrefix(entry, "doc/"), ":")
				got = append(got, id)
			}
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Error("not in order, or one twice:", got)
			}
			got = slices.DeleteFunc(got, func(id string) bool { return strings.Contains(id, "-") })
			if diff := cmp.Diff(fixed, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	added := stop()
	slices.Sort(added)
	got := s.list(t, org, collab.AnnotationQuery{Documents: []string{"doc"}}, 1000)
	if len(got) != len(fixed)+len(added) {
		t.Errorf("%d annotations, want %d", len(got), len(fixed)+len(added))
	}
}

// TestWalkByTimeMeanwhile walks by lastUpdated while others write: what is not written is there exactly once.
func TestWalkByTimeMeanwhile(t *testing.T) { onEach(t, testWalkByTimeMeanwhile) }

func testWalkByTimeMeanwhile(t *testing.T, s *Store) {
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	var still, moving []string
	for i := range 60 {
		id := fmt.Sprintf("a%03d", i)
		th := newThread(id, "me", 1, 10)
		th.LastUpdated = int64(1_000 + i)
		s.mustAdd(t, doc, th)
		if i%2 == 0 {
			moving = append(moving, id)
		} else {
			still = append(still, id)
		}
	}
	stop := writers(t, s, doc, moving, true)
	for name, q := range map[string]collab.AnnotationQuery{
		"document":     {Documents: []string{"doc"}, UpdatedAfter: ptr(int64(1))},
		"organization": {UpdatedAfter: ptr(int64(1))},
	} {
		t.Run(name, func(t *testing.T) {
			times := map[string]int{}
			unseen := len(still)
			for from, pages := []byte(nil), 0; unseen > 0 && pages < 200; pages++ { // writers may keep it going for ever
				next, err := s.Walk(t.Context(), org, q, from, 5, func(id string, th *collab.Thread) bool {
					if times[id]++; slices.Contains(still, id) {
						unseen--
					}
					return true
				})
				if err != nil {
					t.Fatal(err)
				}
				if from = next; next == nil {
					break
				}
			}
			for _, id := range still {
				if times[id] != 1 {
					t.Errorf("%s is there %d times", id, times[id])
				}
			}
		})
	}
	stop()
	times := map[string]bool{}
	for _, entry := range s.list(t, org, collab.AnnotationQuery{UpdatedAfter: ptr(int64(1))}, 7) {
		if times[entry] {
			t.Error(entry, "is there twice in a walk that nobody disturbs")
		}
		times[entry] = true
	}
	if len(times) < len(still)+len(moving) {
		t.Error(slices.Sorted(maps.Keys(times)))
	}
}

// TestWalkLargeMeanwhile walks 1,000 annotations of 30 KB in pages while writers add and update others.
func TestWalkLargeMeanwhile(t *testing.T) {
	s := newStore(t)
	org := s.mustOrganization(t, "org")
	doc := org.Document("doc")
	text := string(bytes.Repeat([]byte("x"), 30_000))
	fixed := make([]string, 1_000)
	if err := each(t.Context(), len(fixed), func(ctx context.Context, i int) error {
		fixed[i] = fmt.Sprintf("a%04d", i)
		th := newThread(fixed[i], "me", 1, 0)
		th.Comments[0].Text = &text
		return s.AddAnnotation(ctx, doc, th, newIDs().Mark())
	}); err != nil {
		t.Fatal(err)
	}
	stop := writers(t, s, doc, []string{"b", "a05"}, false)
	defer stop()
	c := s.throughChaos(t)
	for _, walk := range []struct {
		s *Store
		q collab.AnnotationQuery
	}{
		{s, collab.AnnotationQuery{Documents: []string{"doc"}}}, {s, collab.AnnotationQuery{Creators: []string{"me"}}},
		{c, collab.AnnotationQuery{Documents: []string{"doc"}}}, {c, collab.AnnotationQuery{Creators: []string{"me"}}},
	} {
		var got []string
		pages := 0
		for from := []byte(nil); ; {
			left := 5_000_000
			next, err := walk.s.Walk(t.Context(), org, walk.q, from, 1000, func(id string, th *collab.Thread) bool {
				if left -= 500 + len(*th.Comments[0].Text); left < 0 {
					return false
				}
				if strings.HasPrefix(id, "a") && !strings.Contains(id, "-") {
					got = append(got, id)
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			pages++
			if from = next; next == nil {
				break
			}
		}
		if diff := cmp.Diff(fixed, got); diff != "" || pages > 10 {
			t.Errorf("%d pages, %s", pages, diff)
		}
	}
}
