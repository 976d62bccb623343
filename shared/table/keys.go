package table

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// AfterChildren, behind a prefix, sorts behind all keys that begin with the prefix and a `#`.
const AfterChildren = "$"

// APIKey is the item of an API key.
func APIKey(key string) Key { return Key{"KEY#" + Escape(key), "KEY"} }

// Account is the item of an account: its settings and whether it is disabled.
func Account(acct string) Key { return Key{Join("ACCOUNT", acct), "ACCOUNT"} }

// Quota is until when an account has paid for what it used of its quotas.
func Quota(acct string) Key { return Key{Join("A", acct, "QUOTA"), "QUOTA"} }

// PermissionProvider is the address and secret of an account's permission provider.
func PermissionProvider(acct string) Key { return Key{Join("PROVIDER", acct), "PROVIDER"} }

// Accounts is the operator's list of accounts; the sort key is the account.
const Accounts = "ACCOUNTS"

// AccountEntry is an account's entry in the operator's list.
func AccountEntry(acct string) Key { return Key{Accounts, Escape(acct)} }

// AccountAPIKey lists an API key under its account.
func AccountAPIKey(acct, key string) Key { return Key{Account(acct).PK, "KEY#" + Escape(key)} }

// Prefixes of sort keys.
const (
	Organizations = "ORG#"  // in the account's partition
	Documents     = "DOC#"  // in the organization's partition, and in a folder of index in
	Folders       = "FLD#"  // the same
	Members       = "USR#"  // in the organization's partition
	Annotations   = "ANN#"  // in the document's partition: heads and comments
	Marks         = "MARK#" // in the event's partition
)

// Organization is the item of an organization.
func Organization(acct, org string) Key { return Key{Join("A", acct), Organizations + Escape(org)} }

// OrganizationPartition holds the organization's documents, folders and members.
func OrganizationPartition(acct, org string) string { return Join("A", acct, "O", org) }

// OrganizationOf returns the partition of the organization that a partition belongs to, as is each of an index; "" where it is no
// organization's.
func OrganizationOf(pk string) string {
	if parts := strings.SplitN(pk, "#", 5); len(parts) > 3 && parts[0] == "A" && parts[2] == "O" {
		return strings.Join(parts[:4], "#")
	}
	return ""
}

// Document is the item of a document.
func Document(acct, org, doc string) Key {
	return Key{OrganizationPartition(acct, org), Documents + Escape(doc)}
}

// Folder is the item of a folder.
func Folder(acct, org, folder string) Key {
	return Key{OrganizationPartition(acct, org), Folders + Escape(folder)}
}

// Member is the item of a user of the organization.
func Member(acct, org, user string) Key {
	return Key{OrganizationPartition(acct, org), Members + Escape(user)}
}

// DocumentPartition holds the heads and comments of a document's annotations, and is the partition of index upd.
func DocumentPartition(acct, org, doc string) string { return Join("A", acct, "O", org, "D", doc) }

// Annotation is the head of an annotation.
func Annotation(acct, org, doc, ann string) Key {
	return Key{DocumentPartition(acct, org, doc), Annotations + Escape(ann)}
}

const commentPart = "#CMT#"

// AfterComments, behind the sort key of a head, sorts behind its comments and before every other key.
const AfterComments = commentPart + "~"

// Comment is a comment of an annotation.
func Comment(acct, org, doc, ann string, id int64) Key {
	return Key{DocumentPartition(acct, org, doc), Annotations + Escape(ann) + commentPart + CommentDigits(id)}
}

// CommentDigits writes a comment id as the 16 digits that keys carry.
func CommentDigits(id int64) string { return digits(id, 16) }

// ParseAnnotation reads the sort key of a head or comment: the annotation's id, and the comment's, 0 for a head. It fails on text that is
// neither.
func ParseAnnotation(sk string) (ann string, comment int64, err error) {
	parts, err := Split(sk)
	switch {
	case err != nil:
		return "", 0, err
	case len(parts) == 2 && parts[0]+"#" == Annotations:
		return parts[1], 0, nil
	case len(parts) == 4 && parts[0]+"#" == Annotations && parts[2] == "CMT":
		comment, err = strconv.ParseInt(parts[3], 10, 64)
		if err == nil && comment > 0 && CommentDigits(comment) == parts[3] {
			return parts[1], comment, nil
		}
	}
	return "", 0, fmt.Errorf("not the sort key of an annotation: %q", sk)
}

// AnnotationID is the look-up item that finds an annotation id without its document.
func AnnotationID(acct, org, ann, doc string) Key {
	return Key{Join("A", acct, "O", org, "ID", ann), Escape(doc)}
}

// Preference is a user's notification preference for a document.
func Preference(acct, org, user, doc string) Key {
	return Key{Join("A", acct, "O", org, "CFG", user), "DOC#" + Escape(doc)}
}

// OrganizationPreference is a user's notification preference for the organization.
func OrganizationPreference(acct, org, user string) Key {
	return Key{Join("A", acct, "O", org, "CFG", user), "ORG"}
}

// Notification is a stored notification.
func Notification(acct, org, id string) Key { return Key{Join("A", acct, "O", org, "NTF", id), "NTF"} }

// UserNotification points to a notification from a user's list.
func UserNotification(acct, org, user string, ms int64, id string) Key {
	return Key{Join("A", acct, "O", org, "U", user), Time(ms) + "#" + Escape(id)}
}

// AllNotification points to a notification from the organization's list for all.
func AllNotification(acct, org string, ms int64, id string) Key {
	return Key{Join("A", acct, "O", org, "ALL"), Time(ms) + "#" + Escape(id)}
}

// NotificationState is what a user did with a notification of the list for all: read, clicked.
func NotificationState(acct, org, user string, ms int64, id string) Key {
	return Key{Join("A", acct, "O", org, "READ", user), Time(ms) + "#" + Escape(id)}
}

// Event is an event in the outbox.
func Event(acct, id string) Key { return Key{Join("A", acct, "EVT", id), "EVT"} }

// EventPeoplePrefix begins the sort keys of an event's list of people.
const EventPeoplePrefix = "EVT#PEOPLE#"

// EventPeople is a part of an event's list of people, where it is too long for the event.
func EventPeople(acct, id string, part int) Key {
	return Key{Join("A", acct, "EVT", id), fmt.Sprintf("%s%03d", EventPeoplePrefix, part)}
}

// EventPeopleEnd ends the span of sort keys from an event to the last part of its people.
const EventPeopleEnd = "EVT" + AfterChildren

// EventMark says that a step of an event's delivery was done, or is being done.
func EventMark(acct, id, name string) Key {
	return Key{Join("A", acct, "EVT", id), Marks + Escape(name)}
}

// Names of the marks of an event.
const (
	ProgressMark = "PROGRESS" // how far the delivery has come; sorts before all others
	CircleMark   = "circle-"  // and the cursor: recipients of one part of the delivery, as they were worked out
)

// MailEntry is a mail to a user about an event of a thread; ann is "" for an event that belongs to none. Several become one mail.
func MailEntry(acct, org, doc, ann, user, event string) Key {
	return Key{Join("A", acct, "O", org, "D", doc, "M", ann, user), Escape(event)}
}

// MailSecret is the secret that signs the tokens by which the recipients of an account's mails unsubscribe.
func MailSecret(acct string) Key { return Key{noMail(acct), "SECRET"} }

// UnsubscribedAddress says that an address, by its hash, gets no mail of an account.
func UnsubscribedAddress(acct, hash string) Key { return Key{noMail(acct), "ADDRESS#" + hash} }

// UnsubscribedUser says that a user of an organization gets no mail.
func UnsubscribedUser(acct, org, user string) Key {
	return Key{noMail(acct), "USER#" + Join(org, user)}
}

func noMail(acct string) string { return Join("A", acct, "NOMAIL") }

// Backlog says since when a queue is long.
func Backlog(queue string) Key { return Key{"BACKLOG", Escape(queue)} }

// DueShards is the number of partitions that pending work of a kind is spread over.
const DueShards = 10

func shardOf(id string, shards int) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(shards))
}

// WorkPartition holds the pending work of a kind in a shard, 0 to DueShards-1, by account.
func WorkPartition(kind string, shard int) string { return Join("DUE", kind, strconv.Itoa(shard)) }

// Work is pending work of a kind for an account, since a time, in the shard that the id decides.
func Work(kind, acct string, ms int64, id string) Key {
	return Key{WorkPartition(kind, shardOf(id, DueShards)), Escape(acct) + "#" + Time(ms) + "#" + Escape(id)}
}

// ParseWork reads the sort key of pending work. It fails on text that is none.
func ParseWork(sk string) (acct string, ms int64, id string, err error) {
	parts, err := Split(sk)
	if err != nil {
		return "", 0, "", err
	}
	if len(parts) == 3 {
		if ms, err = strconv.ParseInt(parts[1], 10, 64); err == nil && ms >= 0 && Time(ms) == parts[1] {
			return parts[0], ms, parts[2], nil
		}
	}
	return "", 0, "", fmt.Errorf("not the sort key of pending work: %q", sk)
}

// BehindAccount sorts behind the pending work of an account, and before that of the next.
func BehindAccount(acct string) string { return Escape(acct) + AfterChildren }

// LaneKind is the kind of the partitions that hold the lanes of webhook endpoints.
const LaneKind = "lane"

// Lane is how the deliveries to a webhook endpoint stand as a whole.
func Lane(acct, hook string) Key {
	return Key{WorkPartition(LaneKind, shardOf(acct+"#"+hook, DueShards)), Join(acct, hook)}
}

// ParseLane reads the sort key of a lane. It fails on text that is none.
func ParseLane(sk string) (acct, hook string, err error) {
	parts, err := Split(sk)
	if err == nil && len(parts) != 2 {
		err = fmt.Errorf("not the sort key of a lane: %q", sk)
	}
	if err != nil {
		return "", "", err
	}
	return parts[0], parts[1], nil
}

// DuePartition held the pending work of a shard, 0 to DueShards-1, by time, before it was divided by kind.
func DuePartition(shard int) string { return "DUE#" + strconv.Itoa(shard) }

// ParseDue reads a sort key of a DuePartition. It fails on text that is none.
func ParseDue(sk string) (ms int64, kind, acct, id string, err error) {
	parts, err := Split(sk)
	if err != nil {
		return 0, "", "", "", err
	}
	if len(parts) == 4 {
		ms, err = strconv.ParseInt(parts[0], 10, 64)
		if err == nil && ms >= 0 && Time(ms) == parts[0] {
			return ms, parts[1], parts[2], parts[3], nil
		}
	}
	return 0, "", "", "", fmt.Errorf("not the sort key of pending work: %q", sk)
}

// Quarantine lists the events whose handling ended the process again and again.
const Quarantine = "QUARANTINE"

// Quarantined is an event in the quarantine.
func Quarantined(acct, event string) Key { return Key{Quarantine, Join(acct, event)} }

// Webhook is a webhook endpoint of an account, with the secrets that sign what it gets.
func Webhook(acct, id string) Key { return Key{Join("HOOK", acct), Escape(id)} }

// Delivery is the delivery of an event to the webhook endpoint that was made at a time, in one of its shards, 0 and up.
func Delivery(acct, hook string, made int64, shard int, event string) Key {
	return Key{DeliveryPartition(acct, hook, made, shard), Escape(event)}
}

// DeliveryShard is the shard of so many in which the delivery of an event is put.
func DeliveryShard(event string, shards int) int { return shardOf(event, shards) }

// DeliveryPartition holds the deliveries to a webhook endpoint of a shard, 0 and up, and behind them where some of them wait.
func DeliveryPartition(acct, hook string, made int64, shard int) string {
	return Join("A", acct, "HOOK", hook, Time(made), strconv.Itoa(shard))
}

// ParseDeliveryPartition reads the shard of a DeliveryPartition. It fails on text that is none.
func ParseDeliveryPartition(pk string) (shard int, err error) {
	if shard, err = strconv.Atoi(pk[strings.LastIndexByte(pk, '#')+1:]); err != nil {
		return 0, fmt.Errorf("not a partition of deliveries: %q", pk)
	}
	return shard, nil
}

// Waits begins the sort keys of waiting deliveries, behind all event ids.
const Waits = "~"

// Waiting is where a delivery waits for a time, in the partition of the delivery.
func Waiting(delivery Key, ms int64) Key {
	return Key{delivery.PK, Waits + Time(ms) + "#" + delivery.SK}
}

// ParseWaiting reads the sort key of where a delivery waits: the delivery's and the time. It fails on text that is none.
func ParseWaiting(sk string) (delivery string, ms int64, err error) {
	at, delivery, ok := strings.Cut(strings.TrimPrefix(sk, Waits), "#")
	if ms, err = strconv.ParseInt(at, 10, 64); err != nil || !ok || Waits+Time(ms)+"#"+delivery != sk {
		return "", 0, fmt.Errorf("not where a delivery waits: %q", sk)
	}
	return delivery, ms, nil
}

// Idempotency is the item of an Idempotency-Key; hash is the SHA-256 of path and key.
func Idempotency(acct string, hash [32]byte) Key {
	return Key{Join("A", acct, "IDEM", hex.EncodeToString(hash[:])), "IDEM"}
}

// Removal says that the request of a mark removed what it was to remove: a repeat of it finds nothing else.
func Removal(acct, mark string) Key { return Key{Join("A", acct, "REMOVED", mark), "REMOVED"} }

// LocationPartition holds a location's heads in index in.
func LocationPartition(acct, org, location string) string {
	return Join("A", acct, "O", org, "L", location)
}

// FolderPartition holds the documents and folders of a folder in index in.
func FolderPartition(acct, org, folder string) string {
	return Join("A", acct, "O", org, "F", folder)
}

// CreatorPartition holds a creator's heads in index by.
func CreatorPartition(acct, org, user string) string { return Join("A", acct, "O", org, "U", user) }

// StatusPartition holds a status's heads in index st.
func StatusPartition(acct, org, status string) string { return Join("A", acct, "O", org, "S", status) }

// UpdatedPartition holds a shard of the organization's heads by lastUpdated in index org.
func UpdatedPartition(acct, org string, shard int) string {
	return Join("A", acct, "O", org, "T", strconv.Itoa(shard))
}

// UpdatedInDocument is the sort key of a head in index upd.
func UpdatedInDocument(ms int64, ann string) string { return Time(ms) + "#" + Escape(ann) }

// UpdatedInOrganization is the sort key of a head in index org.
func UpdatedInOrganization(ms int64, doc, ann string) string { return Time(ms) + "#" + Join(doc, ann) }
