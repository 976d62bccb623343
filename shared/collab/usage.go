package collab

import (
	"context"
	"math"
	"sync"
)

// Usage sums the capacity that a request consumes. It is safe for concurrent use. A nil Usage
// counts nothing.
type Usage struct {
	mu          sync.Mutex
	read, write float64
	calls       int
	begun       sync.WaitGroup
	bound       *Bound
}

type usageKey struct{}

// WithUsage returns a context in which the store counts into u.
func WithUsage(ctx context.Context, u *Usage) context.Context {
	return context.WithValue(ctx, usageKey{}, u)
}

// UsageOf returns the context's Usage, or nil.
func UsageOf(ctx context.Context) *Usage {
	u, _ := ctx.Value(usageKey{}).(*Usage)
	return u
}

// Add counts one call with its capacity units.
func (u *Usage) Add(read, write float64) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.read += read
	u.write += write
	u.calls++
}

// Lost counts the write units of a call whose condition failed, which Add has counted without them.
// reserved are those of BeginWrite, which another attempt uses again.
func (u *Usage) Lost(write, reserved float64) {
	if u == nil {
		return
	}
	u.mu.Lock()
	u.write += write
	u.mu.Unlock()
	if b := u.limited(); b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.unbegun += reserved
		_ = b.Reserve(write, true)
	}
}

// Wait waits for everything that Later started in the request.
func (u *Usage) Wait() { u.begun.Wait() }

// Total returns read units, write units and calls.
func (u *Usage) Total() (read, write float64, calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.read, u.write, u.calls
}

// Bound limits the capacity of a request.
type Bound struct {
	Page float64 // read units after which a list ends its page

	// The following fields limit a person's request.
	Read, Write float64 // units
	// Reserve counts write units before they are used. It returns RESOURCE_EXHAUSTED, and counts
	// nothing, if the person must wait, unless force is set. A nil Reserve means no person.
	Reserve func(units float64, force bool) error

	mu       sync.Mutex
	ended    *sync.Cond     // a read has ended.
	reading  float64        // units of reads in progress, at most.
	sizes    map[string]int // of items that were read, by key.
	reserved float64        // write units
	unbegun  float64        // of these, units of writes that have not begun.
	lent     float64        // units that small writes took from unbegun
	largest  float64        // units of the largest item
	refused  error          // of the first reservation
}

// smallWrite is the most units of a write that a request makes without a reservation, such as a
// read state. The number of these is limited by the ids of a request.
const smallWrite = 10

// SetBound limits the request. It must be called before the request reads or writes.
func (u *Usage) SetBound(b *Bound) {
	b.sizes, b.ended = map[string]int{}, sync.NewCond(&b.mu)
	u.bound = b
}

// limited returns the bound of a person's request, nil for others.
func (u *Usage) limited() *Bound {
	if u == nil || u.bound == nil || u.bound.Reserve == nil {
		return nil
	}
	return u.bound
}

// Limited reports whether a person's bound limits the request.
func (u *Usage) Limited() bool { return u.limited() != nil }

// PageLeft returns the read units that a list may still use for its page, +Inf without a bound. The
// page ends if it is not positive.
func (u *Usage) PageLeft() float64 {
	if u == nil || u.bound == nil {
		return math.Inf(1)
	}
	read, _, _ := u.Total()
	return u.bound.Page - read
}

// ReadLeft returns the read units that the request may still use, +Inf without a limit.
func (u *Usage) ReadLeft() float64 {
	b := u.limited()
	if b == nil {
		return math.Inf(1)
	}
	read, _, _ := u.Total()
	return b.Read - read
}

// ErrRead is the error of a request that would exceed its read units.
var ErrRead error = Errorf(FailedPrecondition, "this reads too much for a person's request: send fewer ids, or narrower filters")

// BeginRead waits until up to units more fit beside the reads in progress. It returns ErrRead if
// they do not fit at all. The caller calls end after the read.
func (u *Usage) BeginRead(units float64) (end func(), err error) {
	b := u.limited()
	if b == nil {
		return func() {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for u.ReadLeft() < b.reading+units {
		if b.reading == 0 {
			return nil, ErrRead
		}
		b.ended.Wait()
	}
	b.reading += units
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reading -= units
		b.ended.Broadcast()
	}, nil
}

// Saw tells the size of an item.
func (u *Usage) Saw(key string, bytes int) {
	if b := u.limited(); b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sizes[key] = bytes
	}
}

// Size returns the size of an item that was read, and whether it was.
func (u *Usage) Size(key string) (bytes int, ok bool) {
	b := u.limited()
	if b == nil {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes, ok = b.sizes[key]
	return bytes, ok
}

// Reserve reserves the units of all writes that follow, before the first of them, so that the
// request makes all or none. largest is the share of the largest item, which may exceed the limit
// alone. It returns FAILED_PRECONDITION beyond the limit, and RESOURCE_EXHAUSTED if the person must
// wait.
func (u *Usage) Reserve(units, largest float64) error {
	b := u.limited()
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserve(units-b.unbegun, largest)
}

// reserve reserves further units.
func (b *Bound) reserve(units, largest float64) (err error) {
	if units <= 0 {
		return nil
	}
	if b.largest = max(b.largest, largest); b.reserved+units > max(b.Write, b.largest+smallWrite) {
		err = Errorf(FailedPrecondition, "this writes too much for a person's request: send fewer ids, or smaller parts")
	} else {
		err = b.Reserve(units, false)
	}
	if err == nil {
		b.reserved += units
		b.unbegun += units
	} else if b.reserved == 0 {
		b.refused = err
	}
	return err
}

// BeginWrite uses reserved units for a call, and reserves missing ones. It never refuses a few
// units, nor ones that small calls took from others. See Reserve.
func (u *Usage) BeginWrite(units, largest float64) (err error) {
	b := u.limited()
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	missing := max(0, units-b.unbegun)
	free := min(missing, b.lent)
	switch {
	case units <= smallWrite:
		free = missing
		b.lent += units - missing
	case missing <= smallWrite: // more than expected
		free = missing
	default:
		b.lent -= free
	}
	if free > 0 {
		_ = b.Reserve(free, true)
	}
	if missing > free {
		err = b.reserve(missing-free, largest)
	}
	if err == nil {
		b.unbegun = max(0, b.unbegun+free-units)
	}
	return err
}

// Refused returns the error with which the bound refused the request's first reservation, so that
// it has changed nothing.
func (u *Usage) Refused() error {
	b := u.limited()
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}
