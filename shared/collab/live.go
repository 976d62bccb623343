package collab

import (
	"cmp"
	"time"
)

// Watch is what a person's page is told of while it has a connection: that something changed in documents of an organization, or in the
// person's inbox there.
type Watch struct {
	Account      string   `dynamodbav:"acct"`
	Organization string   `dynamodbav:"org"`
	User         string   `dynamodbav:"user"`
	Documents    []string `dynamodbav:"docs,omitempty"`
	Inbox        bool     `dynamodbav:"inbox,omitempty"`
}

// Connection is one that is there, or was until a short time ago.
type Connection struct {
	ID string `dynamodbav:"-"` // the gateway's
	Watch
	At Millis `dynamodbav:"at"` // when it began
}

// Bounds of connections. That of an account is a setting: see Settings.Connections.
const (
	ConnectionLifetime     = 30 * time.Minute // a page is told nothing later: it takes another ticket
	MaxUserConnections     = 20               // of a person in an organization
	MaxDocumentConnections = 1_000
	LiveConnections        = 5_000
)

// Connections is how many connections the account may have, Unlimited for any number.
func (s Settings) Connections() int64 { return cmp.Or(s.LiveConnections, LiveConnections) }

// Connected is how many connections there are.
type Connected struct {
	User      int            // of the person in the organization, counted up to one more than the bound
	Documents map[string]int // of each document, by id, counted likewise
	Account   int64
}

// Check fails with RESOURCE_EXHAUSTED where more connections than these are too many.
func (c Connected) Check(s Settings, more int) error {
	if c.User+more > MaxUserConnections {
		return Errorf(ResourceExhausted, "the user has %d connections in the organization already", MaxUserConnections)
	}
	for id, n := range c.Documents {
		if n+more > MaxDocumentConnections {
			return Errorf(ResourceExhausted, "document %q has %d connections already", id, MaxDocumentConnections)
		}
	}
	if most := s.Connections(); most != Unlimited && c.Account+int64(more) > most {
		return Errorf(ResourceExhausted, "the account has %d connections already: as many as its setting liveConnections lets it", most)
	}
	return nil
}
