// Package quota limits the use of accounts, and tracks it in each process.
//
// An account has a paid-until time for each limit. Using n of a limit of N per span moves the time
// forward by n/N of the span, from now if it has passed. If the time is more than a span ahead, the
// account's writing requests are refused until it is not. So an account may use a whole span's
// amount at once, and continue at the limit's rate; a large request is not refused for its size,
// but later ones wait. One number for each limit in one item holds the state.
package quota

import (
	"time"

	"collabdata/shared/collab"
)

// Kind is a limited resource.
type Kind int

// The kinds.
const (
	Writes Kind = iota
	Reads
	Events // events recorded by requests
	Mails  // emails sent
	Kinds  // number of kinds
)

var names = [Kinds]string{"write units", "read units", "events", "mails"}

func (k Kind) String() string { return names[k] }

// Limit is the amount that an account may use within a time span. The zero Limit is unlimited.
type Limit struct {
	Most int64
	Per  time.Duration
}

// Cost returns the time that an amount costs.
func (l Limit) Cost(amount float64) time.Duration {
	if l.Most <= 0 {
		return 0
	}
	return time.Duration(amount / float64(l.Most) * float64(l.Per))
}

// Wait returns the time until an account with a paid-until time may continue, 0 if at once.
func (l Limit) Wait(paid, now time.Time) time.Duration {
	if l.Most <= 0 {
		return 0
	}
	return max(0, paid.Sub(now)-l.Per)
}

// Limits are an account's limits, by kind.
type Limits [Kinds]Limit

// Of returns the limits of an account's settings.
func Of(s collab.Settings) Limits {
	const seconds = 10 // span for averaging units
	limit := func(amount, times int64, per time.Duration) Limit {
		if amount < 0 {
			return Limit{}
		}
		return Limit{amount * times, per}
	}
	s = s.OrDefaults()
	return Limits{
		Writes: limit(s.WriteUnitsPerSecond, seconds, seconds*time.Second),
		Reads:  limit(s.ReadUnitsPerSecond, seconds, seconds*time.Second),
		Events: limit(s.EventsPerMinute, 1, time.Minute),
		Mails:  limit(s.MailsPerDay, 1, 24*time.Hour),
	}
}

// personShare is the divisor of an account's quotas for one user.
const personShare = 10

func (l Limits) share() Limits {
	for k := range l {
		if l[k].Most > 0 {
			l[k].Most = max(1, l[k].Most/personShare)
		}
	}
	return l
}

// Paid holds paid-until times by kind, in Unix milliseconds; 0 for long ago.
type Paid [Kinds]collab.Millis

func (p Paid) later(other Paid) Paid {
	for k := range p {
		p[k] = max(p[k], other[k])
	}
	return p
}

// Costs are uncharged costs, by kind.
type Costs [Kinds]time.Duration
