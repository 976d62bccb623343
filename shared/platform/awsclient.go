package platform

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// AttemptTime is how long one attempt of a call may take, from its request to the end of its answer, unless WithAttemptTime says otherwise.
// Then the SDK makes the next attempt on another connection, where its retryer allows one.
const AttemptTime = 4 * time.Second

type attemptTime struct{}

// WithAttemptTime returns a context in which each attempt of a call may take so long.
func WithAttemptTime(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, attemptTime{}, d)
}

// AWSClient sends the SDK's requests by another client: each for a limited time, and with a body that can be read to its end after it was
// closed.
//
// The SDK waits for an answer as long as its caller: on a connection that has gone silently, until the whole request has no time left.
//
// The SDK closes a request's body as soon as its answer begins. When an answer is quick, net/http may not have looked for the body's end
// yet: it then meets an error of the SDK's body (smithy-go 1.28, WriteTo after Close), drops the connection, the answer with it, and the
// SDK repeats a request that was carried out. Read meets none.
type AWSClient struct {
	Next        aws.HTTPClient
	AttemptTime time.Duration // instead of the constant, where it is not 0
}

// Do sends the request. Its error, and that of reading the answer, is a NoAnswer once the time of the attempt is over.
func (c AWSClient) Do(r *http.Request) (*http.Response, error) {
	most, ok := r.Context().Value(attemptTime{}).(time.Duration)
	if !ok {
		most = cmp.Or(c.AttemptTime, AttemptTime)
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), most, NoAnswer{most})
	limited := r.WithContext(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		limited.Body = struct{ io.ReadCloser }{r.Body}
	}
	res, err := c.Next.Do(limited)
	if err != nil {
		defer cancel()
		return res, cause(ctx, err)
	}
	res.Body = &answer{res.Body, ctx, cancel}
	return res, nil
}

// answer is the body of an answer, which is read within the attempt's time.
type answer struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = cause(a.ctx, err)
	}
	return n, err
}

func (a *answer) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}

// cause returns why an attempt failed: that its time was over, else its own error.
func cause(ctx context.Context, err error) error {
	if over, ok := context.Cause(ctx).(NoAnswer); ok {
		return over
	}
	return err
}

// NoAnswer is the error of an attempt whose time was over. The SDK takes it for a failure of the connection. Whether the call was carried
// out is not known.
type NoAnswer struct{ After time.Duration }

func (e NoAnswer) Error() string { return fmt.Sprintf("no answer within %v", e.After) }

// Timeout is true: see net.Error.
func (e NoAnswer) Timeout() bool { return true }

// Temporary is true: see net.Error.
func (e NoAnswer) Temporary() bool { return true }
