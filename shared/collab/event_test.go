package collab

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestShorten: whatever an event holds its JSON fits, says that something is missing, and still names what it is about.
func TestShorten(t *testing.T) {
	text := func(n int) *string {
		s := strings.Repeat("ä", n/2)
		return &s
	}
	object := func(n int) JSON { return JSON(fmt.Sprintf(`{"userId":"u","name":%q}`, *text(n))) }
	comments := func(count, size int) []EventComment {
		list := make([]EventComment, count)
		for i := range list {
			list[i] = EventComment{
				CommentID: MaxCommentID - int64(i), Text: text(size), HTML: text(size), From: object(size), TaggedUserContacts: object(size), CreatedAt: MaxMillis,
			}
		}
		return list
	}
	for _, test := range []struct {
		name     string
		event    Event
		comments int // that are left at least
		cut      bool
	}{
		{"small", Event{Actor: &User{UserID: "u"}, Comments: comments(3, 100), RecentComments: comments(3, 100)}, 3, false},
		{"long texts", Event{Comments: comments(2, 100_000)}, 2, true},
		{"long recent comments", Event{Comments: comments(1, 100), RecentComments: comments(3, 100_000)}, 1, true},
		{"long names", Event{Actor: &User{UserID: "u", Name: text(100_000), Email: text(100_000)}, Comments: comments(1, 100)}, 1, true},
		{"many comments", Event{Comments: comments(MaxComments, 1_000)}, 1, true},
		{"large objects", Event{
			Annotation: &EventAnnotation{Context: object(100_000), Status: object(100_000), From: object(100_000), Location: object(100_000), CreatedAt: 5},
			Previous:   &EventAnnotation{Status: object(100_000)}, Comments: comments(1, 100),
		}, 0, true},
		{"a long notification", Event{Notification: &Notification{
			ID: "n", ActionUser: User{UserID: "u", Name: text(100_000)}, Headline: *text(100_000), Body: *text(100_000),
			TemplateData: map[string]JSON{"x": object(100_000)}, SourceData: object(100_000),
		}}, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.event.ID, test.event.AnnotationID = "e", "thread"
			before, err := json.Marshal(&test.event)
			if err != nil {
				t.Fatal(err)
			}
			ev := test.event
			if err := ev.Shorten(); err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(&ev)
			if err != nil || len(body) > MaxEventBytes || !utf8.Valid(body) || strings.Contains(string(body), "\uFFFD") {
				t.Errorf("%d bytes, %v", len(body), err)
			}
			if ev.Truncated != test.cut || !test.cut && string(body) != string(before) {
				t.Errorf("truncated: %v", ev.Truncated)
			}
			if len(ev.Comments) < test.comments || ev.ID != "e" || ev.AnnotationID != "thread" {
				t.Errorf("%d comments are left of %s %s", len(ev.Comments), ev.ID, ev.AnnotationID)
			}
			for i, c := range ev.Comments {
				if c.CommentID != test.event.Comments[i].CommentID {
					t.Errorf("comment %d is %d", i, c.CommentID)
				}
			}
			if n := ev.Notification; n != nil && (n.ID != "n" || n.ActionUser.UserID != "u" || n.Headline == "") {
				t.Errorf("notification %+v", n)
			}
			if after, err := json.Marshal(&test.event); err != nil || string(after) != string(before) {
				t.Errorf("what it was made of has changed, %v", err)
			}
		})
	}
}
