package rpc_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func newServer() *rpc.Server {
	return &rpc.Server{Now: func() time.Time { return noon }, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
}

var acme = collab.Identity{Account: "acme", APIKey: "key"}

// request returns an authenticated request. header has alternating names and values.
func newRequest(ctx context.Context, body string, header ...string) *http.Request {
	r := httptest.NewRequestWithContext(collab.WithIdentity(ctx, acme), http.MethodPost, "/v2/things/add", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// failure is `{"error": …}`.
type failure struct {
	Error struct {
		Message string
		Status  collab.Code
		Details []collab.FieldError
	}
}

// failureOf decodes a failure, and checks its form.
func failureOf(t testing.TB, w *httptest.ResponseRecorder) failure {
	t.Helper()
	var f failure
	dec := json.NewDecoder(strings.NewReader(w.Body.String()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil || f.Error.Message == "" || f.Error.Status == "" {
		t.Fatalf("%d is not answered with an error envelope: %s (%v)", w.Code, w.Body, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	return f
}

type empty struct{}

// operation returns a handler that runs do.
func operation(s *rpc.Server, do func(ctx context.Context, call *rpc.Call) (any, error), opts ...rpc.Options) http.Handler {
	return rpc.Handle(
		s, func(ctx context.Context, call *rpc.Call, _ *empty) (any, error) { return do(ctx, call) }, append(opts, rpc.Options{})[0],
	)
}
