package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"
)

// operation is one call of a client, and its result.
type operation struct {
	name string
	n    int // comments added
	ids  []int64
	code collab.Code
}

// TestRandomWrites has clients of several processes write one thread through a network that
// refuses, conflicts and loses answers. Failed adds are repeated with the same ids. An acknowledged
// write exists once, any other at most once. No write is partial, and no writer undoes another's
// change.
func TestRandomWrites(t *testing.T) {
	tb := storetest.New(t)
	w := newWriting(t, tb)
	const clients, rounds = 5, 25
	var mu sync.Mutex
	done := map[string][]operation{}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			s := on(storetest.Chaos(t, tb))
			random := rand.New(rand.NewPCG(7, uint64(c)))
			skew := time.Duration(c-2) * 40 * time.Millisecond // clocks differ
			for i := range rounds {
				op := operation{name: fmt.Sprintf("c%d-%d", c, i)}
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				at := time.Now().Add(skew)
				r := storetest.Request(at)
				kind := []string{"add", "add", "head", "comment"}[random.IntN(4)]
				note := func(stored collab.JSON) collab.JSON {
					var names []string
					_ = json.Unmarshal(stored, &names)
					text, _ := json.Marshal(append(names, op.name))
					return text
				}
				var err error
				switch kind {
				case "add":
					op.n = []int{1, 1, 2, 25}[random.IntN(4)]
					comments := make([]collab.Comment, op.n)
					for j := range comments {
						comments[j] = storetest.Comment(op.name, 0, at.UnixMilli())
					}
					for range 3 {
						if op.ids, err = s.AddComments(ctx, r, w.doc, "a", collab.NewComments{Comments: comments}); err == nil {
							break
						}
						r = storetest.Again(r)
					}
				case "head":
					err = s.UpdateAnnotations(ctx, r, w.doc, []string{"a"}, collab.AnnotationChange{
						Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
							a.Context, a.LastUpdated = note(a.Context), max(a.LastUpdated, at.UnixMilli())
							return nil, nil
						},
					})[0]
				case "comment":
					var failed map[int64]error
					failed, err = s.UpdateComments(ctx, r, w.doc, "a", collab.CommentChange{
						IDs: []int64{1}, At: at.UnixMilli(),
						Change: func(c *collab.Comment) error {
							c.Context, c.LastUpdated = note(c.Context), max(c.LastUpdated, at.UnixMilli())
							return nil
						},
					})
					if err == nil {
						err = failed[1]
					}
				}
				cancel()
				op.code = collab.CodeOf(err)
				mu.Lock()
				done[kind] = append(done[kind], op)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	head, comments := w.items("a")
	w.mustHold("in the end")
	by := map[string][]int64{}
	for _, c := range comments {
		by[c.AuthorID] = append(by[c.AuthorID], c.ID)
	}
	for _, op := range done["add"] {
		switch got := by[op.name]; {
		case op.code == "" && !slices.Equal(got, op.ids):
			t.Errorf("add %s of %d: acknowledged %v, there are %v", op.name, op.n, op.ids, got)
		case op.code != "" && len(got) != 0 && len(got) != op.n:
			t.Errorf("add %s of %d failed with %s, and %d are there", op.name, op.n, op.code, len(got))
		case op.code == collab.AlreadyExists:
			t.Errorf("add %s: a false ALREADY_EXISTS", op.name)
		}
	}
	a, err := readHead(head)
	w.must(err)
	for kind, stored := range map[string]collab.JSON{"head": a.Context, "comment": comments[0].Context} {
		var names []string
		w.must(json.Unmarshal(stored, &names))
		count := map[string]int{}
		for _, n := range names {
			count[n]++
		}
		acknowledged := 0
		for _, op := range done[kind] {
			if n := count[op.name]; op.code == "" && n != 1 || n > 1 {
				t.Errorf("%s %s ended with %q, and is there %d times", kind, op.name, op.code, n)
			}
			if op.code == "" {
				acknowledged++
			}
		}
		if acknowledged < len(done[kind])/4 {
			t.Errorf("%d of %d changes of the %s succeeded", acknowledged, len(done[kind]), kind)
		}
	}
}
