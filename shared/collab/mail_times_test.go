package collab

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDue checks the times of emails at random times of a year, in zones whose clocks change at
// different times of the day, or by half an hour: they are never in quiet hours, and the next ones
// of their frequency.
func TestDue(t *testing.T) {
	zones := []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Havana", "America/Santiago", "Australia/Lord_Howe", "Asia/Kolkata", "Atlantic/Azores",
	}
	rapid.Check(t, func(t *rapid.T) {
		m := MailTimes{
			Frequency: MailFrequency(rapid.SampledFrom([]string{"", "instant", "hourly", "daily", "weekly"}).Draw(t, "frequency")),
			Zone:      rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		if m.Frequency.Hours() {
			m.Hour = int64(rapid.IntRange(0, 23).Draw(t, "hour"))
		}
		if m.Frequency == MailWeekly {
			m.Day = rapid.SampledFrom(weekdays).Draw(t, "day")
		}
		if rapid.Bool().Draw(t, "nights") {
			m.From, m.To = int64(rapid.IntRange(0, 1439).Draw(t, "from")), int64(rapid.IntRange(0, 1439).Draw(t, "to"))
		}
		days := slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom(weekdays), 0, 6).Draw(t, "days"))))
		m.QuietHours = Quiet(m.From, m.To, days)
		if got := m.Weekdays(); len(got) != len(days) {
			t.Fatalf("the days %v are %v", days, got)
		}
		quiet := func(at time.Time) bool {
			at = at.In(m.Location())
			minute := int64(60*at.Hour() + at.Minute())
			night := m.From < m.To && m.From <= minute && minute < m.To || m.From > m.To && (minute >= m.From || minute < m.To)
			return night || slices.Contains(days, weekdays[at.Weekday()])
		}
		now := time.Unix(rapid.Int64Range(1_767_225_600, 1_798_761_600).Draw(t, "now"), 0) // 2026
		at := m.Awake(now)
		if quiet(at) || at.Before(now) || at.Sub(now) > 8*24*time.Hour {
			t.Fatalf("%+v at %s: awake at %s", m, now.In(m.Location()), at.In(m.Location()))
		}
		for between := now; between.Before(at); between = between.Add(time.Minute) {
			if !quiet(between) && at.Sub(between) > time.Minute {
				t.Fatalf("%+v at %s: awake at %s, not at %s", m, now.In(m.Location()), at.In(m.Location()), between.In(m.Location()))
			}
		}
		due := m.Due(now, now.Add(time.Minute))
		next := m.next(now)
		switch {
		case next.IsZero() != !(m.Frequency == MailHourly || m.Frequency.Hours()):
			t.Fatalf("%+v: next at %s", m, next)
		case next.IsZero():
			next = now.Add(time.Minute)
		case !next.After(now) || next.Sub(now) > map[MailFrequency]time.Duration{
			MailHourly: time.Hour, MailDaily: 26 * time.Hour, MailWeekly: 8 * 24 * time.Hour,
		}[m.Frequency]:
			t.Fatalf("%+v at %s: next at %s", m, now.In(m.Location()), next.In(m.Location()))
		case m.Frequency == MailWeekly && weekdays[next.In(m.Location()).Weekday()] != m.Day:
			t.Fatalf("%+v: next on %s", m, next.In(m.Location()))
		}
		if want := m.Awake(next); !due.Equal(want) {
			t.Fatalf("%+v at %s: due at %s, want %s", m, now, due, want)
		}
	})
}
