package apitest_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/client"
	"collabdata/shared/collab"
)

// example is a request of the README.
var example = regexp.MustCompile(`(?m)^api (\S+) '([^']*)'`)

// waits are the endpoints whose example needs what is being delivered.
var waits = map[string]bool{"/v2/notifications/update": true}

// TestReadme runs the README's examples in their order: each succeeds, and each endpoint has one. The first is shown with its answer.
func TestReadme(t *testing.T) {
	s, url := serve(t)
	tokens := []collab.Token{{Hash: collab.HashToken("dev-token")}}
	if err := s.Directory.EnsureAccount(t.Context(), collab.Account{ID: "dev"}, "dev-key", tokens); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Config{BaseURL: url, APIKey: "dev-key", AuthToken: "dev-token"})
	post := func(path, body string) (answer string, ok bool) {
		sent, err := c.Send(t.Context(), http.MethodPost, path, nil, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return string(sent.Body), sent.Status == http.StatusOK && !strings.Contains(string(sent.Body), `"success":false`)
	}
	shown := map[string]bool{}
	for _, m := range example.FindAllStringSubmatch(string(readme), -1) {
		path, body := m[1], m[2]
		answer, ok := post(path, body)
		if len(shown) == 0 && !strings.Contains(string(readme), strings.TrimSpace(answer)) {
			t.Errorf("the README does not show the answer of its first example: %s", answer)
		}
		shown[path] = true
		for deadline := time.Now().Add(30 * time.Second); !ok && waits[path] && time.Now().Before(deadline); {
			answer, ok = post(path, body)
		}
		if !ok {
			t.Errorf("%s: %s", path, answer)
		}
	}
	for _, e := range api.Endpoints() {
		if !shown[e.Path] && !e.Public {
			t.Errorf("the README has no example of %s", e.Path)
		}
		if !strings.Contains(string(readme), "`"+e.Path+"`") {
			t.Errorf("the README's table of endpoints lacks %s", e.Path)
		}
	}
}
