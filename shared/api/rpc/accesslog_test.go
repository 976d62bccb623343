package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

// TestAccessLog checks the complete log record of each request.
func TestAccessLog(t *testing.T) {
	var log bytes.Buffer
	now := noon
	server := newServer()
	server.Now = func() time.Time { return now }
	server.Log = slog.New(slog.NewJSONHandler(&log, nil))
	type place struct {
		Organization string `json:"organizationId" rule:"required,id"`
	}
	handler := func(do func(ctx context.Context, call *rpc.Call) error) func(body string) {
		h := rpc.Handle(server, func(ctx context.Context, call *rpc.Call, _ *place) (any, error) { return nil, do(ctx, call) }, rpc.Options{})
		return func(body string) {
			serve(h, newRequest(collab.WithRequestID(t.Context(), "request-1"), body, "x-service-auth-token", "hidden-token"))
		}
	}
	works := handler(func(ctx context.Context, call *rpc.Call) error {
		call.Items = 7
		collab.UsageOf(ctx).Add(1.5, 0)
		collab.UsageOf(ctx).Add(0, 12)
		now = now.Add(12345 * time.Microsecond)
		return nil
	})
	record := func(changes map[string]any) map[string]any {
		r := map[string]any{
			"level": "INFO", "msg": "request", "requestId": "request-1",
			"path": "/v2/things/add", "account": "acme", "organization": "hidden", "status": "success", "code": 200.0, "items": 0.0,
			"read_units": 0.0, "write_units": 0.0, "calls": 0.0, "ms": 0.0, "cold_start": false,
		}
		for k, v := range changes {
			r[k] = v
		}
		return r
	}

	tests := []struct {
		name string
		do   func()
		want map[string]any
	}{
		{"first request", func() { works(`{"data":{"organizationId":"org"}}`) },
			record(
				map[string]any{
					"organization": "org",
					"items":        7.0,
					"read_units":   1.5,
					"write_units":  12.0,
					"calls":        2.0,
					"ms":           12.345,
					"cold_start":   true,
				},
			)},
		{"mistake of the caller", func() { works(`{"data":{"organizationId":"org","hidden":"hidden"}}`) },
			record(map[string]any{"organization": "org", "status": "INVALID_ARGUMENT", "code": 400.0})},
		{"no organization", func() { works(`{"data":{"organizationId":""}}`) },
			record(map[string]any{"organization": "", "status": "INVALID_ARGUMENT", "code": 400.0})},
		{"not JSON", func() { works(`hidden`) },
			record(map[string]any{"organization": "", "status": "INVALID_ARGUMENT", "code": 400.0})},
		{"refused by the operation", func() {
			handler(func(context.Context, *rpc.Call) error {
				return &collab.Error{Code: collab.NotFound, Message: "hidden", Err: errors.New("hidden")}
			})(`{"data":{"organizationId":"org"}}`)
		}, record(map[string]any{"organization": "org", "status": "NOT_FOUND", "code": 404.0})},
		{"failure of an item", func() {
			handler(func(_ context.Context, call *rpc.Call) error {
				call.Outcome(nil, "done")
				call.Outcome(collab.Errorf(collab.NotFound, "hidden"), "done")
				call.Outcome(&collab.Error{Code: collab.Internal, Err: errors.New("table X is broken")}, "done")
				return nil
			})(`{"data":{"organizationId":"org"}}`)
		}, record(map[string]any{"level": "ERROR", "organization": "org", "items": 3.0, "cause": "INTERNAL: : table X is broken"})},
		{"failure", func() {
			handler(func(context.Context, *rpc.Call) error {
				return &collab.Error{Code: collab.Unavailable, Message: "later", Err: errors.New("table X does not answer")}
			})(`{"data":{"organizationId":"org"}}`)
		}, record(map[string]any{"level": "ERROR", "organization": "org", "status": "UNAVAILABLE", "code": 503.0, "cause": "UNAVAILABLE: later: table X does not answer"})},
		{"deadline", func() {
			handler(func(context.Context, *rpc.Call) error { return context.DeadlineExceeded })(`{"data":{"organizationId":"org"}}`)
		}, record(map[string]any{"level": "ERROR", "organization": "org", "status": "DEADLINE_EXCEEDED", "code": 504.0, "cause": "context deadline exceeded"})},
		{"the caller has gone", func() {
			ctx, leave := context.WithCancel(collab.WithRequestID(t.Context(), "request-1"))
			h := rpc.Handle(server, func(ctx context.Context, _ *rpc.Call, _ *place) (any, error) { leave(); return nil, ctx.Err() }, rpc.Options{})
			serve(h, newRequest(ctx, `{"data":{"organizationId":"org"}}`, "x-service-auth-token", "hidden-token"))
		}, record(map[string]any{"organization": "org", "status": "DEADLINE_EXCEEDED", "code": 504.0, "cause": "context canceled"})},
		{"unknown path", func() {
			serve(server.NotFound(), httptest.NewRequest("POST", "/"+strings.Repeat("x", 300), nil))
		}, record(map[string]any{"requestId": "", "path": "/" + strings.Repeat("x", 199) + "…", "account": "", "organization": "", "status": "NOT_FOUND", "code": 404.0})},
		{"no credentials", func() {
			server.Fail(httptest.NewRecorder(), newRequest(t.Context(), `{"data":{}}`), collab.Errorf(collab.Unauthenticated, "hidden"))
		}, record(map[string]any{"requestId": "", "account": "", "organization": "", "status": "UNAUTHENTICATED", "code": 401.0})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log.Reset()
			test.do()
			if strings.Count(log.String(), "\n") != 1 || strings.Contains(log.String(), "hidden") {
				t.Errorf("logged %s", &log)
			}
			var got map[string]any
			must.Do(t, json.Unmarshal(log.Bytes(), &got))
			delete(got, "time")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}

	log.Reset()
	handler(func(context.Context, *rpc.Call) error { panic("out of range") })(`{"data":{"organizationId":"org"}}`)
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "panic: out of range") ||
		!strings.Contains(line, "accesslog_test.go") {
		t.Errorf("a panic is logged as %s", line)
	}
}

// TestReadsEnd checks that all reads that an operation began have ended when the response is sent.
// Then all units are counted.
func TestReadsEnd(t *testing.T) {
	server := newServer()
	for range 100 {
		var ended atomic.Bool
		h := rpc.Handle(server, func(ctx context.Context, _ *rpc.Call, _ *struct{}) (any, error) {
			returned := make(chan struct{})
			defer close(returned)
			collab.Later(ctx, func() (any, error) { <-returned; ended.Store(true); return nil, nil })
			return nil, nil
		}, rpc.Options{})
		serve(h, newRequest(t.Context(), `{"data":{}}`))
		if !ended.Load() {
			t.Fatal("a read goes on after the response")
		}
	}
}
