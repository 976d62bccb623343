package delivery

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSlots: two have a slot, so many wait for one for so long, and everybody else is sent away at once.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slots
		start := time.Now()
		take := func() func() {
			release, _ := s.take(t.Context(), "slow")
			return release
		}
		first, second := take(), take()
		waited := make(chan func(), postsWait)
		for range postsWait {
			go func() { waited <- take() }()
		}
		synctest.Wait()
		if take() != nil || time.Since(start) != 0 {
			t.Errorf("one too many has a slot, or waited %v", time.Since(start))
		}
		if other, waited := s.take(t.Context(), "quick"); other == nil || waited {
			t.Error("another endpoint waits")
		} else {
			other()
		}
		first()
		third := <-waited
		for range postsWait - 1 {
			if <-waited != nil {
				t.Error("more than two have a slot")
			}
		}
		if took := time.Since(start); took != slotWait {
			t.Errorf("the others waited %v", took)
		}
		second()
		third()
		if len(s.by) != 0 {
			t.Errorf("left over %v", s.by)
		}
	})
}
