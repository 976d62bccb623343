package keys

// Webhook returns the key of a webhook endpoint, with its secrets.
func Webhook(acct, id string) Key { return webhook.Key(Parts{Acct: acct, ID: id}) }

// LastWebhook returns the key of an item that changes with each endpoint that is added to an
// account. It sorts before all endpoints.
func LastWebhook(acct string) Key { return lastWebhook.Key(Parts{Acct: acct}) }

// Delivery returns the key of an attempted delivery to the webhook endpoint that was created at a
// time.
func Delivery(acct, hook string, created int64, event string) Key {
	return delivery.Key(Parts{Acct: acct, ID: hook, Created: created, Event: event})
}

// NewDelivery returns the key of a delivery before its first attempt.
func NewDelivery(acct, hook string, created int64, event string) Key {
	return newDelivery.Key(Parts{Acct: acct, ID: hook, Created: created, Event: event})
}

// Waits is the prefix of waiting deliveries' sort keys. It sorts after all event ids.
const Waits = "~"

// Waiting returns the key of the pointer to a delivery that waits until a time.
func Waiting(delivery Key, ms int64) Key {
	return Key{delivery.PK, Waits + Time(ms) + "#" + delivery.SK}
}

// ParseWaiting parses the sort key of a pointer.
func ParseWaiting(sk string) (delivery string, ms int64, err error) {
	p, err := waitingDelivery.ParseSK(sk)
	if err != nil {
		return "", 0, err
	}
	return Escape(p.Event), p.At, nil
}
