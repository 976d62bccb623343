package threads

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/store/storetest"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
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
		t.Run(tt.name, func(t *testing.T) {
			if got := keyFor(tt.key, tt.at); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// gate lets the requests of several writers through one at a time, in an order that the test decides.
type gate struct {
	waiting chan int     // a writer that has come to a request
	done    chan int     // a writer that has come to its end
	open    []chan bool  // by writer
	errs    []error      // by writer
	blocked map[int]bool // writers that stand at a request
	writes  atomic.Int64 // requests let through that may write
}

// writer is a transport whose requests wait at the gate.
type writer struct {
	*gate
	n    int
	next aws.HTTPClient
}

// Do sends a request when it is let through.
func (w *writer) Do(r *http.Request) (*http.Response, error) {
	w.waiting <- w.n
	<-w.open[w.n]
	if operation := r.Header.Get("X-Amz-Target"); !strings.HasSuffix(operation, "Query") && !strings.Contains(operation, "Get") {
		w.writes.Add(1)
	}
	return w.next.Do(r)
}

// begin starts the writers and waits until each of them stands at its first request. They know the organization.
func begin(t *testing.T, known *Store, writers []func(*Store) error) *gate {
	g := &gate{
		waiting: make(chan int), done: make(chan int), open: make([]chan bool, len(writers)), errs: make([]error, len(writers)), blocked: map[int]bool{},
	}
	for i, write := range writers {
		g.open[i] = make(chan bool)
		s := on(storetest.Through(t, known.Table, func(next aws.HTTPClient) aws.HTTPClient { return &writer{gate: g, n: i, next: next} }))
		s.Directory = known.Directory
		go func() {
			g.errs[i] = write(s)
			g.done <- i
		}()
		g.settle()
	}
	return g
}

// settle waits until the writer that runs stands at a request or is through.
func (g *gate) settle() {
	select {
	case i := <-g.waiting:
		g.blocked[i] = true
	case <-g.done:
	}
}

// step lets the n-th of the writers that wait through one request. It reports whether that may have written.
func (g *gate) step(n int) (wrote bool) {
	before := g.writes.Load()
	i := slices.Sorted(maps.Keys(g.blocked))[n]
	delete(g.blocked, i)
	g.open[i] <- true
	g.settle()
	return g.writes.Load() > before
}

// interleavings calls run with every order of choices: run asks next for each, telling how many there are.
func interleavings(run func(next func(options int) int)) (runs int) {
	var path, options []int
	for {
		depth := 0
		run(func(n int) int {
			if depth == len(path) {
				path, options = append(path, 0), append(options, n)
			}
			depth++
			return path[depth-1]
		})
		runs++
		path, options = path[:depth], options[:depth]
		for len(path) > 0 && path[len(path)-1] == options[len(path)-1]-1 {
			path, options = path[:len(path)-1], options[:len(options)-1]
		}
		if len(path) == 0 {
			return runs
		}
		path[len(path)-1]++
	}
}

// TestTouchThenPut runs writers of one thread side by side, each of them pausing at every request to the table, in every order there is: the
// thread's time key is never earlier than a comment that can be seen, whatever step the writers stand at.
func TestTouchThenPut(t *testing.T) {
	document := newWriting(t, storetest.New(t))
	const now = 10_000
	mark := func() string { return requestIDs().Mark() }
	type write = func(w *writing, s *Store, at collab.Millis) error
	add := func(event bool) write {
		return func(w *writing, s *Store, at collab.Millis) error {
			ids := requestIDs()
			add := collab.NewComments{Comments: []collab.Comment{commentBy("bob", 0, at)}, IDs: ids}
			if event {
				add.Event = func(*collab.Annotation, []collab.Comment) *collab.Event {
					return &collab.Event{ID: ids.Next(), Account: "acct", Type: collab.CommentAdded}
				}
			}
			_, err := s.AddComments(t.Context(), w.doc, w.ann, add)
			return err
		}
	}
	update := func(change func(at collab.Millis) collab.AnnotationChange) write {
		return func(w *writing, s *Store, at collab.Millis) error {
			return s.UpdateAnnotations(t.Context(), w.doc, []string{w.ann}, change(at))[0]
		}
	}
	kinds := map[string]write{
		"add":   add(false),
		"event": add(true),
		"edit": func(w *writing, s *Store, at collab.Millis) error {
			failures, err := s.UpdateComments(t.Context(), w.doc, w.ann, collab.CommentChange{
				IDs: []int64{1}, Mark: mark(), Now: at,
				Change: func(c *collab.Comment) error { c.LastUpdated = max(c.LastUpdated, at); return nil },
			})
			return cmp.Or(err, failures[1])
		},
		"status": update(func(at collab.Millis) collab.AnnotationChange { return resolve(mark(), at) }),
		"users":  update(func(at collab.Millis) collab.AnnotationChange { return swap("ann", "bob", mark(), at) }),
	}
	groups := []string{
		"add add", "add event", "event add", "add edit", "edit add", "add status", "status add", "users add", "add users", "edit status", "edit users",
		"edit edit", "status status",
	}
	run := func(w *writing, group string, gap collab.Millis, next func(int) int) {
		names := strings.Fields(group)
		var writers []func(*Store) error
		added := 0
		for i, name := range names {
			writers = append(writers, func(s *Store) error { return kinds[name](w, s, now+collab.Millis(i)*gap) })
			if name == "add" || name == "event" {
				added++
			}
		}
		g := begin(t, document.Store, writers)
		for len(g.blocked) > 0 {
			if g.step(next(len(g.blocked))) {
				w.mustHold(group)
			}
		}
		for i, err := range g.errs {
			if err != nil {
				w.t.Fatalf("%s: %v", names[i], err)
			}
		}
		if _, comments := w.items(w.ann); len(comments) != 1+added {
			w.t.Fatalf("%d comments, want %d", len(comments), 1+added)
		}
	}
	for _, group := range groups {
		for _, gap := range []collab.Millis{1, 300} { // between one writer's time and the next one's
			t.Run(fmt.Sprint(group, " ", gap), func(t *testing.T) {
				t.Parallel()
				n := 0
				if runs := interleavings(func(next func(options int) int) {
					n++
					run(document.another(t, fmt.Sprint(t.Name(), n)), group, gap, next)
				}); runs < 3 {
					t.Errorf("%d interleavings only", runs)
				}
			})
		}
	}
	for _, group := range []string{"add add add", "add add status", "add users event"} { // some of a thousand and more
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			for n := range 30 {
				run(document.another(t, fmt.Sprint(t.Name(), n)), group, collab.Millis(random.IntN(200)-100), random.IntN)
			}
		})
	}
}

// TestTouchBusy holds what a busy thread pays: its time key moves once in a quarter of a second.
func TestTouchBusy(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	moved := map[string]bool{}
	for at := collab.Millis(10_000); at < 11_000; at += 10 {
		_, err := w.add("a", commentBy("bob", 0, at))
		w.must(err)
		head, _ := w.items("a")
		moved[head.Text(table.Upd)] = true
		w.mustHold(fmt.Sprint(at))
	}
	if len(moved) != 5 { // exactly, then at the end of each quarter
		t.Errorf("the key moved to %v", moved)
	}
}
