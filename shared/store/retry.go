package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Repeats after a conflict, throttling, or a lost answer.
const (
	reserve = 3 * time.Second // so near a request's deadline no repeat begins; longer than any wait
	endless = 200             // tries of a call that has no deadline, or a distant one
)

// backoff bounds the waits before repeats: that before the first, which doubles with each further one, and the longest.
type backoff struct{ first, most time.Duration }

var (
	afterLoss     = backoff{20 * time.Millisecond, time.Second} // against another write, or of an answer
	afterThrottle = backoff{time.Second, 2 * time.Second}       // quick repeats would fail again, and keep others from their turn
)

// errNoTime ends the repeats of a call.
var errNoTime = errors.New("no time is left to try again")

// retryer repeats the SDK's calls, transactions among them, until the deadline of the context is near. Each repeat of a transaction carries
// the token of the first, so that AWS carries it out once.
type retryer struct {
	aws.NopRetryer
	wait func(n int, throttled bool) time.Duration // before repeat n, from 0
}

// IsErrorRetryable reports whether the next try may succeed.
func (r *retryer) IsErrorRetryable(err error) bool { return isPassing(err) }

// MaxAttempts bounds the attempts where no deadline does.
func (r *retryer) MaxAttempts() int { return endless }

// RetryDelay returns the wait after an attempt that failed; attempts count from 1.
func (r *retryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	return r.wait(max(attempt-1, 0), isThrottle(err)), nil
}

// GetRetryToken refuses a repeat for which there is no time.
func (r *retryer) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < reserve {
		return nil, errNoTime
	}
	return r.NopRetryer.GetRetryToken(ctx, err)
}

// jitter returns a random part of the longest wait before repeat n.
func (t *Table) jitter(n int, throttled bool) time.Duration {
	b := afterLoss
	if throttled {
		b = afterThrottle
	}
	return time.Duration(fraction(t.random) * float64(min(b.first<<min(n, 10), b.most)))
}

// fraction returns a random number from 0 to 1.
func fraction(random io.Reader) float64 {
	var b [8]byte
	_, _ = io.ReadFull(random, b[:]) // never fails
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// Backoff sleeps before retry n, counted from 0, with full jitter; false if the deadline is too near.
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

// failureKey is the context key of onFailure's function.
type failureKey struct{}

// onFailure returns a context whose calls report each failed attempt to f.
func onFailure(ctx context.Context, f func(error)) context.Context {
	return context.WithValue(ctx, failureKey{}, f)
}

// addAttempts calls the function of onFailure for each attempt that fails.
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

// isLost reports whether an attempt may have been carried out although it failed: its connection broke, or the server
// answered that it failed itself.
func isLost(err error) bool {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return response.HTTPStatusCode() >= 500 || response.HTTPStatusCode() < 400
	}
	op, ok := errors.AsType[*net.OpError](err)
	return !ok || op.Op != "dial"
}
