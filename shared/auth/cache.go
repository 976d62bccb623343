package auth

import (
	"context"
	"sync"
	"time"

	"collabdata/shared/collab"
)

// TTL is how long a decision about credentials may be old: the time of revocation. The gateway caches the authorizer's answers as long.
const TTL = 60 * time.Second

// maxCached is the number of keys after which the cache begins anew.
const maxCached = 10_000

// Cached returns a KeyStore that remembers the keys it found for TTL. Keys that do not exist, and failures, are not remembered: what an
// operator adds holds at once.
func Cached(keys KeyStore, now func() time.Time) KeyStore {
	return &cache{keys: keys, now: now, found: make(map[string]entry)}
}

type cache struct {
	keys  KeyStore
	now   func() time.Time
	mu    sync.Mutex
	found map[string]entry
}

type entry struct {
	key   collab.APIKey
	until time.Time
}

func (c *cache) APIKey(ctx context.Context, key string) (collab.APIKey, error) {
	now := c.now()
	c.mu.Lock()
	e, ok := c.found[key]
	c.mu.Unlock()
	if ok && now.Before(e.until) {
		return e.key, nil
	}
	record, err := c.keys.APIKey(ctx, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		delete(c.found, key)
		return collab.APIKey{}, err
	}
	if len(c.found) >= maxCached {
		clear(c.found)
	}
	c.found[key] = entry{key: record, until: now.Add(TTL)}
	return record, nil
}
