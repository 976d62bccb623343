package table

import (
	"fmt"
	"strconv"
)

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

// LocationPartition holds a location's heads in index in.
func LocationPartition(acct, org, location string) string {
	return Join("A", acct, "O", org, "L", location)
}

// CreatorPartition holds a creator's heads in index by.
func CreatorPartition(acct, org, user string) string { return Join("A", acct, "O", org, "U", user) }

// StatusPartition holds a status's heads in index st.
func StatusPartition(acct, org, status string) string { return Join("A", acct, "O", org, "S", status) }

// UpdatedPartition holds the organization's heads by lastUpdated in index org.
func UpdatedPartition(acct, org string) string { return Join("A", acct, "O", org, "T") }

// UpdatedInDocument is the sort key of a head in index upd.
func UpdatedInDocument(ms int64, ann string) string { return Time(ms) + "#" + Escape(ann) }

// UpdatedInOrganization is the sort key of a head in index org.
func UpdatedInOrganization(ms int64, doc, ann string) string { return Time(ms) + "#" + Join(doc, ann) }
