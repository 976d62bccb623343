package access_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"collabdata/shared/access"
	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFirst walks random streams: the parts together are the users with access, in order, and each
// part stays within its bound.
func TestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "users")
		users := make([]string, n)
		counts, sees := map[string]bool{}, map[string]bool{}
		for i := range users {
			users[i] = fmt.Sprintf("u%02d", i)
			counts[users[i]] = rapid.Bool().Draw(t, "counts")
			sees[users[i]] = rapid.IntRange(0, 3).Draw(t, "sees") == 0
		}
		want, bound := rapid.IntRange(1, 10).Draw(t, "want"), rapid.IntRange(1, 40).Draw(t, "bound")
		looked := 0
		next := func(_ context.Context, after string, n int) (found []string, last string, err error) {
			from, _ := slices.BinarySearch(users, after+"\x00")
			part := users[from:]
			if len(part) > n {
				part = part[:n]
				last = part[n-1]
			}
			looked += len(part)
			return collab.Where(part, func(u string) bool { return counts[u] }), last, nil
		}
		may := func(_ context.Context, asked []string) (map[string]bool, error) {
			if i := slices.IndexFunc(asked, func(u string) bool { return !counts[u] }); i >= 0 || len(asked) == 0 {
				t.Fatalf("asked about %v", asked)
			}
			return sees, nil
		}
		var got []string
		for after, parts := "", 0; ; parts++ {
			looked = 0
			found, last, err := access.First(t.Context(), want, bound, after, next, may)
			if err != nil || looked > bound || len(found) > want || parts > n {
				t.Fatalf("part %d: %v of at most %d, %v, looked at %d of at most %d", parts, found, want, err, looked, bound)
			}
			if len(found) < want && last != "" && looked < bound {
				t.Fatalf("part %d ends at %q with %v, having looked at %d", parts, last, found, looked)
			}
			if last != "" && last == users[n-1] {
				t.Fatalf("part %d goes on after the last user", parts)
			}
			got = append(got, found...)
			if after = last; last == "" {
				break
			}
		}
		if diff := cmp.Diff(collab.Where(users, func(u string) bool { return counts[u] && sees[u] }), got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFirstFails: errors of either function are returned.
func TestFirstFails(t *testing.T) {
	failure := errors.New("down")
	next := func(context.Context, string, int) ([]string, string, error) { return []string{"u"}, "", nil }
	may := func(context.Context, []string) (map[string]bool, error) { return nil, failure }
	if _, _, err := access.First(t.Context(), 1, 1, "", next, may); err != failure {
		t.Errorf("may fails: %v", err)
	}
	next = func(context.Context, string, int) ([]string, string, error) { return nil, "", failure }
	if _, _, err := access.First(t.Context(), 1, 1, "", next, may); err != failure {
		t.Errorf("next fails: %v", err)
	}
}
