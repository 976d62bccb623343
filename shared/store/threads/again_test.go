package threads

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/request"
	"collabdata/shared/testing/storetest"
)

// noted returns a thread of comments 1 to n, with whose in every context.
func noted(id, whose string, n int) *collab.Thread {
	th := storetest.Thread(id, whose, n)
	if n == 0 { // the first comment's author is the creator
		th.From, th.CreatorID = nil, ""
	}
	th.Context = note(nil, whose)
	for i := range th.Comments {
		th.Comments[i].Context = note(nil, whose)
	}
	return th
}

func note(stored collab.JSON, whose string) collab.JSON {
	return collab.JSON(fmt.Sprintf(`{"by":%q}`, strings.TrimPrefix(strings.TrimSuffix(string(stored), `"}`)+" ", `{"by":"`)+whose))
}

// meant returns the marks of the comments that a request deletes.
func (w *writing) meant(req *request.Request) (marks []string) {
	w.t.Helper()
	job, err := w.Outbox.Job(w.t.Context(), req.Account, req.JobID())
	w.must(err)
	for _, c := range job.Comments {
		marks = append(marks, c.Mark)
	}
	return marks
}

// TestAddedAgainInBetween deletes a thread and adds another with its ids before each call of every
// write: the write applies to the old or the new thread. The new one shows nothing of the old one
// and loses nothing.
func TestAddedAgainInBetween(t *testing.T) {
	tb := storetest.New(t)
	w := newWriting(t, tb)
	event := func() *collab.Event {
		ev := collab.In(w.doc)
		ev.ID = w.NewMark()
		return &ev
	}
	comment := func(events bool) func(context.Context, *Store, string) error {
		c := collab.CommentChange{IDs: []int64{1, 2}, At: 9_000, Change: func(c *collab.Comment) error {
			c.Context = note(c.Context, "op")
			return nil
		}}
		if events {
			c.Event = func(*collab.Annotation, []collab.Comment, []collab.Comment) *collab.Event { return event() }
		}
		return func(ctx context.Context, s *Store, id string) error {
			_, err := s.UpdateComments(ctx, newRequest(9_000), w.doc, id, c)
			return err
		}
	}
	add := func(at collab.Millis, ids ...int64) func(context.Context, *Store, string) error {
		return func(ctx context.Context, s *Store, id string) error {
			var comments []collab.Comment
			for _, id := range ids {
				comments = append(comments, storetest.Comment("op", id, at))
			}
			_, err := s.AddComments(ctx, newRequest(9_000), w.doc, id, collab.NewComments{Comments: comments})
			return err
		}
	}
	update := func(comments bool) func(context.Context, *Store, string) error {
		c := collab.AnnotationChange{Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
			a.Context, a.LastUpdated = note(a.Context, "op"), 9_000
			return nil, nil
		}}
		if comments {
			c.Comment = func(c *collab.Comment) (bool, error) {
				c.Context = note(c.Context, "op")
				return true, nil
			}
		}
		return func(ctx context.Context, s *Store, id string) error {
			return s.UpdateAnnotations(ctx, newRequest(9_000), w.doc, []string{id}, c)[0]
		}
	}
	var removal *request.Request
	remove := func(ids []int64, events bool) func(context.Context, *Store, string) error {
		return func(ctx context.Context, s *Store, id string) error {
			var of func(*collab.Annotation, []collab.Comment) *collab.Event
			if events {
				of = func(*collab.Annotation, []collab.Comment) *collab.Event { return event() }
			}
			removal = newRequest(9_000)
			_, _, err := s.DeleteComments(ctx, removal, w.doc, id, ids, nil, of)
			return err
		}
	}
	for _, tt := range []struct {
		name     string
		old, new int  // comments of the old and the new thread
		gone     bool // the thread is deleted before
		op       func(ctx context.Context, s *Store, id string) error
	}{
		{name: "add", old: 2, new: 2, op: add(9_000, 3)},
		{name: "add what the new one has", old: 2, new: 3, op: add(9_000, 3)},
		{name: "add some of what the new one has", old: 2, new: 3, op: add(9_000, 3, 4)},
		{name: "add generated", old: 2, new: 2, op: add(9_000, 0, 0)},
		{name: "add the first", old: 0, new: 0, op: add(9_000, 3)},
		{name: "update", old: 2, new: 2, op: update(false)},
		{name: "update with comments", old: 2, new: 2, op: update(true)},
		{name: "update with many comments", old: 100, new: 2, op: update(true)},
		{name: "update comments", old: 2, new: 2, op: comment(false)},
		{name: "update comments, with an event", old: 2, new: 2, op: comment(true)},
		{name: "delete comments", old: 2, new: 2, op: remove([]int64{1, 2}, false)},
		{name: "delete comments, with an event", old: 2, new: 2, op: remove([]int64{1, 2}, true)},
		{name: "delete all comments", old: 2, new: 3, op: remove(nil, false)},
		{name: "sweep", old: 2, new: 3, gone: true, op: func(ctx context.Context, s *Store, id string) error {
			_, _, err := s.Sweep(ctx, w.doc, id, 100)
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for at := int64(1); ; at++ {
				removal = nil
				id := fmt.Sprintf("%s %d", tt.name, at)
				w.must(w.AddAnnotation(t.Context(), newRequest(1_000), w.doc, noted(id, "old", min(tt.old, 90)), collab.NewAnnotation{}))
				for n := 90; n < tt.old; n++ {
					_, err := w.add(id, storetest.Comment("old", int64(n+1), 1_000))
					w.must(err)
				}
				deletion, addition := newRequest(2_000), newRequest(3_000)
				again := func() {
					_, _, err := w.DeleteAnnotations(t.Context(), deletion, w.doc, []string{id}, collab.AnnotationDeletion{})
					w.must(err)
				}
				if tt.gone {
					again()
				}
				var calls atomic.Int64
				s := on(storetest.Watched(t, tb, func(string, string) *http.Response {
					if calls.Add(1) == at {
						if !tt.gone {
							again()
						}
						w.must(w.AddAnnotation(t.Context(), addition, w.doc, noted(id, "new", tt.new), collab.NewAnnotation{}))
					}
					return nil
				}))
				err := tt.op(t.Context(), s, id)
				if code := collab.CodeOf(err); err != nil && code != collab.NotFound && code != collab.AlreadyExists && code != collab.Aborted {
					t.Fatalf("before call %d: %v", at, err)
				}
				if calls.Load() < at {
					return
				}
				w.sweep(deletion.JobID())
				head, comments := w.items(id)
				if head == nil {
					t.Fatalf("before call %d: the new thread is gone", at)
				}
				if a, err := readHead(head); err != nil || strings.Contains(string(a.Context), "old") || a.CreatorID == "op" && len(comments) == 0 {
					t.Errorf("before call %d: the head is %s by %q, %v", at, a.Context, a.CreatorID, err)
				}
				var own []int64
				for _, c := range comments {
					if c.AuthorID == "old" || strings.Contains(string(c.Context), "old") {
						t.Errorf("before call %d: comment %d is %s by %s", at, c.ID, c.Context, c.AuthorID)
					}
					if c.AuthorID == "new" {
						own = append(own, c.ID)
					}
				}
				want := []int64{1, 2, 3}[:tt.new]
				if removal != nil && slices.Contains(w.meant(removal), addition.Mark()) {
					want = nil
				}
				if !slices.Equal(own, want) {
					t.Errorf("before call %d (%v): of the new thread's comments %v are there, want %v", at, err, own, want)
				}
				shown := 0
				for _, err := range w.ListComments(t.Context(), w.doc, id, 0, 1_000) {
					w.must(err)
					shown++
				}
				if shown != len(comments) {
					t.Errorf("before call %d: %d comments are stored, %d show", at, len(comments), shown)
				}
			}
		})
	}
}

// TestCommentOfLongAgo adds a comment at the earliest time to a deleted thread that this process
// has read.
func TestCommentOfLongAgo(t *testing.T) {
	w := newWriting(t, storetest.New(t))
	_, err := w.add("a", storetest.Comment("bob", 0, 9_000))
	w.must(err)
	_, _, err = w.DeleteAnnotations(t.Context(), newRequest(0), w.doc, []string{"a"}, collab.AnnotationDeletion{})
	w.must(err)
	_, err = w.add("a", storetest.Comment("bob", 0, 0))
	storetest.WantCode(t, "a comment to what is deleted", err, collab.NotFound)
}
