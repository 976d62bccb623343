//go:build e2e

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
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
		UserID: "ann", UserProperties: &client.UserProperties{Name: "Ann Archer"}, Agent: &client.TokenAgent{AgentID: "helper", AgentName: "Helper"},
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
		"quote": "29 euros a month", "newText": "29 euros a month without VAT", "why": "@Cleo Clark asks for it.",
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

// TestAssistantConformance runs the conformance tests for what `admin mcp` offers, and the
// Inspector at the address of a secret that it keeps.
func TestAssistantConformance(t *testing.T) {
	t.Parallel()
	programs, s := build(t, "../admin"), start(t, t.TempDir())
	res, err := http.Get(s.url + "/demo") // prepares the document
	must(t, err)
	res.Body.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	var address string
	for range 2 { // the address stays the same
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "admin"), "mcp", "--write", "--http", port(t, address), "--secret-file", secret,
			"--from", "ann", "--from-name", "Ann Archer", "--organization", demoOrganization)
		cmd.Env = append(os.Environ(), "COLLABDATA_URL="+s.url, "COLLABDATA_KEY=dev-key", "COLLABDATA_TOKEN=dev-token")
		stderr, err := cmd.StderrPipe()
		must(t, err)
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		again := ""
		for lines := bufio.NewScanner(stderr); again == "" && lines.Scan(); {
			again = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/[A-Z0-9]+/mcp`).FindString(lines.Text())
		}
		go io.Copy(io.Discard, stderr)
		if address != "" {
			if again != address {
				t.Fatalf("the second start has the address %q", again)
			}
			break
		}
		address = again
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	run := func(name string, args ...string) string {
		t.Helper()
		program, err := localstack.CheckTool(t.Context(), name, os.Stderr)
		must(t, err)
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		run("conformance", "server", "--url", address, "--scenario", scenario)
	}
	if out := run("mcp-inspector", "--cli", address, "--method", "tools/list"); !strings.Contains(out, `"name": "list_threads"`) || !strings.Contains(out, `"maxItems": 30`) {
		t.Errorf("the Inspector lists %s", out)
	}
	out := run("mcp-inspector", "--cli", address, "--method", "tools/call", "--tool-name", "list_threads", "--tool-arg", "documentId="+demoDocument, "search=29 EUROS")
	if strings.Contains(out, "structuredContent") || !strings.Contains(out, "29 euros a month") {
		t.Errorf("the Inspector gets %s", out)
	}
}

// port returns the port of an address, and 0 without one.
func port(t *testing.T, address string) string {
	t.Helper()
	if address == "" {
		return "0"
	}
	u, err := url.Parse(address)
	must(t, err)
	return u.Port()
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
