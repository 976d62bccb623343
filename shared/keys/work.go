package keys

import (
	"hash/fnv"
	"slices"
	"strconv"

	"collabdata/shared/collab"
)

// DueShards is the number of partitions that pending work of a kind is spread over.
const DueShards = 10

// sharding says over how many partitions work is spread whose id was made from a moment on: ids sort by the time they were made. To have more
// partitions add a line with the first id of a moment after the deployment that brings it, and raise DueShards. Older work keeps its
// place, and old and new functions agree on it. Lanes keep the first number: their ids do not sort by time.
var sharding = []struct {
	from   string // an id
	shards uint32
}{
	{"", DueShards},
}

// WorkPartition holds the pending work of a kind in a shard, 0 to DueShards-1, by account.
func WorkPartition(kind string, shard int) string {
	return pendingWork.Partition(Parts{Kind: kind, Shard: strconv.Itoa(shard)})
}

// Work is pending work of a kind for an account: an event, or a lane, in the shard that both decide.
func Work(kind, acct, id string) Key {
	sk := Join(acct, id)
	h := fnv.New32a()
	h.Write([]byte(sk))
	var shards uint32
	for _, s := range sharding {
		if s.from == "" || id >= s.from && !slices.Contains([]string{LaneKind}, kind) {
			shards = s.shards
		}
	}
	return Key{WorkPartition(kind, int(h.Sum32()%shards)), sk}
}

// DueEmailPartition holds the emails of a shard, 0 to DueShards-1, by the minute in which they are due.
func DueEmailPartition(shard int) string {
	return dueEmail.Partition(Parts{Shard: strconv.Itoa(shard)})
}

// DueEmail is an email of an account that is due in the minute that begins at a time.
func DueEmail(minute collab.Millis, acct, id string) Key {
	h := fnv.New32a()
	h.Write([]byte(Join(acct, id)))
	return dueEmail.Key(Parts{Shard: strconv.Itoa(int(h.Sum32() % DueShards)), At: minute, Acct: acct, ID: id})
}

// ParseDueEmail reads the sort key of an email that is due. It fails on text that is none.
func ParseDueEmail(sk string) (minute collab.Millis, acct, id string, err error) {
	p, err := dueEmail.ParseSK(sk)
	return p.At, p.Acct, p.ID, err
}

// ParseWork reads the sort key of pending work. It fails on text that is none.
func ParseWork(sk string) (acct, id string, err error) {
	p, err := pendingWork.ParseSK(sk)
	return p.Acct, p.ID, err
}

// AfterAccount sorts after the pending work of an account, and before that of the next.
func AfterAccount(acct string) string { return Escape(acct) + AfterChildren }
