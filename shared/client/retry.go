package client

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstDelay = 200 * time.Millisecond // at most, before the second attempt; doubled with each
	lastDelay  = 10 * time.Second       // at most, unless Retry-After asks for more
)

// delay is the time to wait after the attempt of a number, from 1: what the service asked for, and a random time on top of it, so that
// callers who were refused together do not come back together.
func delay(e *Error, attempt int) time.Duration {
	most := min(firstDelay<<(attempt-1), lastDelay)
	return e.RetryAfter + rand.N(most)
}

// pause waits, and reports whether the context goes on. It does not wait for what the context would not live to see.
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
