package rpc

import (
	"testing"
	"time"
)

// TestLargeMention checks that a person can mention a group of any size, once an hour.
func TestLargeMention(t *testing.T) {
	var l limiter
	now := time.Now()
	for _, at := range []time.Duration{0, time.Hour} {
		if wait := l.take(count{action: mentions}, 5000, now.Add(at)); wait != 0 {
			t.Errorf("after %s it must wait for %s", at, wait)
		}
		if wait := l.take(count{action: mentions}, 1, now.Add(at)); wait == 0 {
			t.Errorf("after %s another one goes", at)
		}
	}
}
