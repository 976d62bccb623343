package keys

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is a kind of item: a row of the table. PK and SK are patterns of its key: text, and parts in
// braces. A part marked `!` carries the incarnation, and `:n` marks a number of n digits; all other
// parts are strings.
type Kind struct {
	Name string
	PK   string
	SK   string

	// Of is the owner's kind. The owner's items bind the parts of PK, or lead to it with a user.
	// A kind without an owner expires. An organization's item also binds its incarnation.
	Of *Kind
	// Alone is a kind below Of that locates this one, by In or else SK, if a walk visits only
	// that kind.
	Alone   *Kind
	In      string // pattern of its partition in index in
	Few     bool   // an owner has few: they are read with it
	Stays   bool   // it outlives its owner
	Expires bool   // DynamoDB deletes it
	// Attributes, or members of them such as body.actionUser, with user objects or ids.
	Users    string
	Mentions string     // attributes with texts that mention users as {{userId}}
	Told     ChangeKind // effect of a write on connected pages
	Line     string     // kinds of export lines that carry it: see package transfer
	NoLine   string     // reason why no export carries it

	pk, sk, in pattern
}

// Common beginnings of patterns.
const (
	inOrg      = "A#{acct}#O#{org!}"
	inDoc      = inOrg + "#D#{doc!}"
	inDelivery = "A#{acct}#HOOK#{id}#{created:15}"
)

// Reasons why exports omit several kinds.
const (
	ofNotifications = "notifications expire, and each belongs to an event"
	ofEvents        = "events, and work on them, expire"
)

var (
	apiKey             = kind(Kind{Name: "API key", PK: "KEY#{id}", SK: "KEY", Of: AnAccount, NoLine: "a credential of an account"})
	AnAccount          = kind(Kind{Name: "account", PK: "ACCOUNT#{acct}", SK: "ACCOUNT", Stays: true, NoLine: "an operator makes it"})
	accountAPIKey      = kind(Kind{Name: "API key of an account", PK: "ACCOUNT#{acct}", SK: "KEY#{id}", Of: AnAccount, NoLine: "a credential of an account"})
	permissionProvider = kind(Kind{Name: "permission provider", PK: "PROVIDER#{acct}", SK: "PROVIDER", Of: AnAccount, NoLine: "a setting of an account"})
	signingKeys        = kind(Kind{Name: "signing keys", PK: "SIGN#{acct}", SK: "SIGN", Of: AnAccount, NoLine: "a credential of an account"})
	accountEntry       = kind(Kind{Name: "entry in the list of accounts", PK: "ACCOUNTS", SK: "{acct}", Of: AnAccount, NoLine: "an operator makes it"})
	mailSecret         = kind(Kind{Name: "secret of unsubscribe tokens", PK: "UNSUBSCRIBE#{acct}", SK: "SECRET", Of: AnAccount, NoLine: "a credential of an account"})
	lastWebhook        = kind(Kind{Name: "last webhook added", PK: "HOOK#{acct}", SK: "!", Of: AnAccount, NoLine: "a setting of an account"})
	webhook            = kind(Kind{Name: "webhook", PK: "HOOK#{acct}", SK: "{id}", Of: AnAccount, NoLine: "a setting of an account"})
	quota              = kind(Kind{Name: "quota", PK: "A#{acct}#QUOTA", SK: "QUOTA", Expires: true, NoLine: "use of an account"})
	personQuota        = kind(Kind{Name: "quota of a person", PK: "A#{acct}#QUOTA", SK: "USER#{user}", Expires: true, NoLine: "use of an account"})
	noMailAddress      = kind(Kind{Name: "unsubscribed address", PK: "A#{acct}#NOMAIL", SK: "ADDRESS#{id}", Of: AnAccount, Stays: true, Line: "unsubscribed"})

	AnOrganization           = kind(Kind{Name: "organization", PK: "A#{acct}", SK: "ORG#{org}", Of: AnAccount, Line: "organization"})
	AMember                  = kind(Kind{Name: "member", PK: inOrg, SK: "USR#{user}", Of: AnOrganization, Told: AccessChanged, Line: "user grant"})
	AnOrganizationPreference = kind(Kind{Name: "preference for an organization", PK: inOrg, SK: "CFG#{user}", Of: AnOrganization, Line: "preference"})
	APreference              = kind(Kind{Name: "preference for a document", PK: inOrg + "#CFG", SK: "{doc}#{user}", Of: AnOrganization, Alone: ADocument, Line: "preference"})
	ADocumentGrant           = kind(Kind{Name: "grant on a document", PK: inOrg + "#GRANT", SK: "{user}#D#{doc!}", Of: AnOrganization, Alone: ADocument, In: inOrg + "#G#D#{doc!}", Told: AccessChanged, Line: "user grant"})
	AFolderGrant             = kind(Kind{Name: "grant on a folder", PK: inOrg + "#GRANT", SK: "{user}#F#{folder!}", Of: AnOrganization, Alone: folderOf, In: inOrg + "#G#F#{folder!}", Told: AccessChanged, Line: "user grant"})
	AnOpening                = kind(Kind{Name: "document opened to a removed user", PK: inOrg + "#GRANT", SK: "{user}#O#{doc!}", Of: AnOrganization, Alone: ADocument, In: inOrg + "#O#D#{doc!}", Told: AccessChanged, Line: "removal"})
	APlaceInGroup            = kind(Kind{Name: "place in a group", PK: inOrg + "#GRANT", SK: "{user}#G#{group}", Of: AnOrganization, Line: "group"})
	groupUser                = kind(Kind{Name: "user of a group", PK: inOrg + "#GRP#{group}", SK: "{user}", Of: APlaceInGroup, Line: "group"})
	inboxEntry               = kind(Kind{Name: "entry of an inbox", PK: inOrg + "#U#{user}", SK: "{at:15}#{id}", Of: AnOrganization, Expires: true, Told: InboxChanged, NoLine: ofNotifications})
	notificationState        = kind(Kind{Name: "state of a notification", PK: inOrg + "#READ#{user}", SK: "{at:15}#{id}", Of: AnOrganization, Expires: true, Told: InboxChanged, NoLine: ofNotifications})
	noMailUser               = kind(Kind{Name: "unsubscribed user", PK: "A#{acct}#NOMAIL", SK: "USER#{org}#{user}", Of: AnOrganization, Stays: true, Line: "unsubscribed"})
	readUntil                = kind(Kind{Name: "time until which all is read", PK: inOrg + "#READ#{user}", SK: "UNTIL", Of: AnOrganization, Expires: true, Told: InboxChanged, NoLine: ofNotifications})
	ADocument                = kind(Kind{Name: "document", PK: inOrg, SK: "DOC#{doc}", Of: AnOrganization, Line: "document"})
	folderOf                 = kind(Kind{Name: "folder", PK: inOrg, SK: "FLD#{folder}", Of: AnOrganization, Line: "folder"})
	groupOf                  = kind(Kind{Name: "group", PK: inOrg, SK: "GRP#{group}", Of: AnOrganization, Line: "group"})
	folderTree               = kind(Kind{Name: "changes of folders", PK: inOrg, SK: "TREE", Of: AnOrganization, NoLine: "a count of writes"})
	allEntry                 = kind(Kind{Name: "entry of everybody's inbox", PK: inOrg + "#ALL", SK: "{at:15}#{id}", Of: AnOrganization, Expires: true, Told: InboxChanged, NoLine: ofNotifications})
	ARemoval                 = kind(Kind{Name: "user taken out", PK: inOrg + "#GONE", SK: "{who}", Of: AnOrganization, Users: "usr", Line: "removal"})
	ARemovalFromFolder       = kind(Kind{Name: "user taken out of a folder", PK: inOrg + "#GONE", SK: "{who}#F#{folder!}", Of: AnOrganization, Users: "usr", Line: "removal"})

	AThread            = kind(Kind{Name: "thread", PK: inDoc, SK: "ANN#{ann}", Of: ADocument, Users: "from asg cr rby vis.users flw sug kept", Told: ThreadsChanged, Line: "annotation level"})
	AComment           = kind(Kind{Name: "comment", PK: inDoc, SK: "ANN#{ann}#CMT#{comment:16}", Of: ADocument, Users: "from cr tag rmv agn kept rea", Mentions: "txt htm", Told: ThreadsChanged, Line: "comment"})
	threadID           = kind(Kind{Name: "document of a thread", PK: inOrg + "#ID#{ann}", SK: "{doc!}", Of: AThread, Line: "annotation"})
	ADocumentReadState = kind(Kind{Name: "seen of a document", PK: inDoc + "#SEEN", SK: "{user}", Of: ADocument, Told: ThreadsChanged, Line: "readState"})
	AThreadReadState   = kind(Kind{Name: "seen of a thread", PK: inDoc + "#SEEN", SK: "{user}#{ann}", Of: ADocument, Told: ThreadsChanged, Line: "readState"})
	AFollowersList     = kind(Kind{Name: "followers of a document", PK: inDoc, SK: "FOLLOWERS", Of: ADocument, Users: "flw", Line: "level"})
	AGoneThread        = kind(Kind{Name: "thread that left", PK: inDoc + "#LEFT", SK: "{at:15}#{ann}", Of: ADocument, Expires: true, Users: "cr vis.users", NoLine: "a deleted thread"})
	importedThing      = kind(Kind{Name: "imported thing", PK: inOrg, SK: "IMPORTED#{kind}#{id}", Of: AnOrganization, NoLine: "of imports into this account"})
	undeliverable      = kind(Kind{Name: "address that accepts no email", PK: inOrg, SK: "NOMAIL#{user}", Of: AnOrganization, NoLine: "the email service reports it again"})
	anImport           = kind(Kind{Name: "imported thread", PK: inDoc, SK: "IMPORTED#{ann}", Of: ADocument, NoLine: "of imports into this account"})
	documentEntry      = kind(Kind{Name: "entry of a document's notifications", PK: inDoc + "#NTF", SK: "{at:15}#{id}", Of: ADocument, Expires: true, NoLine: ofNotifications})
	ANotification      = kind(Kind{Name: "notification", PK: inOrg + "#NTF#{id}", SK: "NTF", Of: documentEntry, Expires: true,
		Users: "to body.actionUser body.assignedTo body.displayHeadlineMessageTemplateData body.displayBodyMessageTemplateData body.sharedWithUserIds", NoLine: ofNotifications})
	recipients = kind(Kind{Name: "recipients of a notification", PK: inOrg + "#NTF#{id}", SK: "TO#{event}#{at:3}", Of: documentEntry, Few: true,
		Expires: true, Users: "body", NoLine: ofNotifications})
	ARemovalFromDocument = kind(Kind{Name: "user taken out of a document", PK: inDoc + "#GONE", SK: "{who}", Of: ADocument, Users: "usr", Line: "removal"})

	heartbeat = kind(Kind{Name: "heartbeat", PK: "DUE#heartbeat", SK: "HEARTBEAT", Expires: true, Told: Heartbeat, NoLine: "work of the deployment"})

	task            = kind(Kind{Name: "task", PK: "A#{acct}#TASK#{kind}#{id}", SK: "TASK", Expires: true, NoLine: ofEvents})
	waitingDelivery = kind(Kind{Name: "waiting delivery", PK: inDelivery, SK: "~{at:15}#{event}", Expires: true, NoLine: ofEvents})
	delivery        = kind(Kind{Name: "delivery", PK: inDelivery, SK: "{event}", Expires: true, NoLine: ofEvents})
	newDelivery     = kind(Kind{Name: "new delivery", PK: inDelivery + "#NEW", SK: "{event}", Expires: true, NoLine: ofEvents})
	job             = kind(Kind{Name: "job", PK: "A#{acct}#JOB#{id}", SK: "JOB", Expires: true, NoLine: ofEvents})
	keptAnswer      = kind(Kind{Name: "kept answer", PK: "A#{acct}#IDEM#{id}", SK: "IDEM", Expires: true, NoLine: "an answer to one request"})
	ticket          = kind(Kind{Name: "ticket", PK: "TICKET#{acct}", SK: "{id}", Expires: true, NoLine: "a connection of a page"})
	connection      = kind(Kind{Name: "connection", PK: "CONNECTION#{id}", SK: "CONNECTION", Expires: true, NoLine: "a connection of a page"})
	userConnection  = kind(Kind{Name: "connection of a user", PK: "LIVE#{acct}#O#{org}", SK: "{user}#{id}", Expires: true, NoLine: "a connection of a page"})
	watcher         = kind(Kind{Name: "connection to a document", PK: "LIVE#{acct}#O#{org}#D#{doc}", SK: "{user}#{id}", Expires: true, NoLine: "a connection of a page"})
	act             = kind(Kind{Name: "act", PK: "AUDIT#{acct}", SK: "{at:15}#{id}", Expires: true, NoLine: "the audit log of an account"})
	connectionCount = kind(Kind{Name: "count of connections", PK: "LIVE#{acct}", SK: "{at:15}", Expires: true, NoLine: "a connection of a page"})
)

// kinds are all kinds. Stored cursors of walks rely on their order.
var kinds = []*Kind{
	apiKey, AnAccount, accountAPIKey, permissionProvider, signingKeys, accountEntry, mailSecret, lastWebhook, webhook, quota,
	personQuota, noMailAddress, AnOrganization, AMember, AnOrganizationPreference, APreference, ADocumentGrant, AFolderGrant,
	AnOpening, APlaceInGroup, groupUser, inboxEntry, notificationState, noMailUser, readUntil, ADocument, folderOf, groupOf, folderTree, allEntry,
	ARemoval, ARemovalFromFolder, AThread, AComment, threadID, ADocumentReadState, AThreadReadState, AFollowersList, AGoneThread, documentEntry, ANotification,
	recipients, ARemovalFromDocument, heartbeat, task, waitingDelivery, delivery, newDelivery, job,
	keptAnswer, ticket, connection, userConnection, watcher, connectionCount, anImport, importedThing, undeliverable, act,
}

// kind returns a kind with its compiled patterns.
func kind(k Kind) *Kind {
	k.pk, k.sk, k.in = compile(k.PK), compile(k.SK), compile(k.In)
	return &k
}

// Kinds returns the table. Callers must not change it.
func Kinds() []*Kind { return kinds }

// KindOf returns the kind of a key with its parts, nil if there is none.
func KindOf(k Key) (*Kind, Parts) {
	for _, kind := range kinds {
		if p, ok := kind.Parse(k); ok {
			return kind, p
		}
	}
	return nil, Parts{}
}

// Large reports whether an item can have more than a few KB: a thread, a comment or a notification.
func Large(k Key) bool { return strings.HasPrefix(k.SK, Annotations) || k.SK == ANotification.SK }

// Parts are the parts of a key by their names in patterns. Missing incarnations and numbers are 0.
type Parts struct {
	Acct   string `json:"acct,omitempty"`
	Org    string `json:"org,omitempty"`
	Doc    string `json:"doc,omitempty"`
	Folder string `json:"folder,omitempty"`
	Ann    string `json:"ann,omitempty"`
	User   string `json:"user,omitempty"`
	Who    string `json:"who,omitempty"` // see Who
	Group  string `json:"group,omitempty"`
	ID     string `json:"id,omitempty"`
	Event  string `json:"event,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Shard  string `json:"shard,omitempty"`

	OrgN    int64 `json:"orgN,omitempty"` // incarnations
	DocN    int64 `json:"docN,omitempty"`
	FolderN int64 `json:"folderN,omitempty"`
	At      int64 `json:"at,omitempty"` // milliseconds
	Created int64 `json:"created,omitempty"`
	Comment int64 `json:"comment,omitempty"`
}

type field uint8

const (
	noField field = iota
	fAcct
	fOrg
	fDoc
	fFolder
	fAnn
	fUser
	fWho
	fGroup
	fID
	fEvent
	fKind
	fShard
	fAt
	fCreated
	fComment
)

var fields = []string{"", "acct", "org", "doc", "folder", "ann", "user", "who", "group", "id", "event", "kind", "shard", "at", "created", "comment"}

func (p *Parts) text(f field) *string {
	switch f {
	case fAcct:
		return &p.Acct
	case fOrg:
		return &p.Org
	case fDoc:
		return &p.Doc
	case fFolder:
		return &p.Folder
	case fAnn:
		return &p.Ann
	case fUser:
		return &p.User
	case fWho:
		return &p.Who
	case fGroup:
		return &p.Group
	case fID:
		return &p.ID
	case fEvent:
		return &p.Event
	case fKind:
		return &p.Kind
	}
	return &p.Shard
}

// number returns a number field, or the incarnation of a string field.
func (p *Parts) number(f field) *int64 {
	switch f {
	case fOrg:
		return &p.OrgN
	case fDoc:
		return &p.DocN
	case fFolder:
		return &p.FolderN
	case fAt:
		return &p.At
	case fCreated:
		return &p.Created
	}
	return &p.Comment
}

// step is a piece of a pattern: text, and the part after it.
type step struct {
	text        string
	field       field
	incarnation bool
	digits      int // of a number
}

type pattern []step

func compile(text string) (p pattern) {
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		s := step{text: before}
		if text = ""; found {
			name, after, _ := strings.Cut(rest, "}")
			text = after
			name, s.incarnation = strings.CutSuffix(name, "!")
			name, width, _ := strings.Cut(name, ":")
			s.digits, _ = strconv.Atoi(width)
			i := slices.Index(fields, name)
			if i < 1 {
				panic(fmt.Sprintf("pattern of keys: no part %q", name))
			}
			s.field = field(i)
		}
		p = append(p, s)
	}
	return p
}

func (p pattern) key(parts *Parts) string {
	b := make([]byte, 0, 128)
	for _, s := range p {
		b = s.append(append(b, s.text...), parts)
	}
	return string(b)
}

func (s *step) append(b []byte, parts *Parts) []byte {
	switch {
	case s.field == noField:
		return b
	case s.digits > 0:
		return append(b, digits(*parts.number(s.field), s.digits)...)
	}
	b = append(b, Escape(*parts.text(s.field))...)
	if s.incarnation {
		if n := *parts.number(s.field); n != 0 {
			b = strconv.AppendInt(append(b, '!'), n, 36)
		}
	}
	return b
}

func (p pattern) parse(text string, parts *Parts) bool {
	for _, s := range p {
		rest, ok := strings.CutPrefix(text, s.text)
		if !ok || s.field == noField {
			return ok && rest == ""
		}
		end := strings.IndexByte(rest, '#')
		if end < 0 {
			end = len(rest)
		}
		if !s.read(rest[:end], parts) {
			return false
		}
		text = rest[end:]
	}
	return text == ""
}

func (s *step) read(text string, parts *Parts) bool {
	if s.digits > 0 {
		n, err := strconv.ParseInt(text, 10, 64)
		*parts.number(s.field) = n
		return err == nil && n >= 0 && digits(n, s.digits) == text
	}
	var err error
	if s.incarnation {
		*parts.text(s.field), *parts.number(s.field), err = parsePart(text)
	} else {
		*parts.text(s.field), err = Unescape(text)
	}
	return err == nil
}

// Key returns the key of an item with parts.
func (k *Kind) Key(p Parts) Key { return Key{k.pk.key(&p), k.sk.key(&p)} }

// Partition returns the partition of items with parts.
func (k *Kind) Partition(p Parts) string { return k.pk.key(&p) }

// Parse parses a key. ok is false if the key is of another kind.
func (k *Kind) Parse(key Key) (p Parts, ok bool) {
	ok = k.pk.parse(key.PK, &p) && k.sk.parse(key.SK, &p)
	return p, ok
}

// ParseSK parses a sort key. It returns an error if the key is of another kind.
func (k *Kind) ParseSK(sk string) (p Parts, err error) {
	if !k.sk.parse(sk, &p) {
		err = fmt.Errorf("not the sort key of a %s: %q", k.Name, sk)
	}
	return p, err
}

// Naming returns the parts of an item's key with the incarnation of the thing that the item
// represents.
func (k *Kind) Naming(p Parts, incarnation int64) Parts {
	if last := k.sk[len(k.sk)-1]; !last.incarnation && (last.field == fOrg || last.field == fDoc || last.field == fFolder) {
		*p.number(last.field) = incarnation
	}
	return p
}

func (k *Kind) bound() (b [fComment + 1]bool) {
	for _, s := range slices.Concat(k.pk, k.sk) {
		b[s.field] = true
	}
	return b
}

// Place is a set of items in a partition, or in one of index in. It has all of them, those with a
// Prefix of the sort key, or only the one with that sort key.
type Place struct {
	In     bool
	PK     string
	Prefix string
	Exact  bool
}

// Below returns the place of the items of a kind that belong to an owner with parts. If user is
// set, it returns the place of that user's items. If root is true, a walk visits only the owner.
// The result ok is false if the kind does not belong to the owner, or if the place is unknown.
func (k *Kind) Below(owner *Kind, p Parts, user string, root bool) (at Place, ok bool) {
	if k.Of != owner && (!root || k.Alone != owner) {
		return at, false
	}
	bound := owner.bound()
	bound[noField] = true
	if user != "" {
		p.User, p.Who, bound[fUser], bound[fWho] = user, UserHash(p.Acct, user), true, true
	}
	all := func(steps pattern) bool {
		return !slices.ContainsFunc(steps, func(s step) bool { return !bound[s.field] })
	}
	switch {
	case k.Of != owner && k.In != "":
		return Place{In: true, PK: k.in.key(&p)}, true
	case !all(k.pk):
		return at, false
	}
	n := slices.IndexFunc(k.sk, func(s step) bool { return !bound[s.field] })
	if n < 0 {
		return Place{PK: k.pk.key(&p), Prefix: k.sk.key(&p), Exact: true}, true
	}
	return Place{PK: k.pk.key(&p), Prefix: k.sk[:n].key(&p) + k.sk[n].text}, true
}

// KindNamed returns the kind with a name, or nil.
func KindNamed(name string) *Kind {
	if i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.Name == name }); i >= 0 {
		return kinds[i]
	}
	return nil
}

// NamesUser reports whether the keys of the kind contain a user or a user's hash.
func (k *Kind) NamesUser() bool { return k.bound()[fUser] || k.bound()[fWho] }

// Names reports whether an item's key names one of the users.
func (k *Kind) Names(p Parts, users []string) bool {
	return slices.ContainsFunc(users, func(u string) bool { return p.User == u || p.Who == UserHash(p.Acct, u) })
}

// Hash returns a hash of ids, for keys without personal data or with too many parts.
func Hash(ids ...string) string {
	sum := sha256.Sum256([]byte(Join(ids...)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// UserHash returns a hash of a user for keys that outlive the user's personal data.
func UserHash(acct, user string) string {
	sum := sha256.Sum256([]byte(acct + "\x00" + user))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
