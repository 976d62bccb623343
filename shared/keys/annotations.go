package keys

import (
	"fmt"
	"strings"

	"collabdata/shared/collab"
)

// DocumentPartition holds the heads and comments of a document's annotations, and is the partition of index upd.
func DocumentPartition(doc collab.DocumentRef) string {
	return thread.Partition(inDocument(doc, Parts{}))
}

// Annotation is the head of an annotation.
func Annotation(doc collab.DocumentRef, ann string) Key {
	return thread.Key(inDocument(doc, Parts{Ann: ann}))
}

// Values of Narrowed. A thread that is narrowed to some names them in its head.
const (
	NarrowedToMembers = "o"
	NarrowedToSome    = "r"
)

const commentPart = "#CMT#"

// AfterComments, appended to the sort key of a head, sorts after its comments and before every other key.
const AfterComments = commentPart + "~"

// Comment is a comment of an annotation.
func Comment(doc collab.DocumentRef, ann string, id int64) Key {
	return commentOf.Key(inDocument(doc, Parts{Ann: ann, Comment: id}))
}

// ParseAnnotation reads the sort key of a head or comment: the annotation's id, and the comment's, 0 for a head. It fails on text that is
// neither.
func ParseAnnotation(sk string) (ann string, comment int64, err error) {
	var p Parts
	if strings.Contains(sk, "#CMT#") && commentOf.sk.parse(sk, &p) && p.Comment > 0 || thread.sk.parse(sk, &p) {
		return p.Ann, p.Comment, nil
	}
	return "", 0, fmt.Errorf("not the sort key of an annotation: %q", sk)
}

// SeenPartition holds what users have seen of a document.
func SeenPartition(doc collab.DocumentRef) string { return seen.Partition(inDocument(doc, Parts{})) }

// Seen says up to when a user has seen all of a document.
func Seen(doc collab.DocumentRef, user string) Key {
	return seen.Key(inDocument(doc, Parts{User: user}))
}

// SeenThread says the same of one annotation, where that differs.
func SeenThread(doc collab.DocumentRef, user, ann string) Key {
	return seenThread.Key(inDocument(doc, Parts{User: user, Ann: ann}))
}

// SeenOf holds the SeenThread items of an annotation in index st, of all users, so that its deletion finds them.
func SeenOf(doc collab.DocumentRef, ann string) string { return SeenPartition(doc) + "#" + Escape(ann) }

// SeenBy is the sort key of a SeenThread item in index st, below the birth mark that it holds for.
func SeenBy(birth, user string) string { return Join(birth, user) }

// Followers names who follows a document.
func Followers(doc collab.DocumentRef) Key { return followers.Key(inDocument(doc, Parts{})) }

// GonePartition holds what left a document lately: see AnnotationGone.
func GonePartition(doc collab.DocumentRef) string {
	return goneThread.Partition(inDocument(doc, Parts{}))
}

// AnnotationGone says that an annotation was deleted at a time, or shown to fewer people from then on.
func AnnotationGone(doc collab.DocumentRef, ms int64, ann string) Key {
	return goneThread.Key(inDocument(doc, Parts{At: ms, Ann: ann}))
}

// ParseAnnotationGone reads the sort key of an AnnotationGone. It fails on text that is none.
func ParseAnnotationGone(sk string) (ms int64, ann string, err error) {
	p, err := goneThread.ParseSK(sk)
	return p.At, p.Ann, err
}

// AnnotationID is the look-up item that finds an annotation id without its document.
func AnnotationID(doc collab.DocumentRef, ann string) Key {
	return threadID.Key(inDocument(doc, Parts{Ann: ann}))
}

// AnnotationIDPartition holds the look-up items of an annotation id.
func AnnotationIDPartition(org collab.OrganizationRef, ann string) string {
	return threadID.Partition(inOrganization(org, Parts{Ann: ann}))
}

// ParseAnnotationID reads the document of a look-up item's sort key. It fails on text that is none.
func ParseAnnotationID(org collab.OrganizationRef, sk string) (collab.DocumentRef, error) {
	p, err := threadID.ParseSK(sk)
	return collab.DocumentRef{OrganizationRef: org, Document: p.Doc, Incarnation: p.DocN}, err
}

// LocationPartition holds a location's heads in index in.
func LocationPartition(org collab.OrganizationRef, location string) string {
	return below(org, "L", location)
}

// CreatorPartition holds a creator's heads in index by.
func CreatorPartition(org collab.OrganizationRef, user string) string { return below(org, "U", user) }

// StatusPartition holds a status's heads in index st.
func StatusPartition(org collab.OrganizationRef, status string) string {
	return below(org, "S", status)
}

// UpdatedPartition holds the organization's heads by lastUpdated in index org.
func UpdatedPartition(org collab.OrganizationRef) string { return below(org, "T") }

// UpdatedInDocument is the sort key of a head in index upd.
func UpdatedInDocument(ms int64, ann string) string { return Time(ms) + "#" + Escape(ann) }

// UpdatedInOrganization is the sort key of a head in index org.
func UpdatedInOrganization(ms int64, doc collab.DocumentRef, ann string) string {
	return Time(ms) + "#" + InDocument(doc, ann)
}

// InDocument is the sort key of a head in indexes in, by and st.
func InDocument(doc collab.DocumentRef, ann string) string { return Heads(doc) + Escape(ann) }

// Heads begins the sort keys of a document's heads in indexes in, by and st.
func Heads(doc collab.DocumentRef) string { return documentPart(doc) + "#" }
