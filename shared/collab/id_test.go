package collab

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNumberComments(t *testing.T) {
	start := time.UnixMicro(1_000_000)
	const last = MaxCommentID
	for _, test := range []struct {
		name      string
		given     []int64 // 0 for none
		generated int64
		want      []int64
	}{
		{"none", nil, 0, nil},
		{"generated", []int64{0, 0}, 0, []int64{1_000_000, 1_000_001}},
		{"generated before", []int64{0, 0}, 7, []int64{1_000_007, 1_000_008}},
		{"given", []int64{3, 1, 2}, 0, []int64{3, 1, 2}},
		{"between given ones of the past", []int64{5, 0, 9, 0}, 0, []int64{5, 1_000_000, 9, 1_000_001}},
		{"after a given one from the future", []int64{0, 2_000_000, 0}, 0, []int64{2_000_001, 2_000_000, 2_000_002}},
		{"no room after the largest", []int64{0, last, 1_000_001, 0, 0}, 0, []int64{1_000_002, last, 1_000_001, 1_000_003, 1_000_004}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var comments []Comment
			for _, id := range test.given {
				comments = append(comments, Comment{ID: id})
			}
			NumberComments(comments, FirstCommentID(start, comments)+test.generated)
			var got []int64
			for _, c := range comments {
				got = append(got, c.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// TestFor: an id by name is the same in every attempt, and unique.
func TestFor(t *testing.T) {
	start, seed := time.UnixMilli(1), []byte("sixteen random b")
	g, again := NewIDs(start, seed), NewIDs(start, seed)
	a := g.For(0, "a")
	if b, c := g.For(0, "b"), g.For(1, "a"); a == b || c <= a || c <= b || len(c) != len(a) {
		t.Errorf("at position 0 %s and %s, at 1 %s", a, b, c)
	}
	if next := again.Next(); next == a || again.For(0, "a") != a {
		t.Errorf("%s and %s, where another attempt has %s", next, again.For(0, "a"), a)
	}
}
