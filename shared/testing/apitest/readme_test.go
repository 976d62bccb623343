package apitest_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

// example matches the README's request: its path and body.
var example = regexp.MustCompile(`(?s)curl -sS "\$URL(/v\S+)".*? -d '([^']*)'`)

// TestReadme runs the README's example and compares the response with the README's.
func TestReadme(t *testing.T) {
	s, url := serve(t)
	tokens := []collab.Token{{Hash: collab.HashToken("dev-token")}}
	must.Do(t, s.Accounts.EnsureAccount(t.Context(), collab.Account{ID: "dev"}, "dev-key", tokens))
	readme, err := os.ReadFile("../../../README.md")
	must.Do(t, err)
	m := example.FindSubmatch(readme)
	if m == nil {
		t.Fatal("the README has no example")
	}
	c := client.New(client.Config{BaseURL: url, APIKey: "dev-key", AuthToken: "dev-token"})
	sent, err := c.Send(t.Context(), http.MethodPost, string(m[1]), nil, m[2])
	must.Do(t, err)
	if answer := strings.TrimSpace(string(sent.Body)); sent.Status != http.StatusOK || !strings.Contains(string(readme), answer) {
		t.Errorf("the README does not show the answer of its example: %s", answer)
	}
}
