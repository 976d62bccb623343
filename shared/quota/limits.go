// Package quota says how much of the service an account may use, and keeps each process's account of what it used.
//
// An account is paid until a time: using n of a limit of N in a span moves that time on by n/N of the span, from now or from where it was.
// While it lies no more than the span ahead, the account may go on; else it has a debt, and its requests that write are refused until time
// has paid it. So an account may use a whole span's amount at once, and goes on at the limit's rate; one large request is never refused
// for its size, but those after it wait. One number per limit in one item of the table holds all of it.
package quota

import (
	"time"

	"collabdata/shared/collab"
)

// Kind is what is limited.
type Kind int

// The kinds.
const (
	Writes Kind = iota // write units
	Reads              // read units
	Events             // events that requests record
	Mails              // mails sent
	Kinds              // how many there are
)

// names are what a caller knows the kinds by.
var names = [Kinds]string{"write units", "read units", "events", "mails"}

// String returns the name of the kind for people.
func (k Kind) String() string { return names[k] }

// Limit is how much an account may use within a span of time. The zero Limit is none.
type Limit struct {
	Most int64
	Per  time.Duration
}

// Cost is for how long an amount is paid.
func (l Limit) Cost(amount float64) time.Duration {
	if l.Most <= 0 {
		return 0
	}
	return time.Duration(amount / float64(l.Most) * float64(l.Per))
}

// Wait is how long an account that is paid until a time must wait from now on; 0 where it may go on at once.
func (l Limit) Wait(paid, now time.Time) time.Duration {
	if l.Most <= 0 {
		return 0
	}
	return max(0, paid.Sub(now)-l.Per)
}

// Limits are those of an account, by kind.
type Limits [Kinds]Limit

// Of returns the limits that an account's settings say.
func Of(s collab.Settings) Limits {
	const seconds = 10 // over which units are averaged
	limit := func(set, usual, times int64, per time.Duration) Limit {
		switch {
		case set == 0:
			set = usual
		case set < 0:
			return Limit{}
		}
		return Limit{set * times, per}
	}
	return Limits{
		Writes: limit(s.WriteUnitsPerSecond, collab.WriteUnitsPerSecond, seconds, seconds*time.Second),
		Reads:  limit(s.ReadUnitsPerSecond, collab.ReadUnitsPerSecond, seconds, seconds*time.Second),
		Events: limit(s.EventsPerMinute, collab.EventsPerMinute, 1, time.Minute),
		Mails:  limit(s.MailsPerDay, collab.MailsPerDay, 1, 24*time.Hour),
	}
}

// personShare is the part of an account's quotas that one person may use.
const personShare = 10

// share returns the limits of one person of an account.
func (l Limits) share() Limits {
	for k := range l {
		if l[k].Most > 0 {
			l[k].Most = max(1, l[k].Most/personShare)
		}
	}
	return l
}

// Paid is until when an account is paid, by kind, in milliseconds since epoch; 0 for long ago.
type Paid [Kinds]collab.Millis

// later returns the later of both times of each kind.
func (p Paid) later(other Paid) Paid {
	for k := range p {
		p[k] = max(p[k], other[k])
	}
	return p
}

// Costs are what was used and not yet charged, by kind.
type Costs [Kinds]time.Duration
