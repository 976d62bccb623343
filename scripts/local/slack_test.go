package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slack checks that the example for Slack posts a mention to a user who chose the channel.
func (s *server) slack(t *testing.T) {
	t.Helper()
	texts := make(chan string, 10)
	slack := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		texts <- message.Text
	}))
	t.Cleanup(slack.Close)
	program := filepath.Join(t.TempDir(), "slack")
	if out, err := exec.Command("go", "build", "-o", program, "collabdata/shared/client/example/slack").CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	example := exec.CommandContext(t.Context(), program, "-url", s.url, "-listen", "127.0.0.1:0", "-slack", slack.URL)
	if err := example.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = example.Process.Kill(); _ = example.Wait() })
	ask := func(path, data string) string { return s.post(t, "dev-key", "dev-token", path, `{"data": {`+data+`}}`) }
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(ask("/v2/webhooks/get", ""), `"channel":"slack"`); {
		if time.Now().After(deadline) {
			t.Fatal("the example adds no endpoint")
		}
	}
	ask("/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["bob"], "config": {"slack": "ALL"}`)
	ask("/v2/commentannotations/add", `"organizationId": "acme", "documentId": "plan", "commentAnnotations": [
		{"commentData": [{"commentText": "Lunch, {{bob}}?", "from": {"userId": "ann"}, "taggedUserContacts": [{"userId": "bob"}], "triggerNotification": true}]}]`)
	select {
	case text := <-texts:
		if !strings.HasPrefix(text, "<@bob> Ann mentioned you: Lunch") {
			t.Errorf("slack got %q", text)
		}
	case <-time.After(time.Minute):
		t.Error("slack got nothing")
	}
}
