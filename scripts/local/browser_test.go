//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"collabdata/localstack"
)

// TestBrowser checks every page in a browser: it stays on this machine, has no errors or
// accessibility problems, and its commands work. Screenshots are in .local/screenshots.
func TestBrowser(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	notify := `{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
		"actionUser": {"userId": "ann", "name": "Ann"}, "displayHeadlineMessageTemplate": "{actionUser} shared the Q3 plan with {recipientUser}",
		"displayHeadlineMessageTemplateData": {"actionUser": {"userId": "ann", "name": "Ann"}},
		"displayBodyMessage": "Please look at the numbers before Friday.",
		"notifyAll": false, "notifyUsers": [{"userId": "bob", "name": "Bob", "email": "bob@example.com"}]}}`
	if got := s.post(t, "dev-key", "dev-token", "/v2/notifications/add", notify); !strings.Contains(got, `"success"`) {
		t.Fatalf("a notification gave %s", got)
	}
	browse(t, s, "browser.cjs", nil)
}

// browse runs a browser script on a server, with further input, and reports its problems.
func browse(t *testing.T, s *server, script string, further map[string]any) {
	t.Helper()
	local, err := localstack.Dir()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := localstack.NodeModules(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	screenshots := filepath.Join(local, "screenshots")
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := localstack.Browser(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{"url": s.url, "browser": program, "screenshots": screenshots}
	maps.Copy(given, further)
	input, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%v: %s%s", err, out, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.TrimSpace(string(out))) {
		t.Error(strings.TrimSpace(line))
	}
}
