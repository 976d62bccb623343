package keys

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"collabdata/shared/collab"
)

// DueShards is the number of partitions of each kind of task in the index of due tasks.
const DueShards = 10

// FailedTasks is the kind, in the index, of tasks of all kinds that wait for the operator.
const FailedTasks = "failed"

// Task returns the key of a task.
func Task(t collab.TaskRef) Key {
	return task.Key(Parts{Acct: t.Account, Kind: string(t.Kind), ID: t.ID})
}

// DuePartition returns the partition of a kind, or of FailedTasks, in a shard, 0 to DueShards-1, of
// the index of due tasks.
func DuePartition(kind string, shard int) string { return Join("DUE", kind, strconv.Itoa(shard)) }

// DueTask returns the key of a task, by time, in the index of due tasks. kind is the task's kind or
// FailedTasks.
func DueTask(kind string, at collab.Millis, t collab.TaskRef) Key {
	h := fnv.New32a()
	h.Write([]byte(Join(t.Account, t.ID)))
	return Key{DuePartition(kind, int(h.Sum32()%DueShards)), Join(Time(at), string(t.Kind), t.Account, t.ID)}
}

// ParseDueTask parses a key of the index of due tasks.
func ParseDueTask(k Key) (at collab.Millis, failed bool, err error) {
	text, _, _ := strings.Cut(k.SK, "#")
	at, err = strconv.ParseInt(text, 10, 64)
	return at, strings.HasPrefix(k.PK, Join("DUE", FailedTasks, "")), err
}

// ParseTask parses the key of a task.
func ParseTask(k Key) (t collab.TaskRef, err error) {
	p, ok := task.Parse(k)
	if !ok {
		err = fmt.Errorf("not the key of a task: %q", k.PK)
	}
	return collab.TaskRef{Kind: collab.TaskKind(p.Kind), Account: p.Acct, ID: p.ID}, err
}
