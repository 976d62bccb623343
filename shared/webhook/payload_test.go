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
			From:     collab.JSON(`{"userId":"u1","name":"Ada Lovelace"}`),
			Location: collab.JSON(`{"id":"page-2","locationName":"Page 2"}`),
			Status:   collab.JSON(status), Priority: collab.JSON(`{"id":"P1","name":"High"}`),
			Context: collab.JSON(`{"build":1.50,"tags":["<a>"]}`), CreatedAt: 1772366400000,
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
	added.Actor, added.Annotation, added.Comments = &ada, annotation(open), []collab.EventComment{comment(1772366400000001, "Please look, {{u2}}")}

	updated := event(collab.AnnotationUpdated)
	updated.Annotation = annotation(open)

	status := event(collab.AnnotationStatusChanged)
	status.Annotation, status.Previous = annotation(resolved), &collab.EventAnnotation{Status: collab.JSON(open)}

	assigned := event(collab.AnnotationAssigned)
	assigned.Annotation, assigned.Previous = annotation(open), &collab.EventAnnotation{}
	assigned.Annotation.AssignedTo = collab.JSON(`{"userId":"u2","name":"Bob"}`)

	commented := event(collab.CommentAdded)
	commented.Actor, commented.Annotation = &bob, annotation(open)
	commented.Comments = []collab.EventComment{comment(1772366400000002, "First"), comment(1772366400000003, "Second")}
	commented.RecentComments = []collab.EventComment{comment(1772366400000001, "Please look, {{u2}}")}
	commented.Participants, commented.People = []string{"u1"}, []collab.User{bob}

	edited := event(collab.CommentUpdated)
	edited.Annotation, edited.Comments = annotation(open), []collab.EventComment{comment(1772366400000002, "First, corrected")}
	edited.Truncated = true

	notified := event(collab.NotificationAdded)
	notified.AnnotationID, notified.Actor, notified.Notification, notified.People = "", &ada, notification, []collab.User{bob}

	clicked := event(collab.NotificationClicked)
	clicked.AnnotationID, clicked.Actor, clicked.Notification = "", &bob, notification

	disabled := event(collab.WebhookDisabled)
	disabled.OrganizationID, disabled.DocumentID, disabled.AnnotationID = "", "", ""
	disabled.Webhook = &collab.EventWebhook{WebhookID: "01kgn5zr3c0000000000000001", Reason: "answered 410 Gone"}

	return []*collab.Event{added, updated, status, assigned, commented, edited, notified, clicked, disabled}
}

func TestPayloads(t *testing.T) {
	described, err := os.ReadFile("payloads.md")
	if err != nil {
		t.Fatal(err)
	}
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
		for _, field := range append(fieldsOf(t, got), string(ev.Type)) {
			if !strings.Contains(string(described), "`"+field+"`") {
				t.Errorf("payloads.md does not describe %q of %s", field, ev.Type)
			}
		}
	}
	if diff := cmp.Diff(EventTypes(), types); diff != "" {
		t.Errorf("event types with a golden payload (-want +got):\n%s", diff)
	}
}

// fieldsOf returns the names of the fields of a payload, but not of the objects that are kept as they were sent.
func fieldsOf(t *testing.T, body []byte) []string {
	t.Helper()
	var names []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				names = append(names, name)
				switch name {
				case "from", "location", "status", "assignedTo", "priority", "context", "taggedUserContacts", "actionUser", "notifyUsers",
					"displayHeadlineMessageTemplateData", "notificationSourceData":
				default:
					walk(value)
				}
			}
		case []any:
			for _, value := range v {
				walk(value)
			}
		}
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	walk(v)
	return names
}

// TestPayloadShape: the ids are in every payload, full or thin, each of one type or null.
func TestPayloadShape(t *testing.T) {
	for _, ev := range examples() {
		for _, data := range []payloadData{fullData(ev), thinData(ev)} {
			body, err := encode(ev, data)
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
		}
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestThinPayload(t *testing.T) {
	ev := examples()[4]
	ev.Comments[0].Text = text(strings.Repeat("x", MaxPayload))
	body, err := Payload(ev)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"comment.added","timestamp":"2026-03-01T12:00:00.250Z","data":{"organizationId":"org1","documentId":"doc1",` +
		`"annotationId":"ann1","commentId":null,"truncated":true,"actionUser":{"userId":"u2"},` +
		`"comments":[{"commentId":1772366400000002},{"commentId":1772366400000003}]}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("thin payload (-want +got):\n%s", diff)
	}
}

// TestLargestPayload: no event the outbox takes makes a payload over the limit, and one that just fits is sent in full.
func TestLargestPayload(t *testing.T) {
	worst := examples()[4]
	for _, id := range []*string{&worst.OrganizationID, &worst.AnnotationID} {
		*id = strings.Repeat("\u2028", collab.MaxID/3) // six bytes of JSON for three
	}
	worst.DocumentID = strings.Repeat("\u2028", collab.MaxDocumentID/3)
	worst.Actor = &collab.User{UserID: worst.OrganizationID, Name: text(strings.Repeat("n", 5_000))}
	worst.Comments = nil
	for i := range collab.MaxComments {
		worst.Comments = append(worst.Comments, collab.EventComment{CommentID: collab.MaxCommentID - int64(i), Text: text("0123456789")})
	}
	body, err := Payload(worst)
	if err != nil || len(body) > MaxPayload || !json.Valid(body) {
		t.Errorf("%d bytes, error %v; want at most %d", len(body), err, MaxPayload)
	}
	t.Logf("the largest thin payload has %d bytes", len(body))

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
		t.Errorf("%d bytes, want a full payload of %d", n, MaxPayload)
	}
	if body := sized(room + 1); len(body) > 1_000 || !bytes.Contains(body, []byte(`"truncated":true`)) {
		t.Errorf("a byte more: %d bytes, want a thin payload", len(body))
	}
}
