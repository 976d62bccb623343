// Package cache remembers values for a limited time.
package cache

import (
	"maps"
	"sync"
	"time"
)

// Cache maps keys to values with an expiry. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit   int
	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// New returns a Cache for up to limit values. If there are more, it forgets all.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]entry[V]{}}
}

// Get returns the value of a key, and whether it is valid at the time now.
func (c *Cache[K, V]) Get(k K, now time.Time) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[k]; now.Before(e.until) {
		return e.value, true
	}
	return value, false
}

// Last returns the last value of a key, even if it has expired.
func (c *Cache[K, V]) Last(k K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[k]
	return e.value, ok
}

// Expire ends the validity of a key's value. Last still returns it.
func (c *Cache[K, V]) Expire(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[k]; ok {
		c.entries[k] = entry[V]{value: e.value}
	}
}

// Delete forgets the values of the keys for which match returns true.
func (c *Cache[K, V]) Delete(match func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.entries, func(k K, _ entry[V]) bool { return match(k) })
}

// Put stores the value of a key until a time.
func (c *Cache[K, V]) Put(k K, value V, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.limit {
		clear(c.entries)
	}
	c.entries[k] = entry[V]{value, until}
}
