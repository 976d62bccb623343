// Package keys documents the table: all keys, attributes, index names, and the queues. It only
// builds names. The local server, the tests and the CDK app create their tables and queues from it.
//
// # Keys
//
// Every partition key names the account of the API key, so that no request can reach another
// account's data. The exceptions are API keys, connections, and lists of the operator and the
// relay. In each part, `%`, `#`, space, `!` and `"` are escaped as %XX; parts are joined with `#`.
// So distinct ids give distinct keys, and children sort right after their parent, because nothing
// in a part sorts before `#`.
//
// Below an organization and a document, and in grants on a folder, their part has their incarnation
// after a `!`. So an id that is deleted and added again has other keys. The keys below omit it.
//
// A function's rights depend on the first part of a partition key. `A` is the data of operations.
// Separate parts hold data that only the operator writes (`KEY`, `ACCOUNT`, `PROVIDER`,
// `ACCOUNTS`), secrets (`PROVIDER`, `HOOK`, `UNSUBSCRIBE`, `TICKET`), and connections (`LIVE`,
// `CONNECTION`).
//
// The table in kinds.go lists the kinds of items with their keys. Keys are built and parsed from
// it, and walks follow it.
//
// # Indexes
//
// All indexes are sparse: an item is in an index if it has both of its key attributes.
//
//	index  partition key                        sort key                 holds
//	in     …#O#<org>#L#<location>               <doc>#<ann>              heads
//	       …#O#<org>#F#<folder>                 DOC#<doc>, FLD#<folder>  a folder's contents
//	       …#O#<org>#G#F#<folder>, …#G#D#<doc>  USR#<user>               grants
//	by     …#O#<org>#U#<creator>                <doc>#<ann>              heads
//	st     …#O#<org>#S#<status>                 <doc>#<ann>              heads
//	upd    the document's                       <updated>#<ann>          heads
//	org    …#O#<org>#T                          <updated>#<doc>#<ann>    heads
//	       the document's, …#E                  <ann>#<event>            events
//	due    DUE#<kind>#<shard>                   <time>#<kind>#<acct>#<id>  waiting tasks
//
// updated is lastUpdated with 15 digits. It is a key of two indexes, and the others do not project
// it, so that a new comment moves two index entries instead of five.
package keys

import (
	"fmt"
	"strconv"
	"strings"

	"collabdata/shared/collab"
)

// Attribute names. Those of keys and projections are short, because they are stored up to six
// times.
const (
	PK      = "pk"
	SK      = "sk"
	Expires = "ttl" // Unix seconds after which DynamoDB deletes the item

	In     = "in"   // partition key
	By     = "by"   // partition key
	St     = "st"   // partition key
	DocAnn = "da"   // sort key of in, by and st
	Upd    = "upd"  // sort key
	Org    = "org"  // partition key
	OrgUpd = "orgu" // sort key of org
	Due    = "due"  // partition key
	DueAt  = "duea" // sort key of due

	Creator   = "cr" // user id
	Location  = "lo" // location id
	Status    = "si" // status id
	ByAgent   = "agt"
	CreatedAt = "ca" // milliseconds
	Narrowed  = "v"  // NarrowedToMembers or NarrowedToSome, if not public
)

// Index names. DynamoDB does not accept names of two characters, so `in` is `index-in`.
const (
	IndexIn  = "index-in"
	IndexBy  = "index-by"
	IndexSt  = "index-st"
	IndexUpd = "index-upd"
	IndexOrg = "index-org"
	IndexDue = "index-due"
)

// Index is a global secondary index. Its key attributes are strings.
type Index struct {
	Name         string
	PartitionKey string
	SortKey      string
	Projected    []string // attributes besides the keys
}

// Indexes returns the table's global secondary indexes.
func Indexes() []Index {
	return []Index{
		// The last two belong to documents.
		{IndexIn, In, DocAnn, []string{Creator, Status, CreatedAt, Narrowed, AddedBy, Incarnation, Disabled}},
		{IndexBy, By, DocAnn, []string{Location, Status, CreatedAt, Narrowed, AddedBy}},
		{IndexSt, St, DocAnn, []string{Location, Creator, CreatedAt, Narrowed}},
		{IndexUpd, PK, Upd, []string{Location, Creator, Status, CreatedAt, Narrowed, AddedBy}},
		{IndexOrg, Org, OrgUpd, []string{Location, Creator, Status, CreatedAt, Narrowed}},
		{IndexDue, Due, DueAt, []string{StartedAt, Attempts}},
	}
}

// IndexOf returns the index of a name, or the table's own keys for "".
func IndexOf(name string) Index {
	for _, ix := range Indexes() {
		if ix.Name == name {
			return ix
		}
	}
	return Index{PartitionKey: PK, SortKey: SK}
}

// Limits of DynamoDB on keys, in bytes. They also hold for index keys, which emulators may not
// check. Ids that pass collab.CheckID never exceed them.
const (
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
)

// Key is the primary key of an item, or the key of an index entry.
type Key struct{ PK, SK string }

// AfterChildren, appended to a prefix, sorts after all keys that begin with the prefix and `#`.
const AfterChildren = "$"

const escaped = "%# !\""

var (
	escaper   = strings.NewReplacer("%", "%25", "#", "%23", " ", "%20", "!", "%21", `"`, "%22")
	unescaper = strings.NewReplacer("%25", "%", "%23", "#", "%20", " ", "%21", "!", "%22", `"`)
)

// Escape returns s as a part of a key.
func Escape(s string) string { return escaper.Replace(s) }

// Unescape is the inverse of Escape. It returns an error for text that Escape never returns.
func Unescape(part string) (string, error) {
	if !strings.ContainsAny(part, escaped) {
		return part, nil
	}
	s := unescaper.Replace(part)
	if Escape(s) != part {
		return "", fmt.Errorf("key part has a byte that is not escaped, or an escape that is none: %q", part)
	}
	return s, nil
}

// Join escapes the parts and joins them with `#`.
func Join(parts ...string) string {
	n := len(parts)
	for _, p := range parts {
		n += len(p)
	}
	var b strings.Builder
	b.Grow(n)
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('#')
		}
		b.WriteString(Escape(p))
	}
	return b.String()
}

// part returns a part with an id and, unless it is 0, an incarnation in base 36 after a `!`.
func part(id string, incarnation int64) string {
	if incarnation == 0 {
		return Escape(id)
	}
	return Escape(id) + "!" + strconv.FormatInt(incarnation, 36)
}

func parsePart(text string) (id string, incarnation int64, err error) {
	escaped, number, found := strings.Cut(text, "!")
	if id, err = Unescape(escaped); err == nil && found {
		if incarnation, err = strconv.ParseInt(number, 36, 64); err == nil && (incarnation < 1 || part(id, incarnation) != text) {
			err = fmt.Errorf("not a part of a key: %q", text)
		}
	}
	return id, incarnation, err
}

func inOrganization(org collab.OrganizationRef, p Parts) Parts {
	p.Acct, p.Org, p.OrgN = org.Account, org.Organization, org.Incarnation
	return p
}

func inDocument(doc collab.DocumentRef, p Parts) Parts {
	p.Doc, p.DocN = doc.Document, doc.Incarnation
	return inOrganization(doc.OrganizationRef, p)
}

func inFolder(folder collab.FolderRef, user string) Parts {
	return inOrganization(folder.OrganizationRef, Parts{Folder: folder.Folder, FolderN: folder.Incarnation, User: user})
}

// Organization returns the organization of the parts.
func (p *Parts) Organization() collab.OrganizationRef {
	return collab.OrganizationRef{Account: p.Acct, Organization: p.Org, Incarnation: p.OrgN}
}

// Document returns the document of the parts.
func (p *Parts) Document() collab.DocumentRef {
	return collab.DocumentRef{OrganizationRef: p.Organization(), Document: p.Doc, Incarnation: p.DocN}
}

func documentPart(doc collab.DocumentRef) string { return part(doc.Document, doc.Incarnation) }

func below(org collab.OrganizationRef, parts ...string) string {
	return OrganizationPartition(org) + "#" + Join(parts...)
}

// DocumentOf returns the document whose heads and comments are in a partition.
func DocumentOf(org collab.OrganizationRef, pk string) (collab.DocumentRef, error) {
	var p Parts
	if doc := p.Document(); !AThread.pk.parse(pk, &p) || p.Organization() != org {
		return doc, fmt.Errorf("not the partition of a document of %q: %q", org.Organization, pk)
	}
	return p.Document(), nil
}

// DocumentIDOf returns the id of the document whose heads and comments are in a partition.
func DocumentIDOf(pk string) (string, error) {
	id, _, err := parsePart(pk[strings.LastIndexByte(pk, '#')+1:])
	return id, err
}

// Split is the inverse of Join.
func Split(key string) ([]string, error) {
	parts := strings.Split(key, "#")
	for i, p := range parts {
		var err error
		if parts[i], err = Unescape(p); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// Time formats a time in milliseconds with 15 digits.
func Time(ms int64) string { return digits(ms, 15) }

// digits formats a non-negative number with leading zeros, so that texts sort like numbers.
func digits(n int64, width int) string {
	const zeros = "0000000000000000"
	text := strconv.FormatInt(n, 10)
	if len(text) >= width {
		return text
	}
	return zeros[:width-len(text)] + text
}

// String returns the key for logs.
func (k Key) String() string { return k.PK + " " + k.SK }
