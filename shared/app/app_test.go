package app_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
)

const triggering = `{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
	"commentAnnotations": [{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}, "triggerNotification": true}]}]}}`

// TestEvents checks that an operation's event is in the outbox when its message is in the queue.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t)
	if w := apitest.Post(s.Handler(), "/v2/commentannotations/add", triggering); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	messages, err := s.Tasks.Events.Receive(t.Context(), queue.MaxReceive, queue.MaxWait)
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	message, err := queue.Decode(messages[0].Text)
	must.Do(t, err)
	event, err := s.Outbox.Event(t.Context(), message.Account, message.ID)
	if err != nil || message.Account != "acme" || event.Type != collab.AnnotationAdded || event.DocumentID != "plan" {
		t.Errorf("the event is %+v, %v", event, err)
	}
}

// TestNoQueue checks that a request succeeds if its event cannot be sent.
func TestNoQueue(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := apitest.Start(t, func(c *app.Config) {
		c.EventsURL += "-none"
		c.Log = slog.New(slog.NewJSONHandler(&log, nil))
	})
	w := apitest.Post(s.Handler(), "/v2/commentannotations/add", triggering)
	if w.Code != http.StatusOK || !strings.Contains(log.String(), "tasks not sent") {
		t.Errorf("the answer is %d %s; logged %s", w.Code, w.Body, &log)
	}
}

// TestClockAndRandom checks that times and generated ids come from the configuration.
func TestClockAndRandom(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	add := func() string {
		s := apitest.Start(t, func(c *app.Config) {
			c.Now = func() time.Time { return noon }
			c.Random = bytes.NewReader(make([]byte, 1_000))
		})
		w := apitest.Post(s.Handler(), "/v2/commentannotations/add", triggering)
		got := apitest.Post(s.Handler(), "/v2/commentannotations/get", `{"data": {"organizationId": "acme"}}`).Body.String()
		if !strings.Contains(got, `"createdAt":"2026-03-04T12:00:00.000Z"`) {
			t.Errorf("added %s, got %s", w.Body, got)
		}
		return w.Body.String()
	}
	if first, second := add(), add(); first != second {
		t.Errorf("with the same clock and randomness the answers are\n%s\n%s", first, second)
	}
}
