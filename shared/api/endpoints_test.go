package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
)

// TestEndpoints checks paths, titles and grants of the endpoints.
func TestEndpoints(t *testing.T) {
	path := regexp.MustCompile(`^/v[0-9]+(/[a-z_]+){2,}$`)
	summary := regexp.MustCompile(`^[A-Z]\w*( \w+){1,4}( \(v1\))?$`)
	seen := map[string]bool{}
	for _, e := range api.Endpoints() {
		if !path.MatchString(e.Path) || seen[e.Path] {
			t.Errorf("%s is not a path of its own", e.Path)
		}
		seen[e.Path] = true
		if phrase, _ := e.Summary(); !summary.MatchString(phrase) {
			t.Errorf("%s: the title is not two to five words: %s", e.Path, phrase)
		}
		if e.Grants&rpc.ReadTable == 0 {
			t.Errorf("%s cannot read whether its organization is disabled", e.Path)
		}
		// A ticket changes no readable data.
		if changes := !strings.HasSuffix(e.Path, "/get") && !strings.HasSuffix(e.Path, "/status") && e.Grants&rpc.AddTickets == 0; changes != e.Idempotent() {
			t.Errorf("%s is granted %b", e.Path, e.Grants)
		}
	}
}

// TestHandler checks that each endpoint has a handler and requires credentials, except for Public
// ones, and that other paths return NOT_FOUND without credentials.
func TestHandler(t *testing.T) {
	h := app.New(app.Config{Log: slog.New(slog.DiscardHandler)}).Handler()
	status := func(path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost"+path, nil))
		return w.Code
	}
	for _, e := range api.Endpoints() {
		if got := status(e.Path); (got == http.StatusUnauthorized) == e.Public {
			t.Errorf("%s is answered with %d without credentials", e.Path, got)
		}
		for _, path := range []string{e.Path + "/", "/" + e.Path, e.Path[3:]} {
			if got := status(path); got != http.StatusNotFound {
				t.Errorf("%s is answered with %d", path, got)
			}
		}
	}
}
