//go:build e2e

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collabdata/shared/client"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAssistant has Ann's assistant read the open threads of a document and suggest a change, which
// Bob accepts in his browser. A webhook and Ann's inbox tell of it.
func TestAssistant(t *testing.T) {
	t.Parallel()
	programs, s := build(t, "../admin"), start(t, t.TempDir())
	res, err := http.Get(s.url + "/demo") // prepares the document
	must(t, err)
	res.Body.Close()
	service := client.New(client.Config{BaseURL: s.url, APIKey: "dev-key", AuthToken: "dev-token"})
	decisions := hear(t, service, client.EventTypeCommentAnnotationSuggestionAccepted)
	made, err := service.Auth.GenerateToken(t.Context(), &client.AuthGenerateTokenRequest{
		UserID: "ann", UserProperties: &client.UserProperties{Name: "Ann Archer"},
		Permissions: client.TokenPermissions{Resources: []client.TokenPermission{{Type: client.ResourceTypeDocument, ID: demoDocument, OrganizationID: demoOrganization}}},
	})
	must(t, err)

	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "admin"), "mcp", "--write")
	cmd.Env, cmd.Stderr = append(os.Environ(), "COLLABDATA_URL="+s.url, "COLLABDATA_PERSON_TOKEN="+made.Token), os.Stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	must(t, err)
	defer session.Close()
	use := func(tool string, arguments map[string]any) (result found) {
		t.Helper()
		answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		must(t, err)
		text := answer.Content[0].(*mcp.TextContent).Text
		if answer.IsError {
			t.Fatalf("%s fails with %s", tool, text)
		}
		must(t, json.Unmarshal([]byte(text), &result))
		return result
	}

	var price string
	for _, thread := range use("list_threads", map[string]any{"status": "OPEN"}).Items {
		if thread.Quote == "29 euros a month" {
			price = thread.AnnotationID
		}
	}
	if read := use("read_thread", map[string]any{"annotationId": price}).Items; len(read) != 2 || !strings.Contains(read[1].Text, "@Ann Archer, can you put that in?") {
		t.Fatalf("the thread is %+v", read)
	}
	suggested := use("suggest", map[string]any{
		"quote": "29 euros a month", "newText": "29 euros a month without VAT", "why": "Cleo asks for it.",
	}).AnnotationID
	browse(t, s, "assistant.cjs", map[string]any{"thread": suggested, "text": "29 euros a month without VAT"})

	select {
	case event := <-decisions:
		if d := event.Data; d.AnnotationID != suggested || d.ActionUser.UserID != "bob" {
			t.Errorf("the webhook tells of %s by %s", d.AnnotationID, d.ActionUser.UserID)
		}
	case <-time.After(time.Minute):
		t.Fatal("no webhook tells of the decision")
	}
	thread := use("read_thread", map[string]any{"annotationId": suggested}).Thread
	if thread.Status != "RESOLVED" || thread.Suggestion.Status != "accepted" {
		t.Errorf("the thread is %+v", thread)
	}
	var inbox []entry
	for deadline := time.Now().Add(time.Minute); len(inbox) == 0; inbox = use("inbox", map[string]any{"unreadOnly": true}).Items {
		if time.Now().After(deadline) {
			t.Fatal("the inbox does not tell of the decision")
		}
	}
	if inbox[0].AnnotationID != suggested || !strings.Contains(inbox[0].Headline, "Bob Builder") {
		t.Errorf("the inbox is %+v", inbox)
	}
	use("mark_read", map[string]any{"notificationIds": []string{inbox[0].NotificationID}})
	if left := use("inbox", map[string]any{"unreadOnly": true}).Items; len(left) != len(inbox)-1 {
		t.Errorf("unread after reading: %+v", left)
	}
}

// found is a result of a tool.
type found struct {
	AnnotationID string
	Items        []entry
	Thread       struct {
		Status     string
		Suggestion struct{ Status string }
	}
}

// entry is an item of a list.
type entry struct{ AnnotationID, NotificationID, Quote, Text, Headline string }

// hear adds a webhook endpoint, and returns its verified events.
func hear(t *testing.T, service *client.Client, types ...client.EventType) <-chan *client.WebhookEvent {
	t.Helper()
	secret, events := make(chan string, 1), make(chan *client.WebhookEvent, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := <-secret
		secret <- key
		body, err := io.ReadAll(r.Body)
		event, refused := client.VerifyWebhook(key, r.Header, body)
		if err != nil || refused != nil {
			t.Errorf("a webhook is refused: %v, %v", err, refused)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		events <- event
	}))
	t.Cleanup(receiver.Close)
	hook, err := service.Webhooks.Add(t.Context(), &client.WebhooksAddRequest{URL: receiver.URL, EventTypes: types})
	must(t, err)
	secret <- hook.Secret
	return events
}
