package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Limits of retries after a conflict, throttling, or a lost answer.
const (
	reserve = 3 * time.Second // no retry begins this near the deadline
	endless = 200             // attempts without a deadline
)

// backoff is the longest wait before the first retry, which doubles with each retry, and its
// maximum.
type backoff struct{ first, limit time.Duration }

var (
	afterLoss = backoff{20 * time.Millisecond, time.Second} // after a conflict or a lost answer
	// Faster retries would fail again and delay other requests.
	afterThrottle = backoff{time.Second, 2 * time.Second}
)

var errNoTime = errors.New("no time is left to try again")

// retryer retries SDK calls until the context's deadline is near. Retries of a transaction carry
// the same token, so that AWS executes it once.
type retryer struct {
	aws.NopRetryer
	wait     func(n int, throttled bool) time.Duration // before retry n, from 0
	refusals *cache.Breaker                            // nil if every call is made
}

// After mostRefusals in a row, a table with a breaker is called no more for refusedPause, for the
// account of the request.
const (
	mostRefusals = 10
	refusedPause = time.Second
)

var errRefuses = busy(errors.New("the table refused the last calls"))

// GetAttemptToken returns an error if the table has refused the last calls of the account, and
// counts refusals.
func (r *retryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	id, _ := collab.IdentityOf(ctx)
	if r.refusals.Refuses(id.Account) {
		return nil, errRefuses
	}
	return func(err error) error {
		r.refusals.Record(id.Account, refuses(err))
		return nil
	}, nil
}

func (r *retryer) IsErrorRetryable(err error) bool { return isPassing(err) }

// MaxAttempts bounds the attempts of a call without a deadline.
func (r *retryer) MaxAttempts() int { return endless }

// RetryDelay returns the wait after a failed attempt. Attempts count from 1.
func (r *retryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	return r.wait(max(attempt-1, 0), isThrottle(err)), nil
}

// GetRetryToken returns an error if the deadline is too near for a retry.
func (r *retryer) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < reserve {
		return nil, errNoTime
	}
	return r.NopRetryer.GetRetryToken(ctx, err)
}

// refuses reports whether the table throttled a call, or reported its own failure.
func refuses(err error) bool {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return err != nil && (isThrottle(err) || ok && response.HTTPStatusCode() >= 500)
}

func (t *Table) jitter(n int, throttled bool) time.Duration {
	b := afterLoss
	if throttled {
		b = afterThrottle
	}
	return time.Duration(fraction(t.random) * float64(min(b.first<<min(n, 10), b.limit)))
}

func fraction(random io.Reader) float64 {
	var b [8]byte
	_, _ = io.ReadFull(random, b[:])
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// Backoff sleeps before retry n, counted from 0, with full jitter; false if the deadline is too
// near.
func (t *Table) Backoff(ctx context.Context, n int) bool {
	wait := t.retry.wait(n, false)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait+reserve || n >= endless {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

type failureKey struct{}

// onFailure returns a context whose calls report each failed attempt to f.
func onFailure(ctx context.Context, f func(error)) context.Context {
	return context.WithValue(ctx, failureKey{}, f)
}

// addAttempts calls the function of onFailure after each failed attempt.
func addAttempts(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Attempt", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (middleware.FinalizeOutput, middleware.Metadata, error) {
		out, meta, err := next.HandleFinalize(ctx, in)
		if failed, ok := ctx.Value(failureKey{}).(func(error)); ok && err != nil {
			failed(err)
		}
		return out, meta, err
	}), (*retry.Attempt)(nil).ID(), middleware.After)
}

// isLost reports whether a failed attempt may have been executed: the connection broke, or the
// server reported its own failure.
func isLost(err error) bool {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return response.HTTPStatusCode() >= 500 || response.HTTPStatusCode() < 400
	}
	op, ok := errors.AsType[*net.OpError](err)
	return !ok || op.Op != "dial"
}
