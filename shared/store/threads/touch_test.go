package threads

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/testing/interleave"
	"collabdata/shared/testing/storetest"
)

func TestKeyFor(t *testing.T) {
	for _, tt := range []struct {
		name          string
		key, at, want collab.Millis
	}{
		{"late enough", 5_000, 4_000, 5_000},
		{"just late enough", 5_000, 5_000, 5_000},
		{"quiet", 4_000, 5_001, 5_001},
		{"quiet for a millisecond more than a quarter", 4_749, 5_000, 5_000},
		{"quiet for a quarter", 4_750, 5_000, 5_250},
		{"busy, at the beginning of a quarter", 4_999, 5_000, 5_250},
		{"busy, at the end of a quarter", 5_248, 5_249, 5_250},
		{"busy, at the end of time", collab.MaxMillis - 1, collab.MaxMillis, collab.MaxMillis},
		{"the first times", 0, 10, 250},
		{"no key", 0, 300, 300},
	} {
		if got := keyFor(tt.key, tt.at); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestTouchThenPut runs writers of one thread concurrently, with every order of their requests: the
// thread's time key is never earlier than a visible comment.
func TestTouchThenPut(t *testing.T) {
	document := newWriting(t, storetest.New(t))
	const now = 10_000
	type write = func(w *writing, s *Store, at collab.Millis) error
	add := func(event bool) write {
		return func(w *writing, s *Store, at collab.Millis) error {
			r := newRequest(0)
			add := collab.NewComments{Comments: []collab.Comment{storetest.Comment("bob", 0, at)}}
			if event {
				add.Event = func(*collab.Annotation, []collab.Comment) *collab.Event {
					return &collab.Event{ID: r.IDs.Next(), Account: "acct", Type: collab.CommentAdded}
				}
			}
			_, err := s.AddComments(t.Context(), r, w.doc, w.ann, add)
			return err
		}
	}
	update := func(change func(at collab.Millis) collab.AnnotationChange) write {
		return func(w *writing, s *Store, at collab.Millis) error {
			return s.UpdateAnnotations(t.Context(), newRequest(at), w.doc, []string{w.ann}, change(at))[0]
		}
	}
	kinds := map[string]write{
		"add":   add(false),
		"event": add(true),
		"edit": func(w *writing, s *Store, at collab.Millis) error {
			failures, err := s.UpdateComments(t.Context(), newRequest(at), w.doc, w.ann, collab.CommentChange{
				IDs: []int64{1}, At: at,
				Change: func(c *collab.Comment) error { c.LastUpdated = max(c.LastUpdated, at); return nil },
			})
			return cmp.Or(err, failures[1])
		},
		"status": update(resolve),
		"users":  update(func(at collab.Millis) collab.AnnotationChange { return swap("ann", "bob", at) }),
	}
	groups := []string{
		"add add", "add event", "event add", "add edit", "edit add", "add status", "status add", "users add", "add users", "edit status", "edit users",
		"edit edit", "status status",
	}
	run := func(w *writing, group string, gap collab.Millis, next func(int) int) {
		names := strings.Fields(group)
		var writers []*interleave.Actor
		var writes atomic.Int64
		added := 0
		for i, name := range names {
			writers = append(writers, interleave.Start(math.MaxInt, func(a *interleave.Actor) error {
				s := on(storetest.Watched(t, document.Table, func(operation, _ string) *http.Response {
					a.Pause()
					if !strings.HasSuffix(operation, "Query") && !strings.Contains(operation, "Get") {
						writes.Add(1)
					}
					return nil
				}))
				s.Directory = document.Directory // knows the organization
				return kinds[name](w, s, now+collab.Millis(i)*gap)
			}))
			if name == "add" || name == "event" {
				added++
			}
		}
		var before int64
		interleave.Run(next, func() {
			if n := writes.Load(); n > before {
				before = n
				w.mustHold(group)
			}
		}, writers...)
		for i, a := range writers {
			if a.Err != nil {
				w.t.Fatalf("%s: %v", names[i], a.Err)
			}
		}
		if _, comments := w.items(w.ann); len(comments) != 1+added {
			w.t.Fatalf("%d comments, want %d", len(comments), 1+added)
		}
	}
	for _, group := range groups {
		for _, gap := range []collab.Millis{1, 300} { // between the times of two writers
			t.Run(fmt.Sprint(group, " ", gap), func(t *testing.T) {
				t.Parallel()
				n := 0
				if runs := interleave.Orders(func(next func(options int) int) {
					n++
					run(document.another(t, fmt.Sprint(t.Name(), n)), group, gap, next)
				}); runs < 3 {
					t.Errorf("%d interleavings only", runs)
				}
			})
		}
	}
	// Some of over a thousand.
	for _, group := range []string{"add add add", "add add status", "add users event"} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			for n := range 30 {
				run(document.another(t, fmt.Sprint(t.Name(), n)), group, collab.Millis(random.IntN(200)-100), random.IntN)
			}
		})
	}
}

// TestTouchNeverMovesBack adds a comment of a request that began before a finished update. The
// thread keeps the later time, and a window from there finds it.
func TestTouchNeverMovesBack(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	const start = 10_000
	other := on(w.Table) // another process
	w.Table = w.At(func() time.Time { return time.UnixMilli(start) })
	// This process has seen the thread at its start.
	_, err := w.add("a", storetest.Comment("bob", 0, start))
	w.must(err)
	updated := collab.Millis(start + 180)
	w.must(other.UpdateAnnotations(t.Context(), newRequest(updated), w.doc, []string{"a"}, resolve(updated))[0])
	_, err = w.add("a", storetest.Comment("bob", 0, start+130))
	w.must(err)
	var found []collab.Millis
	_, err = w.Walk(
		t.Context(), w.doc.OrganizationRef,
		opened(t.Context(), w.Directory, w.doc.OrganizationRef, collab.AnnotationQuery{Documents: []string{"doc"}, UpdatedAfter: &updated}), nil,
		10, func(_ string, th *collab.Thread) bool { found = append(found, th.LastUpdated); return true },
	)
	w.must(err)
	if len(found) != 1 || found[0] != updated {
		t.Errorf("from %d on there are threads updated at %v", updated, found)
	}
	w.mustHold("then")
}

// TestAddCommentsOfOneMoment: requests that begin at the same time, and first generate the same
// ids, all add their comments: thirty at once, many in sequence, and each again without a change.
func TestAddCommentsOfOneMoment(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	_, err := w.AddComments(
		t.Context(), newRequest(10_000), w.doc, "a", collab.NewComments{Comments: slices.Repeat([]collab.Comment{storetest.Comment("bob", 0, 10_000)}, 90)},
	)
	w.must(err)
	store.All(30, func(i int) error {
		r, add := newRequest(10_000), collab.NewComments{Comments: []collab.Comment{storetest.Comment(fmt.Sprint("u", i), 0, 10_000)}}
		first, err := w.AddComments(t.Context(), r, w.doc, "a", add)
		if err != nil {
			t.Error(err)
		}
		if again, err := w.AddComments(t.Context(), storetest.Again(r), w.doc, "a", add); err != nil || !slices.Equal(first, again) {
			t.Errorf("again: %v, %v, first %v", again, err, first)
		}
		return nil
	})
	if _, comments := w.items("a"); len(comments) != 1+90+30 {
		t.Errorf("%d comments", len(comments))
	}
}
