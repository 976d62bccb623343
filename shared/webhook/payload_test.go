package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

// example is an event with its subject.
type example struct {
	*collab.Event
	Subject
}

// examples returns one event of each type, and some with deleted subjects.
func examples() []example {
	ada := collab.User{UserID: "u1", Name: new("Ada Lovelace"), Email: new("ada@example.com")}
	bob := collab.User{UserID: "u2", Name: new("Bob")}
	status := func(id, name, kind string) (*collab.EventStatus, collab.JSON) {
		return &collab.EventStatus{ID: id, Type: kind}, collab.JSON(`{"id":"` + id + `","name":"` + name + `","type":"` + kind + `"}`)
	}
	wasOpen, open := status("OPEN", "Open", "default")
	isResolved, resolved := status("RESOLVED", "Resolved", "terminal")
	event := func(typ collab.EventType, change func(*collab.Event, *Subject)) example {
		e := example{Event: &collab.Event{
			ID: "01kgn5zr3c0000000000000000", Type: typ, Account: "acct1", OrganizationID: "org1", DocumentID: "doc1",
			AnnotationID: "ann1", Time: 1772366400250,
		}}
		e.Annotation = &collab.Annotation{
			From:      collab.JSON(`{"userId":"u1","name":"Ada Lovelace"}`),
			Location:  collab.JSON(`{"id":"page-2","locationName":"Page 2"}`),
			Status:    open,
			Priority:  collab.JSON(`{"id":"P1","name":"High"}`),
			Context:   collab.JSON(`{"build":1.50,"tags":["<a>"]}`),
			CreatedAt: 1772366400000,
		}
		e.Comments = map[int64]*collab.Comment{}
		change(e.Event, &e.Subject)
		return e
	}
	say := func(e *collab.Event, s *Subject, id int64, words string) {
		c := collab.Comment{
			ID: id, Text: &words, HTML: new("<p>" + words + "</p>"), From: collab.JSON(`{"userId":"u1","name":"Ada Lovelace"}`),
			TaggedUserContacts: collab.JSON(`[{"userId":"u2","contact":{"userId":"u2","name":"Bob"}}]`), CreatedAt: 1772366400000,
			Agent: collab.JSON(`{"agentName":"Editor"}`),
		}
		e.AddComments(true, c)
		s.Comments[id] = &c
	}
	notification := &collab.Notification{
		ID: "n-1", DocumentID: "doc1", ActionUser: ada, Headline: "{actionUser} approved {what}",
		TemplateData: map[string]collab.JSON{"what": collab.JSON(`"the draft"`)}, Body: "All pages",
		SourceData: collab.JSON(`{"draft":7}`), CreatedAt: 1772366400000,
	}
	return []example{
		event(collab.AnnotationAdded, func(e *collab.Event, s *Subject) {
			e.Actor = ada.Acting()
			say(e, s, 1772366400000001, "Please look, {{u2}}")
		}),
		event(collab.AnnotationUpdated, func(*collab.Event, *Subject) {}),
		event(collab.AnnotationStatusChanged, func(e *collab.Event, s *Subject) {
			e.Before.Status, e.After.Status, s.Annotation.Status = wasOpen, isResolved, resolved
		}),
		event(collab.AnnotationAssigned, func(e *collab.Event, s *Subject) {
			e.After.AssigneeID, s.Annotation.AssignedTo = "u2", collab.JSON(`{"userId":"u2","name":"Bob"}`)
		}),
		event(collab.SuggestionAccepted, func(e *collab.Event, s *Subject) {
			e.Actor, s.Annotation.Status, s.Annotation.ResolvedBy, s.Annotation.ByAgent = bob.Acting(), resolved, "u2", true
			s.Annotation.ResolvedAt = e.Time
			s.Annotation.TargetElement = collab.JSON(`{"elementId":"intro","targetText":"teh","occurrence":1}`)
			s.Annotation.Suggestion = collab.JSON(`{"oldValue":"teh","newValue":"the","status":"accepted","resolvedBy":{"userId":"u2","name":"Bob"},"resolvedAt":1772366400250}`)
			s.Annotation.Kept = collab.JSON(`{"actions":[{"id":"undo"}]}`)
		}),
		event(collab.SuggestionRejected, func(e *collab.Event, s *Subject) {
			e.Actor, s.Annotation.Status = bob.Acting(), resolved
			s.Annotation.Suggestion = collab.JSON(`{"newValue":"the","status":"rejected","rejectReason":"as it was"}`)
		}),
		event(collab.CommentAdded, func(e *collab.Event, s *Subject) {
			e.Actor = bob.Acting()
			say(e, s, 1772366400000002, "First")
			say(e, s, 1772366400000003, "Second")
			s.Comments[1772366400000003] = nil // deleted
		}),
		event(collab.CommentUpdated, func(e *collab.Event, s *Subject) {
			e.Actor = bob.Acting()
			say(e, s, 1772366400000002, "First, corrected")
		}),
		event(collab.ReactionAdded, func(e *collab.Event, s *Subject) {
			e.Actor, e.Emoji = bob.Acting(), "👍"
			say(e, s, 1772366400000002, "First")
		}),
		event(collab.ReactionDeleted, func(e *collab.Event, s *Subject) {
			e.Actor, e.Emoji = bob.Acting(), "👍"
			say(e, s, 1772366400000002, "First")
		}),
		event(collab.NotificationAdded, func(e *collab.Event, s *Subject) {
			e.AnnotationID, e.Actor, e.NotificationID = "", ada.Acting(), "n-1"
			s.Notification, s.NotifyUsers = notification, []collab.User{bob}
		}),
		event(collab.NotificationClicked, func(e *collab.Event, s *Subject) {
			e.AnnotationID, e.Actor, e.NotificationID, s.Notification = "", bob.Acting(), "n-1", notification
		}),
		event(collab.NotificationDue, func(e *collab.Event, s *Subject) {
			e.Due = &collab.EventDue{UserID: "u2", Channel: "slack", More: 1, Mentioned: true}
			s.Due = []DueNotification{{
				NotificationID: "01kgn5zr3c0000000000000002", DocumentID: "doc1", AnnotationID: "ann1", CommentIDs: []int64{1772366400000001},
				Headline: "Ada Lovelace mentioned you", Body: "Please look, @Bob", ActionUser: &ada,
				DocumentName: "The plan", URL: "https://app.example/doc1#ann1", Visibility: collab.VisibilityRestricted,
			}}
			s.DueTo = &DueRecipient{UserID: "u2", Name: "Bob", Email: "bob@example.com", Locale: "de", TimeZone: "Europe/Berlin"}
		}),
		event(collab.EmailUndeliverable, func(e *collab.Event, _ *Subject) {
			e.DocumentID, e.AnnotationID = "", ""
			e.Undeliverable = &collab.Undeliverable{UserID: "u2", Email: "bob@example.com", Reason: collab.EmailBounced, Time: 1772366399000}
		}),
		event(collab.WebhookDisabled, func(e *collab.Event, _ *Subject) {
			e.OrganizationID, e.DocumentID, e.AnnotationID = "", "", ""
			e.Webhook = &collab.EventWebhook{WebhookID: "01kgn5zr3c0000000000000001", Reason: "answered 410 Gone"}
		}),
		event(collab.AnnotationDeleted, func(_ *collab.Event, s *Subject) { s.Annotation = nil }),
		event(collab.CommentDeleted, func(e *collab.Event, s *Subject) { e.CommentIDs = []int64{1772366400000002} }),
		event(collab.DocumentDeleted, func(e *collab.Event, _ *Subject) { e.AnnotationID = "" }),
		event(collab.FolderDeleted, func(e *collab.Event, _ *Subject) { e.AnnotationID, e.DocumentID, e.FolderID = "", "", "drafts" }),
		event(collab.OrganizationDeleted, func(e *collab.Event, _ *Subject) { e.AnnotationID, e.DocumentID = "", "" }),
		event(collab.UserErased, func(e *collab.Event, _ *Subject) {
			e.OrganizationID, e.DocumentID, e.AnnotationID = "", "", ""
			e.Erased = &collab.EventErased{UserID: "ada", OrganizationIDs: []string{"acme"}}
		}),
	}
}

func TestPayloads(t *testing.T) {
	var types []collab.EventType
	for _, e := range examples() {
		types = append(types, e.Type)
		got, err := Payload(e.Event, e.Subject)
		must.Do(t, err)
		var indented bytes.Buffer
		must.Do(t, json.Indent(&indented, got, "", "  "))
		indented.WriteByte('\n')
		golden.Check(t, filepath.Join("testdata", "payloads", string(e.Type)+".json"), indented.String())
	}
	if diff := cmp.Diff(collab.EventTypes(), types); diff != "" {
		t.Errorf("event types with a golden payload (-want +got):\n%s", diff)
	}
}

// TestContractPayloads checks the payloads in the contract's form, for events with a name there.
func TestContractPayloads(t *testing.T) {
	in := Surroundings{OrganizationName: "Acme", DocumentName: "The plan", Preferences: map[string]collab.Preferences{
		"u1": {Inbox: collab.PreferAll, Email: collab.PreferMine},
	}}
	var all bytes.Buffer
	for _, e := range examples() {
		e.After.Priority = e.Type == collab.AnnotationUpdated
		if in.Denied = nil; e.Type == collab.CommentAdded {
			e.Annotation.Visibility = &collab.Visibility{Type: collab.VisibilityRestricted, UserIDs: []string{"u1"}}
			in.Denied = []string{"u2"}
		}
		if e.ContractName() == "" {
			continue
		}
		got, err := ContractPayload("hook", e.Event, e.Subject, in)
		must.Do(t, err)
		must.Do(t, json.Indent(&all, got, "", "  "))
		all.WriteByte('\n')
	}
	golden.Check(t, filepath.Join("testdata", "contract.json"), all.String())
}

// TestPayloadShape checks that ids are in every payload, whether the subject exists or not, each of
// one type or null.
func TestPayloadShape(t *testing.T) {
	for _, e := range examples() {
		for _, s := range []Subject{e.Subject, {}} {
			body, err := Payload(e.Event, s)
			must.Do(t, err)
			var got struct {
				Type, Timestamp *string
				Data            map[string]json.RawMessage
			}
			must.Do(t, json.Unmarshal(body, &got))
			if *got.Type != string(e.Type) || *got.Timestamp != "2026-03-01T12:00:00.250Z" {
				t.Errorf("%s: type %q, timestamp %q", e.Type, *got.Type, *got.Timestamp)
			}
			for name, want := range map[string]string{"organizationId": `"org1"`, "documentId": `"doc1"`, "annotationId": `"ann1"`} {
				if value := string(got.Data[name]); value != want && value != "null" {
					t.Errorf("%s: %s is %s, want %s or null", e.Type, name, value, want)
				}
			}
			want := "null"
			if len(e.CommentIDs) == 1 {
				want = fmt.Sprint(e.CommentIDs[0])
			}
			if value := string(got.Data["commentId"]); value != want {
				t.Errorf("%s: commentId is %s, want %s", e.Type, value, want)
			}
		}
	}
}

// TestPayloadText checks that a comment with only a text has an empty HTML, and the other way
// round.
func TestPayloadText(t *testing.T) {
	e := examples()[0]
	for want, c := range map[string]collab.Comment{
		`"commentText":"x","commentHtml":""`: {Text: new("x")},
		`"commentText":"","commentHtml":"x"`: {HTML: new("x")},
	} {
		e.Comments[e.CommentIDs[0]] = &c
		body, err := Payload(e.Event, e.Subject)
		if must.Do(t, err); !strings.Contains(string(body), want) {
			t.Errorf("%s has no %s", body, want)
		}
	}
}

// TestLargestPayload checks that every payload is within the limit, and that data returned after a
// click is complete.
func TestLargestPayload(t *testing.T) {
	large := strings.Repeat("<", collab.MaxItemBytes-1_000)
	object := collab.JSON(`{"x":"` + large + `"}`)
	for _, e := range examples() {
		s := e.Subject
		if s.Annotation != nil {
			a := *s.Annotation
			a.Context = object
			s.Annotation = &a
		}
		s.Comments = maps.Clone(s.Comments)
		for id, c := range s.Comments {
			if c != nil {
				s.Comments[id] = &collab.Comment{ID: id, Text: &large}
			}
		}
		if s.Notification != nil {
			n := *s.Notification
			n.SourceData = object
			for i := range collab.MaxPeople {
				s.NotifyUsers = append(s.NotifyUsers, collab.User{UserID: fmt.Sprint(i), Name: new(strings.Repeat("n", 1_000))})
			}
			s.Notification = &n
		}
		body, err := Payload(e.Event, s)
		if err != nil || len(body) > MaxPayload {
			t.Errorf("%s: %d bytes, %v", e.Type, len(body), err)
		}
		if e.ContractName() != "" {
			form, err := ContractPayload("hook", e.Event, s, Surroundings{})
			if err != nil || len(form) > MaxPayload+1_000 {
				t.Errorf("%s in the contract's form: %d bytes, %v", e.Type, len(form), err)
			}
		}
		if s.Notification != nil && !bytes.Contains(body, object) {
			t.Errorf("%s: the source data is not whole", e.Type)
		}
	}
}
