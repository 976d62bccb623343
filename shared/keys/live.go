package keys

import (
	"reflect"
	"slices"
	"strings"
)

// Ticket is a ticket for a connection that was not used yet.
func Ticket(acct, id string) Key { return ticket.Key(Parts{Acct: acct, ID: id}) }

// Connection is a connection by the gateway's id.
func Connection(id string) Key { return connection.Key(Parts{ID: id}) }

// ConnectionCounts holds how many connections of an account began in a span of time, and have not ended.
func ConnectionCounts(acct string) string { return connectionCount.Partition(Parts{Acct: acct}) }

// ConnectionCount is that of the span that begins at a time.
func ConnectionCount(acct string, ms int64) Key {
	return connectionCount.Key(Parts{Acct: acct, At: ms})
}

// ConnectionPartition holds the connections of an organization's users, whatever its incarnation.
func ConnectionPartition(acct, org string) string {
	return userConnection.Partition(Parts{Acct: acct, Org: org})
}

// WatcherPartition holds the connections that watch a document, whatever its incarnation.
func WatcherPartition(acct, org, doc string) string {
	return watcher.Partition(Parts{Acct: acct, Org: org, Doc: doc})
}

// ConnectionsOf begins the sort keys of a user's connections in both partitions.
func ConnectionsOf(user string) string { return Escape(user) + "#" }

// ConnectionOf is the sort key of a user's connection in both partitions.
func ConnectionOf(user, id string) string { return Join(user, id) }

// ParseConnectionOf reads the sort key of a user's connection. It fails on text that is none.
func ParseConnectionOf(sk string) (user, id string, err error) {
	p, err := watcher.ParseSK(sk)
	return p.User, p.ID, err
}

// ChangeKind is what an item that was written means to those who are connected.
type ChangeKind string

// The kinds.
const (
	ThreadsChanged ChangeKind = "threads"   // what a read of the document's threads shows
	InboxChanged   ChangeKind = "inbox"     // what is in inboxes of the organization
	Heartbeat      ChangeKind = "heartbeat" // nothing: it shows that the stream is read
)

// HeartbeatKey is that of the item which the relay writes each minute, so that readers of the stream notice where nothing comes.
func HeartbeatKey() Key { return heartbeat.Key(Parts{}) }

// Change says whom the write of an item concerns.
type Change struct {
	Kind                  ChangeKind
	Account, Organization string
	Document              string // "" for no document alone
	User                  string // "" for everyone
}

// ParseChange reads from an item's key what its write means to those who are connected; ok is false where that is nothing.
func ParseChange(k Key) (c Change, ok bool) {
	kind, p := KindOf(k)
	if kind == nil || kind.Told == "" {
		return c, false
	}
	return Change{Kind: kind.Told, Account: p.Acct, Organization: p.Org, Document: p.Doc, User: p.User}, true
}

// KeyFilter is a rule on an item's key, in the form of a filter of Lambda: each part of the key matches one of its patterns,
// `{"prefix": …}`, `{"suffix": …}` or a text.
type KeyFilter map[string][]any

// ChangeFilters pass every key of which ParseChange tells something, and few others.
func ChangeFilters() []KeyFilter {
	match := func(how, text string) any { return map[string]string{how: text} }
	var begins, ends []any // sort keys that begin with a text, else partitions that end with one
	add := func(list []any, pattern any) []any {
		if slices.ContainsFunc(list, func(p any) bool { return reflect.DeepEqual(p, pattern) }) {
			return list
		}
		return append(list, pattern)
	}
	for _, k := range kinds {
		switch first := k.sk[0]; {
		case k.Told == "", k.Told == Heartbeat:
		case first.text != "":
			begins = add(begins, match("prefix", first.text))
		case first.of == fAt:
			begins = add(begins, match("prefix", "00")) // a time
		default:
			ends = add(ends, match("suffix", k.PK[strings.LastIndexByte(k.PK, '#'):]))
		}
	}
	return []KeyFilter{{PK: {match("prefix", "A#")}, SK: begins}, {PK: ends}, {PK: {HeartbeatKey().PK}}}
}
