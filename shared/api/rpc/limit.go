package rpc

import (
	"context"
	"sync"
	"time"

	"collabdata/shared/collab"
)

// kind is what a person does that is counted.
type kind int

const (
	looks kind = iota
	writes
	mentions
)

// bounds are how often one person may do it, at once and again over the period.
var bounds = [...]struct {
	most    int
	period  time.Duration
	message string
}{
	looks:    {10, 10 * time.Second, "too many requests; try again later"},
	writes:   {20, 10 * time.Second, "too many changes; try again later"},
	mentions: {200, time.Hour, "too many people mentioned; try again later"},
}

// remembered is how many counts a limiter keeps at least of those last used; at most twice as many.
const remembered = 10_000

// count names what one person does.
type count struct {
	account, user string
	kind          kind
}

// limiter bounds what each person does by this process: the gateway's firewall bounds all processes together. A count that was not used for
// long is forgotten, and so is free. Its zero value is ready for use.
type limiter struct {
	mu      sync.Mutex
	now     map[count]time.Time // when all that was taken will have come back
	earlier map[count]time.Time // as now was when it was full
}

// take counts n more at a time, or returns after how long they may be.
func (l *limiter) take(c count, n int, now time.Time) (wait time.Duration) {
	b := bounds[c.kind]
	l.mu.Lock()
	defer l.mu.Unlock()
	back, ok := l.now[c]
	if !ok {
		back = l.earlier[c]
	}
	if back.Before(now) {
		back = now
	}
	back = back.Add(b.period / time.Duration(b.most) * time.Duration(min(n, b.most)))
	if wait := back.Sub(now) - b.period; wait > 0 {
		return wait
	}
	if len(l.now) >= remembered || l.now == nil {
		l.now, l.earlier = map[count]time.Time{}, l.now
	}
	l.now[c] = back
	return 0
}

// take counts what the call's person does; RESOURCE_EXHAUSTED where it is too much.
func (c *Call) take(k kind, n int) error {
	if c.Person == nil || n == 0 {
		return nil
	}
	wait := c.limiter.take(count{c.Account, c.Person.UserID, k}, n, c.Now)
	if wait == 0 {
		return nil
	}
	return &collab.Error{Code: collab.ResourceExhausted, Message: bounds[k].message, RetryAfter: wait}
}

// Mentions counts people whom the call's person mentions; RESOURCE_EXHAUSTED beyond 200 an hour.
func (c *Call) Mentions(n int) error { return c.take(mentions, n) }

// FoldersOf returns the folders that each of some documents is in, the nearest first. What does not exist is left out.
type FoldersOf func(ctx context.Context, account, organization string, documents []string) (map[string][]string, error)
