package keys

import (
	"reflect"
	"slices"
	"strings"
)

// Ticket returns the key of an unused ticket.
func Ticket(acct, id string) Key { return ticket.Key(Parts{Acct: acct, ID: id}) }

// Connection returns the key of a connection by the gateway's id.
func Connection(id string) Key { return connection.Key(Parts{ID: id}) }

// ConnectionCounts returns the partition of the counts of an account's open connections, by span of
// their start.
func ConnectionCounts(acct string) string { return connectionCount.Partition(Parts{Acct: acct}) }

// ConnectionCount returns the key of the count of the span that begins at a time.
func ConnectionCount(acct string, ms int64) Key {
	return connectionCount.Key(Parts{Acct: acct, At: ms})
}

// ConnectionPartition returns the partition of the connections of an organization's users, for all
// incarnations.
func ConnectionPartition(acct, org string) string {
	return userConnection.Partition(Parts{Acct: acct, Org: org})
}

// WatcherPartition returns the partition of the connections that watch a document, for all
// incarnations.
func WatcherPartition(acct, org, doc string) string {
	return watcher.Partition(Parts{Acct: acct, Org: org, Doc: doc})
}

// ConnectionsOf returns the prefix of a user's connections in both partitions.
func ConnectionsOf(user string) string { return Escape(user) + "#" }

// ConnectionOf returns the sort key of a user's connection in both partitions.
func ConnectionOf(user, id string) string { return Join(user, id) }

// ParseConnectionOf parses the sort key of a user's connection.
func ParseConnectionOf(sk string) (user, id string, err error) {
	p, err := watcher.ParseSK(sk)
	return p.User, p.ID, err
}

// ChangeKind is the effect of a written item on connected pages.
type ChangeKind string

const (
	ThreadsChanged ChangeKind = "threads"   // the document's threads
	InboxChanged   ChangeKind = "inbox"     // inboxes of the organization
	AccessChanged  ChangeKind = "access"    // a user's connections in the organization
	Heartbeat      ChangeKind = "heartbeat" // none: shows that the stream is read
)

// HeartbeatKey returns the key of the item that the relay writes each minute, so that readers of
// the stream notice an interruption.
func HeartbeatKey() Key { return heartbeat.Key(Parts{}) }

// Change is the scope of a written item.
type Change struct {
	Kind                  ChangeKind
	Account, Organization string
	Document              string // "" for none
	User                  string // "" for everyone
}

// ParseChange returns the effect of a write on connected pages, by the item's key. ok is false if
// there is none.
func ParseChange(k Key) (c Change, ok bool) {
	kind, p := KindOf(k)
	if kind == nil || kind.Told == "" {
		return c, false
	}
	if kind.Told == AccessChanged { // the last write of a removal deletes such an item
		p.Doc = ""
	}
	return Change{Kind: kind.Told, Account: p.Acct, Organization: p.Org, Document: p.Doc, User: p.User}, true
}

// KeyFilter is a filter of Lambda on an item's key: each part of the key matches one of its
// patterns, `{"prefix": …}`, `{"suffix": …}` or a string.
type KeyFilter map[string][]any

// ChangeFilters returns filters that pass every key with a Change, and few others.
func ChangeFilters() []KeyFilter {
	match := func(how, text string) any { return map[string]string{how: text} }
	// Prefixes of sort keys, and suffixes of partitions for the others.
	var begins, ends []any
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
		case first.field == fAt:
			begins = add(begins, match("prefix", "00")) // a time
		default:
			ends = add(ends, match("suffix", k.PK[strings.LastIndexByte(k.PK, '#'):]))
		}
	}
	return []KeyFilter{{PK: {match("prefix", "A#")}, SK: begins}, {PK: ends}, {PK: {HeartbeatKey().PK}}}
}
