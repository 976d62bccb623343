package commentannotations

import (
	"fmt"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// CommentFields are the fields that a comment to add has in every operation.
type CommentFields struct {
	CommentID              *int64      `json:"commentId" rule:"commentid"` // generated when absent
	CommentText            *string     `json:"commentText"`
	CommentHTML            *string     `json:"commentHtml"`
	IsCommentResolverUsed  *bool       `json:"isCommentResolverUsed"`
	IsCommentTextAvailable *bool       `json:"isCommentTextAvailable"`
	From                   collab.User `json:"from" rule:"required"`
	Times
}

// newComment is a comment to add, whatever the operation that sent it.
type newComment struct {
	*CommentFields
	context     collab.JSON
	tags        []Tag
	attachments []Attachment
	notify      bool
}

// checkComments refuses ids given twice, comments without content, and more tagged users than an event names.
func checkComments(m *rpc.Mistakes, field string, comments []newComment) {
	unique(m, field+"[%d].commentId", comments, func(c *newComment) *int64 { return c.CommentID })
	for i := range comments {
		if !comments[i].hasContent() {
			m.Add(fmt.Sprintf("%s[%d]", field, i), "must have content: %s", contentRule)
		}
	}
	checkPeople(m, field, taggedBy(comments))
}

// checkPeople demands that no more users are tagged than an event names.
func checkPeople(m *rpc.Mistakes, field string, users []collab.User) {
	if len(users) > collab.MaxPeople {
		m.Add(field, "must tag at most %d users in all, not %d", collab.MaxPeople, len(users))
	}
}

func (c *newComment) hasContent() bool {
	written := collab.Comment{Text: c.CommentText, HTML: c.CommentHTML, ResolverUsed: c.IsCommentResolverUsed}
	return written.HasContent() || len(c.attachments) > 0
}

// contentRule says what content is.
const contentRule = "a text, HTML, attachments, or isCommentResolverUsed"

// comment returns the comment as it is stored, without an id where none was given. around are the times given for the annotation that
// it is added with.
func (c *newComment) comment(around Times, now collab.Millis) collab.Comment {
	stored := collab.Comment{
		Text:               c.CommentText,
		HTML:               c.CommentHTML,
		Context:            c.context,
		ResolverUsed:       c.IsCommentResolverUsed,
		TextAvailable:      c.IsCommentTextAvailable,
		From:               encode(c.From),
		AuthorID:           c.From.UserID,
		TaggedUserContacts: encodeList(c.tags),
		Attachments:        encodeList(c.attachments),
	}
	if c.CommentID != nil {
		stored.ID = *c.CommentID
	}
	stored.CreatedAt, stored.LastUpdated = c.Times.inherit(around).resolve(now)
	return stored
}

// taggedBy returns the users whom comments tag, each once, as the first contact with a name or an e-mail address has them.
func taggedBy(comments []newComment) []collab.User {
	var users []collab.User
	seen := map[string]int{} // position in users
	for _, c := range comments {
		for _, tag := range c.tags {
			i, known := seen[tag.UserID]
			if !known {
				i = len(users)
				seen[tag.UserID] = i
				users = append(users, collab.User{UserID: tag.UserID})
			}
			if tag.Contact != nil && users[i].Name == nil && users[i].Email == nil {
				users[i] = *tag.Contact
			}
		}
	}
	return users
}

// Times are the times that an annotation or a comment to add may be given.
type Times struct {
	CreatedAt   *int64 `json:"createdAt" rule:"time"`
	LastUpdated *int64 `json:"lastUpdated" rule:"time"`
}

// inherit returns the times of a comment, with those of its annotation that it lacks itself. A making that it inherits is not later than
// a last change of its own.
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

// resolve returns the times, with now for those that are not given. What was last changed in the past was made by then; where both are
// given and the change is the earlier, it is raised to the making.
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
