package store

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/aws/smithy-go"
)

// The rate at which this process writes to a partition that has refused writes for lack of capacity. Each write that had to wait and was
// taken raises it a little and each refusal cuts it, so that one write in ten or so is refused whatever the partition takes, and
// processes that share it each find their part alone.
const (
	firstRate  = 10.0 // write units a second after the first refusal, unless more were taken in the second before
	leastRate  = 0.5
	growth     = 0.01 // of the rate, by a write that was taken
	growthBy   = 0.5  // write units a second, beside it: lets slow processes catch up with quick ones
	cut        = 0.3  // of the rate, by a refusal
	longestGap = 2 * time.Second
	quiet      = 10 * time.Second // after the last refusal a partition is no longer paced
	mostPaces  = 1000             // partitions paced at a time; refusals by others are only repeated with jitter
	counters   = 1024             // a place shares its counter with few others, or none
)

// paces are the rates of the partitions that lately refused writes, by place: see charge. Writes to others pass.
type paces struct {
	now    func() time.Time
	random io.Reader

	seed maphash.Seed

	mu    sync.Mutex
	of    map[string]*pace
	count [counters]counter // by hash of the place, of all writes that were taken
}

// counter is what was taken in about a second: each unit counts less as time goes by.
type counter struct {
	units float64
	at    time.Time
}

func (c *counter) add(units float64, now time.Time) float64 {
	c.units = c.units*math.Exp(-now.Sub(c.at).Seconds()) + units
	c.at = now
	return c.units
}

// pace is the rate of one partition.
type pace struct {
	rate    float64   // write units a second
	next    time.Time // before it nothing is sent
	refused time.Time
	cut     time.Time // refusals of what was sent before it don't count again
	waiting []*turn   // earliest call first
	timer   bool      // one is set for the next turn
}

// turn is a call that waits.
type turn struct {
	began time.Time // the call, so that its repeats go before later calls
	units float64
	come  chan struct{} // closed when it may be sent
}

func newPaces(now func() time.Time, random io.Reader) *paces {
	return &paces{now: now, random: random, seed: maphash.MakeSeed(), of: map[string]*pace{}}
}

// send has a call's next attempt sent in its turn, and notes what becomes of it.
func (p *paces) send(ctx context.Context, c *call, attempt func() error) error {
	writes := charges(c.writes)
	all := together(writes)
	limited := p.wait(ctx, c.began, all)
	sent := p.now()
	err := attempt()
	_, answered := errors.AsType[smithy.APIError](err)
	switch {
	case isThrottle(err):
		if refused, ok := refusedBy(err, writes); ok {
			p.refuse(refused, sent)
		}
	case err == nil || answered: // what a condition refuses takes capacity too
		p.took(all, limited, sent)
	}
	return err
}

// wait returns when the call may be sent, or its time is up. limited reports that it had to wait.
func (p *paces) wait(ctx context.Context, began time.Time, charges []charge) (limited bool) {
	for _, c := range charges {
		t := p.queue(c, began)
		if t == nil {
			continue
		}
		limited = true
		var up <-chan time.Time
		if deadline, ok := ctx.Deadline(); ok {
			timer := time.NewTimer(time.Until(deadline) - reserve)
			defer timer.Stop()
			up = timer.C
		}
		select {
		case <-t.come:
			continue
		case <-ctx.Done():
		case <-up:
		}
		p.leave(c.place, t)
		return limited
	}
	return limited
}

// queue returns the turn to wait for, nil where the call may be sent at once.
func (p *paces) queue(c charge, began time.Time) *turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.of[c.place]
	if q == nil {
		return nil
	}
	now := p.now()
	if len(q.waiting) == 0 {
		if now.Sub(q.refused) > quiet {
			delete(p.of, c.place)
			return nil
		}
		if !now.Before(q.next) {
			q.next = now.Add(p.gap(q, c.units))
			return nil
		}
	}
	t := &turn{began: began, units: c.units, come: make(chan struct{})}
	i, _ := slices.BinarySearchFunc(q.waiting, began, func(t *turn, began time.Time) int {
		if t.began.After(began) {
			return 1
		}
		return -1
	})
	q.waiting = slices.Insert(q.waiting, i, t)
	p.arm(q, now)
	return t
}

// arm sets the timer for the next turn.
func (p *paces) arm(q *pace, now time.Time) {
	if q.timer || len(q.waiting) == 0 {
		return
	}
	q.timer = true
	time.AfterFunc(q.next.Sub(now), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		q.timer = false
		now := p.now()
		if len(q.waiting) > 0 {
			t := q.waiting[0]
			q.waiting = q.waiting[1:]
			q.next = now.Add(p.gap(q, t.units))
			close(t.come)
		}
		p.arm(q, now)
	})
}

// leave gives a turn up.
func (p *paces) leave(place string, t *turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.of[place]; q != nil {
		q.waiting = slices.DeleteFunc(q.waiting, func(other *turn) bool { return other == t })
	}
}

// gap is the time to leave behind a write, up to half more or less, so that processes do not fall into step.
func (p *paces) gap(q *pace, units float64) time.Duration {
	seconds := units / q.rate * (0.5 + fraction(p.random))
	return min(time.Duration(seconds*float64(time.Second)), longestGap)
}

// took notes a write that was taken, whether it had to wait before, and when it was sent: the first refusal comes ahead of others' answers, which
// tell as well what the partition takes.
func (p *paces) took(charges []charge, limited bool, sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for _, c := range charges {
		taken := p.counter(c.place).add(c.units, now)
		switch q := p.of[c.place]; {
		case q == nil:
		case limited:
			q.rate += growth*q.rate + growthBy
		case sent.Before(q.cut):
			q.rate = max(q.rate, taken)
		}
	}
}

func (p *paces) counter(place string) *counter {
	return &p.count[maphash.String(p.seed, place)%counters]
}

// refuse notes that a place refused a write that was sent at a time.
func (p *paces) refuse(c charge, sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	q := p.of[c.place]
	switch {
	case q == nil:
		if !p.room(now) {
			return
		}
		q = &pace{rate: max(firstRate, p.counter(c.place).add(0, now)), cut: now}
		q.next = now.Add(p.gap(q, c.units))
		p.of[c.place] = q
	case !sent.Before(q.cut):
		q.rate, q.cut = max(leastRate, q.rate*(1-cut)), now
	}
	q.refused = now
}

// room makes room for one more pace where it can.
func (p *paces) room(now time.Time) bool {
	if len(p.of) < mostPaces {
		return true
	}
	for place, q := range p.of {
		if len(q.waiting) == 0 && now.Sub(q.refused) > quiet {
			delete(p.of, place)
		}
	}
	return len(p.of) < mostPaces
}
