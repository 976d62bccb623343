package cache

import (
	"testing"
	"time"
)

// TestBreaker: after some failures in a row, calls of their key are refused for a while.
func TestBreaker(t *testing.T) {
	now := time.Now()
	b := NewBreaker(2, time.Minute, func() time.Time { return now })
	want := func(key string, refuses bool) {
		t.Helper()
		if got := b.Refuses(key); got != refuses {
			t.Errorf("%s is refused: %v, want %v", key, got, refuses)
		}
	}
	b.Record("a", true)
	want("a", false)
	b.Record("a", false)
	b.Record("a", true)
	want("a", false)
	b.Record("a", true)
	want("a", true)
	want("b", false)
	now = now.Add(time.Minute)
	want("a", false)
	b.Record("a", true) // the next one shows that it still fails
	want("a", true)
	now = now.Add(time.Minute)
	b.Record("a", false)
	b.Record("a", true)
	want("a", false)
	b = nil
	b.Record("a", true)
	want("a", false)
}
