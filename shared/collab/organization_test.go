package collab

import (
	"fmt"
	"testing"
)

// TestShards holds that documents are spread evenly over all partitions that are written to, each always to the same.
func TestShards(t *testing.T) {
	for _, n := range []int{0, 1, 8, MaxShards} {
		s := Shards{Read: n, Write: n}
		count := map[int]int{}
		const documents = 6_400
		for i := range documents {
			count[s.Of(fmt.Sprint("document", i))]++
		}
		for shard := range max(1, n) {
			if got, fair := count[shard], documents/max(1, n); got < fair/2 || got > 2*fair {
				t.Errorf("%d of %d documents in shard %d of %d", got, documents, shard, n)
			}
		}
		if len(count) != max(1, n) {
			t.Errorf("%d partitions of %d", len(count), n)
		}
	}
}
