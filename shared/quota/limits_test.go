package quota

import (
	"testing"
	"time"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestOf(t *testing.T) {
	for _, test := range []struct {
		name     string
		settings collab.Settings
		want     Limits
	}{
		{"defaults", collab.Settings{}, Limits{{10_000, 10 * time.Second}, {40_000, 10 * time.Second}, {6_000, time.Minute}, {20_000, 24 * time.Hour}}},
		{"set", collab.Settings{WriteUnitsPerSecond: 5, ReadUnitsPerSecond: 8, EventsPerMinute: 6, MailsPerDay: 1}, Limits{{50, 10 * time.Second}, {80, 10 * time.Second}, {6, time.Minute}, {1, 24 * time.Hour}}},
		{"none", collab.Settings{WriteUnitsPerSecond: collab.Unlimited, ReadUnitsPerSecond: collab.Unlimited, EventsPerMinute: collab.Unlimited, MailsPerDay: collab.Unlimited}, Limits{}},
	} {
		if diff := cmp.Diff(test.want, Of(test.settings)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// TestShare: a user may use a tenth, at least one of each limited kind.
func TestShare(t *testing.T) {
	got := Limits{{50, time.Second}, {8, time.Second}, {1, time.Minute}, {}}.share()
	want := Limits{{5, time.Second}, {1, time.Second}, {1, time.Minute}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLimit(t *testing.T) {
	second := Limit{10_000, 10 * time.Second} // 1,000 a second
	for _, test := range []struct {
		name  string
		limit Limit
		used  float64
		want  time.Duration
	}{
		{"nothing", second, 0, 0},
		{"as much as may be", second, 10_000, 0},
		{"one more", second, 10_001, time.Millisecond},
		{"10,000 annotations at once", second, 67_599, 57_599 * time.Millisecond},
		{"no limit", Limit{}, 1e12, 0},
	} {
		if got := test.limit.Wait(noon.Add(test.limit.Cost(test.used)), noon); got != test.want {
			t.Errorf("%s: wait %v, want %v", test.name, got, test.want)
		}
	}
	if got := second.Wait(noon, noon.Add(time.Hour)); got != 0 {
		t.Errorf("paid long ago, and waits %v", got)
	}
}
