package keys

import (
	"encoding/hex"
	"hash/fnv"
	"strconv"
)

// APIKey is the item of an API key.
func APIKey(key string) Key { return Key{"KEY#" + Escape(key), "KEY"} }

// Account is the item of an account: its settings and whether it is disabled.
func Account(acct string) Key { return Key{Join("ACCOUNT", acct), "ACCOUNT"} }

// Quota is until when an account has paid for what it used of its quotas.
func Quota(acct string) Key { return Key{Join("A", acct, "QUOTA"), "QUOTA"} }

// PermissionProvider is the address and secret of an account's permission provider.
func PermissionProvider(acct string) Key { return Key{Join("PROVIDER", acct), "PROVIDER"} }

// Accounts is the operator's list of accounts; the sort key is the account.
const Accounts = "ACCOUNTS"

// AccountEntry is an account's entry in the operator's list.
func AccountEntry(acct string) Key { return Key{Accounts, Escape(acct)} }

// AccountAPIKey lists an API key under its account.
func AccountAPIKey(acct, key string) Key { return Key{Account(acct).PK, "KEY#" + Escape(key)} }

// Idempotency is the item of an Idempotency-Key; hash is the SHA-256 of path and key.
func Idempotency(acct string, hash [32]byte) Key {
	text := hex.EncodeToString(hash[:])
	return Key{sharded(acct, Answers, text), "KEY#" + text}
}

// Job is what a deletion means, and has left to be swept.
func Job(acct, id string) Key { return Key{sharded(acct, Jobs, id), Escape(id)} }

// JobProgress is how far a job has come.
func JobProgress(acct, id string) Key {
	k := Job(acct, id)
	return Key{k.PK, k.SK + "#PROGRESS"}
}

// Kinds of what an account has by ids alone. Each lies in Shards partitions, so that all of it can be read, and that one partition, which
// takes 1,000 writes a second, does not bound the account.
const (
	Events  = "EVT"
	Jobs    = "JOB"
	Answers = "IDEM" // under Idempotency-Keys
)

// Shards is the number of partitions of each of these kinds.
const Shards = 32

// Shard is a partition of what an account has of a kind, 0 to Shards-1.
func Shard(acct, kind string, shard int) string { return Join("A", acct, kind, strconv.Itoa(shard)) }

// sharded is the partition of an id of a kind.
func sharded(acct, kind, id string) string {
	h := fnv.New32a()
	h.Write([]byte(id))
	return Shard(acct, kind, int(h.Sum32()%Shards))
}
