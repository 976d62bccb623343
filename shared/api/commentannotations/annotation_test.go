package commentannotations

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

func jsonThread(n int, text string) *collab.Thread {
	t := &collab.Thread{Document: `d"1`, Annotation: collab.Annotation{
		ID:            "a\u2028",
		From:          js(`{"userId":"u1","name":"Una \"U\"","email":"una@example.com"}`),
		Location:      js(`{"id":"l1","locationName":"Page 1"}`),
		TargetElement: js(`{"elementId":"e1","targetText":"some text","occurrence":2}`),
		Status:        js(`{"id":"OPEN","name":"Open","type":"default","color":"#ff0000"}`),
		Context:       js(`{"a":1.50}`),
		CreatedAt:     1_700_000_000_000, LastUpdated: 1_700_000_000_001,
	}}
	for i := range n {
		t.Comments = append(t.Comments, collab.Comment{
			ID: int64(i + 1), Text: &text, HTML: &text, TextAvailable: new(true), From: t.From, CreatedAt: 1, LastUpdated: 2,
		})
	}
	return t
}

// TestEncodeThreadFits encodes a thread in every room from zero to its size.
func TestEncodeThreadFits(t *testing.T) {
	for _, content := range []string{"x", `"\`, "\x00\n", "\u2028é𝄞"} {
		thread := jsonThread(3, content)
		_, all, whole := reader{}.encode(thread, 1_000_000)
		if !whole {
			t.Fatal("a thread is cut where there is room")
		}
		last := -1
		for room := range all + 100 {
			got, size, whole := reader{}.encode(thread, room)
			if size != rpc.WrappedLen(got) {
				t.Fatalf("room for %d: size %d of %d", room, size, rpc.WrappedLen(got))
			}
			var a struct {
				Comments  []collab.JSON
				Truncated *bool `json:"commentsTruncated"`
			}
			must.Do(t, json.Unmarshal(got, &a))
			n := len(a.Comments)
			switch {
			case whole != (a.Truncated == nil), whole && n < 3, a.Truncated != nil && !*a.Truncated:
				t.Fatalf("room for %d: whole %v, %d comments: %s", room, whole, n, got)
			case n < last:
				t.Fatalf("room for %d: %d comments, %d with less room", room, n, last)
			case size > room && (n > 0 || whole):
				t.Fatalf("room for %d: %d comments take %d", room, n, size)
			}
			last = n
		}
		if _, _, whole := (reader{}).encode(thread, all+30); !whole {
			t.Error("a thread is cut that fits")
		}
	}
}

func js(s string) collab.JSON { return collab.JSON(s) }

// TestShownReactions checks that a response lists the first 50 users of an emoji, with the person
// that reads, counts all of them, and omits an emoji without users.
func TestShownReactions(t *testing.T) {
	users := make([]string, 51)
	for i := range users {
		users[i] = fmt.Sprint("user", i)
	}
	reactors := func(ids ...string) []Reactor { return collab.Map(ids, func(id string) Reactor { return Reactor{id} }) }
	for name, test := range map[string]struct {
		users  []string
		person string
		want   []Reaction
	}{
		"one":             {users[:1], "", []Reaction{{"👍", 1, reactors(users[0])}}},
		"50":              {users[:50], "user49", []Reaction{{"👍", 50, reactors(users[:50]...)}}},
		"51":              {users, "", []Reaction{{"👍", 51, reactors(users[:50]...)}}},
		"51, last reads":  {users, "user50", []Reaction{{"👍", 51, append(reactors("user50"), reactors(users[:49]...)...)}}},
		"51, other reads": {users, "other", []Reaction{{"👍", 51, reactors(users[:50]...)}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := reader{person: test.person}.reactions(collab.Reactions{{Emoji: "👍", Users: test.users}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
