package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slack checks the example for Slack: it sends a direct message about a restricted thread to a user
// who chose the channel. Markup of Slack is plain text. A restarted example finds its endpoint
// again. Users without a Slack id get nothing, and channels are refused.
func (s *server) slack(t *testing.T) {
	t.Helper()
	type message struct {
		Channel, Text string
		Mrkdwn        *bool
	}
	messages := make(chan message, 10)
	slack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.URL.Path != "/chat.postMessage" || r.Header.Get("Authorization") != "Bearer xoxb-test" {
			t.Errorf("%s of %q: %v", r.URL, r.Header, err)
		}
		messages <- m
		_, _ = w.Write([]byte(`{"ok": true}`))
	}))
	t.Cleanup(slack.Close)
	dir := t.TempDir()
	program, users := filepath.Join(dir, "slack"), filepath.Join(dir, "users.json")
	if out, err := exec.Command("go", "build", "-o", program, "collabdata/shared/client/example/slack").CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	example := func(ids string) *exec.Cmd {
		if err := os.WriteFile(users, []byte(ids), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "-url", s.url, "-listen", "127.0.0.1:0", "-slack", slack.URL, "-users", users)
		cmd.Env = append(os.Environ(), "SLACK_TOKEN=xoxb-test")
		return cmd
	}
	if out, err := example(`{"bob": "C024BE91L"}`).CombinedOutput(); err == nil || !strings.Contains(string(out), "must be the id of a user of Slack") {
		t.Errorf("with a channel: %s, %v", out, err)
	}
	ask := func(path, data string) string { return s.post(t, "dev-key", "dev-token", path, `{"data": {`+data+`}}`) }
	run := func() (stop func()) {
		before := ask("/v2/webhooks/get", `"webhookIds": ["slack"]`)
		cmd := example(`{"bob": "U012AB3CD"}`)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
		t.Cleanup(stop)
		ready := func(now string) bool { return strings.Contains(now, `"channel":"slack"`) && now != before }
		for deadline := time.Now().Add(30 * time.Second); !ready(ask("/v2/webhooks/get", `"webhookIds": ["slack"]`)); {
			if time.Now().After(deadline) {
				t.Fatal("the example adds no endpoint")
			}
		}
		return stop
	}
	run()()
	run()
	if n := strings.Count(ask("/v2/webhooks/get", ""), `"channel":"slack"`); n != 1 {
		t.Errorf("after a restart, %d endpoints", n)
	}
	ask("/v2/notifications/config/set", `"organizationId": "acme", "userIds": ["bob", "cid"], "config": {"slack": "ALL"}`)
	ask("/v2/commentannotations/add", `"organizationId": "acme", "documentId": "plan", "commentAnnotations": [
		{"annotationId": "secret", "visibility": {"type": "restricted", "userIds": ["bob", "cid"]}, "commentData": [{
			"commentText": "{{bob}} <!channel> <https://bad.example|good> *2*3* R&D", "from": {"userId": "ann"},
			"taggedUserContacts": [{"userId": "bob"}, {"userId": "cid"}], "triggerNotification": true}]}]`)
	select {
	case got := <-messages:
		lines := strings.SplitAfter(got.Text, "\n")
		if !strings.HasPrefix(lines[0], "Ann mentioned you (") || len(lines) < 3 {
			t.Fatalf("slack got %q", got.Text)
		}
		if diff := cmp.Diff("@Bob &lt;!channel&gt; &lt;https://bad.example|good&gt; *2*3* R&amp;D\n", lines[1]); diff != "" {
			t.Errorf("the comment (-want +got):\n%s", diff)
		}
		if strings.ContainsAny(got.Text, "<>") || got.Channel != "U012AB3CD" || got.Mrkdwn == nil || *got.Mrkdwn || !strings.Contains(lines[2], "annotation=secret") {
			t.Errorf("slack got %+v", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("slack got nothing")
	}
	for deadline := time.Now().Add(time.Minute); ; {
		got := ask("/v2/webhooks/deliveries/get", `"webhookId": "slack", "eventType": "notification.due"`)
		if strings.Count(got, `"state":"delivered"`) == 2 {
			break // that to cid, too
		}
		if time.Now().After(deadline) {
			t.Fatalf("deliveries %s", got)
		}
	}
	if len(messages) != 0 {
		t.Errorf("slack also got %+v", <-messages)
	}
}
