package keys

// Event is an event whose delivery has begun.
func Event(acct, id string) Key { return eventOf.Key(Parts{Acct: acct, Event: id}) }

// RecipientPage is a page of an event's recipients, as they were worked out, by the cursor at which it begins.
func RecipientPage(acct, id, cursor string) Key {
	return Key{Event(acct, id).PK, "RECIPIENTS#" + Escape(cursor)}
}

// Withdrawn says that the notification of an event was deleted: nobody is told of it any more.
func Withdrawn(acct, id string) Key { return Key{Event(acct, id).PK, "WITHDRAWN"} }

// Quarantine lists the events whose handling ended the process again and again.
const Quarantine = "QUARANTINE"

// Quarantined is an event in the quarantine.
func Quarantined(acct, event string) Key { return Key{Quarantine, Join(acct, event)} }
