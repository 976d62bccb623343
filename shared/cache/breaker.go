package cache

import "time"

// Breaker refuses calls of a key for a while after several of them failed in a row. It is safe for
// concurrent use.
type Breaker struct {
	failures int
	pause    time.Duration
	counts   *Cache[string, int]
}

const mostBreakers = 1_000 // keys

// NewBreaker returns a Breaker that refuses calls for pause after a number of failures, each within
// pause of the one before.
func NewBreaker(failures int, pause time.Duration) *Breaker {
	return &Breaker{failures, pause, New[string, int](mostBreakers)}
}

// Refuses reports whether a call must not be made now.
func (b *Breaker) Refuses(key string, now time.Time) bool {
	n, ok := b.counts.Get(key, now)
	return ok && n >= b.failures
}

// Record counts a call that failed, or forgets earlier ones.
func (b *Breaker) Record(key string, now time.Time, failed bool) {
	if !failed {
		b.counts.Expire(key)
		return
	}
	n, _ := b.counts.Get(key, now)
	b.counts.Put(key, n+1, now.Add(b.pause))
}
