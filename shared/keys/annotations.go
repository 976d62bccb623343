package keys

import (
	"fmt"
	"strings"

	"collabdata/shared/collab"
)

// DocumentPartition returns the partition of a document's heads and comments, also in index upd.
func DocumentPartition(doc collab.DocumentRef) string {
	return AThread.Partition(inDocument(doc, Parts{}))
}

// Annotation returns the key of a head.
func Annotation(doc collab.DocumentRef, ann string) Key {
	return AThread.Key(inDocument(doc, Parts{Ann: ann}))
}

// Values of Narrowed. The head lists the users of NarrowedToSome.
const (
	NarrowedToMembers = "o"
	NarrowedToSome    = "r"
)

const commentPart = "#CMT#"

// AfterComments, appended to the sort key of a head, sorts after its comments and before all other
// keys.
const AfterComments = commentPart + "~"

// Comment returns the key of a comment.
func Comment(doc collab.DocumentRef, ann string, id int64) Key {
	return AComment.Key(inDocument(doc, Parts{Ann: ann, Comment: id}))
}

// ParseAnnotation parses the sort key of a head or comment. comment is 0 for a head.
func ParseAnnotation(sk string) (ann string, comment int64, err error) {
	var p Parts
	if strings.Contains(sk, "#CMT#") && AComment.sk.parse(sk, &p) && p.Comment > 0 || AThread.sk.parse(sk, &p) {
		return p.Ann, p.Comment, nil
	}
	return "", 0, fmt.Errorf("not the sort key of an annotation: %q", sk)
}

// ReadStatePartition returns the partition of users' read states in a document.
func ReadStatePartition(doc collab.DocumentRef) string {
	return ADocumentReadState.Partition(inDocument(doc, Parts{}))
}

// ReadState returns the key of a user's read state for a document.
func ReadState(doc collab.DocumentRef, user string) Key {
	return ADocumentReadState.Key(inDocument(doc, Parts{User: user}))
}

// ThreadReadState returns the key of a user's read state for an annotation.
func ThreadReadState(doc collab.DocumentRef, user, ann string) Key {
	return AThreadReadState.Key(inDocument(doc, Parts{User: user, Ann: ann}))
}

// Followers returns the key of a document's list of followers.
func Followers(doc collab.DocumentRef) Key { return AFollowersList.Key(inDocument(doc, Parts{})) }

// ImportedThread returns the key of the record that an import added an annotation: see
// ImportedComments.
func ImportedThread(doc collab.DocumentRef, ann string) Key {
	return anImport.Key(inDocument(doc, Parts{Ann: ann}))
}

// LeftPartition returns the partition of the AnnotationLeft items of a document. It ends in LEFT;
// partitions that end in GONE have the removals of users.
func LeftPartition(doc collab.DocumentRef) string {
	return AGoneThread.Partition(inDocument(doc, Parts{}))
}

// AnnotationLeft returns the key of the record that an annotation left the document at a time: it
// was deleted, or shown to fewer users.
func AnnotationLeft(doc collab.DocumentRef, ms int64, ann string) Key {
	return AGoneThread.Key(inDocument(doc, Parts{At: ms, Ann: ann}))
}

// ParseAnnotationLeft parses the sort key of an AnnotationLeft item.
func ParseAnnotationLeft(sk string) (ms int64, ann string, err error) {
	p, err := AGoneThread.ParseSK(sk)
	return p.At, p.Ann, err
}

// AnnotationID returns the key of the look-up item that finds an annotation without its document.
func AnnotationID(doc collab.DocumentRef, ann string) Key {
	return threadID.Key(inDocument(doc, Parts{Ann: ann}))
}

// AnnotationIDPartition returns the partition of the look-up items of an annotation id.
func AnnotationIDPartition(org collab.OrganizationRef, ann string) string {
	return threadID.Partition(inOrganization(org, Parts{Ann: ann}))
}

// ParseAnnotationID parses the sort key of a look-up item.
func ParseAnnotationID(org collab.OrganizationRef, sk string) (collab.DocumentRef, error) {
	p, err := threadID.ParseSK(sk)
	return collab.DocumentRef{OrganizationRef: org, Document: p.Doc, Incarnation: p.DocN}, err
}

// LocationPartition returns the partition of a location's heads in index in.
func LocationPartition(org collab.OrganizationRef, location string) string {
	return below(org, "L", location)
}

// CreatorPartition returns the partition of a creator's heads in index by.
func CreatorPartition(org collab.OrganizationRef, user string) string { return below(org, "U", user) }

// StatusPartition returns the partition of a status's heads in index st.
func StatusPartition(org collab.OrganizationRef, status string) string {
	return below(org, "S", status)
}

// UpdatedPartition returns the partition of the organization's heads in index org, by lastUpdated.
func UpdatedPartition(org collab.OrganizationRef) string { return below(org, "T") }

// UpdatedInDocument returns the sort key of a head in index upd.
func UpdatedInDocument(ms int64, ann string) string { return Time(ms) + "#" + Escape(ann) }

// UpdatedInOrganization returns the sort key of a head in index org.
func UpdatedInOrganization(ms int64, doc collab.DocumentRef, ann string) string {
	return Time(ms) + "#" + InDocument(doc, ann)
}

// EventPartition returns the partition of a document's events in index org.
func EventPartition(doc collab.DocumentRef) string { return DocumentPartition(doc) + "#E" }

// EventOf returns the sort key of an event of a thread in index org. Events of a thread begin with
// the key of the event "".
func EventOf(ann, event string) string { return Join(ann, event) }

// InDocument returns the sort key of a head in indexes in, by and st.
func InDocument(doc collab.DocumentRef, ann string) string { return Heads(doc) + Escape(ann) }

// Heads returns the prefix of the sort keys of a document's heads in indexes in, by and st.
func Heads(doc collab.DocumentRef) string { return documentPart(doc) + "#" }
