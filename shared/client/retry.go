package client

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstDelay = 200 * time.Millisecond // maximum before the second attempt; doubles each time
	lastDelay  = 10 * time.Second       // maximum, unless Retry-After asks for more
)

// delay returns the wait after an attempt, counted from 1: the requested time plus a random time,
// which spreads callers that were refused together.
func delay(e *Error, attempt int) time.Duration {
	longest := min(firstDelay<<(attempt-1), lastDelay)
	return e.RetryAfter + rand.N(longest)
}

// pause waits. It returns false if the context has ended, or immediately if it would end before d.
func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
