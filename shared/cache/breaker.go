package cache

import "time"

// Breaker refuses calls of a key for a while after several of them failed in a row. A nil Breaker
// refuses none. It is safe for concurrent use.
type Breaker struct {
	failures int
	pause    time.Duration
	now      func() time.Time
	counts   *Cache[string, int]
}

const mostBroken = 1_000 // keys

// NewBreaker returns a Breaker that refuses calls for pause after a number of failures, and again
// after each further one until a call succeeds.
func NewBreaker(failures int, pause time.Duration, now func() time.Time) *Breaker {
	return &Breaker{failures, pause, now, New[string, int](mostBroken)}
}

// Refuses reports whether a call must not be made now.
func (b *Breaker) Refuses(key string) bool {
	if b == nil {
		return false
	}
	n, ok := b.counts.Get(key, b.now())
	return ok && n >= b.failures
}

// Record counts a call that failed, or forgets earlier ones.
func (b *Breaker) Record(key string, failed bool) {
	if b == nil {
		return
	}
	n, _ := b.counts.Last(key)
	switch now := b.now(); {
	case failed:
		b.counts.Put(key, n+1, now.Add(b.pause))
	case n > 0:
		b.counts.Put(key, 0, now)
	}
}
