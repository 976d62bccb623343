package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// record is one call.
type record struct {
	op                                                               string
	start, end                                                       time.Time
	in, out                                                          int // bytes
	read, write                                                      float64
	conflict, throttled, random, condition, failed, lost, background bool
	leftover                                                         int
}

// opStats are the calls of an operation.
type opStats struct {
	N, Conflicts, Throttles, RandomThrottles, ConditionsRefused, OtherFailures, Lost, Leftovers int
	BytesIn, BytesOut                                                                           int
	ReadUnits, WriteUnits                                                                       float64
	P50, P99                                                                                    float64 // milliseconds
	ms                                                                                          []float64
}

// heat is what one partition took.
type heat struct {
	units, peak, inSecond float64 // in all, in its busiest second, in the one under way
	second                int64
	throttles             int
}

type stats struct {
	mu     sync.Mutex
	since  time.Time
	ops    map[string]*opStats
	hot    map[partition]*heat
	marked []*record
}

const (
	maxMarked  = 200_000
	maxTimes   = 1_000_000 // of an operation
	maxHottest = 10        // partitions that a report names for each place
)

func (s *stats) reset(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since, s.ops, s.hot, s.marked = now, map[string]*opStats{}, map[partition]*heat{}, nil
}

func (s *stats) add(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.op
	if r.background {
		name = "background " + name
	}
	o := s.ops[name]
	if o == nil {
		o = &opStats{}
		s.ops[name] = o
	}
	o.N++
	o.BytesIn += r.in
	o.BytesOut += r.out
	o.ReadUnits += r.read
	o.WriteUnits += r.write
	o.Leftovers += r.leftover
	for n, is := range map[*int]bool{
		&o.Conflicts: r.conflict, &o.Throttles: r.throttled, &o.RandomThrottles: r.random,
		&o.ConditionsRefused: r.condition, &o.OtherFailures: r.failed && !r.condition, &o.Lost: r.lost,
	} {
		if is {
			*n++
		}
	}
	if len(o.ms) < maxTimes {
		o.ms = append(o.ms, float64(r.end.Sub(r.start).Microseconds())/1000)
	}
	if len(s.marked) < maxMarked && !r.background {
		s.marked = append(s.marked, r)
	}
}

func (s *stats) at(read bool, c charge) *heat {
	of := partition{read, c.place, c.pk}
	if s.hot[of] == nil {
		s.hot[of] = &heat{}
	}
	return s.hot[of]
}

func (s *stats) charge(read bool, charges ...charge) {
	second := time.Now().Unix()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range charges {
		h := s.at(read, c)
		h.units += c.units
		if h.second != second {
			h.second, h.inSecond = second, 0
		}
		h.inSecond += c.units
		h.peak = max(h.peak, h.inSecond)
	}
}

func (s *stats) throttledAt(read bool, c charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(read, c).throttles++
}

// report is what came since the last reset.
type report struct {
	Seconds float64
	Ops     map[string]*opStats
	Hottest map[string][]string // by place
}

func (s *stats) report(now time.Time) report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := report{Seconds: now.Sub(s.since).Seconds(), Ops: map[string]*opStats{}, Hottest: map[string][]string{}}
	for name, o := range s.ops {
		x := *o
		x.ms = slices.Sorted(slices.Values(o.ms))
		x.P50, x.P99 = quantile(x.ms, .5), quantile(x.ms, .99)
		r.Ops[name] = &x
	}
	byUnits := func(a, b partition) int { return cmp.Compare(s.hot[b].units, s.hot[a].units) }
	for _, p := range slices.SortedFunc(maps.Keys(s.hot), byUnits) {
		place := "write " + p.place
		if p.read {
			place = "read " + p.place
		}
		if h := s.hot[p]; len(r.Hottest[place]) < maxHottest {
			r.Hottest[place] = append(r.Hottest[place],
				fmt.Sprintf("%.0f units, busiest second %.0f, %d throttles: %s", h.units, h.peak, h.throttles, p.pk))
		}
	}
	return r
}

// quantile is by nearest rank; the values are sorted.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return values[min(len(values)-1, int(q*float64(len(values))))]
}

// marked is what came since the last mark, without the background.
type marked struct {
	Calls                 map[string]int
	Dynamo, SQS           int // calls
	Depth                 int // the longest chain of calls that did not overlap
	ReadUnits, WriteUnits float64
}

func (s *stats) mark() marked {
	s.mu.Lock()
	list := s.marked
	s.marked = nil
	s.mu.Unlock()
	m := marked{Calls: map[string]int{}, Depth: depth(list)}
	for _, r := range list {
		m.Calls[r.op]++
		if isData(r.op) {
			m.Dynamo++
		} else {
			m.SQS++
		}
		m.ReadUnits += r.read
		m.WriteUnits += r.write
	}
	return m
}

// depth is the length of the longest chain of calls of which none overlaps another.
func depth(list []*record) (n int) {
	var last time.Time
	for _, r := range slices.SortedFunc(slices.Values(list), func(a, b *record) int { return a.end.Compare(b.end) }) {
		if n == 0 || !r.start.Before(last) {
			n++
			last = r.end
		}
	}
	return n
}
