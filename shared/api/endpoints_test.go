package api_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
)

// noIdempotency is an IdempotencyStore that is not called.
type noIdempotency struct{ rpc.IdempotencyStore }

// TestEndpoints holds what the rows of the table have in common, and that the request types keep the conventions of package rpc: making
// a handler panics otherwise.
func TestEndpoints(t *testing.T) {
	path := regexp.MustCompile(`^/v[0-9]+(/[a-z]+){2,}$`)
	seen := map[string]bool{}
	d := api.Deps{Server: &rpc.Server{Idempotency: noIdempotency{}}}
	for _, e := range api.Endpoints() {
		if !path.MatchString(e.Path) || seen[e.Path] {
			t.Errorf("%s is not a path of its own", e.Path)
		}
		seen[e.Path] = true
		if e.Handler(d) == nil {
			t.Errorf("%s has no handler", e.Path)
		}
		if e.Grants&api.ReadTable == 0 {
			t.Errorf("%s cannot read whether its organization is disabled", e.Path)
		}
		if changes := !strings.HasSuffix(e.Path, "/get"); changes != e.Idempotent() {
			t.Errorf("%s is granted %b", e.Path, e.Grants)
		}
	}
}

// TestHandler holds that the requests of endpoints are identified, and that others are answered before.
func TestHandler(t *testing.T) {
	identified := ""
	d := api.Deps{Server: &rpc.Server{Now: time.Now, Log: slog.New(slog.DiscardHandler), Idempotency: noIdempotency{}}}
	h := api.Handler(d, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { identified = r.URL.Path })
	})
	for _, e := range api.Endpoints() {
		identified = ""
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, e.Path, nil))
		if (identified == e.Path) == e.Public {
			t.Errorf("%s was identified: %t", e.Path, e.Public)
		}
		for _, path := range []string{e.Path + "/", "/" + e.Path, e.Path[3:]} {
			identified = ""
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost"+path, nil))
			if w.Code != http.StatusNotFound || identified != "" {
				t.Errorf("%s is answered with %d", path, w.Code)
			}
		}
	}
}
