package store

import (
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// most is a reader of the largest random numbers.
type most struct{}

func (most) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 0xff
	}
	return len(b), nil
}

// TestRetryDelay checks the longest wait before a retry.
func TestRetryDelay(t *testing.T) {
	cancelled := func(codes ...string) error {
		e := &types.TransactionCanceledException{}
		for _, code := range codes {
			e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
		}
		return e
	}
	const quick, slow = 20 * time.Millisecond, time.Second
	for _, tt := range []struct {
		name        string
		err         error
		first, most time.Duration
	}{
		{"throttled", &types.ThrottlingException{}, slow, 2 * slow},
		{"throttled, in the older form", &types.ProvisionedThroughputExceededException{}, slow, 2 * slow},
		{"throttled by the account", &types.RequestLimitExceeded{}, slow, 2 * slow},
		{"a transaction is throttled", cancelled("None", "ThrottlingError"), slow, 2 * slow},
		{"a transaction is throttled, in the older form", cancelled("ProvisionedThroughputExceeded"), slow, 2 * slow},
		{"an earlier try of the transaction is under way", &types.TransactionInProgressException{}, quick, slow},
		{"a transaction meets another", cancelled("ConditionalCheckFailed", "TransactionConflict"), quick, slow},
		{"a write meets a transaction", &types.TransactionConflictException{}, quick, slow},
	} {
		r := New(aws.Config{}, "table", time.Now, most{}).retry
		if !r.IsErrorRetryable(tt.err) {
			t.Errorf("%s: is not tried again", tt.name)
		}
		longest := time.Duration(0)
		for attempt := 1; attempt < 50; attempt++ {
			wait, err := r.RetryDelay(attempt, tt.err)
			if err != nil || attempt == 1 && !near(wait, tt.first) {
				t.Errorf("%s: waits %v at first, %v", tt.name, wait, err)
			}
			longest = max(longest, wait)
		}
		if !near(longest, tt.most) || longest >= reserve {
			t.Errorf("%s: waits %v at most", tt.name, longest)
		}
	}
}

func near(a, b time.Duration) bool { return (a - b).Abs() < b/1000 }

// TestRefuses checks that a table with a breaker that was refused ten times in a row is called no
// more for a second. A table without one is called.
func TestRefuses(t *testing.T) {
	now := time.Now()
	calls := 0
	cfg := aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, HTTPClient: answers(func() (int, string) {
		calls++
		return http.StatusBadRequest, `{"__type":"ThrottlingException"}`
	})}
	table := New(cfg, "table", func() time.Time { return now }, rand.Reader).RepeatAtOnce().WithBreaker()
	for range 3 {
		if _, err := table.Get(t.Context(), keys.Account("a")); collab.CodeOf(err) != collab.Unavailable {
			t.Errorf("answered %v", err)
		}
	}
	if calls != mostRefusals {
		t.Errorf("%d calls", calls)
	}
	other := collab.WithIdentity(t.Context(), collab.Identity{Account: "another"})
	if _, err := table.Get(other, keys.Account("a")); collab.CodeOf(err) != collab.Unavailable || calls != 2*mostRefusals {
		t.Errorf("for another account: %d calls, %v", calls, err)
	}
	calls = mostRefusals
	now = now.Add(refusedPause)
	_, err := table.Get(t.Context(), keys.Account("a"))
	if calls != mostRefusals+1 || collab.CodeOf(err) != collab.Unavailable {
		t.Errorf("after a second: %d calls, %v", calls, err)
	}
	calls = 0
	if _, err := New(cfg, "table", time.Now, rand.Reader).RepeatAtOnce().Get(t.Context(), keys.Account("a")); collab.CodeOf(err) != collab.Unavailable || calls != endless {
		t.Errorf("without a breaker: %d calls, %v", calls, err)
	}
}

type answers func() (status int, body string)

func (a answers) Do(*http.Request) (*http.Response, error) {
	status, body := a()
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}
