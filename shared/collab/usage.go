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
