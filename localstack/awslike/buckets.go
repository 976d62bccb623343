package main

import (
	"sync"
	"time"
)

// charge is what a call costs one partition.
type charge struct {
	place string // tablePlace, or the name of an index
	pk    string
	units float64
	item  int // position in a transaction
}

const tablePlace = "table"

// buckets limit the units of each partition key value of the table and of its indexes, reads and writes apart. A bucket holds one second
// of units. A call passes while there is anything in all of its buckets, and takes its units out, below zero where need be.
type buckets struct {
	mu sync.Mutex
	m  map[partition]*bucket
}

type partition struct {
	read      bool
	place, pk string
}

type bucket struct {
	units float64
	at    time.Time
}

const maxBuckets = 500_000

func (b *buckets) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.m = map[partition]*bucket{}
}

// fill returns a bucket with what came in since it was last looked at.
func (b *buckets) fill(of partition, rate float64, now time.Time) *bucket {
	x := b.m[of]
	if x == nil {
		if len(b.m) >= maxBuckets {
			b.m = map[partition]*bucket{}
		}
		x = &bucket{units: rate, at: now}
		b.m[of] = x
	}
	x.units = min(rate, x.units+rate*now.Sub(x.at).Seconds())
	x.at = now
	return x
}

// take takes the charges out of their buckets. If one of them is empty it takes nothing and returns that charge's position, else -1.
func (b *buckets) take(read bool, rate float64, charges []charge, now time.Time) (empty int) {
	if rate <= 0 {
		return -1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, c := range charges {
		if b.fill(partition{read, c.place, c.pk}, rate, now).units <= 0 {
			return i
		}
	}
	for _, c := range charges {
		b.m[partition{read, c.place, c.pk}].units -= c.units
	}
	return -1
}

// owe takes units out, whatever is left.
func (b *buckets) owe(read bool, rate float64, charges []charge, now time.Time) {
	if rate <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range charges {
		b.fill(partition{read, c.place, c.pk}, rate, now).units -= c.units
	}
}
