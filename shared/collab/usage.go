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
