package commentannotations

import (
	"fmt"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// CommentFields are the fields of a new comment in every operation.
type CommentFields struct {
	CommentID              *int64      `json:"commentId" rule:"commentid" doc:"Unique in its annotation; generated if absent"`
	CommentText            *string     `json:"commentText" person:"in"`
	CommentHTML            *string     `json:"commentHtml" person:"in"`
	IsCommentResolverUsed  *bool       `json:"isCommentResolverUsed"`
	IsCommentTextAvailable *bool       `json:"isCommentTextAvailable"`
	From                   collab.User `json:"from" rule:"required"`
	Times

	byPerson bool
}

// NewComment is a comment to add to an annotation.
type NewComment struct {
	CommentFields
	Context             collab.JSON  `json:"context" rule:"object" person:"in" doc:"Free-form. Persons see it only if a person set it, in at most 8 KB"`
	TriggerNotification bool         `json:"triggerNotification"`
	TaggedUserContacts  []Tag        `json:"taggedUserContacts" person:"in"`
	Attachments         []Attachment `json:"attachments" person:"in"`
	Reactions           []Reaction   `json:"reactions" rule:"max=20" doc:"Of an import, with at most 50 users each; count is ignored"`
	SharedContext
	Addition
	KeptCommentFields
}

// SharedContext decides whether persons see the context that a back end sends.
type SharedContext struct {
	ContextShared bool `json:"contextShared,omitzero" doc:"Persons see the context, as if a person had set it"`
}

// moved reports whether some comment has an addedAt, meaning an import.
func moved(comments []NewComment) bool {
	return slices.ContainsFunc(comments, func(c NewComment) bool { return c.AddedAt != nil })
}

// Addition holds the import time of a new comment.
type Addition struct {
	AddedAt *collab.Millis `json:"addedAt" rule:"time" doc:"Time of an earlier addition elsewhere. Default: now if createdAt is within a day, else createdAt"`
}

// Validate rejects duplicate attachment ids, and reactions that could not be added one by one.
func (c *NewComment) Validate(m *rpc.Violations) {
	checkAttachments(m, c.Attachments)
	if _, err := c.reactions(); err != nil {
		m.Add("reactions", "%s", err.Error())
	}
}

// Fill makes the person the author, with the agent of the token, and turns notifications on.
func (c *NewComment) Fill(p *collab.Person, m *rpc.Violations) {
	c.From, c.Agent, c.TriggerNotification, c.byPerson = p.User(), p.Stamp(), true, true
	checkSize(m, "context", c.Context, maxContext)
}

// reactions returns the reactions of an imported comment.
func (c *NewComment) reactions() (list collab.Reactions, err error) {
	for _, r := range c.Reactions {
		for _, u := range r.Users {
			if list, err = list.Add(r.Emoji, u.UserID); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// checkComments rejects duplicate ids, comments without content, and more tagged users than an
// event allows.
func checkComments(m *rpc.Violations, field string, comments []NewComment) {
	rpc.Unique(m, field+"[%d].commentId", comments, func(c *NewComment) *int64 { return c.CommentID })
	for i := range comments {
		checkContext(m, fmt.Sprintf("%s[%d].context", field, i), comments[i].Context)
		if !comments[i].hasContent() && comments[i].From.UserID != collab.ErasedUser { // an erased comment can be imported without content
			m.Add(fmt.Sprintf("%s[%d]", field, i), "must have content: %s", contentRule)
		}
	}
	checkPeople(m, field, comments)
}

// maxGroups limits groups tagged in a request, so that an event can name their members.
const maxGroups = collab.MaxPeople / collab.MaxGroupMention

// tagged returns the distinct ids of users and groups tagged in comments.
func tagged(comments []NewComment) (users, groups []string) {
	for _, c := range comments {
		for _, tag := range c.TaggedUserContacts {
			if tag.GroupID != "" {
				groups = append(groups, tag.GroupID)
			} else if tag.UserID != "" {
				users = append(users, tag.UserID)
			}
		}
	}
	return rpc.Distinct(users), rpc.Distinct(groups)
}

// checkPeople rejects more tagged users than an event allows.
func checkPeople(m *rpc.Violations, field string, comments []NewComment) {
	if users, _ := tagged(comments); len(users) > collab.MaxPeople {
		m.Add(field, "must tag at most %d users in all, not %d", collab.MaxPeople, len(users))
	}
}

func (c *NewComment) hasContent() bool {
	written := collab.Comment{Text: c.CommentText, HTML: c.CommentHTML, ResolverUsed: c.IsCommentResolverUsed}
	return written.HasContent() || len(c.Attachments) > 0
}

// contentRule describes valid content.
const contentRule = "a text, HTML, attachments, or isCommentResolverUsed"

// stored returns the comment in its stored form, without an id if none was given. around holds the
// times of the annotation added in the same request.
func (c *NewComment) stored(around Times, now collab.Millis) collab.Comment {
	stored := collab.Comment{
		Text:               c.CommentText,
		HTML:               c.html(),
		Context:            c.Context,
		ContextShown:       (c.byPerson || c.ContextShared) && c.Context != nil,
		ResolverUsed:       c.IsCommentResolverUsed,
		TextAvailable:      c.IsCommentTextAvailable,
		From:               encode(c.From),
		AuthorID:           c.From.UserID,
		TaggedUserContacts: encode(c.TaggedUserContacts),
		Attachments:        encode(c.Attachments),
	}
	stored.Agent, stored.Kept = c.KeptCommentFields.stored()
	if c.CommentID != nil {
		stored.ID = *c.CommentID
	}
	stored.CreatedAt, stored.LastUpdated = c.Times.inherit(around).resolve(now)
	stored.Reactions, _ = c.reactions() // validated
	added := now
	if c.AddedAt != nil {
		added = min(*c.AddedAt, now)
	}
	stored.SetAdded(added)
	return stored
}

// html returns the HTML to keep: an empty one next to a text is dropped, see
// collab.Comment.Written.
func (c *NewComment) html() *string {
	if c.CommentText != nil && collab.Deref(c.CommentHTML) == "" {
		return nil
	}
	return c.CommentHTML
}

// Times are optional times of a new annotation or comment.
type Times struct {
	CreatedAt   *int64 `json:"createdAt" rule:"time" doc:"Time of creation. Default: that of its annotation, else now. Not later than lastUpdated"`
	LastUpdated *int64 `json:"lastUpdated" rule:"time" doc:"Time of the last change. Default: that of its annotation, else now. At least createdAt"`
}

// inherit fills in missing times from the annotation. If the inherited createdAt is later than the
// comment's own lastUpdated, that is used instead.
func (t Times) inherit(annotation Times) Times {
	if t.CreatedAt == nil && annotation.CreatedAt != nil {
		t.CreatedAt = annotation.CreatedAt
		if t.LastUpdated != nil && *t.LastUpdated < *t.CreatedAt {
			t.CreatedAt = t.LastUpdated
		}
	}
	if t.LastUpdated == nil {
		t.LastUpdated = annotation.LastUpdated
	}
	return t
}

// resolve returns the times, with now for missing ones. Without createdAt, a past lastUpdated is
// also the creation time. A lastUpdated before createdAt is raised to it.
func (t Times) resolve(now collab.Millis) (createdAt, lastUpdated collab.Millis) {
	createdAt, lastUpdated = now, now
	if t.LastUpdated != nil {
		lastUpdated = *t.LastUpdated
		createdAt = min(now, lastUpdated)
	}
	if t.CreatedAt != nil {
		createdAt = *t.CreatedAt
	}
	return createdAt, max(createdAt, lastUpdated)
}

// TaggedUser is a tagged user or group. The text of the tag is in Tag, because some requests lack
// it.
type TaggedUser struct {
	UserID  string       `json:"userId,omitempty" rule:"id" person:"in,out" doc:"The user; required without organizationUserGroupId"`
	Contact *collab.User `json:"contact,omitempty" person:"out"`
	GroupID string       `json:"organizationUserGroupId,omitempty" rule:"id" person:"in,out" doc:"A group, instead of a user: up to 200 of its users with access to the annotation are notified"`
}

func (t *TaggedUser) Validate(m *rpc.Violations) {
	switch {
	case t.UserID == "" && t.GroupID == "":
		m.Add("userId", "is required")
	case t.GroupID != "" && (t.UserID != "" || t.Contact != nil):
		m.Add("organizationUserGroupId", "cannot be combined with userId or contact")
	}
	if t.UserID != "" && t.Contact != nil && t.Contact.UserID != t.UserID {
		m.Add("contact.userId", "must be the userId of the tag")
	}
}

// Tag is a TaggedUser with the text of the tag.
type Tag struct {
	TaggedUser
	Text *string `json:"text,omitempty" person:"out" doc:"The text of the tag"`
}

// Attachment is a file of a comment.
type Attachment struct {
	AttachmentID *int64      `json:"attachmentId" rule:"required,min=0" person:"in,out" doc:"Unique in its comment"`
	Name         *string     `json:"name,omitempty" person:"in,out" doc:"File name"`
	BucketPath   *string     `json:"bucketPath,omitempty" doc:"Its path in your storage"`
	Size         *int64      `json:"size,omitempty" rule:"min=0" person:"in,out" doc:"In bytes"`
	Type         *string     `json:"type,omitempty" person:"in,out" doc:"The kind of file, such as image, video or document"`
	URL          *string     `json:"url,omitempty" person:"in,out" doc:"Address to download it from"`
	Thumbnail    *string     `json:"thumbnail,omitempty" person:"in,out" doc:"Address of a small picture of it"`
	MimeType     *string     `json:"mimeType,omitempty" person:"in,out" doc:"Its MIME type"`
	Metadata     collab.JSON `json:"metadata,omitempty" rule:"object" doc:"Free-form"`
}

// checkAttachments rejects duplicate attachment ids of one comment.
func checkAttachments(m *rpc.Violations, attachments []Attachment) {
	rpc.Unique(m, "attachments[%d].attachmentId", attachments, func(a *Attachment) *int64 { return a.AttachmentID })
}

// CommentKind is the kind of content of a comment.
type CommentKind string

func (CommentKind) Values() []string { return []string{"text"} }

// CommentStatus is the last change of a comment.
type CommentStatus string

func (CommentStatus) Values() []string { return []string{"added", "updated"} }

// Reaction is an emoji in a response.
type Reaction struct {
	Emoji string    `json:"emoji" rule:"required" person:"out" doc:"One emoji"`
	Count int64     `json:"count" person:"out" doc:"Number of users"`
	Users []Reactor `json:"users" rule:"required,max=50" person:"out" doc:"The first 50, earliest first; a person who reacted is always among them, as the first if not otherwise"`
}

func (r *Reaction) Validate(m *rpc.Violations) { checkEmoji(m, r.Emoji) }

// checkEmoji requires one emoji.
func checkEmoji(m *rpc.Violations, text string) {
	if text != "" && !collab.IsEmoji(text) {
		m.Add("emoji", "must be one emoji")
	}
}

// Reactor is a user that reacted.
type Reactor struct {
	UserID string `json:"userId" rule:"required,id" person:"out"`
}

// Comment is a comment in a response.
type Comment struct {
	CommentID   int64       `json:"commentId" person:"out"`
	CommentText *string     `json:"commentText,omitzero" person:"out"`
	CommentHTML *string     `json:"commentHtml,omitzero" person:"out"`
	Context     collab.JSON `json:"context,omitzero" rule:"object" person:"out" doc:"Persons see what a person set"`
	SharedContext
	IsCommentResolverUsed  *bool                    `json:"isCommentResolverUsed,omitzero"`
	IsCommentTextAvailable *bool                    `json:"isCommentTextAvailable,omitzero"`
	From                   rpc.Stored[collab.User]  `json:"from" person:"out"`
	TaggedUserContacts     rpc.Stored[[]Tag]        `json:"taggedUserContacts,omitzero" person:"out"`
	Attachments            rpc.Stored[[]Attachment] `json:"attachments,omitzero" person:"out"`
	Reactions              []Reaction               `json:"reactions,omitzero" person:"out" doc:"Absent if there are none"`
	KeptCommentFields
	Type                    CommentKind      `json:"type,omitzero" doc:"Always text"`
	Status                  CommentStatus    `json:"status,omitzero" doc:"updated if it was changed after its creation"`
	ReactionAnnotationIDs   []string         `json:"reactionAnnotationIds,omitzero" doc:"Always empty: see reactions"`
	Recorders               []collab.JSON    `json:"recorders,omitzero" rule:"each=object" doc:"Always empty"`
	CustomList              []collab.JSON    `json:"customList,omitzero" rule:"each=object" doc:"Always empty"`
	ToOrganizationUserGroup []collab.JSON    `json:"toOrganizationUserGroup,omitzero" rule:"each=object" doc:"Always empty: see taggedUserContacts"`
	CreatedAt               collab.Timestamp `json:"createdAt" person:"out"`
	LastUpdated             collab.Timestamp `json:"lastUpdated" person:"out"`
	AddedAt                 collab.Timestamp `json:"addedAt,omitzero" doc:"When it was added, if createdAt is later or at most a day earlier. It decides unread marks"`
}
