package collab

import (
	"context"
	"sync"
)

// Usage adds up what one request consumed of the table. Safe for concurrent use; a nil Usage counts nothing.
type Usage struct {
	mu          sync.Mutex
	read, write float64
	calls       int
	begun       sync.WaitGroup
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

// Add counts one call to the table that consumed these capacity units.
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

// Refused counts the write units of a call that was counted already, and refused.
func (u *Usage) Refused(write float64) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.write += write
}

// Wait waits for all that Later began in the request.
func (u *Usage) Wait() { u.begun.Wait() }

// Total returns read units, write units and calls so far.
func (u *Usage) Total() (read, write float64, calls int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.read, u.write, u.calls
}

type identityKey struct{}

// WithIdentity returns a context that carries whom the request's credentials speak for.
func WithIdentity(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// IdentityOf returns the context's Identity, and whether there is one.
func IdentityOf(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// RequestIDHeader is the header of every answer that has the id of its request.
const RequestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// WithRequestID returns a context that carries the id by which the log and the answer name the request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestIDOf returns the context's request id, or "".
func RequestIDOf(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
