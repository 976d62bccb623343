package table

import "fmt"

// Event is an event in the outbox.
func Event(acct, id string) Key { return Key{Join("A", acct, "EVT", id), "EVT"} }

// EventPeoplePrefix begins the sort keys of an event's list of people.
const EventPeoplePrefix = "EVT#PEOPLE#"

// EventPeople is a part of an event's list of people, where it is too long for the event.
func EventPeople(acct, id string, part int) Key {
	return Key{Join("A", acct, "EVT", id), fmt.Sprintf("%s%03d", EventPeoplePrefix, part)}
}

// EventPeopleEnd ends the span of sort keys from an event to the last part of its people.
const EventPeopleEnd = "EVT" + AfterChildren

// EventMark says that a step of an event's delivery was done, or is being done.
func EventMark(acct, id, name string) Key {
	return Key{Join("A", acct, "EVT", id), Marks + Escape(name)}
}

// Names of the marks of an event.
const (
	ProgressMark      = "PROGRESS"    // how far the delivery has come; sorts before all others
	RecipientPageMark = "recipients-" // and the cursor: one page of recipients, as they were worked out
)

// Quarantine lists the events whose handling ended the process again and again.
const Quarantine = "QUARANTINE"

// Quarantined is an event in the quarantine.
func Quarantined(acct, event string) Key { return Key{Quarantine, Join(acct, event)} }
