package rpc

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// action is a kind of action with a limit per person.
type action int

const (
	looks action = iota
	writes
	mentions
)

// bounds are the limits: a burst, refilled evenly over the period.
var bounds = [...]struct {
	burst   int
	period  time.Duration
	message string
}{
	looks:    {10, 10 * time.Second, "too many requests; try again later"},
	writes:   {20, 10 * time.Second, "too many changes; try again later"},
	mentions: {200, time.Hour, "too many people mentioned; try again later"},
}

// remembered is the number of counts in a limiter. At the limit, all are cleared.
const remembered = 10_000

type count struct {
	account, user string
	action        action
}

// limiter limits the actions of each person in this process; the gateway's firewall limits requests
// to all processes. Its zero value is ready to use.
type limiter struct {
	mu       sync.Mutex
	limiters map[count]*rate.Limiter
}

// take counts n actions, or returns the time to wait.
func (l *limiter) take(c count, n int, now time.Time) (wait time.Duration) {
	b := bounds[c.action]
	l.mu.Lock()
	defer l.mu.Unlock()
	tokens := l.limiters[c]
	if tokens == nil {
		if len(l.limiters) >= remembered || l.limiters == nil {
			l.limiters = map[count]*rate.Limiter{}
		}
		tokens = rate.NewLimiter(rate.Every(b.period/time.Duration(b.burst)), b.burst)
		l.limiters[c] = tokens
	}
	reserved := tokens.ReserveN(now, min(n, b.burst))
	if wait = reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
	}
	return wait
}

// Bounds of the capacity units of a request, for the page of a list and for all of a person's.
const (
	pageUnits   = 1_300
	personPage  = 750
	mostRead    = 1_500
	mostWritten = 500
)
