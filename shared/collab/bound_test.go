package collab

import (
	"runtime"
	"sync"
	"testing"
)

// bounded returns the usage of a request with a bound of 1,500 read and 500 write units, whose person
// has left write units.
func bounded(left float64) (*Usage, *float64) {
	counted := new(float64)
	u := &Usage{}
	u.SetBound(&Bound{Page: 750, Read: 1_500, Write: 500, Reserve: func(units float64, force bool) error {
		if !force && *counted+units > left {
			return Errorf(ResourceExhausted, "wait")
		}
		*counted += units
		return nil
	}})
	return u, counted
}

// TestBoundReads begins more reads at once than fit: they wait for each other, and never exceed the
// bound together.
func TestBoundReads(t *testing.T) {
	u, _ := bounded(0)
	var mu sync.Mutex
	var all sync.WaitGroup
	reading, refused := 0.0, 0
	for range 100 {
		all.Go(func() {
			end, err := u.BeginRead(100)
			if err != nil {
				mu.Lock()
				refused++
				mu.Unlock()
				return
			}
			mu.Lock()
			if reading += 100; reading > u.ReadLeft() {
				t.Errorf("%.0f units are being read, and %.0f are left", reading, u.ReadLeft())
			}
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			reading -= 100
			u.Add(30, 0)
			mu.Unlock()
			end()
		})
	}
	all.Wait()
	// The last one that fits begins at 1,400 units or less.
	if read, _, _ := u.Total(); read != 1_410 || refused != 100-47 {
		t.Errorf("%.0f units, %d of 100 are refused", read, refused)
	}
}

// TestBoundWrites checks which writes a bound of 500 units admits, and how much is counted.
func TestBoundWrites(t *testing.T) {
	type call struct {
		reserve        bool
		units, largest float64
		lost           float64 // units, if the condition of the write failed
		want           Code
	}
	for _, test := range []struct {
		name    string
		left    float64
		calls   []call
		counted float64
		refused Code
	}{
		{"all or none", 1_000, []call{{true, 501, 300, 0, FailedPrecondition}}, 0, FailedPrecondition},
		{"a single larger item", 1_000, []call{{false, 684, 680, 0, ""}, {false, 684, 680, 0, FailedPrecondition}}, 684, ""},
		{"reserved units are used", 1_000, []call{{true, 500, 300, 0, ""}, {false, 300, 300, 0, ""}, {false, 200, 200, 0, ""}, {false, 20, 20, 0, FailedPrecondition}}, 500, ""},
		{"another attempt", 1_000, []call{{true, 500, 300, 0, ""}, {false, 300, 300, 290, ""}, {false, 300, 300, 290, ""}, {false, 300, 300, 0, ""}, {false, 200, 200, 0, ""}}, 1_080, ""},
		{"small writes take nothing away", 1_000, []call{{true, 500, 300, 0, ""}, {false, 5, 5, 0, ""}, {false, 5, 5, 0, ""}, {false, 500, 300, 0, ""}, {false, 8, 8, 0, ""}}, 518, ""},
		{"a person who must wait", 400, []call{{false, 2, 2, 0, ""}, {true, 500, 300, 0, ResourceExhausted}}, 2, ResourceExhausted},
		{"a repeated reservation", 1_000, []call{{true, 300, 300, 0, ""}, {true, 300, 300, 0, ""}, {false, 300, 300, 0, ""}}, 300, ""},
	} {
		u, counted := bounded(test.left)
		for i, c := range test.calls {
			do := u.BeginWrite
			if c.reserve {
				do = u.Reserve
			}
			err := do(c.units, c.largest)
			if CodeOf(err) != c.want {
				t.Errorf("%s: call %d: %v, want %q", test.name, i, err, c.want)
			}
			if c.lost > 0 {
				u.Lost(c.lost, c.units)
			}
		}
		if *counted != test.counted || CodeOf(u.Refused()) != test.refused {
			t.Errorf("%s: counted %.0f, want %.0f; refused: %v", test.name, *counted, test.counted, u.Refused())
		}
	}
}

// TestUnbounded: a request without a person reads and writes without a limit, and its lists end.
func TestUnbounded(t *testing.T) {
	u := &Usage{}
	u.SetBound(&Bound{Page: 1_300})
	u.Add(1_301, 0)
	if _, err := u.BeginRead(10_000); err != nil || u.Reserve(10_000, 1) != nil || u.BeginWrite(10_000, 1) != nil || u.PageLeft() != -1 {
		t.Errorf("%v, %.0f units are left for the page", err, u.PageLeft())
	}
}
