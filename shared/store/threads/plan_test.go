package threads

import (
	"testing"

	"collabdata/shared/collab"
)

// TestManyRangesAreNotProbed holds that no other index is looked into by more than mostProbes queries.
func TestManyRangesAreNotProbed(t *testing.T) {
	q := collab.AnnotationQuery{
		Documents: []string{"d"},
		Locations: []string{"l"},
		Creators:  make([]string, mostProbes),
		Statuses:  make([]string, mostProbes+1),
	}
	p := newPlan(collab.OrganizationRef{}, &q)
	if got := p.alternatives(1); len(got) != 1 || got[0].name != "creators" {
		t.Errorf("%d others in one document", len(got))
	}
	if got := p.alternatives(2); got != nil {
		t.Errorf("%d others in two documents", len(got))
	}
}

// TestLatestKey holds that a window reads as far as a time key may stand: whatever the writers' rule makes of a time.
func TestLatestKey(t *testing.T) {
	for at := collab.Millis(0); at < 1_000; at++ {
		for key := max(0, at-2*quarter); key <= at+quarter; key++ {
			// A comment of the time at finds the key there. Where it moves it, at is the latest.
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
