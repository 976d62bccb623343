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
	reserve     = 3 * time.Second       // before a request's deadline no further try is started
	endless     = 50                    // tries of a call that has no deadline
	firstWait   = 20 * time.Millisecond // at most, before the first repeat; each further one doubles it
	longestWait = time.Second
)

// errNoTime ends the repeats of a call.
var errNoTime = errors.New("no time is left to try again")

// retryer repeats the SDK's calls, transactions among them, until the deadline of the context is near. Each repeat of a transaction carries
// the token of the first, so that AWS carries it out once.
type retryer struct{ wait func(n int) time.Duration } // before repeat n, from 0

func newRetryer(random io.Reader) *retryer {
	return &retryer{wait: func(n int) time.Duration { return jitter(random, n) }}
}

// IsErrorRetryable reports conflicts, throttling, and what the SDK holds for passing.
func (r *retryer) IsErrorRetryable(err error) bool {
	return isConflict(err) || isThrottle(err) || retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// MaxAttempts is 0: the deadline is the bound.
func (r *retryer) MaxAttempts() int { return 0 }

// RetryDelay returns the wait before the repeat behind an attempt, counted from 1.
func (r *retryer) RetryDelay(attempt int, _ error) (time.Duration, error) {
	return r.wait(max(attempt-1, 0)), nil
}

// GetRetryToken refuses a repeat for which there is no time.
func (r *retryer) GetRetryToken(ctx context.Context, _ error) (func(error) error, error) {
	deadline, ok := ctx.Deadline()
	c, _ := ctx.Value(callKey{}).(*call)
	if ok && time.Until(deadline) < reserve || !ok && c != nil && c.tries >= endless {
		return nil, errNoTime
	}
	return released, nil
}

// GetInitialToken grants every call.
func (r *retryer) GetInitialToken() func(error) error { return released }

// GetAttemptToken grants every attempt.
func (r *retryer) GetAttemptToken(context.Context) (func(error) error, error) { return released, nil }

func released(error) error { return nil }

// jitter returns a random part of the longest wait before repeat n.
func jitter(random io.Reader, n int) time.Duration {
	most := min(firstWait<<min(n, 10), longestWait)
	return time.Duration(fraction(random) * float64(most))
}

// fraction returns a random number from 0 to 1.
func fraction(random io.Reader) float64 {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 1
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// Backoff waits before repeat n, from 0, with full jitter, and reports whether there is time for it.
func (t *Table) Backoff(ctx context.Context, n int) bool {
	wait := t.retry.wait(n)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait+reserve || !ok && n >= endless {
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

// call is one call of the SDK, all its attempts together.
type call struct {
	input any
	began time.Time
	tries int
}

type (
	callKey struct{} // *call
	lostKey struct{} // *bool: set when an attempt's answer was lost, so that it may have been carried out
)

// addAttempts has each attempt of a call sent in its turn, where a partition refused writes lately, and notes in the context what became
// of it.
func (t *Table) addAttempts(stack *middleware.Stack) error {
	if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("BeginCall", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(context.WithValue(ctx, callKey{}, &call{input: in.Parameters, began: t.now()}), in)
	}), middleware.Before); err != nil {
		return err
	}
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Attempt", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (out middleware.FinalizeOutput, meta middleware.Metadata, err error) {
		c := ctx.Value(callKey{}).(*call)
		c.tries++
		attempt := func() error {
			out, meta, err = next.HandleFinalize(ctx, in)
			return err
		}
		if t.paces != nil {
			err = t.paces.send(ctx, c, attempt)
		} else {
			err = attempt()
		}
		if lost, ok := ctx.Value(lostKey{}).(*bool); ok && isLost(err) {
			*lost = true
		}
		noteHeat(ctx, err)
		return out, meta, err
	}), (*retry.Attempt)(nil).ID(), middleware.After)
}

// isLost reports an attempt of which it is not known whether it was carried out: its connection broke, or it was answered by no less than
// an error of the server.
func isLost(err error) bool {
	if err == nil {
		return false
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return response.HTTPStatusCode() >= 500 || response.HTTPStatusCode() < 400
	}
	op, ok := errors.AsType[*net.OpError](err)
	return !ok || op.Op != "dial"
}
