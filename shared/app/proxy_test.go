package app_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/must"
)

// event returns a request in the form of a REST API, behind a custom domain with a base path.
func event(body string) events.APIGatewayProxyRequest {
	return events.APIGatewayProxyRequest{
		Resource:          "/v2/things/get",
		Path:              "/base/v2/things/get",
		HTTPMethod:        "POST",
		Headers:           map[string]string{"content-type": "application/json", "X-Twice": "b"},
		MultiValueHeaders: map[string][]string{"content-type": {"application/json"}, "X-Twice": {"a", "b"}},

		QueryStringParameters:           map[string]string{"q": "2 &"},
		MultiValueQueryStringParameters: map[string][]string{"q": {"1", "2 &"}},
		Body:                            body,
		RequestContext: events.APIGatewayProxyRequestContext{
			Stage:     "prod",
			RequestID: "request-1",
		},
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	type seen struct {
		Method, Path, Query, Body, ContentType, Coding string
		Twice                                          []string
		RequestID                                      string
		Length                                         int64
		Left                                           time.Duration
	}
	start := time.Now()
	ctx, cancel := context.WithDeadline(t.Context(), start.Add(time.Hour))
	defer cancel()
	see := func(e events.APIGatewayProxyRequest) (got seen) {
		t.Helper()
		h := app.ProxyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			deadline, _ := r.Context().Deadline()
			got = seen{
				r.Method,
				r.URL.Path,
				r.URL.RawQuery,
				string(body),
				r.Header.Get("Content-Type"),
				r.Header.Get("Content-Encoding"),
				r.Header["X-Twice"],
				collab.RequestIDOf(r.Context()),
				r.ContentLength,
				deadline.Sub(start),
			}
		}))
		if _, err := h(ctx, e); err != nil {
			t.Fatal(err)
		}
		return got
	}

	want := seen{
		"POST", "/v2/things/get", "q=1&q=2+%26", `{"data":{}}`, "application/json", "", []string{"a", "b"}, "request-1", 11,
		time.Hour - 5500*time.Millisecond,
	}
	plain := event(`{"data":{}}`)
	if diff := cmp.Diff(want, see(plain)); diff != "" {
		t.Error(diff)
	}
	// The gateway decompresses a body, and leaves its header.
	plain.MultiValueHeaders["content-encoding"] = []string{"gzip"}
	if diff := cmp.Diff(want, see(plain)); diff != "" {
		t.Errorf("compressed: %s", diff)
	}

	encoded := event(base64.StdEncoding.EncodeToString([]byte(`{"data":{}}`)))
	encoded.IsBase64Encoded, encoded.MultiValueHeaders, encoded.Resource, encoded.Path = true, nil, "", "/v2/things/get"
	encoded.MultiValueQueryStringParameters = nil
	want.Length, want.Twice, want.Query = -1, []string{"b"}, "q=2+%26"
	if diff := cmp.Diff(want, see(encoded)); diff != "" {
		t.Errorf("base64, single headers, no resource: %s", diff)
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	id := map[string]string{"X-Request-Id": "request-1"}
	tests := map[string]struct {
		handler http.HandlerFunc
		want    events.APIGatewayProxyResponse
	}{
		"nothing written": {func(http.ResponseWriter, *http.Request) {}, events.APIGatewayProxyResponse{StatusCode: 200, Headers: id}},
		"pieces": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "6")
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(503)
			w.WriteHeader(200)
			io.WriteString(w, "abc")
			io.WriteString(w, "dé")
		}, events.APIGatewayProxyResponse{StatusCode: 503, Headers: map[string]string{"Retry-After": "3", "X-Request-Id": "request-1"}, Body: "abcdé"}},
		"status left out": {
			func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") },
			events.APIGatewayProxyResponse{StatusCode: 200, Headers: id, Body: "x"},
		},
	}
	for name, test := range tests {
		got, err := app.ProxyHandler(test.handler)(t.Context(), event(""))
		must.Do(t, err)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWire compares the length of a response from the Lambda runtime's encoder with rpc.WrappedLen.
func TestWire(t *testing.T) {
	t.Parallel()
	server := &rpc.Server{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	item := collab.JSON(`{"commentText":"<b>\"quoted\"</b> \\ & \u2028 ` + "\u2028\u2029 é 🙂 \x7f" + `\n"}`)
	op := func(context.Context, *rpc.Call, *struct{}) ([]collab.JSON, error) {
		return []collab.JSON{item, nil, item}, nil
	}
	h := app.ProxyHandler(rpc.Handle(server, op, rpc.Options{}))
	function := lambda.NewHandlerWithOptions(h, lambda.WithSetEscapeHTML(false))
	payload, err := json.Marshal(event(`{"data":{}}`))
	must.Do(t, err)
	ctx := collab.WithIdentity(t.Context(), collab.Identity{Account: "acme", APIKey: "key"})
	wire, err := function.Invoke(ctx, payload)
	must.Do(t, err)
	response, err := h(ctx, event(`{"data":{}}`))
	must.Do(t, err)
	want := `{"result":{"status":"success","message":"done","data":[` + string(item) + `,null,` + string(item) + `]}}`
	if response.Body != want {
		t.Errorf("body is %s\nwant    %s", response.Body, want)
	}
	response.Body = ""
	empty, err := json.Marshal(response)
	must.Do(t, err)
	if got := len(bytes.TrimSpace(wire)) - len(empty); got != rpc.WrappedLen(want) {
		t.Errorf("the answer is %d bytes longer on the wire than an empty one, WrappedLen says %d:\n%s", got, rpc.WrappedLen(want), wire)
	}
}

// TestEventFits checks that a body of the maximum size fits into Lambda's event with all headers
// that the gateway accepts.
func TestEventFits(t *testing.T) {
	t.Parallel()
	const lambdaTakes, gatewayTakes = 6_291_456, 10_240
	e := event(strings.Repeat(`"`, rpc.MaxBody/2))
	header := strings.Repeat(`"`, gatewayTakes)
	e.Headers, e.MultiValueHeaders = map[string]string{"X": header}, map[string][]string{"X": {header}}
	text, err := json.Marshal(e)
	must.Do(t, err)
	if rpc.WrappedLen(e.Body) != rpc.MaxBody || len(text) > lambdaTakes {
		t.Errorf("a body of %d bytes, which count %d, is an event of %d", len(e.Body), rpc.WrappedLen(e.Body), len(text))
	}
}
