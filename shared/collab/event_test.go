package collab

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestShortUser holds that an event or a mail keeps of a user no more than it needs.
func TestShortUser(t *testing.T) {
	name, email, yes := strings.Repeat("n", 300), "ann@example.com", true
	u := User{UserID: "ann", Name: &name, Email: &email, UserDetails: UserDetails{PhotoURL: &name, IsAdmin: &yes}}
	cut := name[:200]
	if diff := cmp.Diff(User{UserID: "ann", Name: &cut, Email: &email}, u.Short()); diff != "" {
		t.Error(diff)
	}
}

// TestShorten: whatever an event holds its JSON fits, says that something is missing, and still names what it is about and whom.
func TestShorten(t *testing.T) {
	for _, filler := range []string{"<", "ä", "\x01"} { // of one, two and six bytes in JSON
		encoded := func(v any) JSON {
			body, err := EncodeJSON(v)
			if err != nil {
				t.Fatal(err)
			}
			return body
		}
		each := len(encoded(filler)) - len(`""`)
		text := func(n int) *string { // of n bytes in JSON
			s := strings.Repeat(filler, n/each)
			return &s
		}
		user := func(id string, n int) JSON { return encoded(User{UserID: id, Name: text(n), Email: text(n)}) }
		status := func(n int) JSON {
			return encoded(map[string]string{"id": "OPEN", "name": *text(n), "type": "default", "svg": *text(n), "iconUrl": *text(n)})
		}
		tags := func(count, n int) JSON {
			type tag struct {
				UserID  string `json:"userId"`
				Contact JSON   `json:"contact"`
			}
			var list []tag
			for i := range count {
				id := fmt.Sprint("tagged", i)
				list = append(list, tag{id, user(id, n)})
			}
			return encoded(list)
		}
		comments := func(count, n, tagged int) []EventComment {
			list := make([]EventComment, count)
			for i := range list {
				list[i] = EventComment{
					CommentID: MaxCommentID - int64(i), Text: text(n), HTML: text(n), From: user(fmt.Sprint("author", i), n),
					TaggedUserContacts: tags(tagged, n), CreatedAt: MaxMillis,
				}
			}
			return list
		}
		var people []User
		for i := range 30 {
			people = append(people, User{UserID: fmt.Sprint("person", i), Name: text(200)}.Short())
		}
		for _, test := range []struct {
			name     string
			event    Event
			comments int // that are left at least
			cut      bool
		}{
			{"small", Event{Actor: &User{UserID: "u"}, Comments: comments(3, 100, 1)}, 3, false},
			{"long texts", Event{Comments: comments(2, 40_000, 0)}, 2, true},
			{"long names", Event{Actor: &User{UserID: "actor", Name: text(40_000), Email: text(40_000)}, Comments: comments(1, 100, 1)}, 1, true},
			{"many comments", Event{Comments: comments(90, 1_000, 1)}, 10, true},
			{"many tags", Event{Comments: comments(3, 1_000, 20)}, 3, true},
			{"long members", Event{
				Annotation: &EventAnnotation{AnnotationObjects: AnnotationObjects{Context: user("x", 40_000), Status: status(40_000), From: user("creator", 40_000), Location: status(40_000), Priority: status(40_000), AssignedTo: user("assignee", 40_000)}, CreatedAt: 5},
				Previous:   &EventAnnotation{AnnotationObjects: AnnotationObjects{Status: status(40_000), AssignedTo: user("former", 40_000)}}, Comments: comments(1, 100, 1),
			}, 1, true},
			{"an icon alone", Event{Annotation: &EventAnnotation{AnnotationObjects: AnnotationObjects{Status: status(33_000), AssignedTo: user("assignee", 20)}}, Comments: comments(20, 20, 1)}, 20, true},
			{"a long notification", Event{Notification: &Notification{
				ID: "n", ActionUser: User{UserID: "u", Name: text(40_000)}, Headline: "{x}{y}{recipientUser}" + *text(40_000), Body: *text(40_000),
				TemplateData: map[string]JSON{"x": encoded(*text(40_000)), "y": user("y", 1_000), "unused": encoded(*text(40_000))}, SourceData: user("x", 40_000),
			}}, 0, true},
		} {
			t.Run(fmt.Sprintf("%s of %q", test.name, filler), func(t *testing.T) {
				test.event.ID, test.event.AnnotationID, test.event.People = "e", "thread", people
				before := encoded(&test.event)
				ev := test.event
				if err := ev.Shorten(MaxEventBytes); err != nil {
					t.Fatal(err)
				}
				body := encoded(&ev)
				if len(body) > MaxEventBytes || !utf8.Valid(body) || strings.Contains(string(body), "\uFFFD") {
					t.Errorf("%d bytes: %.500s", len(body), body)
				}
				if ev.Truncated != test.cut || !test.cut && string(body) != string(before) {
					t.Errorf("truncated: %v", ev.Truncated)
				}
				if len(ev.Comments) < test.comments || ev.ID != "e" || ev.AnnotationID != "thread" {
					t.Errorf("%d comments are left of %s %s", len(ev.Comments), ev.ID, ev.AnnotationID)
				}
				for i, c := range ev.Comments {
					was := test.event.Comments[i]
					if c.CommentID != was.CommentID || idIn(t, c.From) != idIn(t, was.From) {
						t.Errorf("comment %d is %d by %s", i, c.CommentID, c.From)
					}
				}
				checkPeople(t, &test.event, &ev)
				if n := ev.Notification; n != nil {
					if got, want := n.RenderHeadline().For(User{UserID: "r"}), test.event.Notification.RenderHeadline().For(User{UserID: "r"}); !strings.HasPrefix(
						want, got[:150],
					) {
						t.Errorf("headline %q", got)
					}
				}
				if after := encoded(&test.event); string(after) != string(before) {
					t.Error("what it was made of has changed")
				}
			})
		}
	}
}

// checkPeople reports where a shortened event names others than it did.
func checkPeople(t *testing.T, before, after *Event) {
	t.Helper()
	named := func(ev *Event) []string {
		var ids []string
		if ev.Actor != nil {
			ids = append(ids, ev.Actor.UserID)
		}
		for _, u := range ev.People {
			ids = append(ids, u.UserID)
		}
		for _, a := range []*EventAnnotation{ev.Annotation, ev.Previous} {
			if a != nil {
				ids = append(ids, idIn(t, a.From), idIn(t, a.AssignedTo), idIn(t, a.Status))
			}
		}
		if n := ev.Notification; n != nil {
			ids = append(ids, n.ID, n.ActionUser.UserID)
		}
		return ids
	}
	if diff := cmp.Diff(named(before), named(after)); diff != "" {
		t.Errorf("people and ids (-before +after):\n%s", diff)
	}
}

func idIn(t *testing.T, object JSON) string {
	t.Helper()
	var o struct {
		UserID string `json:"userId"`
		ID     string `json:"id"`
	}
	if object == nil {
		return ""
	}
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatal(err)
	}
	return o.UserID + o.ID
}

func FuzzCutEncoded(f *testing.F) {
	for limit := range 70 { // more than all of it takes
		f.Add("a\"\\\b\f\n\r\t\x00\x1f\x7f<>&ä\u2028\u2029\xff\uFFFD\U0001F600", limit)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(0, limit%100)
		size := func(s string) int {
			text, err := EncodeJSON(s)
			if err != nil {
				t.Fatal(err)
			}
			return len(text) - len(`""`)
		}
		got := CutEncoded(s, limit)
		if !strings.HasPrefix(s, got) || size(got) > limit {
			t.Errorf("%q cut to %d is %q of %d", s, limit, got, size(got))
		}
		if _, n := utf8.DecodeRuneInString(s[len(got):]); n > 0 && utf8.ValidString(s) && !strings.Contains(s, "\uFFFD") &&
			size(s[:len(got)+n]) <= limit {
			t.Errorf("%q cut to %d is %q, too short", s, limit, got)
		}
	})
}
