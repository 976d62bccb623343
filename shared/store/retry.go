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

// Trying again after a conflict, a refusal for lack of capacity, or a lost answer.
const (
	reserve = 3 * time.Second // before a request's deadline no further try is begun; longer than any wait
	endless = 200             // tries of a call that has no deadline, or a distant one
)

// backoff is the longest wait before the first repeat, which doubles with each further one up to the most.
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

// IsErrorRetryable reports what may not meet the next try.
func (r *retryer) IsErrorRetryable(err error) bool { return isPassing(err) }

// MaxAttempts bounds the attempts where no deadline does.
func (r *retryer) MaxAttempts() int { return endless }

// RetryDelay returns the wait before the repeat behind an attempt, counted from 1.
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

// Backoff waits before repeat n of what lost against others, from 0, with full jitter, and reports whether there is time for it.
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

// failureKey is the key of what hears of each attempt of a call that failed: a func(error).
type failureKey struct{}

// onFailure returns a context in which f hears of each attempt of a call that failed.
func onFailure(ctx context.Context, f func(error)) context.Context {
	return context.WithValue(ctx, failureKey{}, f)
}

// addAttempts tells the context of each attempt that fails.
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
