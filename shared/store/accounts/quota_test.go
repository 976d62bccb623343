package accounts

import (
	"context"
	"sync"
	"testing"
	"time"

	"collabdata/shared/quota"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// TestCharge: charges add up from now, or from the paid-until time, whatever was known of it.
func TestCharge(t *testing.T) {
	table := newStore(t).Table
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	var now time.Time
	s := New(table.At(func() time.Time { return now }))
	in := func(writes, events time.Duration) quota.Paid {
		p := quota.Paid{}
		for k, d := range map[quota.Kind]time.Duration{quota.Writes: writes, quota.Events: events} {
			if d != 0 {
				p[k] = noon.Add(d).UnixMilli()
			}
		}
		return p
	}
	for i, test := range []struct {
		after time.Duration // since noon
		known quota.Paid
		costs quota.Costs
		want  quota.Paid
		calls int
	}{
		{0, quota.Paid{}, quota.Costs{quota.Writes: 3 * time.Second}, in(3*time.Second, 0), 1},
		{time.Second, quota.Paid{}, quota.Costs{quota.Writes: time.Second, quota.Events: time.Nanosecond}, in(4*time.Second, time.Second+time.Millisecond), 2},
		{time.Second, in(4*time.Second, time.Hour), quota.Costs{quota.Writes: time.Second}, in(5*time.Second, time.Second+time.Millisecond), 1},
		{time.Minute, in(2*time.Minute, 0), quota.Costs{quota.Writes: time.Second}, in(61*time.Second, time.Second+time.Millisecond), 2},
		{time.Minute, in(61*time.Second, 0), quota.Costs{quota.Writes: -time.Second / 2}, in(60*time.Second+time.Second/2, time.Second+time.Millisecond), 1},
		{2 * time.Minute, in(61*time.Second, 0), quota.Costs{quota.Writes: -time.Second}, in(60*time.Second+time.Second/2, time.Second+time.Millisecond), 1},
	} {
		now = noon.Add(test.after)
		var got quota.Paid
		made := storetest.Calls(t, func(ctx context.Context) {
			var err error
			got, err = s.Charge(ctx, quota.Payer{Account: "acct"}, test.known, test.costs)
			must.Do(t, err)
		})
		if diff := cmp.Diff([]any{test.want, test.calls}, []any{got, made}); diff != "" {
			t.Errorf("charge %d: %s", i, diff)
		}
	}
	got, err := s.Paid(t.Context(), quota.Payer{Account: "acct"})
	if diff := cmp.Diff(in(60*time.Second+time.Second/2, time.Second+time.Millisecond), got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := s.Paid(t.Context(), quota.Payer{Account: "other"}); err != nil || got != (quota.Paid{}) {
		t.Errorf("another account is paid until %v, %v", got, err)
	}
}

// TestChargeSideBySide: no concurrent charge is lost.
func TestChargeSideBySide(t *testing.T) {
	s := newStore(t)
	start := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if _, err := s.Charge(t.Context(), quota.Payer{Account: "acct"}, quota.Paid{}, quota.Costs{quota.Writes: time.Hour}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	paid, err := s.Paid(t.Context(), quota.Payer{Account: "acct"})
	if got := time.UnixMilli(paid[quota.Writes]).Sub(start); err != nil || got < 20*time.Hour-time.Second || got > 20*time.Hour+time.Hour/2 {
		t.Errorf("paid for %v, %v", got, err)
	}
}
