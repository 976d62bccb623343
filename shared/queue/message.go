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
	Cursor string // where among the event's recipients to begin, in the words of whoever sends it; "" for the start
}

// Webhook asks deliver to post an event to a webhook endpoint.
type Webhook struct {
	collab.EventRef
	WebhookID string
	Attempt   int // 1 for the first
}

// version is the version of the messages that this code sends. It accepts that version only, with fields that it does not know, so that a
// field can be added while older code still takes messages. What older code would misread needs the next version, and code that takes it
// deployed before code that sends it.
const version = 1

// message is the JSON of both kinds of message, which each have their queue.
type message struct {
	Version   int    `json:"v"`
	Account   string `json:"account"`
	EventID   string `json:"eventId"`
	Cursor    string `json:"cursor,omitempty"`
	WebhookID string `json:"webhookId,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
}

// Encode returns the text of the message. Its ids must be valid UTF-8.
func (e Event) Encode() string {
	return message{Account: e.Account, EventID: e.ID, Cursor: e.Cursor}.encode()
}

// Encode returns the text of the message. Its ids must be valid UTF-8.
func (w Webhook) Encode() string {
	return message{Account: w.Account, EventID: w.ID, WebhookID: w.WebhookID, Attempt: w.Attempt}.encode()
}

func (m message) encode() string {
	m.Version = version
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and integers always have a JSON form
	}
	return string(text)
}

// DecodeEvent reads the text of a message from the events queue. It fails on any other text.
func DecodeEvent(text string) (Event, error) {
	m, err := decode(text)
	if err == nil && (m.WebhookID != "" || m.Attempt != 0) {
		err = errors.New("queue: a webhook's message is not an event's")
	}
	if err != nil {
		return Event{}, err
	}
	return Event{EventRef: m.ref(), Cursor: m.Cursor}, nil
}

// DecodeWebhook reads the text of a message from the webhooks queue. It fails on any other text.
func DecodeWebhook(text string) (Webhook, error) {
	m, err := decode(text)
	if err == nil && (m.WebhookID == "" || m.Attempt < 1 || m.Cursor != "") {
		err = errors.New("queue: not the message of a webhook")
	}
	if err != nil {
		return Webhook{}, err
	}
	return Webhook{EventRef: m.ref(), WebhookID: m.WebhookID, Attempt: m.Attempt}, nil
}

func (m message) ref() collab.EventRef { return collab.EventRef{Account: m.Account, ID: m.EventID} }

func decode(text string) (message, error) {
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("queue: not a message: %w", err)
	}
	if m.Version != version {
		return m, fmt.Errorf("queue: a message of version %d, not %d", m.Version, version)
	}
	if m.Account == "" || m.EventID == "" {
		return m, errors.New("queue: a message without account or event")
	}
	return m, nil
}
