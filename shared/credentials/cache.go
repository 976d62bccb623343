package credentials

import (
	"context"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
)

// TTL is how long a decision about credentials may be old: the time of revocation. The gateway caches the authorizer's answers as long.
const TTL = 60 * time.Second

// maxCached is the number of keys after which the cache begins anew.
const maxCached = 10_000

// Cached returns a KeyStore that remembers the keys it found for TTL. Keys that do not exist, and failures, are not remembered: what an
// operator adds holds at once.
func Cached(keys KeyStore, now func() time.Time) KeyStore {
	return &cached{keys: keys, now: now, found: cache.New[string, collab.APIKey](maxCached)}
}

type cached struct {
	keys  KeyStore
	now   func() time.Time
	found *cache.Cache[string, collab.APIKey]
}

func (c *cached) APIKey(ctx context.Context, key string) (collab.APIKey, error) {
	now := c.now()
	if record, ok := c.found.Get(key, now); ok {
		return record, nil
	}
	record, err := c.keys.APIKey(ctx, key)
	if err == nil {
		c.found.Put(key, record, now.Add(TTL))
	}
	return record, err
}
