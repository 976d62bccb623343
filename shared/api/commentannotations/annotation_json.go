package commentannotations

import (
	"encoding/json"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Annotation is an annotation as it is answered: what was stored is answered as it was sent.
type Annotation struct {
	AnnotationID  string                       `json:"annotationId"`
	DocumentID    string                       `json:"documentId"`
	From          rpc.Stored[collab.User]      `json:"from,omitzero" doc:"The creator: the author of its first comment"`
	Color         rpc.Stored[string]           `json:"color,omitzero" doc:"The color of its status"`
	Status        rpc.Stored[AnnotationStatus] `json:"status"`
	Location      rpc.Stored[Location]         `json:"location,omitzero"`
	TargetElement rpc.Stored[TargetElement]    `json:"targetElement,omitzero"`
	AssignedTo    rpc.Stored[collab.User]      `json:"assignedTo,omitzero"`
	Priority      rpc.Stored[Priority]         `json:"priority,omitzero"`
	Context       collab.JSON                  `json:"context,omitzero" rule:"object"`
	KeptFields
	StatusUpdatedByUserID *string                `json:"statusUpdatedByUserId,omitzero" doc:"The user who changed its status, where an update said so"`
	ResolvedByUserID      string                 `json:"resolvedByUserId,omitzero" doc:"The user who resolved it, where an update said so"`
	SourceType            SourceType             `json:"sourceType" doc:"agent where its first comment had an agent when it was added, else rest-api"`
	SubscribedUsers       map[string]collab.JSON `json:"subscribedUsers" doc:"By user id; empty, as no operation subscribes anybody"`
	UnsubscribedUsers     map[string]collab.JSON `json:"unsubscribedUsers" doc:"As subscribedUsers"`
	CreatedAt             collab.Timestamp       `json:"createdAt"`
	LastUpdated           collab.Timestamp       `json:"lastUpdated" doc:"The latest of its own and of every comment written"`
	Comments              []Comment              `json:"comments"`
	Unread                bool                   `json:"unread,omitzero" doc:"True with unreadFor"`
	CommentsTruncated     bool                   `json:"commentsTruncated,omitzero"`
}

// SourceType says what made an annotation.
type SourceType string

// Values returns all types.
func (SourceType) Values() []string { return []string{string(sources[false]), string(sources[true])} }

// sources are the types, by whether an agent made the annotation.
var sources = map[bool]SourceType{false: "rest-api", true: "agent"}

// AnnotationStatus is a status as it is answered.
type AnnotationStatus struct {
	ID   string      `json:"id"`
	Type collab.JSON `json:"type,omitzero" schema:"StatusType|object" doc:"default, ongoing or terminal; an object where version 1 gave one"`
	StatusLook
}

// Comment is a comment as it is answered.
type Comment struct {
	CommentID              int64                    `json:"commentId"`
	CommentText            *string                  `json:"commentText,omitzero"`
	CommentHTML            *string                  `json:"commentHtml,omitzero"`
	Context                collab.JSON              `json:"context,omitzero" rule:"object"`
	IsCommentResolverUsed  *bool                    `json:"isCommentResolverUsed,omitzero"`
	IsCommentTextAvailable *bool                    `json:"isCommentTextAvailable,omitzero"`
	From                   rpc.Stored[collab.User]  `json:"from"`
	TaggedUserContacts     rpc.Stored[[]Tag]        `json:"taggedUserContacts,omitzero"`
	Attachments            rpc.Stored[[]Attachment] `json:"attachments,omitzero"`
	KeptCommentFields
	CreatedAt   collab.Timestamp `json:"createdAt"`
	LastUpdated collab.Timestamp `json:"lastUpdated"`
}

// answered returns a thread as it is answered.
func answered(t *collab.Thread) *Annotation {
	a := &Annotation{
		AnnotationID:     t.ID,
		DocumentID:       t.Document,
		From:             rpc.Stored[collab.User](t.From),
		Color:            rpc.Stored[string](member(t.Status, "color")),
		Status:           rpc.Stored[AnnotationStatus](t.Status),
		Location:         rpc.Stored[Location](t.Location),
		TargetElement:    rpc.Stored[TargetElement](t.TargetElement),
		AssignedTo:       rpc.Stored[collab.User](t.AssignedTo),
		Priority:         rpc.Stored[Priority](t.Priority),
		Context:          t.Context,
		ResolvedByUserID: t.ResolvedBy,
		SourceType:       sources[t.ByAgent],
		CreatedAt:        collab.Timestamp(t.CreatedAt),
		LastUpdated:      collab.Timestamp(t.LastUpdated),
		Comments:         make([]Comment, len(t.Comments)),

		Unread:            t.Unread,
		CommentsTruncated: t.Truncated,
	}
	decodeKept(t.Kept, a)
	for i := range t.Comments {
		a.Comments[i] = answeredComment(&t.Comments[i])
	}
	return a
}

func answeredComment(c *collab.Comment) Comment {
	a := Comment{
		CommentID:              c.ID,
		CommentText:            c.Text,
		CommentHTML:            c.HTML,
		Context:                c.Context,
		IsCommentResolverUsed:  c.ResolverUsed,
		IsCommentTextAvailable: c.TextAvailable,
		From:                   rpc.Stored[collab.User](c.From),
		TaggedUserContacts:     rpc.Stored[[]Tag](c.TaggedUserContacts),
		Attachments:            rpc.Stored[[]Attachment](c.Attachments),
		CreatedAt:              collab.Timestamp(c.CreatedAt),
		LastUpdated:            collab.Timestamp(c.LastUpdated),
	}
	decodeKept(c.Kept, &a)
	return a
}

// decodeKept sets the fields of an answer that are kept as they were sent.
func decodeKept(kept collab.JSON, answer any) {
	if kept == nil {
		return
	}
	if err := json.Unmarshal(kept, answer); err != nil {
		panic(err) // it was encoded from these fields
	}
}

// encodeThread returns a thread as it is answered, with as many of its comments as fit into room. whole is false when some do not fit, or t
// itself is truncated; size is what the thread takes. Both room and size are bytes as Lambda wraps them.
func encodeThread(t *collab.Thread, room int) (text collab.JSON, size int, whole bool) {
	a := answered(t)
	text = rpc.EncodeStored(a)
	if size = rpc.WrappedLen(text); size <= room {
		return text, size, !t.Truncated
	}
	comments := a.Comments
	a.Comments, a.CommentsTruncated = nil, true
	size = rpc.WrappedLen(rpc.EncodeStored(a))
	for i := range comments {
		if size += rpc.WrappedLen(rpc.EncodeStored(&comments[i])) + len(","); size > room {
			break
		}
		a.Comments = comments[:i+1]
	}
	text = rpc.EncodeStored(a)
	return text, rpc.WrappedLen(text), false
}
