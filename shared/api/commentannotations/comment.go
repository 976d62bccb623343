package commentannotations

import (
	"fmt"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// CommentFields are the fields that a comment to add has in every operation.
type CommentFields struct {
	CommentID              *int64      `json:"commentId" rule:"commentid" doc:"Unique in its annotation; generated where it is left out"`
	CommentText            *string     `json:"commentText" person:"in"`
	CommentHTML            *string     `json:"commentHtml" person:"in"`
	IsCommentResolverUsed  *bool       `json:"isCommentResolverUsed"`
	IsCommentTextAvailable *bool       `json:"isCommentTextAvailable"`
	From                   collab.User `json:"from" rule:"required"`
	Times
}

// NewComment is a comment to add to an annotation. Those of an annotation to add become such comments.
type NewComment struct {
	CommentFields
	Context             collab.JSON  `json:"context" rule:"object"`
	TriggerNotification bool         `json:"triggerNotification"` // an extension of the contract
	TaggedUserContacts  []Tag        `json:"taggedUserContacts" person:"in"`
	Attachments         []Attachment `json:"attachments" person:"in"`
	Addition
	KeptCommentFields
}

// moved reports whether comments say that they were added elsewhere.
func moved(comments []NewComment) bool {
	return slices.ContainsFunc(comments, func(c NewComment) bool { return c.AddedAt != nil })
}

// Addition is the field of a comment to add that says when it was added.
type Addition struct {
	AddedAt *collab.Millis `json:"addedAt" rule:"time" doc:"When it was added, if that was elsewhere and before: it is unread for users who read the annotation earlier, and says nothing of whether its author has read others. Left out: now, if createdAt is no more than a day earlier, else createdAt"`
}

// Validate refuses attachment ids given twice.
func (c *NewComment) Validate(m *rpc.Violations) { checkAttachments(m, c.Attachments) }

// checkComments refuses ids given twice, comments without content, and more tagged users than an event names.
func checkComments(m *rpc.Violations, field string, comments []NewComment) {
	rpc.Unique(m, field+"[%d].commentId", comments, func(c *NewComment) *int64 { return c.CommentID })
	for i := range comments {
		checkContext(m, fmt.Sprintf("%s[%d].context", field, i), comments[i].Context)
		if !comments[i].hasContent() && comments[i].From.UserID != collab.ErasedUser { // what is left of one is imported so
			m.Add(fmt.Sprintf("%s[%d]", field, i), "must have content: %s", contentRule)
		}
	}
	checkPeople(m, field, comments)
}

// maxGroups is how many groups the comments of a request may tag: their members are as many as an event names.
const maxGroups = collab.MaxPeople / collab.MaxGroupMention

// tagged returns the ids of the users and of the groups that comments tag, each once.
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

// checkPeople demands that no more users are tagged than an event names.
func checkPeople(m *rpc.Violations, field string, comments []NewComment) {
	if users, _ := tagged(comments); len(users) > collab.MaxPeople {
		m.Add(field, "must tag at most %d users in all, not %d", collab.MaxPeople, len(users))
	}
}

func (c *NewComment) hasContent() bool {
	written := collab.Comment{Text: c.CommentText, HTML: c.CommentHTML, ResolverUsed: c.IsCommentResolverUsed}
	return written.HasContent() || len(c.Attachments) > 0
}

// contentRule says what content is.
const contentRule = "a text, HTML, attachments, or isCommentResolverUsed"

// stored returns the comment as it is stored, without an id where none was given. around are the times given for the annotation that
// it is added with.
func (c *NewComment) stored(around Times, now collab.Millis) collab.Comment {
	stored := collab.Comment{
		Text:               c.CommentText,
		HTML:               c.html(),
		Context:            c.Context,
		ResolverUsed:       c.IsCommentResolverUsed,
		TextAvailable:      c.IsCommentTextAvailable,
		From:               encode(c.From),
		AuthorID:           c.From.UserID,
		TaggedUserContacts: encode(c.TaggedUserContacts),
		Attachments:        encode(c.Attachments),
		Kept:               c.KeptCommentFields.stored(),
	}
	if c.CommentID != nil {
		stored.ID = *c.CommentID
	}
	stored.CreatedAt, stored.LastUpdated = c.Times.inherit(around).resolve(now)
	added := now
	if c.AddedAt != nil {
		added = min(*c.AddedAt, now)
	}
	stored.SetAdded(added)
	return stored
}

// html returns the HTML that is kept: an empty one beside a text says nothing, see collab.Comment.Written.
func (c *NewComment) html() *string {
	if c.CommentText != nil && collab.Deref(c.CommentHTML) == "" {
		return nil
	}
	return c.CommentHTML
}

// Times are the times that an annotation or a comment to add may be given.
type Times struct {
	CreatedAt   *int64 `json:"createdAt" rule:"time" doc:"When it was made; where it is left out: of a comment, when its annotation says that it was made, else now; not later than lastUpdated"`
	LastUpdated *int64 `json:"lastUpdated" rule:"time" doc:"When it was last changed; where it is left out: of a comment, when its annotation says so, else now; raised to createdAt where it is earlier"`
}

// inherit returns the times of a comment, which takes those that it lacks from its annotation. It was made no later than it was last
// changed: an inherited createdAt that is later becomes the comment's own lastUpdated.
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

// resolve returns the times, with now for those that are not given. Without a createdAt, what was last changed in the past was made then.
// A lastUpdated before createdAt is raised to it.
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
