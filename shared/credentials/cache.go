package credentials

import (
	"context"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
)

// TTL is the maximum age of a decision about credentials, and so the delay of a revocation.
const TTL = 60 * time.Second

const maxCached = 10_000

const missingTTL = 10 * time.Second

// Cached returns a KeyStore that remembers results for TTL, and missing ones for 10 s. It does not
// remember failures.
func Cached(keys KeyStore, now func() time.Time) KeyStore {
	return &cached{keys, now, cache.New[string, known[collab.APIKey]](maxCached), cache.New[string, known[collab.Signing]](maxCached)}
}

type cached struct {
	keys    KeyStore
	now     func() time.Time
	apiKeys *cache.Cache[string, known[collab.APIKey]]
	signing *cache.Cache[string, known[collab.Signing]]
}

// known is a record, or the error that it does not exist.
type known[T any] struct {
	record T
	err    error
}

func (c *cached) APIKey(ctx context.Context, key string) (collab.APIKey, error) {
	return remember(ctx, c.apiKeys, key, c.now(), c.keys.APIKey)
}

func (c *cached) Signing(ctx context.Context, account string) (collab.Signing, error) {
	return remember(ctx, c.signing, account, c.now(), c.keys.Signing)
}

func remember[T any](
	ctx context.Context, c *cache.Cache[string, known[T]], id string, now time.Time, read func(context.Context, string) (T, error),
) (T, error) {
	if k, ok := c.Get(id, now); ok {
		return k.record, k.err
	}
	record, err := read(ctx, id)
	switch collab.CodeOf(err) {
	case "":
		c.Put(id, known[T]{record, nil}, now.Add(TTL))
	case collab.NotFound:
		c.Put(id, known[T]{record, err}, now.Add(missingTTL))
	}
	return record, err
}
