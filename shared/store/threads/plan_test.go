package threads

import (
	"testing"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// TestLatestKey: a window reads up to the latest time key that keyFor can return.
func TestLatestKey(t *testing.T) {
	for at := collab.Millis(0); at < 1_000; at++ {
		for key := max(0, at-2*quarter); key <= at+quarter; key++ {
			// A comment at the time at finds the key there. If it moves the key, at is the latest.
			if moved := keyFor(key, at); moved > latestKey(at) && moved != key {
				t.Fatalf("a comment of %d moves the key from %d to %d, after %d", at, key, moved, latestKey(at))
			} else if moved < at {
				t.Fatalf("a comment of %d leaves the key at %d", at, moved)
			}
		}
	}
	if got := latestKey(collab.MaxMillis); got != collab.MaxMillis {
		t.Errorf("the last time: %d", got)
	}
}

// TestBudget checks the end of a page and the sizes of reads.
func TestBudget(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		b                         budget
		over                      bool
		allowance, entries, items int // for 10
		window, width             int
	}{
		{"at first", budget{limit: 20}, false, 9_011, 11, 21, 8, 1},
		{"one is left", budget{limit: 20, taken: 19, content: 19_000, sources: 2, spent: cost{entries: 20, bytes: 6_000, units: 1}}, false, 8_983, 11, 21, 1, 1},
		{"full", budget{limit: 20, taken: 20, content: 20_000, sources: 1}, true, 9_011, 11, 21, 1, 1},
		{"little passes", budget{limit: 20, taken: 1, content: 1_000, sources: 1, spent: cost{entries: 1_000, bytes: 300_000, units: 37}}, false, 8_000, 5_000, 21, 19, 16},
		{"empty sources", budget{limit: 20, sources: 100, spent: cost{units: 50}}, false, 7_645, 11, 21, 8, 16},
		{"long threads", budget{limit: 20, taken: 2, content: 2_000_000, sources: 1, spent: cost{threads: 2, items: 400}}, false, 9_011, 11, 2_001, 4, 2},
		{"entries are used up", budget{limit: 20, spent: cost{entries: 10_000, bytes: 300_000, units: 40}}, true, 1, 100_000, 21, 8, 1},
		{"units are used up", budget{limit: 20, spent: cost{entries: 1_000, bytes: 2_000_000, units: 330}}, true, 1, 10_000, 21, 8, 1},
		{"sources are used up", budget{limit: 20, sources: 500, spent: cost{units: 250}}, true, 2_184, 11, 21, 8, 16},
	} {
		b := tt.b
		got := []int{b.allowance(1), b.entriesFor(10), b.itemsFor(10), b.window(100, 32), b.width()}
		if diff := cmp.Diff([]int{tt.allowance, tt.entries, tt.items, tt.window, tt.width}, got); diff != "" || b.over() != tt.over {
			t.Errorf("%s: over %v\n%s", tt.name, b.over(), diff)
		}
	}
	few := budget{limit: 1_000}
	if got := few.window(30, 32); got != 30+2 {
		t.Errorf("of 30 entries %d are fetched side by side", got)
	}
}
