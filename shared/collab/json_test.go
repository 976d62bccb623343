package collab_test

import (
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"
)

func TestMembers(t *testing.T) {
	for object, want := range map[string]string{
		`{"a":1,"b\u0062":[2, 3],"":{"x":null}}`: `a=1;bb=[2, 3];={"x":null};`,
		`{}`:                                     ``, `[1]`: ``, `["a","b"]`: ``, `"a"`: ``, ``: ``, `{"a":`: ``, `{"a":1,`: `a=1;`,
	} {
		var got strings.Builder
		for name, value := range collab.JSON(object).Members() {
			fmt.Fprintf(&got, "%s=%s;", name, value)
		}
		if got.String() != want {
			t.Errorf("%s: got %s, want %s", object, got.String(), want)
		}
	}
	for name := range collab.JSON(`{"a":1,"b":2}`).Members() {
		if name != "a" {
			t.Error("went on behind break")
		}
		break
	}
}

func TestObject(t *testing.T) {
	const object = `{"z":1.50,"a\"":"<b>","n":null,"o":{"y":1,"x":[]}}`
	for _, test := range []struct{ name, got, want string }{
		{"same", string(collab.JSON(object).Object().JSON()), object},
		{"nil", string(collab.JSON(nil).Object().JSON()), `{}`},
		{"merged", string(collab.JSON(object).Merge(collab.JSON(`{"b":2,"n":0,"z":null,"c":null}`))), `{"a\"":"<b>","n":0,"o":{"y":1,"x":[]},"b":2}`},
		{"merged into nil", string(collab.JSON(nil).Merge(collab.JSON(`{"b":2,"c":null}`))), `{"b":2}`},
		{"merged with nil", string(collab.JSON(object).Merge(nil)), object},
		{"only", string(collab.JSON(object).Only("n", "z", "y")), `{"z":1.50,"n":null}`},
		{"only of an array", string(collab.JSON(`["a"]`).Only("a")), ``},
		{"text", collab.JSON(object).Text(`a"`), `<b>`},
		{"text with escapes", collab.JSON(`{"a":"\u00e9\n"}`).Text("a"), "é\n"},
		{"text of the first member", collab.JSON(`{"a":"b"}`).Object().Text("a"), "b"},
		{"text of a number", collab.JSON(object).Text("z"), ``},
		{"text of an array", collab.JSON(`["a"]`).Text("a"), ``},
		{"member", string(collab.JSON(object).Get("o")), `{"y":1,"x":[]}`},
		{"no member", string(collab.JSON(object).Get("y")), ``},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, test.got, test.want)
		}
	}
}

// BenchmarkMerge merges large objects. The time must grow in proportion to the number of members.
func BenchmarkMerge(b *testing.B) {
	for _, members := range []int{10_000, 100_000} {
		var text strings.Builder
		for i := range members {
			fmt.Fprintf(&text, `,"%06d":1`, i)
		}
		object := collab.JSON("{" + text.String()[1:] + "}")
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			for b.Loop() {
				object.Merge(object)
			}
		})
	}
}
