package webhook

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func text(s string) *string { return &s }

// examples is one event of each type.
func examples() []*collab.Event {
	ada := collab.User{UserID: "u1", Name: text("Ada Lovelace"), Email: text("ada@example.com")}
	bob := collab.User{UserID: "u2", Name: text("Bob")}
	const (
		open     = `{"id":"OPEN","name":"Open","type":"default"}`
		resolved = `{"id":"RESOLVED","name":"Resolved","type":"terminal"}`
	)
	event := func(typ collab.EventType) *collab.Event {
		return &collab.Event{
			ID: "01kgn5zr3c0000000000000000", Type: typ, Account: "acct1", OrganizationID: "org1", DocumentID: "doc1",
			AnnotationID: "ann1", Time: 1772366400250,
		}
	}
	annotation := func(status string) *collab.EventAnnotation {
		return &collab.EventAnnotation{
			AnnotationObjects: collab.AnnotationObjects{
				From:     collab.JSON(`{"userId":"u1","name":"Ada Lovelace"}`),
				Location: collab.JSON(`{"id":"page-2","locationName":"Page 2"}`),
				Status:   collab.JSON(status),
				Priority: collab.JSON(`{"id":"P1","name":"High"}`),
				Context:  collab.JSON(`{"build":1.50,"tags":["<a>"]}`),
			},
			CreatedAt: 1772366400000,
		}
	}
	comment := func(id int64, s string) collab.EventComment {
		return collab.EventComment{
			CommentID: id, Text: &s, HTML: text("<p>" + s + "</p>"), From: collab.JSON(`{"userId":"u1","name":"Ada Lovelace"}`),
			TaggedUserContacts: collab.JSON(`[{"userId":"u2","contact":{"userId":"u2","name":"Bob"}}]`), CreatedAt: 1772366400000,
		}
	}
	notification := &collab.Notification{
		ID: "n-1", DocumentID: "doc1", ActionUser: ada, Headline: "{actionUser} approved {what}",
		TemplateData: map[string]collab.JSON{"what": collab.JSON(`"the draft"`)}, Body: "All pages",
		SourceData: collab.JSON(`{"draft":7}`), CreatedAt: 1772366400000,
	}

	added := event(collab.AnnotationAdded)
	added.Actor, added.Annotation, added.Comments = &ada, annotation(
		open,
	), []collab.EventComment{
		comment(1772366400000001, "Please look, {{u2}}"),
	}

	updated := event(collab.AnnotationUpdated)
	updated.Annotation = annotation(open)

	status := event(collab.AnnotationStatusChanged)
	status.Annotation, status.Previous = annotation(
		resolved,
	), &collab.EventAnnotation{
		AnnotationObjects: collab.AnnotationObjects{Status: collab.JSON(open)},
	}

	assigned := event(collab.AnnotationAssigned)
	assigned.Annotation, assigned.Previous = annotation(open), &collab.EventAnnotation{}
	assigned.Annotation.AssignedTo = collab.JSON(`{"userId":"u2","name":"Bob"}`)

	commented := event(collab.CommentAdded)
	commented.Actor, commented.Annotation = &bob, annotation(open)
	commented.Comments = []collab.EventComment{comment(1772366400000002, "First"), comment(1772366400000003, "Second")}
	commented.People = []collab.User{bob}

	edited := event(collab.CommentUpdated)
	edited.Annotation, edited.Comments = annotation(open), []collab.EventComment{comment(1772366400000002, "First, corrected")}
	edited.Truncated = true

	gone := event(collab.AnnotationDeleted)
	gone.Annotation = annotation(open)

	erased := event(collab.CommentDeleted)
	erased.Annotation, erased.Comments = annotation(open), []collab.EventComment{comment(1772366400000002, "First")}

	document, folder, organization := event(collab.DocumentDeleted), event(collab.FolderDeleted), event(collab.OrganizationDeleted)
	document.AnnotationID, folder.AnnotationID, organization.AnnotationID = "", "", ""
	folder.DocumentID, organization.DocumentID, folder.FolderID = "", "", "drafts"

	notified := event(collab.NotificationAdded)
	notified.AnnotationID, notified.Actor, notified.Notification, notified.People = "", &ada, notification, []collab.User{bob}

	clicked := event(collab.NotificationClicked)
	clicked.AnnotationID, clicked.Actor, clicked.Notification = "", &bob, notification

	disabled := event(collab.WebhookDisabled)
	disabled.OrganizationID, disabled.DocumentID, disabled.AnnotationID = "", "", ""
	disabled.Webhook = &collab.EventWebhook{WebhookID: "01kgn5zr3c0000000000000001", Reason: "answered 410 Gone"}

	forgotten := event(collab.UserErased)
	forgotten.OrganizationID, forgotten.DocumentID, forgotten.AnnotationID = "", "", ""
	forgotten.Erased = &collab.EventErased{UserID: "ada", OrganizationIDs: []string{"acme"}}

	return []*collab.Event{
		added,
		updated,
		status,
		assigned,
		commented,
		edited,
		notified,
		clicked,
		disabled,
		gone,
		erased,
		document,
		folder,
		organization,
		forgotten,
	}
}

func TestPayloads(t *testing.T) {
	var types []collab.EventType
	for _, ev := range examples() {
		types = append(types, ev.Type)
		got, err := Payload(ev)
		if err != nil {
			t.Fatal(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, got, "", "  "); err != nil {
			t.Fatal(err)
		}
		indented.WriteByte('\n')
		golden := filepath.Join("testdata", "payloads", string(ev.Type)+".json")
		if *update {
			if err := os.WriteFile(golden, indented.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), indented.String()); diff != "" {
			t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", ev.Type, diff)
		}
	}
	if diff := cmp.Diff(collab.EventTypes(), types); diff != "" {
		t.Errorf("event types with a golden payload (-want +got):\n%s", diff)
	}
}

// TestPayloadShape: the ids are in every payload, whole or shortened, each of one type or null.
func TestPayloadShape(t *testing.T) {
	for _, ev := range examples() {
		for range 2 {
			body, err := Payload(ev)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Type, Timestamp *string
				Data            map[string]json.RawMessage
			}
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if *got.Type != string(ev.Type) || *got.Timestamp != "2026-03-01T12:00:00.250Z" {
				t.Errorf("%s: type %q, timestamp %q", ev.Type, *got.Type, *got.Timestamp)
			}
			for name, want := range map[string]string{"organizationId": `"org1"`, "documentId": `"doc1"`, "annotationId": `"ann1"`} {
				if value := string(got.Data[name]); value != want && value != "null" {
					t.Errorf("%s: %s is %s, want %s or null", ev.Type, name, value, want)
				}
			}
			want := "null"
			if len(ev.Comments) == 1 {
				want = string(mustMarshal(t, ev.Comments[0].CommentID))
			}
			if value := string(got.Data["commentId"]); value != want {
				t.Errorf("%s: commentId is %s, want %s", ev.Type, value, want)
			}
			if _, ok := got.Data["truncated"]; !ok {
				t.Errorf("%s: no truncated", ev.Type)
			}
			large := *ev
			large.Annotation = &collab.EventAnnotation{
				AnnotationObjects: collab.AnnotationObjects{Context: mustMarshal(t, strings.Repeat("x", MaxPayload))},
			}
			ev = &large
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := collab.EncodeJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLargePayload: what is too large for a payload is cut, and people are not.
func TestLargePayload(t *testing.T) {
	ev := examples()[4]
	ev.Annotation.Status = mustMarshal(t, map[string]string{"id": "OPEN", "name": "Open", "svg": strings.Repeat("<", MaxPayload)})
	ev.Annotation.AssignedTo = collab.JSON(`{"userId":"u3"}`)
	body, err := Payload(ev)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"comment.added","timestamp":"2026-03-01T12:00:00.250Z","data":{"organizationId":"org1","documentId":"doc1",` +
		`"annotationId":"ann1","commentId":null,"truncated":true,"actionUser":{"userId":"u2","name":"Bob"},` +
		`"annotation":{"from":{"userId":"u1","name":"Ada Lovelace"},"location":{"id":"page-2","locationName":"Page 2"},` +
		`"status":{"id":"OPEN","name":"Open"},"assignedTo":{"userId":"u3"},"priority":{"id":"P1","name":"High"},"createdAt":"2026-03-01T12:00:00.000Z"},` +
		`"comments":[{"commentId":1772366400000002,"commentText":"First","commentHtml":"<p>First</p>","from":{"userId":"u1","name":"Ada Lovelace"},` +
		`"taggedUserContacts":[{"userId":"u2","contact":{"userId":"u2","name":"Bob"}}],"createdAt":"2026-03-01T12:00:00.000Z"},` +
		`{"commentId":1772366400000003,"commentText":"Second","commentHtml":"<p>Second</p>","from":{"userId":"u1","name":"Ada Lovelace"},` +
		`"taggedUserContacts":[{"userId":"u2","contact":{"userId":"u2","name":"Bob"}}],"createdAt":"2026-03-01T12:00:00.000Z"}]}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestClickSendsBack: the source data of a clicked notification is sent back whole, however large it and the rest are.
func TestClickSendsBack(t *testing.T) {
	ev := examples()[7]
	for _, size := range []int{1, MaxPayload, collab.MaxItemBytes} {
		for _, body := range []int{1, MaxPayload} {
			source := mustMarshal(t, map[string]string{"a": strings.Repeat("<", size)})
			ev.Notification.SourceData, ev.Notification.Body = source, strings.Repeat("b", body)
			text, err := Payload(ev)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Data struct {
					Notification struct {
						SourceData json.RawMessage `json:"notificationSourceData"`
					}
				}
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Data.Notification.SourceData, source) || len(text) > MaxPayload+len(source) {
				t.Errorf("source data of %d bytes beside a body of %d: %d bytes, %.300s", size, body, len(text), text)
			}
		}
	}
}

// TestLargestPayload: no event the outbox takes makes a payload over the limit, and one that just fits is sent whole.
func TestLargestPayload(t *testing.T) {
	worst := examples()[4]
	id := strings.Repeat("\u2028", collab.MaxID/3) // six bytes of JSON for three
	worst.OrganizationID, worst.AnnotationID, worst.DocumentID = id, id, strings.Repeat("\u2028", collab.MaxDocumentID/3)
	long := strings.Repeat("\x01", 5_000)
	worst.Actor = &collab.User{UserID: id, Name: &long, Email: &long}
	user := mustMarshal(t, worst.Actor)
	object := mustMarshal(
		t, map[string]string{"id": id, "name": long, "type": long[:30], "color": long[:30], "lightColor": long[:30], "svg": long[:30]},
	)
	worst.Annotation = &collab.EventAnnotation{
		AnnotationObjects: collab.AnnotationObjects{
			From:       user,
			AssignedTo: user,
			Location:   object,
			Status:     object,
			Priority:   object,
			Context:    object,
		},
	}
	worst.Previous = worst.Annotation
	worst.Comments = nil
	for i := range 100 {
		worst.Comments = append(worst.Comments, collab.EventComment{CommentID: collab.MaxCommentID - int64(i), Text: &long, From: user})
	}
	name := long[:500] // more than is kept of one
	for range collab.MaxPeople {
		worst.People = append(worst.People, collab.User{UserID: id, Name: &name, Email: &name})
	}
	notified := examples()[6]
	notified.OrganizationID, notified.DocumentID, notified.Actor, notified.People = id, worst.DocumentID, worst.Actor, worst.People
	notified.Notification = &collab.Notification{ID: "n", ActionUser: *worst.Actor, Headline: long, Body: long, SourceData: user}
	for _, ev := range []*collab.Event{worst, notified} {
		body, err := Payload(ev)
		if err != nil || len(body) > MaxPayload || !json.Valid(body) {
			t.Errorf("%s: %d bytes, error %v; want at most %d", ev.Type, len(body), err, MaxPayload)
		}
	}

	ev := examples()[1]
	sized := func(n int) []byte {
		ev.Annotation.Context = mustMarshal(t, map[string]string{"a": strings.Repeat("x", n)})
		body, err := Payload(ev)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	room := MaxPayload - len(sized(0))
	if n := len(sized(room)); n != MaxPayload {
		t.Errorf("%d bytes, want a whole payload of %d", n, MaxPayload)
	}
	if body := sized(room + 1); len(body) > 1_000 || !bytes.Contains(body, []byte(`"truncated":true`)) {
		t.Errorf("a byte more: %d bytes, want a shortened payload", len(body))
	}
}
