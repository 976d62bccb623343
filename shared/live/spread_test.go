package live

import (
	"testing"
	"time"
)

// TestSpread checks that the polls of many pages are spread by their number, and for less than the
// time that the function hints has.
func TestSpread(t *testing.T) {
	for n, want := range map[int]time.Duration{
		few: 0, few + 1: (few + 1) * time.Second / lookRate, 900: 3 * time.Second, 4_500: maxSpread, 1_000_000: maxSpread,
	} {
		if got := spread(n); got != want {
			t.Errorf("%d pages: %v, want %v", n, got, want)
		}
	}
}
