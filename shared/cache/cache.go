// Package cache remembers what was read, for a while.
package cache

import (
	"sync"
	"time"
)

// Cache remembers values by key. Safe for concurrent use.
type Cache[K comparable, V any] struct {
	most    int
	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	until time.Time
}

// New returns a Cache of the size most: when there are more, all are forgotten.
func New[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, entries: map[K]entry[V]{}}
}

// Get returns the value of a key, and whether one is remembered at the time now: else the zero value.
func (c *Cache[K, V]) Get(k K, now time.Time) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[k]; now.Before(e.until) {
		return e.value, true
	}
	return value, false
}

// Last returns the value that a key had last, even if its time is over.
func (c *Cache[K, V]) Last(k K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[k]
	return e.value, ok
}

// Forget forgets the value of a key.
func (c *Cache[K, V]) Forget(k K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, k)
}

// Put remembers the value of a key until a time.
func (c *Cache[K, V]) Put(k K, value V, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.most {
		clear(c.entries)
	}
	c.entries[k] = entry[V]{value, until}
}
