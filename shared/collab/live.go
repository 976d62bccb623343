package collab

import "cmp"

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
	MaxUserConnections     = 20 // of a person in an organization
	MaxDocumentConnections = 1_000
	LiveConnections        = 5_000
)

// Connections is how many connections the account may have, Unlimited for any number.
func (s Settings) Connections() int64 { return cmp.Or(s.LiveConnections, LiveConnections) }

// Connected is how many connections there are.
type Connected struct {
	User      int            // of the person in the organization
	Documents map[string]int // of each document, by id, counted up to MaxDocumentConnections
	Account   int64
}

// Check fails with RESOURCE_EXHAUSTED where one connection more is too many.
func (c Connected) Check(s Settings) error {
	if c.User >= MaxUserConnections {
		return Errorf(ResourceExhausted, "the user has %d connections in the organization already", c.User)
	}
	for id, n := range c.Documents {
		if n >= MaxDocumentConnections {
			return Errorf(ResourceExhausted, "document %q has %d connections already", id, n)
		}
	}
	if most := s.Connections(); most != Unlimited && c.Account >= most {
		return Errorf(ResourceExhausted, "the account has %d connections already: as many as its setting liveConnections lets it", c.Account)
	}
	return nil
}
