package table

import (
	"fmt"
	"hash/fnv"
	"strconv"
)

// Backlog says since when a queue is long.
func Backlog(queue string) Key { return Key{"BACKLOG", Escape(queue)} }

// DueShards is the number of partitions that pending work of a kind is spread over.
const DueShards = 10

func shardOf(id string, shards int) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(shards))
}

// WorkPartition holds the pending work of a kind in a shard, 0 to DueShards-1, by account.
func WorkPartition(kind string, shard int) string { return Join("DUE", kind, strconv.Itoa(shard)) }

// Work is pending work of a kind for an account, since a time, in the shard that the id decides.
func Work(kind, acct string, ms int64, id string) Key {
	return Key{WorkPartition(kind, shardOf(id, DueShards)), Escape(acct) + "#" + Time(ms) + "#" + Escape(id)}
}

// ParseWork reads the sort key of pending work. It fails on text that is none.
func ParseWork(sk string) (acct string, ms int64, id string, err error) {
	parts, err := Split(sk)
	if err != nil {
		return "", 0, "", err
	}
	if len(parts) == 3 {
		if ms, err = strconv.ParseInt(parts[1], 10, 64); err == nil && ms >= 0 && Time(ms) == parts[1] {
			return parts[0], ms, parts[2], nil
		}
	}
	return "", 0, "", fmt.Errorf("not the sort key of pending work: %q", sk)
}

// BehindAccount sorts behind the pending work of an account, and before that of the next.
func BehindAccount(acct string) string { return Escape(acct) + AfterChildren }
