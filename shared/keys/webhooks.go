package keys

// LaneKind is the kind of the partitions that hold the lanes of webhook endpoints.
const LaneKind = "lane"

// Lane is how the deliveries to a webhook endpoint stand as a whole.
func Lane(acct, hook string) Key { return Work(LaneKind, acct, hook) }

// Webhook is a webhook endpoint of an account, with the secrets that sign what it gets.
func Webhook(acct, id string) Key { return webhook.Key(Parts{Acct: acct, ID: id}) }

// LastWebhook changes with each endpoint that is added to an account. It sorts before all endpoints.
func LastWebhook(acct string) Key { return lastWebhook.Key(Parts{Acct: acct}) }

// Delivery is the delivery of an event to the webhook endpoint that was created at a time, once it was attempted.
func Delivery(acct, hook string, created int64, event string) Key {
	return delivery.Key(Parts{Acct: acct, ID: hook, Created: created, Event: event})
}

// NewDelivery is a delivery before its first attempt.
func NewDelivery(acct, hook string, created int64, event string) Key {
	return newDelivery.Key(Parts{Acct: acct, ID: hook, Created: created, Event: event})
}

// Waits begins the sort keys of waiting deliveries, which come after all event ids.
const Waits = "~"

// Waiting is where a delivery waits for a time, in the partition of the delivery.
func Waiting(delivery Key, ms int64) Key {
	return Key{delivery.PK, Waits + Time(ms) + "#" + delivery.SK}
}

// ParseWaiting reads the sort key of where a delivery waits: the delivery's and the time. It fails on text that is none.
func ParseWaiting(sk string) (delivery string, ms int64, err error) {
	p, err := waitingDelivery.ParseSK(sk)
	if err != nil {
		return "", 0, err
	}
	return Escape(p.Event), p.At, nil
}
