// Package keys is the page that documents the table: every key, attribute and index name, and the queues. It builds names and changes
// nothing. The local server, the tests and the CDK app all make their tables and queues from it.
//
// # Keys
//
// Every partition key except those of API keys and connections, and of what the operator and the relay look at across accounts, names the
// account of the API key: no request can reach another account's data. In each part `%`, `#`, space, `!` and `"` are escaped as %XX,
// nothing else; parts are joined with `#`. So distinct ids give distinct keys, and as nothing in a part sorts before `#`, children sort
// right after their parent.
//
// Below an organization and a document, and in grants on a folder, their part has their incarnation after a `!`: what was deleted and
// added again under its id lies elsewhere. The keys below leave it out.
//
// The first part of a partition key is what a function's rights are granted by. `A` is the data that operations work on. Apart from it lie
// what the operator alone writes (`KEY`, `ACCOUNT`, `PROVIDER`, `ACCOUNTS`), what holds secrets (`PROVIDER`, `HOOK`, `UNSUBSCRIBE`,
// `TICKET`), and who is connected (`LIVE`, `CONNECTION`).
//
// The kinds of items with their keys are the table in kinds.go: keys are built and parsed from it, and a walk follows from it.
//
// # Indexes
//
// All are sparse; an item is in an index when it has the index's two key attributes.
//
//	index  partition key                                   sort key                          holds
//	in     …#O#<org>#L#<location>                          <doc>#<ann>                       heads
//	       …#O#<org>#F#<folder>                            DOC#<doc>, FLD#<folder>           documents and folders of a folder
//	       …#O#<org>#G#F#<folder>, …#G#D#<doc>             USR#<user>                        grants on a folder or document
//	by     …#O#<org>#U#<creator>                           <doc>#<ann>                       heads
//	st     …#O#<org>#S#<status>                            <doc>#<ann>                       heads
//	       …#O#<org>#D#<doc>#SEEN#<ann>                    <birth>#<user>                    what users have seen of an annotation
//	upd    the document's                                  <15 digits lastUpdated>#<ann>     heads
//	org    …#O#<org>#T                                     <15 digits lastUpdated>#<doc>#<ann>   heads
//
// lastUpdated is a key of two indexes and projected by none of the others, so that a new comment moves two index entries, not five.
package keys

import (
	"fmt"
	"strconv"
	"strings"

	"collabdata/shared/collab"
)

// Attribute names. Those of the keys and of what the indexes project are short, as they are stored up to six times.
const (
	PK      = "pk"
	SK      = "sk"
	Expires = "ttl" // DynamoDB deletes the item some time after this many seconds since epoch

	In     = "in"   // partition key of index in
	By     = "by"   // partition key of index by
	St     = "st"   // partition key of index st
	DocAnn = "da"   // sort key of in, by and st
	Upd    = "upd"  // sort key of index upd
	Org    = "org"  // partition key of index org
	OrgUpd = "orgu" // sort key of index org

	Creator   = "cr" // user id
	Location  = "lo" // location id
	Status    = "si" // status id
	CreatedAt = "ca" // milliseconds
	Narrowed  = "v"  // whom a visibility that is not public is for: NarrowedToMembers or NarrowedToSome
)

// Index names: `in` is `index-in`, and so on, as DynamoDB takes no name of two characters.
const (
	IndexIn  = "index-in"
	IndexBy  = "index-by"
	IndexSt  = "index-st"
	IndexUpd = "index-upd"
	IndexOrg = "index-org"
)

// Index is a global secondary index; every key attribute is a string.
type Index struct {
	Name         string
	PartitionKey string
	SortKey      string
	Projected    []string // non-key attributes it carries beside the table's keys
}

// Indexes returns the table's global secondary indexes.
func Indexes() []Index {
	return []Index{
		{IndexIn, In, DocAnn, []string{Creator, Status, CreatedAt, Narrowed, AddedBy, Incarnation, Disabled}}, // the last two of documents
		{IndexBy, By, DocAnn, []string{Location, Status, CreatedAt, Narrowed, AddedBy}},
		{IndexSt, St, DocAnn, []string{Location, Creator, CreatedAt, Narrowed}},
		{IndexUpd, PK, Upd, []string{Location, Creator, Status, CreatedAt, Narrowed, AddedBy}},
		{IndexOrg, Org, OrgUpd, []string{Location, Creator, Status, CreatedAt, Narrowed}},
	}
}

// IndexOf returns the index of a name; for "" what is the table's own: its keys.
func IndexOf(name string) Index {
	for _, ix := range Indexes() {
		if ix.Name == name {
			return ix
		}
	}
	return Index{PartitionKey: PK, SortKey: SK}
}

// Limits of DynamoDB on keys, in bytes. They hold for index keys too, which emulators may not check. Ids that passed collab.CheckID never
// give a longer one.
const (
	MaxPartitionKey = 2048
	MaxSortKey      = 1024
)

// Key is the primary key of an item, or the key of an index entry.
type Key struct{ PK, SK string }

// AfterChildren, appended to a prefix, sorts after all keys that begin with the prefix and a `#`.
const AfterChildren = "$"

// escaped are the bytes that parts of keys hold as %XX.
const escaped = "%# !\""

var (
	escaper   = strings.NewReplacer("%", "%25", "#", "%23", " ", "%20", "!", "%21", `"`, "%22")
	unescaper = strings.NewReplacer("%25", "%", "%23", "#", "%20", " ", "%21", "!", "%22", `"`)
)

// Escape returns s as a part of a key.
func Escape(s string) string { return escaper.Replace(s) }

// Unescape is the inverse of Escape. It fails on text that Escape never returns.
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

// part is a part of a key that names something in an incarnation: after a `!`, which no escaped part has, in base 36 to be short.
func part(id string, incarnation int64) string {
	if incarnation == 0 {
		return Escape(id)
	}
	return Escape(id) + "!" + strconv.FormatInt(incarnation, 36)
}

// parsePart is the inverse of part.
func parsePart(text string) (id string, incarnation int64, err error) {
	escaped, number, found := strings.Cut(text, "!")
	if id, err = Unescape(escaped); err == nil && found {
		if incarnation, err = strconv.ParseInt(number, 36, 64); err == nil && (incarnation < 1 || part(id, incarnation) != text) {
			err = fmt.Errorf("not a part of a key: %q", text)
		}
	}
	return id, incarnation, err
}

// inOrganization returns parts with those of an organization.
func inOrganization(org collab.OrganizationRef, p Parts) Parts {
	p.Acct, p.Org, p.OrgN = org.Account, org.Organization, org.Incarnation
	return p
}

// inDocument returns parts with those of a document.
func inDocument(doc collab.DocumentRef, p Parts) Parts {
	p.Doc, p.DocN = doc.Document, doc.Incarnation
	return inOrganization(doc.OrganizationRef, p)
}

// inFolder returns the parts of a folder and a user.
func inFolder(folder collab.FolderRef, user string) Parts {
	return inOrganization(folder.OrganizationRef, Parts{Folder: folder.Folder, FolderN: folder.Incarnation, User: user})
}

// Organization is the organization that parts name.
func (p *Parts) Organization() collab.OrganizationRef {
	return collab.OrganizationRef{Account: p.Acct, Organization: p.Org, Incarnation: p.OrgN}
}

// Document is the document that parts name.
func (p *Parts) Document() collab.DocumentRef {
	return collab.DocumentRef{OrganizationRef: p.Organization(), Document: p.Doc, Incarnation: p.DocN}
}

func documentPart(doc collab.DocumentRef) string { return part(doc.Document, doc.Incarnation) }

// below is a partition of an index below an organization.
func below(org collab.OrganizationRef, parts ...string) string {
	return OrganizationPartition(org) + "#" + Join(parts...)
}

// DocumentOf returns the document below an organization that a partition of heads and comments belongs to. It fails on text that is none.
func DocumentOf(org collab.OrganizationRef, pk string) (collab.DocumentRef, error) {
	var p Parts
	if doc := p.Document(); !thread.pk.parse(pk, &p) || p.Organization() != org {
		return doc, fmt.Errorf("not the partition of a document of %q: %q", org.Organization, pk)
	}
	return p.Document(), nil
}

// DocumentIDOf returns the id of the document that a partition of heads and comments belongs to. It fails on text that is none.
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

// Time writes a time in milliseconds as the 15 digits that keys carry.
func Time(ms int64) string { return digits(ms, 15) }

// digits writes a number, which is not negative, with zeros in front; the order of the texts is that of the numbers.
func digits(n int64, width int) string {
	const zeros = "0000000000000000"
	text := strconv.FormatInt(n, 10)
	if len(text) >= width {
		return text
	}
	return zeros[:width-len(text)] + text
}

// String is the key as logs show it.
func (k Key) String() string { return k.PK + " " + k.SK }
