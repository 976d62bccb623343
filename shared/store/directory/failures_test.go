package directory

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestFailures checks the domain errors of DynamoDB's errors. Their texts do not contain the cause,
// and no method waits until the deadline.
func TestFailures(t *testing.T) {
	code := func(code string) func(string) (*http.Response, error) {
		return func(string) (*http.Response, error) { return storetest.Answer(400, storetest.Failure(code)), nil }
	}
	for _, tt := range []struct {
		name string
		says func(operation string) (*http.Response, error)
		want collab.Code
	}{
		{"no capacity", code("ProvisionedThroughputExceededException"), collab.Unavailable},
		{"throttled", code("ThrottlingException"), collab.Unavailable},
		{"no answer", func(string) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}, collab.Unavailable},
		{"an answer that is none", func(string) (*http.Response, error) { return storetest.Answer(503, "down"), nil }, collab.Unavailable},
		{"refused", code("ValidationException"), collab.Internal},
		{"no right", code("AccessDeniedException"), collab.Internal},
		{"conflict", func(operation string) (*http.Response, error) {
			switch operation {
			case "GetItem", "BatchGetItem", "Query":
				return storetest.Answer(200, map[string]any{}), nil
			case "TransactWriteItems":
				f := storetest.Failure("TransactionCanceledException")
				f["CancellationReasons"] = []map[string]string{{"Code": "ConditionalCheckFailed"}, {"Code": "TransactionConflict"}}
				return storetest.Answer(400, f), nil
			}
			return storetest.Answer(400, storetest.Failure("TransactionConflictException")), nil
		}, collab.Aborted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(storetest.Through(t, storetest.New(t), func(aws.HTTPClient) aws.HTTPClient {
				return storetest.Client(func(r *http.Request) (*http.Response, error) {
					if err := r.Context().Err(); err != nil {
						return nil, err
					}
					_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
					return tt.says(operation)
				})
			}))
			// Slightly more than the reserve.
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second+50*time.Millisecond)
			defer cancel()
			calls := map[string]func(context.Context) error{
				"ChangeDocument": func(ctx context.Context) error {
					err := storetest.ChangeDocument(ctx, s, acme.Document("d"), func(*collab.Document) {})
					return err
				},
				"SetPreferences": func(ctx context.Context) error {
					return s.SetPreferences(ctx, acme, []string{"u"}, []string{"d"}, collab.DefaultPreferences)
				},
			}
			if tt.want != collab.Aborted {
				calls["OpenDocument"] = func(ctx context.Context) error {
					_, err := s.OpenDocument(ctx, "acct", "org", "d", collab.CreateFlags{Organization: true, Document: true})
					return err
				}
				calls["Folders"] = func(ctx context.Context) error { _, err := s.FoldersAfter(ctx, acme, "", 0); return err }
			}
			for name, call := range calls {
				err := call(ctx)
				storetest.WantCode(t, name, err, tt.want)
				if e, ok := errors.AsType[*collab.Error](err); ok && (e.Err == nil || strings.Contains(e.Message, "injected") ||
					strings.Contains(e.Message, "DynamoDB") || (e.RetryAfter > 0) != (tt.want != collab.Internal)) {
					t.Errorf("%s: message %q, cause %v, retry after %v", name, e.Message, e.Err, e.RetryAfter)
				}
			}
			if ctx.Err() != nil {
				t.Error("a method went on to the deadline")
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			for name, call := range calls {
				storetest.WantCode(t, name+" when the time is over", call(over), collab.DeadlineExceeded)
			}
		})
	}
}
