package store

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// always is a transport that answers every request alike.
type always func(operation string) (*http.Response, error)

func (a always) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	target := r.Header.Get("X-Amz-Target")
	return a(target[strings.LastIndexByte(target, '.')+1:])
}

// TestFailures holds which error of the domain stands for which of DynamoDB's, and that its text does not name the cause.
func TestFailures(t *testing.T) {
	code := func(code string) always {
		return func(string) (*http.Response, error) { return answer(400, failure(code)), nil }
	}
	canceled := func(reason string) always {
		return func(operation string) (*http.Response, error) {
			if operation != "TransactWriteItems" {
				return answer(400, failure("TransactionConflictException")), nil
			}
			f := failure("TransactionCanceledException")
			f["CancellationReasons"] = []map[string]string{{"Code": "None"}, {"Code": reason}}
			return answer(400, f), nil
		}
	}
	tests := []struct {
		name string
		says always
		want collab.Code
	}{
		{"no capacity", code("ProvisionedThroughputExceededException"), collab.Unavailable},
		{"throttled", code("ThrottlingException"), collab.Unavailable},
		{"no answer", func(string) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}, collab.Unavailable},
		{"an answer that is none", func(string) (*http.Response, error) { return answer(503, "down"), nil }, collab.Unavailable},
		{"conflict", canceled("TransactionConflict"), collab.Aborted},
		{"throttled transaction", canceled("ThrottlingError"), collab.Unavailable},
		{"refused", code("ValidationException"), collab.Internal},
		{"no right", code("AccessDeniedException"), collab.Internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t)
			cfg.HTTPClient = tt.says
			s := New(cfg, "no-table", time.Now, rand.Reader)
			s.wait = func(int) time.Duration { return 0 }
			// With little more time left than the store keeps in reserve, it gives up at once, or when the time has come.
			ctx, cancel := context.WithTimeout(t.Context(), reserve+50*time.Millisecond)
			defer cancel()
			ref := collab.OrganizationRef{Account: "acct", Organization: "org"}
			calls := map[string]func() error{
				"AddAnnotation": func() error {
					return s.AddAnnotation(ctx, ref.Document("d"), newThread("a", "u", 1, 1), newIDs().Mark())
				},
			}
			if tt.name != "throttled transaction" {
				calls["PutDocument"] = func() error { return s.PutDocument(ctx, ref, collab.Document{ID: "d"}) }
			}
			if tt.want != collab.Aborted && tt.name != "throttled transaction" {
				calls["CheckOrganization"] = func() error { return s.CheckOrganization(ctx, ref) }
				calls["Folders"] = func() error { _, err := s.Folders(ctx, ref); return err }
				calls["Walk"] = func() error { _, err := s.Walk(ctx, ref, collab.AnnotationQuery{}, nil, 1, nil); return err }
			}
			for name, call := range calls {
				err := call()
				mustCode(t, name, err, tt.want)
				if e, ok := errors.AsType[*collab.Error](err); ok && (e.Err == nil || strings.Contains(e.Message, "injected") ||
					strings.Contains(e.Message, "DynamoDB") || (e.RetryAfter > 0) != (tt.want != collab.Internal)) {
					t.Errorf("%s: message %q, cause %v, retry after %v", name, e.Message, e.Err, e.RetryAfter)
				}
			}
			if ctx.Err() != nil {
				t.Error("the store went on to the deadline")
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			mustCode(t, "when the time is over", s.CheckOrganization(over, ref), collab.DeadlineExceeded)
			mustCode(t, "when the time is over", s.AddAnnotation(over, ref.Document("d"), newThread("a", "u", 1, 1), newIDs().Mark()), collab.DeadlineExceeded)
		})
	}
}

// TestLeftoversForEver reads a batch of which nothing is ever processed.
func TestLeftoversForEver(t *testing.T) {
	cfg := config(t)
	cfg.HTTPClient = always(func(string) (*http.Response, error) {
		return answer(200, map[string]any{"Responses": map[string]any{}, "UnprocessedKeys": map[string]any{
			"no-table": map[string]any{"Keys": []any{map[string]any{"pk": map[string]string{"S": "p"}, "sk": map[string]string{"S": "s"}}}},
		}}), nil
	})
	s := New(cfg, "no-table", time.Now, rand.Reader)
	s.wait = func(int) time.Duration { return 0 }
	_, err := s.Organizations(t.Context(), "acct", []string{"org"})
	mustCode(t, "no deadline", err, collab.Unavailable)
	ctx, cancel := context.WithTimeout(t.Context(), reserve)
	defer cancel()
	_, err = s.Organizations(ctx, "acct", []string{"org"})
	mustCode(t, "near the deadline", err, collab.Unavailable)
}

// TestJitter holds that waits grow to a second at most, and are spread.
func TestJitter(t *testing.T) {
	longest := time.Duration(0)
	for n, most := range []time.Duration{20, 40, 80, 160, 320, 640, 1000, 1000, 1000, 1000, 1000, 1000} {
		for range 100 {
			wait := jitter(rand.Reader, n)
			if wait < 0 || wait >= most*time.Millisecond {
				t.Errorf("%v before repeat %d", wait, n)
			}
			longest = max(longest, wait)
		}
	}
	if longest < 500*time.Millisecond {
		t.Errorf("at most %v", longest)
	}
	if wait := jitter(strings.NewReader(""), 60); wait != longestWait {
		t.Errorf("%v without randomness", wait)
	}
}

var _ aws.HTTPClient = always(nil)
