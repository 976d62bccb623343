package keys

import (
	"fmt"
	"strconv"

	"collabdata/shared/collab"
)

// DocumentPartition holds the heads and comments of a document's annotations, and is the partition of index upd.
func DocumentPartition(doc collab.DocumentRef) string {
	return below(doc.OrganizationRef, "D") + "#" + documentPart(doc)
}

// Annotation is the head of an annotation.
func Annotation(doc collab.DocumentRef, ann string) Key {
	return Key{DocumentPartition(doc), Annotations + Escape(ann)}
}

// Values of Narrowed. A thread that is narrowed to some names them in its head.
const (
	NarrowedToMembers = "o"
	NarrowedToSome    = "r"
)

const commentPart = "#CMT#"

// AfterComments, behind the sort key of a head, sorts behind its comments and before every other key.
const AfterComments = commentPart + "~"

// Comment is a comment of an annotation.
func Comment(doc collab.DocumentRef, ann string, id int64) Key {
	return Key{DocumentPartition(doc), Annotations + Escape(ann) + commentPart + CommentDigits(id)}
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

// SeenPartition holds what users have seen of a document.
func SeenPartition(doc collab.DocumentRef) string { return DocumentPartition(doc) + "#SEEN" }

// Seen says up to when a user has seen all of a document.
func Seen(doc collab.DocumentRef, user string) Key { return Key{SeenPartition(doc), Escape(user)} }

// SeenThread says the same of one annotation, where that differs.
func SeenThread(doc collab.DocumentRef, user, ann string) Key {
	return Key{SeenPartition(doc), Join(user, ann)}
}

// SeenOf holds the SeenThread items of an annotation in index st, of all users, so that its deletion finds them.
func SeenOf(doc collab.DocumentRef, ann string) string { return SeenPartition(doc) + "#" + Escape(ann) }

// SeenBy is the sort key of a SeenThread item in index st, below the birth mark that it holds for.
func SeenBy(birth, user string) string { return Join(birth, user) }

// GonePartition holds what left a document lately: see AnnotationGone.
func GonePartition(doc collab.DocumentRef) string { return DocumentPartition(doc) + "#LEFT" }

// AnnotationGone says that an annotation was deleted at a time, or shown to fewer people from then on.
func AnnotationGone(doc collab.DocumentRef, ms int64, ann string) Key {
	return Key{GonePartition(doc), UpdatedInDocument(ms, ann)}
}

// ParseAnnotationGone reads the sort key of an AnnotationGone. It fails on text that is none.
func ParseAnnotationGone(sk string) (ms int64, ann string, err error) { return ParseListed(sk) }

// AnnotationID is the look-up item that finds an annotation id without its document.
func AnnotationID(doc collab.DocumentRef, ann string) Key {
	return Key{AnnotationIDPartition(doc.OrganizationRef, ann), documentPart(doc)}
}

// AnnotationIDPartition holds the look-up items of an annotation id.
func AnnotationIDPartition(org collab.OrganizationRef, ann string) string {
	return below(org, "ID", ann)
}

// ParseAnnotationID reads the document of a look-up item's sort key. It fails on text that is none.
func ParseAnnotationID(org collab.OrganizationRef, sk string) (collab.DocumentRef, error) {
	doc, n, err := parsePart(sk)
	return collab.DocumentRef{OrganizationRef: org, Document: doc, Incarnation: n}, err
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
