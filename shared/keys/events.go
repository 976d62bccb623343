package keys

import "fmt"

// Event is an event in the outbox.
func Event(acct, id string) Key { return Key{sharded(acct, Events, id), Escape(id)} }

// EventPeople is a part of an event's list of people, where it is too long for the event.
func EventPeople(acct, id string, part int) Key {
	return ofEvent(acct, id, fmt.Sprintf("%s#%03d", EventsPeople, part))
}

// EventPeopleEnd ends the span of sort keys from an event to the last part of its people.
func EventPeopleEnd(id string) string { return Escape(id) + "#" + EventsPeople + AfterChildren }

// RecipientPage is a page of an event's recipients, as they were worked out, by the cursor at which it begins.
func RecipientPage(acct, id, cursor string) Key {
	return ofEvent(acct, id, EventsRecipients+"#"+Escape(cursor))
}

// Withdrawn says that the notification of an event was deleted: nobody is told of it any more.
func Withdrawn(acct, id string) Key { return ofEvent(acct, id, "WITHDRAWN") }

// What follows the event's id in the sort keys of what an event has.
const (
	EventsPeople     = "PEOPLE"
	EventsRecipients = "RECIPIENTS"
)

func ofEvent(acct, id, what string) Key {
	k := Event(acct, id)
	return Key{k.PK, k.SK + "#" + what}
}

// Quarantine lists the events whose handling ended the process again and again.
const Quarantine = "QUARANTINE"

// Quarantined is an event in the quarantine.
func Quarantined(acct, event string) Key { return Key{Quarantine, Join(acct, event)} }
