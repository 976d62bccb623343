package collab

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"collabdata/shared/testing/heaptest"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

// TestHeadlineIsBounded: headline and rendering do not grow with template times values.
func TestHeadlineIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 20_000)
	quoted, err := EncodeJSON(long)
	must.Do(t, err)
	user, err := EncodeJSON(User{UserID: "u", Name: &long})
	must.Do(t, err)
	short, err := EncodeJSON(map[string]string{"userId": "u", "email": "e", "name": "", "more": long})
	must.Do(t, err)
	data := map[string]JSON{"a": quoted, "b": user, "c": short, "d": JSON(strings.Repeat("1", 40_000)), "e": JSON(`""`), "f": JSON("[]")}
	for _, test := range []struct {
		name, template string
		recipient      User
		want           int // bytes of the headline
	}{
		{"texts", strings.Repeat("{a}", 4_333), User{UserID: "r"}, MaxHeadline},
		{"a cut character", "x" + strings.Repeat("{a}", 4_333), User{UserID: "r"}, MaxHeadline - 1},
		{"names", strings.Repeat("{b}", 4_333), User{UserID: "r"}, MaxHeadline},
		{"users with much beside their names", strings.Repeat("{c}", 900), User{UserID: "r"}, 900},
		{"numbers", strings.Repeat("{d}", 4_333), User{UserID: "r"}, MaxHeadline},
		{"empty values", strings.Repeat("{e}", 100_000), User{UserID: "r"}, 0},
		{"what is no value", strings.Repeat("{f}", 100_000), User{UserID: "r"}, 999},
		{"recipients", strings.Repeat("{recipientUser}", 4_333), User{UserID: "r", Name: &long}, MaxHeadline},
		{"recipients between", strings.Repeat("{recipientUser}{a}", 4_333), User{UserID: "r", Name: &long}, MaxHeadline},
		{"literal text", strings.Repeat("x", 350_000), User{UserID: "r"}, MaxHeadline},
		{"braces", strings.Repeat("{", 350_000), User{UserID: "r"}, MaxHeadline},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := Notification{Headline: test.template, TemplateData: data}
			var got string
			bytes := heaptest.Allocated(func() {
				h := n.RenderHeadline()
				for range 10 {
					got = h.For(test.recipient)
				}
			})
			if len(got) > MaxHeadline || len(got) < test.want-len("{f}") || !utf8.ValidString(got) {
				t.Errorf("%d bytes, want %d: %.100q", len(got), test.want, got)
			}
			if bytes > 500_000 {
				t.Errorf("it took %d bytes", bytes)
			}
		})
	}
}

func FuzzHeadline(f *testing.F) {
	f.Add("{a} {b} {{a}} {", "a", "{b}")
	f.Add("}{a}{a", "", "<script>")
	f.Add("{\xff}", "\xff", "{\xff}")
	f.Add("{recipientUser}{a}", "a", "x")
	variable := regexp.MustCompile(`\{[^{}]*\}`)
	f.Fuzz(func(t *testing.T, template, name, text string) {
		text = strings.ToValidUTF8(text, "?")
		value, err := EncodeJSON(text)
		must.Do(t, err)
		want := variable.ReplaceAllStringFunc(template, func(v string) string {
			switch v {
			case "{" + name + "}":
				return text
			case "{" + ActionUser + "}":
				return "ann"
			case "{" + RecipientUser + "}":
				return "bob"
			}
			return v
		})
		n := Notification{Headline: template, ActionUser: User{UserID: "ann"}, TemplateData: map[string]JSON{name: value}}
		got := n.RenderHeadline().For(User{UserID: "bob"})
		if got != want && (!strings.HasPrefix(want, got) || len(got) > MaxHeadline || len(want) <= MaxHeadline && len(template) <= maxTemplate) {
			t.Errorf("%q with %q = %q gave %q, want %q", template, name, text, got, want)
		}
	})
}

// TestNotificationUsers checks that 20 users of template data have present names, besides acting
// users.
func TestNotificationUsers(t *testing.T) {
	n := Notification{ActionUser: User{UserID: "actor"}, AssignedTo: &User{UserID: "assignee"}, TemplateData: map[string]JSON{}}
	want := []string{"actor", "assignee"}
	for i := range 30 {
		id := fmt.Sprintf("u%02d", i)
		n.TemplateData["name "+id] = JSON(`{"userId": "` + id + `"}`)
		if i < 20 {
			want = append(want, id)
		}
	}
	if diff := cmp.Diff(want, n.Users()); diff != "" {
		t.Error("(- want, + got):", diff)
	}
}
