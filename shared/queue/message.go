package queue

import (
	"encoding/json"
	"errors"
	"fmt"

	"collabdata/shared/collab"
)

// Event asks deliver to deliver an event.
type Event struct {
	collab.EventRef
	Kind  collab.WorkKind // of its pending work; "" is EventWork
	Again bool            // a message was sent before
	Hops  int             // length of the chain of messages before it
	Due   collab.Millis   // of NoticeWork: the key of its due entry
}

// Lane asks deliver to work on the lane of a webhook endpoint.
type Lane struct {
	collab.LaneRef
	Token string // token of the reservation, or ""
	Hops  int    // see Event
}

// version is the version of sent messages. Decoding accepts only this version, and ignores unknown
// fields, so that fields can be added while older code runs. A change that older code would misread
// needs the next version; deploy code that accepts it before code that sends it.
const version = 1

// message is the JSON of both kinds of message. Each kind has its own queue.
type message struct {
	Version   int             `json:"v"`
	Account   string          `json:"account"`
	EventID   string          `json:"eventId,omitempty"`
	Kind      collab.WorkKind `json:"kind,omitempty"`
	Again     bool            `json:"again,omitempty"`
	WebhookID string          `json:"webhookId,omitempty"`
	Token     string          `json:"token,omitempty"`
	Hops      int             `json:"hops,omitempty"`
	Due       collab.Millis   `json:"due,omitempty"`
}

// Encode returns the text of the message. Its ids must be valid UTF-8.
func (e Event) Encode() string {
	return message{Account: e.Account, EventID: e.ID, Kind: e.Kind, Again: e.Again, Hops: e.Hops, Due: e.Due}.encode()
}

// Encode returns the text of the message. Its ids must be valid UTF-8.
func (l Lane) Encode() string {
	return message{Account: l.Account, WebhookID: l.WebhookID, Token: l.Token, Hops: l.Hops}.encode()
}

func (m message) encode() string {
	m.Version = version
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and integers always encode
	}
	return string(text)
}

// DecodeEvent decodes a message of the events queue.
func DecodeEvent(text string) (Event, error) {
	m, err := decode(text)
	if err == nil && (m.EventID == "" || m.WebhookID != "") {
		err = errors.New("queue: not the message of an event")
	}
	if err != nil {
		return Event{}, err
	}
	return Event{collab.EventRef{Account: m.Account, ID: m.EventID}, m.Kind, m.Again, m.Hops, m.Due}, nil
}

// DecodeLane decodes a message of the webhooks queue.
func DecodeLane(text string) (Lane, error) {
	m, err := decode(text)
	if err == nil && (m.WebhookID == "" || m.EventID != "") {
		err = errors.New("queue: not the message of a lane")
	}
	if err != nil {
		return Lane{}, err
	}
	return Lane{collab.LaneRef{Account: m.Account, WebhookID: m.WebhookID}, m.Token, m.Hops}, nil
}

func decode(text string) (message, error) {
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("queue: not a message: %w", err)
	}
	if m.Version != version {
		return m, fmt.Errorf("queue: a message of version %d, not %d", m.Version, version)
	}
	if m.Account == "" {
		return m, errors.New("queue: a message without an account")
	}
	return m, nil
}
