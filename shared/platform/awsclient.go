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

// AttemptTime limits one attempt of a call, including the response, unless WithAttemptTime
// overrides it. Then the SDK retries on another connection, if its retryer allows it.
const AttemptTime = 4 * time.Second

type attemptTime struct{}

// WithAttemptTime returns a context that limits each attempt of a call.
func WithAttemptTime(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, attemptTime{}, d)
}

// AWSClient sends the SDK's requests through another client. It limits the time of each request,
// and makes bodies readable after they were closed.
//
// Without it, the SDK waits on a dead connection for as long as its caller does.
//
// The SDK closes a request's body when the response begins. If the response is fast, net/http may
// still read the end of the body. It then gets an error (smithy-go 1.28, WriteTo after Close) and
// drops the connection with the response, and the SDK repeats a completed request. Read returns no
// such error.
type AWSClient struct {
	Next        aws.HTTPClient
	AttemptTime time.Duration // overrides the constant if not 0
}

// Do sends the request. After the attempt's time, it and reads of the response return a NoAnswer.
func (c AWSClient) Do(r *http.Request) (*http.Response, error) {
	limit, ok := r.Context().Value(attemptTime{}).(time.Duration)
	if !ok {
		limit = cmp.Or(c.AttemptTime, AttemptTime)
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), limit, NoAnswer{limit})
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

// answer is a response body that must be read within the attempt's time.
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

// cause returns a NoAnswer if the attempt's time is over, else its own error.
func cause(ctx context.Context, err error) error {
	if over, ok := context.Cause(ctx).(NoAnswer); ok {
		return over
	}
	return err
}

// NoAnswer means that an attempt timed out. The SDK treats it as a connection error. The call may
// or may not have been executed.
type NoAnswer struct{ After time.Duration }

func (e NoAnswer) Error() string { return fmt.Sprintf("no answer within %v", e.After) }

// Timeout returns true. See net.Error.
func (e NoAnswer) Timeout() bool { return true }

// Temporary returns true. See net.Error.
func (e NoAnswer) Temporary() bool { return true }
