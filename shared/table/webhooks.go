package table

import (
	"fmt"
	"strconv"
	"strings"
)

// LaneKind is the kind of the partitions that hold the lanes of webhook endpoints.
const LaneKind = "lane"

// Lane is how the deliveries to a webhook endpoint stand as a whole.
func Lane(acct, hook string) Key { return Work(LaneKind, acct, hook) }

// Webhook is a webhook endpoint of an account, with the secrets that sign what it gets.
func Webhook(acct, id string) Key { return Key{Join("HOOK", acct), Escape(id)} }

// Delivery is the delivery of an event to the webhook endpoint that was made at a time, in one of its shards, 0 and up.
func Delivery(acct, hook string, made int64, shard int, event string) Key {
	return Key{DeliveryPartition(acct, hook, made, shard), Escape(event)}
}

// DeliveryShard is the shard of so many in which the delivery of an event is put.
func DeliveryShard(event string, shards int) int { return shardOf(event, shards) }

// DeliveryPartition holds the deliveries to a webhook endpoint of a shard, 0 and up, and behind them where some of them wait.
func DeliveryPartition(acct, hook string, made int64, shard int) string {
	return Join("A", acct, "HOOK", hook, Time(made), strconv.Itoa(shard))
}

// ParseDeliveryPartition reads the shard of a DeliveryPartition. It fails on text that is none.
func ParseDeliveryPartition(pk string) (shard int, err error) {
	if shard, err = strconv.Atoi(pk[strings.LastIndexByte(pk, '#')+1:]); err != nil {
		return 0, fmt.Errorf("not a partition of deliveries: %q", pk)
	}
	return shard, nil
}

// Waits begins the sort keys of waiting deliveries, behind all event ids.
const Waits = "~"

// Waiting is where a delivery waits for a time, in the partition of the delivery.
func Waiting(delivery Key, ms int64) Key {
	return Key{delivery.PK, Waits + Time(ms) + "#" + delivery.SK}
}

// ParseWaiting reads the sort key of where a delivery waits: the delivery's and the time. It fails on text that is none.
func ParseWaiting(sk string) (delivery string, ms int64, err error) {
	at, delivery, ok := strings.Cut(strings.TrimPrefix(sk, Waits), "#")
	if ms, err = strconv.ParseInt(at, 10, 64); err != nil || !ok || Waits+Time(ms)+"#"+delivery != sk {
		return "", 0, fmt.Errorf("not where a delivery waits: %q", sk)
	}
	return delivery, ms, nil
}
