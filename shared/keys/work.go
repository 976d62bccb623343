package keys

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// DueShards is the number of partitions that pending work of a kind is spread over.
const DueShards = 10

// WorkPartition holds the pending work of a kind in a shard, 0 to DueShards-1, by account.
func WorkPartition(kind string, shard int) string { return Join("DUE", kind, strconv.Itoa(shard)) }

// Work is pending work of a kind for an account: an event, or a lane, in the shard that both decide.
func Work(kind, acct, id string) Key {
	sk := Join(acct, id)
	h := fnv.New32a()
	h.Write([]byte(sk))
	return Key{WorkPartition(kind, int(h.Sum32()%DueShards)), sk}
}

// LaterWork is work of a kind that nobody looks at before a time, in milliseconds: it lies in its shard by that time.
func LaterWork(kind, acct, id string, at int64) Key {
	k := Work(kind, acct, id)
	return Key{k.PK, Time(at) + "#" + k.SK}
}

// ParseLaterWork reads the sort key of LaterWork as ParseWork does.
func ParseLaterWork(sk string) (acct, id string, err error) {
	_, behind, _ := strings.Cut(sk, "#")
	return ParseWork(behind)
}

// ParseWork reads the sort key of pending work. It fails on text that is none.
func ParseWork(sk string) (acct, id string, err error) {
	parts, err := Split(sk)
	if err == nil && len(parts) != 2 {
		err = fmt.Errorf("not the sort key of pending work: %q", sk)
	}
	if err != nil {
		return "", "", err
	}
	return parts[0], parts[1], nil
}

// BehindAccount sorts behind the pending work of an account, and before that of the next.
func BehindAccount(acct string) string { return Escape(acct) + AfterChildren }
