package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// watch returns a context for writes of heads, and what is called behind them: where the organization's index by time was too hot for one of
// them, the organization is spread over more partitions. Should that fail, the next write that is refused does it.
func (s *Store) watch(ctx context.Context, org collab.OrganizationRef) (watched context.Context, spread func()) {
	watched, hot := store.WatchIndex(ctx, table.IndexOrg)
	return watched, func() {
		if !hot() {
			return
		}
		if shards, err := s.Directory.Shards(ctx, org); err == nil && shards.Read < s.HotShards {
			_ = s.Directory.Spread(ctx, org, s.HotShards)
		}
	}
}
