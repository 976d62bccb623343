package collab

import (
	"context"
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

// Bound limits the capacity of a person's request. It asks before each write, and before reads of
// items of a known size.
type Bound struct {
	Write func(units float64) error // reserves write units
	Most  float64                   // write units of the request
	Read  float64                   // read units, at which further reads fail

	mu       sync.Mutex
	sizes    map[string]int // of large items that were read, by key
	reserved float64
	refused  error // of the first write
}

// fewWritten is the number of write units that count as none, such as those of a job.
const fewWritten = 10

// large is the size from which a Bound remembers items, in bytes.
const large = 1 << 10

// SetBound limits the request from now on.
func (u *Usage) SetBound(b *Bound) { b.sizes, u.bound = map[string]int{}, b }

// Saw tells the size of an item.
func (u *Usage) Saw(key string, bytes int) {
	if u == nil || u.bound == nil || bytes < large {
		return
	}
	u.bound.mu.Lock()
	defer u.bound.mu.Unlock()
	u.bound.sizes[key] = bytes
}

// Size returns the size of an item as it was read, 0 if it was small or not read.
func (u *Usage) Size(key string) int {
	if u == nil || u.bound == nil {
		return 0
	}
	u.bound.mu.Lock()
	defer u.bound.mu.Unlock()
	return u.bound.sizes[key]
}

// Bounded reports whether the request has a Bound.
func (u *Usage) Bounded() bool { return u != nil && u.bound != nil }

// BeforeWrite reserves the write units of items, some of which are large. It returns
// RESOURCE_EXHAUSTED beyond the bound. One large item can be written alone, whatever its size.
func (u *Usage) BeforeWrite(units float64, large int) error {
	if !u.Bounded() {
		return nil
	}
	b := u.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reserved+units > b.Most && (b.reserved > fewWritten || large > 1) {
		return b.tooMuch()
	}
	err := b.Write(units)
	if err == nil {
		b.reserved += units
	} else if b.reserved <= fewWritten && b.refused == nil {
		b.refused = err
	}
	return err
}

// RefusedFirst returns the error with which the bound refused the first write, if it did.
func (u *Usage) RefusedFirst() error {
	if !u.Bounded() {
		return nil
	}
	u.bound.mu.Lock()
	defer u.bound.mu.Unlock()
	return u.bound.refused
}

// MayWrite returns RESOURCE_EXHAUSTED if further write units would exceed the bound.
func (u *Usage) MayWrite(units float64) error {
	if !u.Bounded() {
		return nil
	}
	if _, written, _ := u.Total(); written+units > u.bound.Most {
		return u.bound.tooMuch()
	}
	return nil
}

func (b *Bound) tooMuch() error {
	return Errorf(ResourceExhausted, "the request would use more than %.0f write units: send it in smaller parts", b.Most)
}

// BeforeRead returns RESOURCE_EXHAUSTED if the request would exceed its read units.
func (u *Usage) BeforeRead(units float64) error {
	if !u.Bounded() {
		return nil
	}
	if read, _, _ := u.Total(); read+units > u.bound.Read {
		return Errorf(ResourceExhausted, "the request would use more than %.0f read units: send it in smaller parts", u.bound.Read)
	}
	return nil
}

// HasRead reports whether a person's request has used a tenth of its read units.
func (u *Usage) HasRead() bool {
	if !u.Bounded() {
		return false
	}
	read, _, _ := u.Total()
	return read > u.bound.Read/10
}

// EndsPage reports whether a list must end its page: a person's request has used half of its read
// units.
func (u *Usage) EndsPage() bool {
	if !u.Bounded() {
		return false
	}
	read, _, _ := u.Total()
	return read > u.bound.Read/2
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

// Refused counts the write units of a refused call, which Add has counted without them.
func (u *Usage) Refused(write float64) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.write += write
}

// Wait waits for everything that Later started in the request.
func (u *Usage) Wait() { u.begun.Wait() }

// Total returns read units, write units and calls.
func (u *Usage) Total() (read, write float64, calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.read, u.write, u.calls
}

type identityKey struct{}

// WithIdentity returns a context with the identity of the request's credentials.
func WithIdentity(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// IdentityOf returns the context's Identity, and whether there is one.
func IdentityOf(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// RequestIDHeader is the response header with the request's id.
const RequestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// WithRequestID returns a context with the request's id, as in the log and the response.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestIDOf returns the context's request id, or "".
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
