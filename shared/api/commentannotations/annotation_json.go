package commentannotations

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Annotation is an annotation as it is answered: what was stored is answered as it was sent. appendThread writes it.
type Annotation struct {
	AnnotationID      string           `json:"annotationId"`
	DocumentID        string           `json:"documentId"`
	From              *collab.User     `json:"from,omitempty" doc:"The creator: the author of its first comment"`
	Color             *string          `json:"color,omitempty" doc:"The color of its status"`
	Status            AnnotationStatus `json:"status"`
	Location          *Location        `json:"location,omitempty"`
	TargetElement     *TargetElement   `json:"targetElement,omitempty"`
	AssignedTo        *collab.User     `json:"assignedTo,omitempty"`
	Priority          *Priority        `json:"priority,omitempty"`
	Context           collab.JSON      `json:"context,omitempty" rule:"object"`
	CreatedAt         collab.Timestamp `json:"createdAt"`
	LastUpdated       collab.Timestamp `json:"lastUpdated" doc:"The latest of its own and of every comment written"`
	Comments          []Comment        `json:"comments"`
	CommentsTruncated bool             `json:"commentsTruncated,omitempty"`
}

// AnnotationStatus is a status as it is answered.
type AnnotationStatus struct {
	ID   string      `json:"id"`
	Type collab.JSON `json:"type,omitempty" schema:"StatusType|object" doc:"default, ongoing or terminal; an object where version 1 gave one"`
	StatusLook
}

// Comment is a comment as it is answered.
type Comment struct {
	CommentID              int64            `json:"commentId"`
	CommentText            *string          `json:"commentText,omitempty"`
	CommentHTML            *string          `json:"commentHtml,omitempty"`
	Context                collab.JSON      `json:"context,omitempty" rule:"object"`
	IsCommentResolverUsed  *bool            `json:"isCommentResolverUsed,omitempty"`
	IsCommentTextAvailable *bool            `json:"isCommentTextAvailable,omitempty"`
	From                   collab.User      `json:"from"`
	TaggedUserContacts     []Tag            `json:"taggedUserContacts,omitempty"`
	Attachments            []Attachment     `json:"attachments,omitempty"`
	CreatedAt              collab.Timestamp `json:"createdAt"`
	LastUpdated            collab.Timestamp `json:"lastUpdated"`
}

// appendThread appends a thread as it is answered to b, with as many of its comments as fit into room. What was stored is written as
// it was sent. whole is false when some do not fit, or t itself is truncated; size is what the thread takes. Both room and size are bytes
// as Lambda wraps them.
func appendThread(b []byte, t *collab.Thread, room int) (text []byte, size int, whole bool) {
	const (
		end          = `]}`
		endTruncated = `],"commentsTruncated":true}`
		escapes      = 2 // that endTruncated takes once wrapped
	)
	room -= len(endTruncated) + escapes
	o := object(append(b, '{'))
	o.text("annotationId", &t.ID)
	o.text("documentId", &t.Document)
	o.json("from", t.From)
	o.json("color", member(t.Status, "color"))
	o.json("status", t.Status)
	o.json("location", t.Location)
	o.json("targetElement", t.TargetElement)
	o.json("assignedTo", t.AssignedTo)
	o.json("priority", t.Priority)
	o.json("context", t.Context)
	o.time("createdAt", t.CreatedAt)
	o.time("lastUpdated", t.LastUpdated)
	o.name("comments")
	o = append(o, '[')
	size = rpc.WrappedLen(o[len(b):])
	whole = !t.Truncated && size <= room
	for i := range t.Comments {
		start := len(o)
		if i > 0 {
			o = append(o, ',')
		}
		o.comment(&t.Comments[i])
		n := rpc.WrappedLen(o[start:])
		if size+n > room {
			o, whole = o[:start], false
			break
		}
		size += n
	}
	if whole {
		return append(o, end...), size + len(end), true
	}
	return append(o, endTruncated...), size + len(endTruncated) + escapes, false
}

// object is a JSON object under construction, `{` and the members so far. What is absent is left out.
type object []byte

func (o *object) comment(c *collab.Comment) {
	*o = append(*o, '{')
	o.name("commentId")
	*o = strconv.AppendInt(*o, c.ID, 10)
	o.text("commentText", c.Text)
	o.text("commentHtml", c.HTML)
	o.json("context", c.Context)
	o.bool("isCommentResolverUsed", c.ResolverUsed)
	o.bool("isCommentTextAvailable", c.TextAvailable)
	o.json("from", c.From)
	o.json("taggedUserContacts", c.TaggedUserContacts)
	o.json("attachments", c.Attachments)
	o.time("createdAt", c.CreatedAt)
	o.time("lastUpdated", c.LastUpdated)
	*o = append(*o, '}')
}

// name begins a member.
func (o *object) name(name string) {
	if b := *o; b[len(b)-1] != '{' {
		*o = append(*o, ',')
	}
	*o = append(*o, '"')
	*o = append(*o, name...)
	*o = append(*o, '"', ':')
}

func (o *object) json(name string, value collab.JSON) {
	if value != nil {
		o.name(name)
		*o = append(*o, value...)
	}
}

func (o *object) text(name string, s *string) {
	if s != nil {
		o.name(name)
		*o, _ = jsontext.AppendQuote(*o, *s) // its error is of invalid UTF-8, which no request brings in
	}
}

func (o *object) bool(name string, v *bool) {
	if v != nil {
		o.name(name)
		*o = strconv.AppendBool(*o, *v)
	}
}

// time writes a time as ISO 8601 in UTC with milliseconds.
func (o *object) time(name string, t collab.Millis) {
	o.name(name)
	*o = append(*o, '"')
	*o = append(collab.Timestamp(t).Append(*o), '"')
}
