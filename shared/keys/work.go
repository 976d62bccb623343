package keys

import (
	"hash/fnv"
	"slices"
	"strconv"

	"collabdata/shared/collab"
)

// DueShards is the number of partitions of each kind of pending work.
const DueShards = 10

// sharding is the number of partitions for work with ids from a time on; ids sort by time. To add
// partitions, add a line with the first id of a time after the deployment, and raise DueShards.
// Older work keeps its partition, so old and new functions agree. Lanes keep the first number:
// their ids do not sort by time.
var sharding = []struct {
	from   string // an id
	shards uint32
}{
	{"", DueShards},
}

// WorkPartition returns the partition of the pending work of a kind in a shard, 0 to DueShards-1,
// by account.
func WorkPartition(kind string, shard int) string {
	return pendingWork.Partition(Parts{Kind: kind, Shard: strconv.Itoa(shard)})
}

// Work returns the key of an account's pending work of a kind. id is an event, a lane or a job.
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

// DueNoticePartition returns the partition of the notices of a shard, 0 to DueShards-1, by due
// minute.
func DueNoticePartition(shard int) string {
	return dueNotice.Partition(Parts{Shard: strconv.Itoa(shard)})
}

// DueNotice returns the key of an account's notice that is due in a minute.
func DueNotice(minute collab.Millis, acct, id string) Key {
	h := fnv.New32a()
	h.Write([]byte(Join(acct, id)))
	return dueNotice.Key(Parts{Shard: strconv.Itoa(int(h.Sum32() % DueShards)), At: minute, Acct: acct, ID: id})
}

// ParseDueNotice parses the sort key of a due notice.
func ParseDueNotice(sk string) (minute collab.Millis, acct, id string, err error) {
	p, err := dueNotice.ParseSK(sk)
	return p.At, p.Acct, p.ID, err
}

// ParseWork parses the sort key of pending work.
func ParseWork(sk string) (acct, id string, err error) {
	p, err := pendingWork.ParseSK(sk)
	return p.Acct, p.ID, err
}

// AfterAccount sorts after the pending work of an account, and before the next account's.
func AfterAccount(acct string) string { return Escape(acct) + AfterChildren }
