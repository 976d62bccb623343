package keys

// Event returns the key of an event whose delivery has begun.
func Event(acct, id string) Key { return eventOf.Key(Parts{Acct: acct, Event: id}) }
