package rpc_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/accounts"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// TestReadOnly: what writes is refused before it does anything, and what reads is served.
func TestReadOnly(t *testing.T) {
	s := newServer()
	s.ReadOnly, s.Idempotency = true, accounts.New(storetest.New(t))
	ran := 0
	op := func(context.Context, *rpc.Call) (any, error) { ran++; return nil, nil }
	w := serve(operation(s, op, rpc.Options{Idempotent: true}), newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "k"))
	if f := failureOf(t, w); w.Code != 503 || f.Error.Status != collab.Unavailable || w.Header().Get("Retry-After") != "60" || ran != 0 {
		t.Errorf("a write is answered %d %v %s, and ran %d times", w.Code, w.Header(), w.Body, ran)
	}
	if w := serve(operation(s, op), newRequest(t.Context(), `{"data":{}}`)); w.Code != 200 || ran != 1 {
		t.Errorf("a read is answered %d %s", w.Code, w.Body)
	}
}

// TestRequestID: a failure that is not the caller's names the request.
func TestRequestID(t *testing.T) {
	ctx := collab.WithRequestID(t.Context(), "request-1")
	for code, want := range map[collab.Code]string{
		collab.NotFound:    "no",
		collab.Unavailable: "no (request request-1)",
		collab.Internal:    "internal error (request request-1)",
	} {
		h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) { return nil, collab.Errorf(code, "no") })
		if got := failureOf(t, serve(h, newRequest(ctx, `{"data":{}}`))).Error.Message; got != want {
			t.Errorf("%s says %q, want %q", code, got, want)
		}
	}
}

func TestBodySize(t *testing.T) {
	h := rpc.Handle(newServer(), func(_ context.Context, _ *rpc.Call, req *struct {
		Text string `json:"text"`
	}) (int, error) {
		return len(req.Text), nil
	}, rpc.Options{})
	// A body has six quotes around its text, which count twice.
	body := func(size int, text string) string {
		return `{"data":{"text":"` + strings.Repeat("x", (size-26)%rpc.WrappedLen(text)) +
			strings.Repeat(text, (size-26)/rpc.WrappedLen(text)) + `"}}`
	}
	for _, test := range []struct {
		size int
		text string
		want int
	}{
		{rpc.MaxBody, "x", 200},
		{rpc.MaxBody + 1, "x", 413},
		{rpc.MaxBody, `\"`, 200},
		{rpc.MaxBody + 1, `\"`, 413},
		{2*rpc.MaxBody - 100, `\"`, 413}, // of which the bytes alone are few enough
	} {
		size, want := test.size, test.want
		for _, announced := range []bool{true, false} {
			r := newRequest(t.Context(), body(size, test.text))
			if !announced {
				r.ContentLength = -1
			}
			w := serve(h, r)
			if w.Code != want {
				t.Errorf("%d bytes of %s, announced: %v: %d", size, test.text, announced, w.Code)
			}
			if want == 413 {
				if f := failureOf(t, w); f.Error.Status != collab.InvalidArgument || f.Error.Message != rpc.BodyRule {
					t.Errorf("%d bytes: %s", size, w.Body)
				}
			}
		}
	}
}

// gzipped returns the text compressed with gzip.
func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	must.Do(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

// A body is decompressed as its Content-Encoding says, as the gateway of AWS does.
func TestCompressedBody(t *testing.T) {
	h := rpc.Handle(newServer(), func(_ context.Context, _ *rpc.Call, req *struct {
		Text string `json:"text"`
	}) (string, error) {
		return req.Text, nil
	}, rpc.Options{})
	const body = `{"data":{"text":"é"}}`
	packed := string(gzipped(t, body))
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	_, err := io.WriteString(w, body)
	must.Do(t, errors.Join(err, w.Close()))
	damaged := []byte(packed)
	damaged[len(damaged)-8] ^= 1 // of the checksum
	for _, test := range []struct {
		body    string
		codings []string
		want    int
	}{
		{body, nil, 200},
		{body, []string{"identity"}, 200},
		{packed, []string{"gzip"}, 200},
		{packed, []string{"GZIP"}, 200},
		{deflated.String(), []string{"deflate"}, 200},
		{body, []string{"gzip"}, 415},
		{body, []string{"deflate"}, 415},
		{deflated.String(), []string{"gzip"}, 415},
		{packed[:len(packed)-1], []string{"gzip"}, 415},
		{string(damaged), []string{"gzip"}, 415},
		{"", []string{"gzip"}, 415},
		{body, []string{"br"}, 415},
		{string(gzipped(t, packed)), []string{"gzip, gzip"}, 415},
		{packed, []string{"gzip", "identity"}, 415},
		{string(gzipped(t, strings.Repeat(" ", rpc.MaxBody-len(body))+body)), []string{"gzip"}, 413}, // the quotes count twice
	} {
		r := newRequest(t.Context(), test.body)
		r.Header["Content-Encoding"] = test.codings
		w := serve(h, r)
		if w.Code != test.want || w.Code == 200 && !strings.Contains(w.Body.String(), `"data":"é"`) {
			t.Errorf("%v of %.20q: %d %s", test.codings, test.body, w.Code, w.Body)
		}
		if want := map[int]string{415: rpc.MediaRule, 413: rpc.BodyRule}[w.Code]; want != "" && failureOf(t, w).Error.Message != want {
			t.Errorf("%v of %.20q: %s", test.codings, test.body, w.Body)
		}
	}
}

// TestDecompressedSize checks that a small body that decompresses to a gigabyte takes little
// memory.
func TestDecompressedSize(t *testing.T) {
	var part bytes.Buffer
	w := gzip.NewWriter(&part)
	_, err := w.Write(make([]byte, 8<<20))
	must.Do(t, errors.Join(err, w.Close()))
	bomb := strings.Repeat(part.String(), 128)
	h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) { return nil, nil })
	r := newRequest(t.Context(), bomb)
	r.Header.Set("Content-Encoding", "gzip")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer := serve(h, r)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; answer.Code != 413 || used > 8*rpc.MaxBody {
		t.Errorf("%d with %d bytes allocated: %s", answer.Code, used, answer.Body)
	}
}

// TestRefusedWhileSending holds that a caller who reads no answer before all of the body is sent
// still gets it, whatever is wrong.
func TestRefusedWhileSending(t *testing.T) {
	s := newServer()
	h := operation(s, func(context.Context, *rpc.Call) (any, error) { return nil, nil })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			s.NotFound().ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r.WithContext(collab.WithIdentity(r.Context(), acme)))
	}))
	defer server.Close()
	const size = 2 * rpc.MaxBody
	for _, test := range []struct {
		request string
		status  int
	}{
		{"POST / HTTP/1.1\r\n", 404},
		{"PUT /things HTTP/1.1\r\n", 405},
		{"POST /things HTTP/1.1\r\nContent-Type: application/json\r\n", 413},
	} {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		must.Do(t, err)
		defer c.Close()
		if _, err := fmt.Fprintf(c, "%sHost: x\r\nContent-Length: %d\r\n\r\n%s", test.request, size, strings.Repeat(" ", size)); err != nil {
			t.Errorf("%d: the body could not be sent: %v", test.status, err)
			continue
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != test.status {
			t.Errorf("%d: %v, %v", test.status, answer, err)
		}
	}
}

func TestBodyBreaksOff(t *testing.T) {
	h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) { return nil, nil })
	for name, r := range map[string]*http.Request{
		"error": httptest.NewRequest("POST", "/", iotest.ErrReader(errors.New("connection reset"))),
		"short": httptest.NewRequest("POST", "/", io.LimitReader(strings.NewReader(`{"data":{}}`), 5)),
	} {
		r.Header.Set("Content-Type", "application/json")
		if name == "short" {
			r.ContentLength = 11
		}
		w := serve(h, r.WithContext(collab.WithIdentity(r.Context(), acme)))
		if f := failureOf(t, w); w.Code != 400 || f.Error.Message != "the body could not be read completely" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name       string
		err        error
		http       int
		retryAfter string
		body       string
	}{
		{
			"invalid argument",
			collab.Errorf(collab.InvalidArgument, "a <b> & c"),
			400,
			"",
			`{"error":{"message":"a <b> & c","status":"INVALID_ARGUMENT"}}`,
		},
		{
			"details",
			&collab.Error{Code: collab.InvalidArgument, Message: "m", Details: []collab.FieldError{{Field: "data.x", Message: "y"}}},
			400,
			"",
			`{"error":{"message":"m","status":"INVALID_ARGUMENT","details":[{"field":"data.x","message":"y"}]}}`,
		},
		{
			"failed precondition",
			collab.Errorf(collab.FailedPrecondition, "m"),
			400,
			"",
			`{"error":{"message":"m","status":"FAILED_PRECONDITION"}}`,
		},
		{"unauthenticated", collab.Errorf(collab.Unauthenticated, "m"), 401, "", `{"error":{"message":"m","status":"UNAUTHENTICATED"}}`},
		{"permission denied", collab.Errorf(collab.PermissionDenied, "m"), 403, "", `{"error":{"message":"m","status":"PERMISSION_DENIED"}}`},
		{"not found", collab.Errorf(collab.NotFound, "m"), 404, "", `{"error":{"message":"m","status":"NOT_FOUND"}}`},
		{"wrapped", fmt.Errorf("add: %w", collab.Errorf(collab.NotFound, "m")), 404, "", `{"error":{"message":"m","status":"NOT_FOUND"}}`},
		{"already exists", collab.Errorf(collab.AlreadyExists, "m"), 409, "", `{"error":{"message":"m","status":"ALREADY_EXISTS"}}`},
		{
			"aborted",
			&collab.Error{Code: collab.Aborted, Message: "m", RetryAfter: 1500 * time.Millisecond},
			409,
			"2",
			`{"error":{"message":"m","status":"ABORTED"}}`,
		},
		{
			"resource exhausted",
			&collab.Error{Code: collab.ResourceExhausted, Message: "m", RetryAfter: time.Minute},
			429,
			"60",
			`{"error":{"message":"m","status":"RESOURCE_EXHAUSTED"}}`,
		},
		{"internal", collab.Errorf(collab.Internal, "table X"), 500, "", `{"error":{"message":"internal error","status":"INTERNAL"}}`},
		{
			"unavailable",
			&collab.Error{Code: collab.Unavailable, Message: "m", Err: errors.New("table X")},
			503,
			"1",
			`{"error":{"message":"m","status":"UNAVAILABLE"}}`,
		},
		{
			"unavailable for longer",
			&collab.Error{Code: collab.Unavailable, Message: "m", RetryAfter: 5 * time.Second},
			503,
			"5",
			`{"error":{"message":"m","status":"UNAVAILABLE"}}`,
		},
		{"deadline exceeded", collab.Errorf(collab.DeadlineExceeded, "m"), 504, "", `{"error":{"message":"m","status":"DEADLINE_EXCEEDED"}}`},
		{"unknown code", collab.Errorf("TEAPOT", "m"), 500, "", `{"error":{"message":"m","status":"TEAPOT"}}`},
		{"any error", errors.New("table X"), 500, "", `{"error":{"message":"internal error","status":"INTERNAL"}}`},
		{"context's error", fmt.Errorf("query: %w", context.DeadlineExceeded), 504, "",
			`{"error":{"message":"the time of the request ran out; parts of it may have been done","status":"DEADLINE_EXCEEDED"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) { return "data", test.err })
			w := serve(h, newRequest(t.Context(), `{"data":{}}`))
			if w.Code != test.http || w.Header().Get("Retry-After") != test.retryAfter {
				t.Errorf("HTTP status %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
			}
			if diff := cmp.Diff(test.body, w.Body.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDeadline holds that a vague failure is explained by the request's time having run out, and a
// precise one is not.
func TestDeadline(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{errors.New("table X"), 504},
		{&collab.Error{Code: collab.Unavailable, Message: "m"}, 504},
		{collab.Errorf(collab.NotFound, "m"), 404},
		{collab.Errorf(collab.Aborted, "m"), 409},
		{nil, 200},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) {
			cancel()
			return nil, test.err
		})
		if w := serve(h, newRequest(ctx, `{"data":{}}`)); w.Code != test.want {
			t.Errorf("%v: %d %s", test.err, w.Code, w.Body)
		}
	}
}

func TestPanic(t *testing.T) {
	h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) { panic("secret") })
	w := serve(h, newRequest(t.Context(), `{"data":{}}`))
	if w.Code != 500 || w.Body.String() != `{"error":{"message":"internal error","status":"INTERNAL"}}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestNotEncodable(t *testing.T) {
	h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) { return func() {}, nil })
	if w := serve(h, newRequest(t.Context(), `{"data":{}}`)); w.Code != 500 || failureOf(t, w).Error.Status != collab.Internal {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestUnidentified(t *testing.T) {
	h := operation(newServer(), func(context.Context, *rpc.Call) (any, error) {
		t.Error("an operation ran for nobody")
		return nil, nil
	})
	r := newRequest(t.Context(), `{"data":{}}`)
	w := serve(h, r.WithContext(context.Background()))
	if f := failureOf(t, w); w.Code != 500 || f.Error.Status != collab.Internal {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestCall(t *testing.T) {
	var got rpc.Call
	h := operation(newServer(), func(ctx context.Context, call *rpc.Call) (any, error) {
		got = *call
		if collab.UsageOf(ctx) == nil {
			t.Error("the store cannot count what it uses")
		}
		return nil, nil
	})
	serve(h, newRequest(t.Context(), `{"data":{}}`, "Idempotency-Key", "of no effect"))
	if diff := cmp.Diff(acme, got.Identity); diff != "" || got.Path != "/v2/things/add" || got.Now != noon {
		t.Errorf("%s %v", diff, got)
	}
	first := got.IDs.Next()
	serve(h, newRequest(t.Context(), `{"data":{}}`))
	if second := got.IDs.Next(); first == second || len(first) != 26 {
		t.Errorf("ids of two requests: %s and %s", first, second)
	}
}

func TestNoRandomness(t *testing.T) {
	s := newServer()
	s.Random = strings.NewReader("short")
	h := operation(s, func(context.Context, *rpc.Call) (any, error) { return nil, nil })
	if w := serve(h, newRequest(t.Context(), `{"data":{}}`)); w.Code != 500 || failureOf(t, w).Error.Status != collab.Internal {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestRecorded checks that recorded events are sent once, whether the operation succeeds or fails.
func TestRecorded(t *testing.T) {
	want := []collab.TaskRef{{Kind: collab.EventTask, Account: "acme", ID: "e1"}, {Kind: collab.EventTask, Account: "acme", ID: "e2"}}
	for _, failure := range []error{nil, collab.Errorf(collab.Aborted, "others are writing")} {
		var sent []collab.TaskRef
		s := newServer()
		s.Send = func(_ context.Context, tasks ...collab.TaskRef) { sent = append(sent, tasks...) }
		serve(operation(s, func(_ context.Context, call *rpc.Call) (any, error) {
			call.Recorded(&collab.Event{Account: "acme", ID: "e1"})
			call.Recorded(&collab.Event{Account: "acme", ID: "e2"})
			return "done", failure
		}), newRequest(t.Context(), `{"data":{}}`))
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("after %v: %s", failure, diff)
		}
	}
}
