package proxy

import (
	"cmp"
	"sync"
	"time"

	"collabdata/shared/client"
)

// Limits says how much one person may ask of a handler: at once, and again over the time that is named. What is beyond is RESOURCE_EXHAUSTED
// with a Retry-After, and reaches neither the service nor CanRead and CanWrite. 0 stands for the default, a negative number for no limit.
// Each process of the application counts for itself.
type Limits struct {
	Looks    int // requests that read, in 10 seconds; 10 by default
	Writes   int // requests that change something, in 10 seconds; 20 by default
	Mentions int // people mentioned in an hour; 200 by default
}

// kind is what is counted.
type kind int

const (
	looks kind = iota
	writes
	mentions
)

// remembered is how many counts a limiter keeps at least of those last used; at most twice as many.
const remembered = 10_000

// count names what one person does.
type count struct {
	organization, user string
	kind               kind
}

// limiter bounds what each person does. A count that was not used for long is forgotten, and so is free.
type limiter struct {
	most   [3]int           // by kind
	period [3]time.Duration // by kind

	mu      sync.Mutex
	now     map[count]time.Time // when all that was taken will have come back
	earlier map[count]time.Time // as now was when it was full
}

func newLimiter(l Limits) *limiter {
	return &limiter{
		most:   [...]int{looks: cmp.Or(l.Looks, 10), writes: cmp.Or(l.Writes, 20), mentions: cmp.Or(l.Mentions, 200)},
		period: [...]time.Duration{looks: 10 * time.Second, writes: 10 * time.Second, mentions: time.Hour},
		now:    map[count]time.Time{},
	}
}

// take counts n more, or returns after how long they may be.
func (l *limiter) take(c count, n int) (wait time.Duration) {
	most, period := l.most[c.kind], l.period[c.kind]
	if most < 0 || n == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	back, ok := l.now[c]
	if !ok {
		back = l.earlier[c]
	}
	if back.Before(now) {
		back = now
	}
	back = back.Add(period / time.Duration(most) * time.Duration(min(n, most)))
	if wait := back.Sub(now) - period; wait > 0 {
		return wait
	}
	if len(l.now) >= remembered {
		l.now, l.earlier = map[count]time.Time{}, l.now
	}
	l.now[c] = back
	return 0
}

// take counts what the caller does, or refuses it.
func (x *exchange) take(k kind, n int) error {
	wait := x.limiter.take(count{x.who.OrganizationID, x.who.User.ID, k}, n)
	if wait == 0 {
		return nil
	}
	message := "you ask too often"
	if k == mentions {
		message = "you mention too many people"
	}
	return &client.Error{Code: client.CodeResourceExhausted, Message: message, RetryAfter: wait}
}
