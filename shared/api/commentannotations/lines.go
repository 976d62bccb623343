package commentannotations

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AnnotationLine is the head of an annotation in an exported file. Its objects are stored as sent.
type AnnotationLine struct {
	DocumentID    string                 `json:"documentId" rule:"required,docid"`
	AnnotationID  string                 `json:"annotationId" rule:"required,id"`
	From          rpc.Opt[collab.User]   `json:"from" rule:"notnull"`
	Location      rpc.Opt[Location]      `json:"location" rule:"notnull"`
	TargetElement rpc.Opt[TargetElement] `json:"targetElement" rule:"notnull"`
	Status        rpc.Opt[StatusLine]    `json:"status" rule:"notnull"`
	AssignedTo    rpc.Opt[collab.User]   `json:"assignedTo" rule:"notnull"`
	Priority      rpc.Opt[Priority]      `json:"priority" rule:"notnull"`
	Context       collab.JSON            `json:"context" rule:"object"`
	Visibility    *collab.Visibility     `json:"visibility" rule:"exact"`
	SharedContext
	KeptFields
	StatusUpdatedByUserID *string        `json:"statusUpdatedByUserId,omitzero" rule:"id" doc:"Author of the status"`
	ResolvedByUserID      string         `json:"resolvedByUserId" rule:"id" doc:"The resolver"`
	ResolvedAt            *collab.Millis `json:"resolvedAt" rule:"time" doc:"Time of resolvedByUserId"`
	SourceType            *SourceType    `json:"sourceType" doc:"Default: agent if the first comment has an agent"`
	Times
}

// StatusLine is a status in a file. A custom one can lack an icon: an update can set such a status.
type StatusLine struct {
	ID   string      `json:"id" rule:"required,id"`
	Type *StatusType `json:"type,omitempty"`
	StatusLook
}

// Validate checks the context and the suggestion as an update does.
func (l *AnnotationLine) Validate(m *rpc.Violations) {
	checkContext(m, "context", l.Context)
	checkSuggestion(m, l.Suggestion, pending, accepted, rejected, "stale", "apply_failed")
}

// CheckVisibility checks the audience as an addition to an organization does.
func (l *AnnotationLine) CheckVisibility(m *rpc.Violations, field, organization string) {
	checkVisibility(m, rpc.PathOf(field, "visibility"), organization, l.Visibility)
}

// stored returns the annotation in its stored form, without defaults of missing fields.
func (l *AnnotationLine) stored() collab.Annotation {
	a := collab.Annotation{
		ID: l.AnnotationID, From: l.From.Raw, CreatorID: l.From.Value.UserID, Location: l.Location.Raw, LocationID: l.Location.Value.ID,
		TargetElement: l.TargetElement.Raw, AssignedTo: l.AssignedTo.Raw, Priority: l.Priority.Raw, Context: l.Context,
		ContextShown: l.ContextShared && l.Context != nil, Visibility: l.Visibility.Narrow(),
		ResolvedBy: l.ResolvedByUserID, ResolvedAt: collab.Deref(l.ResolvedAt), CreatedAt: collab.Deref(l.CreatedAt),
		ByAgent: l.SourceType != nil && *l.SourceType == collab.SourceAgent,
	}
	if l.Status.Sent() {
		a.Status, a.StatusID = completeStatus(l.Status.Raw, l.Status.Value.ID), l.Status.Value.ID
	}
	a.Suggestion, a.Kept = l.KeptFields.stored(l.KeptFields.Suggestion.Text("status"))
	if l.StatusUpdatedByUserID != nil {
		a.Kept = changeKept(a.Kept, collab.Object{{Name: "statusUpdatedByUserId", Value: encode(l.StatusUpdatedByUserID)}})
	}
	return a
}

// Thread returns the annotation with its first comments, at a time.
func (l *AnnotationLine) Thread(comments []collab.Comment, now collab.Millis) *collab.Thread {
	t := &collab.Thread{Document: l.DocumentID, Annotation: l.stored(), Comments: comments}
	if t.Status == nil {
		t.Status, t.StatusID = completeStatus(nil, ""), openStatus
	}
	if l.SourceType == nil && len(comments) > 0 {
		t.ByAgent = comments[0].Agent != nil
	}
	t.CreatedAt, t.LastUpdated = l.Times.resolve(now)
	for i := range comments {
		t.SetCreator(&comments[i])
		t.LastUpdated = max(t.LastUpdated, comments[i].Moved())
	}
	return t
}

// Same reports whether an existing annotation with the id can be the one of the line: it has the
// creator or the time of creation, or the line has neither.
func (l *AnnotationLine) Same(existing *collab.Annotation) bool {
	if l.CreatedAt == nil && !l.From.Sent() {
		return true
	}
	return l.CreatedAt != nil && *l.CreatedAt == existing.CreatedAt || l.From.Sent() && l.From.Value.UserID == existing.CreatorID
}

// Differs returns the names of the fields of the line that an existing annotation has with other
// values.
func (l *AnnotationLine) Differs(existing *collab.Annotation) []string {
	want := l.stored()
	return differs(&want, existing)
}

// Overwrite changes an annotation to the fields of the line.
func (l *AnnotationLine) Overwrite(a *collab.Annotation, now collab.Millis) {
	t := l.Thread(nil, now)
	t.Follows, t.LastUpdated = a.Follows, max(t.LastUpdated, a.LastUpdated)
	t.SetCreator(&collab.Comment{From: a.From, AuthorID: a.CreatorID})
	if l.SourceType == nil {
		t.ByAgent = a.ByAgent
	}
	*a = t.Annotation
}

// CommentLine is a comment in an exported file.
type CommentLine struct {
	DocumentID             string         `json:"documentId" rule:"required,docid"`
	AnnotationID           string         `json:"annotationId" rule:"required,id"`
	CommentID              *int64         `json:"commentId" rule:"required,commentid"`
	CommentText            *string        `json:"commentText"`
	CommentHTML            *string        `json:"commentHtml"`
	IsCommentResolverUsed  *bool          `json:"isCommentResolverUsed"`
	IsCommentTextAvailable *bool          `json:"isCommentTextAvailable"`
	From                   collab.User    `json:"from" rule:"required"`
	Context                collab.JSON    `json:"context" rule:"object"`
	TaggedUserContacts     []Tag          `json:"taggedUserContacts"`
	Attachments            []Attachment   `json:"attachments"`
	Reactions              []ReactionLine `json:"reactions" rule:"max=20" doc:"With at most 500 users in all"`
	SharedContext
	Addition
	KeptCommentFields
	Times
}

// ReactionLine is an emoji with all its users.
type ReactionLine struct {
	Emoji string    `json:"emoji" rule:"required" doc:"One emoji"`
	Count int64     `json:"count" doc:"Ignored"`
	Users []Reactor `json:"users" rule:"required,max=500" doc:"Who reacted, earliest first"`
}

// Validate requires an emoji.
func (r *ReactionLine) Validate(m *rpc.Violations) { checkEmoji(m, r.Emoji) }

// Validate requires content, unless the author was erased, and reactions that could be added one by
// one.
func (l *CommentLine) Validate(m *rpc.Violations) {
	checkContext(m, "context", l.Context)
	checkAttachments(m, l.Attachments)
	c := l.comment()
	if !c.hasContent() && l.From.UserID != collab.ErasedUser {
		m.Add("", "must have content: %s", contentRule)
	}
	if users, _ := tagged([]NewComment{c}); len(users) > collab.MaxPeople {
		m.Add("taggedUserContacts", "must tag at most %d users in all, not %d", collab.MaxPeople, len(users))
	}
	if _, err := l.reactions(); err != nil {
		m.Add("reactions", "%s", collab.MessageOf(err))
	}
}

func (l *CommentLine) reactions() (list collab.Reactions, err error) {
	for _, r := range l.Reactions {
		for _, u := range r.Users {
			if list, err = list.Add(r.Emoji, u.UserID); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// comment returns the comment as in a request. By default it was added when it was created.
func (l *CommentLine) comment() NewComment {
	c := NewComment{
		CommentFields: CommentFields{
			CommentID: l.CommentID, CommentText: l.CommentText, CommentHTML: l.CommentHTML, IsCommentResolverUsed: l.IsCommentResolverUsed,
			IsCommentTextAvailable: l.IsCommentTextAvailable, From: l.From, Times: l.Times,
		},
		Context: l.Context, TaggedUserContacts: l.TaggedUserContacts, Attachments: l.Attachments, SharedContext: l.SharedContext,
		Addition: l.Addition, KeptCommentFields: l.KeptCommentFields,
	}
	if c.AddedAt == nil {
		c.AddedAt = c.CreatedAt
	}
	return c
}

// Comment returns the comment in its stored form, at a time.
func (l *CommentLine) Comment(now collab.Millis) collab.Comment {
	c := l.comment()
	stored := c.stored(Times{}, now)
	stored.Reactions, _ = l.reactions() // validated
	return stored
}

// Differs is AnnotationLine.Differs for a comment.
func (l *CommentLine) Differs(existing *collab.Comment) []string {
	want := l.Comment(0)
	want.CreatedAt, want.LastUpdated = collab.Deref(l.CreatedAt), collab.Deref(l.LastUpdated)
	return differs(&want, existing)
}

// fieldNames are the fields of lines by the fields of stored annotations and comments.
var fieldNames = map[string]string{
	"From": "from", "Location": "location", "TargetElement": "targetElement", "Status": "status", "AssignedTo": "assignedTo",
	"Context": "context", "Priority": "priority", "CreatedAt": "createdAt", "ResolvedBy": "resolvedByUserId", "ResolvedAt": "resolvedAt",
	"ByAgent": "sourceType", "Visibility": "visibility", "Text": "commentText", "HTML": "commentHtml", "ResolverUsed": "isCommentResolverUsed",
	"TextAvailable": "isCommentTextAvailable", "TaggedUserContacts": "taggedUserContacts", "Attachments": "attachments",
	"Reactions": "reactions", "LastUpdated": "lastUpdated", "ContextShown": "contextShared", "Suggestion": "suggestion", "Agent": "agent",
}

// differs returns the names of the fields of want that are set and have other values in existing,
// which has the same type.
func differs(want, existing any) (names []string) {
	w, e := reflect.ValueOf(want).Elem(), reflect.ValueOf(existing).Elem()
	for i := range w.NumField() {
		a, b := w.Field(i), e.Field(i)
		name := w.Type().Field(i).Name
		switch value := a.Interface().(type) {
		case collab.JSON:
			if name == "Kept" {
				for field, sent := range value.Members() {
					if !SameJSON(sent, b.Interface().(collab.JSON).Get(field)) {
						names = append(names, field)
					}
				}
			} else if fieldNames[name] != "" && value != nil && !SameJSON(value, b.Interface().(collab.JSON)) {
				names = append(names, fieldNames[name])
			}
		default:
			if fieldNames[name] != "" && !a.IsZero() && !reflect.DeepEqual(value, b.Interface()) {
				names = append(names, fieldNames[name])
			}
		}
	}
	return names
}

// SameJSON reports whether two JSON texts have the same value; nil is absent.
func SameJSON(a, b collab.JSON) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, y := jsontext.Value(slices.Clone(a)), jsontext.Value(slices.Clone(b))
	return bytes.Equal(a, b) || x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

// WholeHead returns the stored form of an annotation without its comments.
func WholeHead(t *collab.Thread) *Annotation {
	a := reader{}.thread(t)
	a.Suggestion = t.Suggestion
	return a
}

// Whole returns the stored form of a comment, with everybody who reacted.
func Whole(c *collab.Comment) Comment {
	a := reader{v1: true}.comment(c)
	a.CommentText, a.CommentHTML, a.Reactions = c.Text, c.HTML, nil
	for _, reaction := range c.Reactions {
		if len(reaction.Users) > 0 {
			users := collab.Map(reaction.Users, func(id string) Reactor { return Reactor{id} })
			a.Reactions = append(a.Reactions, Reaction{reaction.Emoji, int64(len(users)), users})
		}
	}
	return a
}
