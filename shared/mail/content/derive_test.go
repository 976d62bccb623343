package content

import (
	"strings"
	"testing"

	"collabdata/shared/collab"
)

// TestDerive checks the texts of notifications about comments in the current thread.
func TestDerive(t *testing.T) {
	name, html, long := "Ann", "<p>Hello <b>{{bob}}</b></p>", strings.Repeat("ä", 2_001)
	tags := collab.JSON(`[{"userId":"bob","contact":{"userId":"bob","name":"B<o>b"}},{"userId":"eve","contact":{"userId":"eve","email":"eve@example.com"}}]`)
	nameless := "Ask {{eve}}"
	head := collab.Annotation{
		Status: collab.JSON(`{"id":"OPEN","name":"Open {x}"}`), AssignedTo: collab.JSON(`{"userId":"zoe","email":"zoe@example.com"}`),
		Location: collab.JSON(`{"id":"l"}`),
	}
	status := func(id string) collab.Notification {
		return collab.Notification{Event: collab.AnnotationStatusChanged, Status: &collab.EventStatus{ID: id}}
	}
	assigned := func(to *collab.User) collab.Notification {
		return collab.Notification{Event: collab.AnnotationAssigned, AssignedTo: to}
	}
	of := func(kind collab.EventType) collab.Notification { return collab.Notification{Event: kind} }
	shared := func(n collab.Notification) collab.Notification {
		n.SharedWith = []string{"cat", "bob"}
		return n
	}
	suggested := func(status string) collab.JSON {
		return collab.JSON(`{"oldValue":"10 a","newValue":"12","status":"` + status + `","rejectReason":"No"}`)
	}
	for _, test := range []struct {
		n              collab.Notification
		suggestion     collab.JSON
		text           string
		mentioned      bool
		headline, body string
	}{
		{of(collab.AnnotationAdded), suggested("pending"), "better", false, "Ann suggested a change", "Old text: 10 a\nNew text: 12\n\nbetter\nAttached: f"},
		{of(collab.AnnotationAdded), suggested("pending"), "better", true, "Ann mentioned you", "Old text: 10 a\nNew text: 12\n\nbetter\nAttached: f"},
		{of(collab.AnnotationAdded), collab.JSON(`{"newValue":"","status":"pending"}`), "", false, "Ann suggested a change", "Old text: quote\nNew text: (without text)\n\nAttached: f"},
		{of(collab.AnnotationAdded), collab.JSON(`{"status":"pending"}`), "", false, "Ann suggested a change", "Attached: f"},
		{of(collab.AnnotationAdded), collab.JSON(`{"oldValue":null,"newValue":{"a":[1]},"status":"pending"}`), "", false, "Ann suggested a change", "Old text: quote\nNew text: {\"a\":[1]}\n\nAttached: f"},
		{of(collab.CommentAdded), suggested("rejected"), "better", false, "Ann replied", "better\nAttached: f"},
		{of(collab.CommentAdded), nil, "", false, "Ann replied", "Attached: f"},
	} {
		test.n.ActionUser = collab.User{UserID: "ann", Name: &name}
		c := collab.Comment{Text: &test.text, Attachments: collab.JSON(`[{"attachmentId":1,"name":"f"}]`)}
		th := &collab.Thread{Annotation: collab.Annotation{Suggestion: test.suggestion, TargetElement: collab.JSON(`{"targetText":"quote"}`)}, Comments: []collab.Comment{c}}
		Derive(&test.n, th, Reader{UserID: "bob", Mentioned: test.mentioned})
		if got := test.n.RenderHeadline().For(collab.User{UserID: "bob"}); got != test.headline || test.n.Body != test.body {
			t.Errorf("%q, %q; want %q, %q", got, test.n.Body, test.headline, test.body)
		}
	}
	for kind, want := range map[collab.EventType]string{
		collab.SuggestionAccepted: "A suggestion was accepted", collab.SuggestionRejected: "A suggestion was rejected", collab.AnnotationAdded: "A change was suggested",
	} {
		n, body := of(kind), "Old text: 10 a\nNew text: 12"
		th := &collab.Thread{Annotation: collab.Annotation{Suggestion: suggested("accepted")}}
		if kind == collab.SuggestionRejected {
			th.Suggestion, body = suggested("rejected"), body+"\nReason: No"
		}
		Derive(&n, th, Reader{})
		if got := n.RenderHeadline().For(collab.User{}); got != want || n.Body != body {
			t.Errorf("%q, %q; want %q, %q", got, n.Body, want, body)
		}
	}
	nobody := func(n collab.Notification) collab.Notification {
		n.Source = "nobody"
		return n
	}
	for _, test := range []struct {
		n              collab.Notification
		comment        collab.Comment
		mentioned      bool
		headline, body string
	}{
		{of(collab.AnnotationAdded), collab.Comment{Text: &name}, true, "Ann mentioned you", "Ann"},
		{of(collab.CommentAdded), collab.Comment{HTML: &html, TaggedUserContacts: tags}, true, "Ann mentioned you", "Hello @B<o>b"},
		{of(collab.CommentAdded), collab.Comment{Text: &nameless, TaggedUserContacts: tags}, false, "Ann replied", "Ask @eve"},
		{of(collab.CommentAdded), collab.Comment{Text: &long}, false, "Ann replied", strings.Repeat("ä", 2_000) + "…"},
		{of(collab.AnnotationAdded), collab.Comment{Text: &name}, false, "Ann added a comment", "Ann"},
		{of(collab.CommentUpdated), collab.Comment{Text: &name}, true, "Ann mentioned you", "Ann"},
		{of(collab.CommentUpdated), collab.Comment{Text: &name}, false, "Ann changed a comment", "Ann"},
		{shared(of(collab.AnnotationAdded)), collab.Comment{Text: &name}, false, "Ann shared a thread with you", "Ann"},
		{shared(of(collab.AnnotationAdded)), collab.Comment{Text: &name}, true, "Ann mentioned you", "Ann"},
		{shared(of(collab.AnnotationUpdated)), collab.Comment{}, false, "Ann shared a thread with you", ""},
		{shared(status("RESOLVED")), collab.Comment{}, false, "Ann shared a thread with you", ""},
		{shared(assigned(&collab.User{UserID: "bob"})), collab.Comment{}, false, "Ann assigned a thread to you", ""},
		{nobody(shared(of(collab.AnnotationUpdated))), collab.Comment{}, false, "A thread was shared with you", ""},
		{status("RESOLVED"), collab.Comment{}, false, "Ann resolved a thread", ""},
		{nobody(status("RESOLVED")), collab.Comment{}, false, "A thread was resolved", ""},
		{status("IN_PROGRESS"), collab.Comment{}, false, "Ann changed the status to In progress", ""},
		{nobody(status("CLOSED")), collab.Comment{}, false, "The status was changed to CLOSED", ""},
		{nobody(status("")), collab.Comment{}, false, "The status was changed", ""},
		{nobody(assigned(&collab.User{UserID: "bob"})), collab.Comment{}, false, "A thread was assigned to you", ""},
		{nobody(assigned(&collab.User{UserID: "zoe"})), collab.Comment{}, false, "A thread was assigned to zoe", ""},
		{nobody(assigned(nil)), collab.Comment{}, false, "A thread is no longer assigned to anyone", ""},
		{nobody(of(collab.AnnotationUpdated)), collab.Comment{}, false, "A thread was changed", ""},
		{status("OPEN"), collab.Comment{}, false, "Ann changed the status to Open {x}", ""},
		{status("CLOSED"), collab.Comment{}, false, "Ann changed the status to CLOSED", ""},
		{assigned(&collab.User{UserID: "zoe"}), collab.Comment{}, false, "Ann assigned a thread to zoe", ""},
		{assigned(&collab.User{UserID: "yan"}), collab.Comment{}, false, "Ann assigned a thread to yan", ""},
		{assigned(&collab.User{UserID: "bob"}), collab.Comment{}, false, "Ann assigned a thread to you", ""},
		{assigned(nil), collab.Comment{}, false, "Ann removed the assignee of a thread", ""},
		{of(collab.AnnotationUpdated), collab.Comment{}, false, "Ann changed a thread", ""},
		{collab.Notification{Event: collab.CommentAdded, Headline: "set", Body: "set"}, collab.Comment{Text: &name}, true, "set", "set"},
	} {
		if test.n.Source != "nobody" {
			test.n.ActionUser = collab.User{UserID: "ann", Name: &name}
		}
		Derive(&test.n, &collab.Thread{Annotation: head, Comments: []collab.Comment{test.comment}}, Reader{UserID: "bob", Mentioned: test.mentioned})
		if got := test.n.RenderHeadline().For(collab.User{UserID: "bob"}); got != test.headline || test.n.Body != test.body {
			t.Errorf("%q, %q; want %q, %q", got, test.n.Body, test.headline, test.body)
		}
		if string(test.n.Location) != string(head.Location) {
			t.Errorf("at %s", test.n.Location)
		}
	}
}
