package keys

import "strings"

// Ticket is a ticket for a connection that was not used yet.
func Ticket(acct, id string) Key { return Key{Join("TICKET", acct), Escape(id)} }

// Connection is a connection by the gateway's id.
func Connection(id string) Key { return Key{Join("CONNECTION", id), "CONNECTION"} }

// ConnectionCounts holds how many connections of an account began in a span of time, and have not ended.
func ConnectionCounts(acct string) string { return Join("LIVE", acct) }

// ConnectionCount is that of the span that begins at a time.
func ConnectionCount(acct string, ms int64) Key { return Key{ConnectionCounts(acct), Time(ms)} }

// ConnectionPartition holds the connections of an organization's users, whatever its incarnation.
func ConnectionPartition(acct, org string) string { return Join("LIVE", acct, "O", org) }

// WatcherPartition holds the connections that watch a document, whatever its incarnation.
func WatcherPartition(acct, org, doc string) string { return Join("LIVE", acct, "O", org, "D", doc) }

// ConnectionsOf begins the sort keys of a user's connections in both partitions.
func ConnectionsOf(user string) string { return Escape(user) + "#" }

// ConnectionOf is the sort key of a user's connection in both partitions.
func ConnectionOf(user, id string) string { return Join(user, id) }

// ParseConnectionOf reads the sort key of a user's connection. It fails on text that is none.
func ParseConnectionOf(sk string) (user, id string, err error) {
	escaped, rest, _ := strings.Cut(sk, "#")
	if user, err = Unescape(escaped); err == nil {
		id, err = Unescape(rest)
	}
	return user, id, err
}

// ChangeKind is what an item that was written means to those who are connected.
type ChangeKind string

// The kinds.
const (
	ThreadsChanged ChangeKind = "threads" // what a read of the document's threads shows
	InboxChanged   ChangeKind = "inbox"   // what is in inboxes of the organization
	AccessChanged  ChangeKind = "access"  // who may see documents of the organization
)

// Change says whom the write of an item concerns.
type Change struct {
	Kind                  ChangeKind
	Account, Organization string
	Document              string // "" for no document alone
	User                  string // "" for everyone
}

// ParseChange reads from an item's key what its write means to those who are connected; ok is false where that is nothing.
func ParseChange(k Key) (c Change, ok bool) {
	parts := strings.Split(k.PK, "#")
	if len(parts) < 2 || parts[0] != "A" {
		return c, false
	}
	var err error
	text := func(part string) (id string) {
		if err == nil {
			id, _, err = parsePart(part)
		}
		return id
	}
	c.Account = text(parts[1])
	owner, _, _ := strings.Cut(k.SK, "#")
	after := func(prefix string) string { return text(strings.TrimPrefix(k.SK, prefix)) }
	place := ""
	if len(parts) >= 4 && parts[2] == "O" {
		c.Organization, place = text(parts[3]), strings.Join(parts[4:], "#")
	}
	begins := func(prefix string) bool { return strings.HasPrefix(k.SK, prefix) }
	switch {
	case len(parts) == 2 && begins(Organizations):
		c.Kind, c.Organization = AccessChanged, after(Organizations)
	case c.Organization == "":
	case place == "" && begins(Documents):
		c.Kind, c.Document = AccessChanged, after(Documents)
	case place == "" && begins(Members):
		c.Kind, c.User = AccessChanged, after(Members)
	case place == "" && (begins(Folders) || k.SK == "TREE"):
		c.Kind = AccessChanged
	case place == "GRANT", place == "GONE":
		c.Kind, c.User = AccessChanged, text(owner)
	case place == "ALL":
		c.Kind = InboxChanged
	case len(parts) == 6 && (parts[4] == "U" || parts[4] == "READ"):
		c.Kind, c.User = InboxChanged, text(parts[5])
	case len(parts) == 6 && parts[4] == "D" && begins(Annotations):
		c.Kind, c.Document = ThreadsChanged, text(parts[5])
	case len(parts) == 7 && parts[4] == "D" && parts[6] == "SEEN":
		c.Kind, c.Document, c.User = ThreadsChanged, text(parts[5]), text(owner)
	case len(parts) == 7 && parts[4] == "D" && parts[6] == "GONE":
		c.Kind, c.User = AccessChanged, text(owner)
	}
	return c, c.Kind != "" && err == nil
}

// KeyFilter is a rule on an item's key, in the form of a filter of Lambda: each part of the key matches one of its patterns,
// `{"prefix": …}`, `{"suffix": …}` or a text.
type KeyFilter map[string][]any

// ChangeFilters pass every key of which ParseChange tells something, and few others.
func ChangeFilters() []KeyFilter {
	prefix := func(text string) any { return map[string]string{"prefix": text} }
	suffix := func(text string) any { return map[string]string{"suffix": text} }
	return []KeyFilter{
		{PK: {prefix("A#")}, SK: {
			prefix(Annotations), prefix(Organizations), prefix(Documents), prefix(Folders), prefix(Members), "TREE",
			prefix("00"), // times, which begin the keys of lists of notifications
		}},
		{PK: {suffix("#SEEN"), suffix("#GRANT"), suffix("#GONE")}},
	}
}
