package collab

import (
	"time"
)

// Watch lists the documents of an organization whose changes a page receives while connected,
// besides the user's inbox.
type Watch struct {
	Account      string   `dynamodbav:"acct"`
	Organization string   `dynamodbav:"org"`
	User         string   `dynamodbav:"user"`
	Documents    []string `dynamodbav:"docs,omitempty"`
	Inbox        bool     `dynamodbav:"inbox,omitempty"`
}

// Connection is a connection that exists, or existed recently.
type Connection struct {
	ID string `dynamodbav:"-"` // from the gateway
	Watch
	At Millis `dynamodbav:"at"` // when it began
}

// Limits of connections. Settings limit those of an account and of a document.
const (
	ConnectionLifetime = 2 * time.Hour // the gateway's; then the page takes another ticket
	MaxUserConnections = 20            // of a user in an organization
)

// Connected counts connections.
type Connected struct {
	User      int            // of the user in the organization, up to one above the limit
	Documents map[string]int // of each document, by id, likewise
	Account   int64
}

// Check returns RESOURCE_EXHAUSTED if a limit is exceeded.
func (c Connected) Check(s Settings, more int) error {
	if c.User+more > MaxUserConnections {
		return Errorf(ResourceExhausted, "the user has %d connections in the organization already", MaxUserConnections)
	}
	s = s.OrDefaults()
	for id, n := range c.Documents {
		if limit := s.DocumentConnections; int64(n+more) > limit {
			return Errorf(ResourceExhausted, "document %q has %d connections already: as many as the setting documentConnections lets it", id, limit)
		}
	}
	if limit := s.LiveConnections; limit != Unlimited && c.Account+int64(more) > limit {
		return Errorf(ResourceExhausted, "the account has %d connections already: as many as its setting liveConnections lets it", limit)
	}
	return nil
}
