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
		{"behind a given one of the future", []int64{0, 2_000_000, 0}, 0, []int64{2_000_001, 2_000_000, 2_000_002}},
		{"no room behind the largest", []int64{0, last, 1_000_001, 0, 0}, 0, []int64{1_000_002, last, 1_000_001, 1_000_003, 1_000_004}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var comments []Comment
			for _, id := range test.given {
				comments = append(comments, Comment{ID: id})
			}
			NewIDs(start, make([]byte, 16)).NumberComments(comments, test.generated)
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

// TestNextFor holds that what has another name has another id, also at the same position of another attempt at the request.
func TestNextFor(t *testing.T) {
	start, seed := time.UnixMilli(1), []byte("sixteen random b")
	first, second := NewIDs(start, seed), NewIDs(start, seed)
	a, b := first.NextFor("a"), first.NextFor("b")
	if other := second.NextFor("b"); other == a || len(other) != len(a) || b <= a {
		t.Errorf("a is %s, b is %s, and %s where it is the first", a, b, other)
	}
	if again := NewIDs(start, seed); again.NextFor("a") != a || again.NextFor("b") != b {
		t.Error("the same attempt again gives other ids")
	}
	if next := NewIDs(start, seed).Next(); next == a {
		t.Errorf("%s is of nothing, too", next)
	}
}
