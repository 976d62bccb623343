package commentannotations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// UpdateCommentsRequest updates comments of an annotation.
type UpdateCommentsRequest struct {
	Target
	VerifyFlag
	AnnotationID string               `json:"annotationId" rule:"required,id" person:"in"`
	CommentIDs   []int64              `json:"commentIds" rule:"notnull,nonempty,max=500,each=commentid" person:"in" doc:"The comments to update; this or userIds is required"`
	UserIDs      []string             `json:"userIds" rule:"notnull,nonempty,max=500,each=id" person:"self" doc:"Only comments by these users; without commentIds, all of them, at most 500"`
	LastUpdated  *ReadTime            `json:"lastUpdated" rule:"notnull" person:"in" schema:"Timestamp|Millis" doc:"Only if the comment still has this lastUpdated, as a read returned it; requires one commentId"`
	UpdatedData  rpc.One[CommentData] `json:"updatedData" rule:"required,nonempty" person:"in"`
	Actor
	TriggerNotification bool `json:"triggerNotification" doc:"Notify newly mentioned users in the app and by email, and post the change to webhooks"`
}

// ReadTime is a time as reads return it: the text of a Timestamp, or milliseconds.
type ReadTime collab.Millis

// UnmarshalJSON parses a text or a number.
func (t *ReadTime) UnmarshalJSON(text []byte) error {
	var at collab.Timestamp
	if json.Unmarshal(text, &at) == nil {
		*t = ReadTime(at)
		return nil
	}
	var ms collab.Millis
	if json.Unmarshal(text, &ms) != nil || ms < 0 || ms > collab.MaxMillis {
		return errors.New("must be a time as reads return it, such as 2026-03-01T12:00:00.250Z, or milliseconds since epoch")
	}
	*t = ReadTime(ms)
	return nil
}

// CommentData is an update of comments. An absent field is unchanged, null clears, the author is
// merged, and other values are replaced.
type CommentData struct {
	CommentText            rpc.Opt[string]        `json:"commentText" person:"in"`
	CommentHTML            rpc.Opt[string]        `json:"commentHtml" person:"in"`
	Context                rpc.Opt[collab.JSON]   `json:"context" rule:"object" person:"in" doc:"Replaced. A person can set it until a back end has"`
	IsCommentResolverUsed  rpc.Opt[bool]          `json:"isCommentResolverUsed"`
	IsCommentTextAvailable rpc.Opt[bool]          `json:"isCommentTextAvailable"`
	From                   rpc.Opt[collab.User]   `json:"from" rule:"notnull,partial"`
	TaggedUserContacts     rpc.Opt[[]Tag]         `json:"taggedUserContacts" person:"in"`
	Attachments            rpc.Opt[[]Attachment]  `json:"attachments" person:"in"`
	Actions                rpc.Opt[[]collab.JSON] `json:"actions" rule:"max=20,each=object" doc:"Replaced whole"`
	Progress               rpc.Opt[Progress]      `json:"progress" rule:"exact" doc:"Replaced whole"`
	CreatedAt              rpc.Opt[int64]         `json:"createdAt" rule:"notnull,time" doc:"Time of creation"`
	LastUpdated            rpc.Opt[int64]         `json:"lastUpdated" rule:"notnull,time" doc:"Time of the last change: default now; never moves back"`

	byPerson bool
}

// UpdateCommentsResult is the outcome of one comment.
type UpdateCommentsResult struct {
	rpc.Outcome
	ID int64 `json:"id" person:"out"`
}

// Validate requires commentIds or userIds.
func (r *UpdateCommentsRequest) Validate(m *rpc.Violations) {
	if r.CommentIDs == nil && r.UserIDs == nil {
		m.Add("commentIds", "is required without userIds")
	}
	if r.LastUpdated != nil && len(r.CommentIDs) != 1 {
		m.Add("lastUpdated", "requires exactly one of commentIds")
	}
}

func (r *UpdateCommentsRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	checkNamedComments(m, r.CommentIDs)
	r.TriggerNotification = true
}

// Validate rejects rights in a context, duplicate attachment ids, and more tagged users than an
// event allows.
func (d *CommentData) Validate(m *rpc.Violations) {
	checkContext(m, "context", d.Context.Value)
	checkAttachments(m, d.Attachments.Value)
	checkPeople(m, "taggedUserContacts", []NewComment{{TaggedUserContacts: d.TaggedUserContacts.Value}})
}

// Fill bounds a person's context.
func (d *CommentData) Fill(_ *collab.Person, m *rpc.Violations) {
	d.byPerson = true
	checkSize(m, "context", d.Context.Raw, maxContext)
}

// CommentsUpdate is POST /v2/commentannotations/comments/update.
func CommentsUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).UpdateComments), Description: `
Update comments.

Updates up to 500 comments of one annotation, each completely or not at all. Absent fields are
unchanged, 'null' clears, 'from' is merged, and all other values are replaced. userIds narrows
commentIds, or selects alone; the response omits excluded comments. With lastUpdated, the request
changes the comment only as the caller has read it.

With triggerNotification, newly mentioned users are notified, directly or through a group, once
for each comment: not again if a mention is removed and comes back. The notification names
actionUser, else the author of the first comment. Webhooks get each change; if
the account's setting allEvents is on, also without triggerNotification.

The response has a result for each comment by id, in the order sent. An item fails with:

- NOT_FOUND if the comment does not exist.
- PERMISSION_DENIED if a person updates a comment by another author.
- INVALID_ARGUMENT if the comment would have no content, or be too large.
- ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL if it can be retried.

The request fails with NOT_FOUND if the organization, the document or the annotation does not
exist. It fails with PERMISSION_DENIED, without any update, if verifyUserPermissions is true and
the author in 'from', or actionUser, cannot write in the document or see the annotation. It fails
with FAILED_PRECONDITION if the organization is disabled, if the annotation has too many comments to
select by userIds alone, or if the comment has another lastUpdated: the message names it.`}
}

// UpdateComments updates comments of an annotation, each completely or not at all.
func (s *Service) UpdateComments(ctx context.Context, call *rpc.Call, req *UpdateCommentsRequest,
) (rpc.Keyed[UpdateCommentsResult], error) {
	raise := req.TriggerNotification || call.Settings.AllEvents
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, raise)
	if err != nil {
		return nil, err
	}
	people := req.Actor.id()
	if author := req.UpdatedData.Value.From.Value.UserID; author != "" {
		people = append(people, author)
	}
	if _, err := s.mayAct(ctx, call, doc, req.AnnotationID, req.acting(people...)); err != nil {
		return nil, err
	}
	tags := &req.UpdatedData.Value.TaggedUserContacts
	written := []NewComment{{TaggedUserContacts: tags.Value}}
	if users, groups := tagged(written); len(groups) > 0 || call.Person != nil && len(users) > 0 {
		if err := s.introduce(ctx, call, doc, nil, written); err != nil {
			return nil, err
		}
		tags.Raw = rpc.JSON(tags.Value)
	}
	ids := rpc.Distinct(req.CommentIDs)
	if ids == nil {
		if ids, err = s.commentsOf(ctx, doc, req.AnnotationID, req.UserIDs); err != nil {
			return nil, err
		}
	}
	at := req.UpdatedData.Value.at(call.Millis())
	var changed error // the comment is not the one that the caller has read
	change := collab.CommentChange{
		IDs: ids, At: at,
		Change: func(c *collab.Comment) error {
			if req.UserIDs != nil && !slices.Contains(req.UserIDs, c.AuthorID) {
				if call.Person != nil {
					return errNotAuthor
				}
				return errNotSelected
			}
			if req.LastUpdated != nil { // there is one comment
				if changed = nil; collab.Millis(*req.LastUpdated) != c.LastUpdated {
					changed = collab.Errorf(collab.FailedPrecondition, "comment %d was changed meanwhile: its lastUpdated is %s", c.ID, collab.Timestamp(c.LastUpdated))
					return changed
				}
			}
			return req.UpdatedData.Value.apply(c, at)
		},
	}
	if raise {
		change.Event = func(head *collab.Annotation, were, comments []collab.Comment) *collab.Event {
			first := comments[0].ID
			ev := req.withActor(newEvent(call, doc, slices.Index(ids, first), strconv.FormatInt(first, 10)))
			return commentsUpdated(ev, head, were, comments, req.TriggerNotification)
		}
	}
	failures, err := s.Threads.UpdateComments(ctx, call.Request, doc, req.AnnotationID, change)
	if err = cmp.Or(err, changed); err != nil {
		return nil, err
	}
	results := rpc.Keyed[UpdateCommentsResult]{}
	for _, id := range ids {
		if failures[id] != errNotSelected {
			results = append(results, rpc.Member[UpdateCommentsResult]{
				Key: strconv.FormatInt(id, 10), Value: UpdateCommentsResult{call.Outcome(failures[id], "the comment was updated"), id},
			})
		}
	}
	call.Sum("comment", "updated")
	return results, nil
}

// commentsOf returns the ids of an annotation's comments by the given users. It returns
// FAILED_PRECONDITION if there are more than 500, or if the annotation is too long to search.
func (s *Service) commentsOf(ctx context.Context, doc collab.DocumentRef, ann string, users []string) (ids []int64, err error) {
	const limit = 500
	read, bytes := 0, 0
	for c, err := range s.Threads.ListComments(ctx, doc, ann, 0, collab.MaxPageSize) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(users, c.AuthorID) {
			ids = append(ids, c.ID)
		}
		read, bytes = read+1, bytes+c.Content()
		if len(ids) > limit || read > maxPassedOver || bytes > maxPassedOverBytes {
			return nil, collab.Errorf(
				collab.FailedPrecondition, "the annotation has too many comments to select them by userIds alone: name them by commentIds",
			)
		}
	}
	return ids, nil
}

func (d *CommentData) at(now collab.Millis) collab.Millis {
	if d.LastUpdated.Sent() {
		now = d.LastUpdated.Value
	}
	return max(now, d.CreatedAt.Value)
}

// apply changes a stored comment. It returns INVALID_ARGUMENT if the comment would have no content,
// or its author no id.
func (d *CommentData) apply(c *collab.Comment, at collab.Millis) (err error) {
	if c.From, err = change("from", c.From, d.From.Raw, "userId"); err != nil {
		return err
	}
	c.AuthorID = changeID(c.AuthorID, d.From, d.From.Value.UserID)
	c.Text = changeValue(c.Text, d.CommentText)
	c.HTML = changeValue(c.HTML, d.CommentHTML)
	if err := changeContext(&c.Context, &c.ContextShown, d.Context, d.byPerson); err != nil {
		return err
	}
	c.ResolverUsed = changeValue(c.ResolverUsed, d.IsCommentResolverUsed)
	c.TextAvailable = changeValue(c.TextAvailable, d.IsCommentTextAvailable)
	tags, attachments := d.TaggedUserContacts, d.Attachments
	if d.byPerson {
		tags.Value, attachments.Value = keepTags(c.TaggedUserContacts, tags.Value), keepAttachments(c.Attachments, attachments.Value)
	}
	c.Retag(changeJSON(c.TaggedUserContacts, tags))
	c.Attachments = changeJSON(c.Attachments, attachments)
	c.Kept = changeKept(c.Kept, collab.Object{
		{Name: "actions", Value: d.Actions.Raw}, {Name: "progress", Value: d.Progress.Raw},
	})
	if d.CreatedAt.Sent() {
		added := c.Added()
		c.CreatedAt = d.CreatedAt.Value
		c.SetAdded(added)
	}
	if d.LastUpdated.Sent() {
		c.LastUpdated = max(c.LastUpdated, at)
	} else { // each update has its own
		c.LastUpdated = min(max(c.LastUpdated+1, at), collab.MaxMillis)
	}
	if !c.HasContent() {
		return collab.Errorf(collab.InvalidArgument, "the comment would have no content: %s", contentRule)
	}
	return nil
}

// keepTags returns a person's tags. A tag of a tagged user or group keeps its stored form, with the
// fields that a person cannot send.
func keepTags(stored collab.JSON, sent []Tag) []Tag {
	var tags []Tag
	decodeKept(stored, &tags)
	return collab.Map(sent, func(tag Tag) Tag {
		if i := slices.IndexFunc(tags, func(t Tag) bool { return t.UserID == tag.UserID && t.GroupID == tag.GroupID }); i >= 0 {
			return tags[i]
		}
		return tag
	})
}

// keepAttachments returns a person's attachments. One with a stored id keeps the fields that a
// person cannot send.
func keepAttachments(stored collab.JSON, sent []Attachment) []Attachment {
	var attachments []Attachment
	decodeKept(stored, &attachments)
	return collab.Map(sent, func(a Attachment) Attachment {
		if i := slices.IndexFunc(attachments, func(b Attachment) bool { return *a.AttachmentID == collab.Deref(b.AttachmentID) }); i >= 0 {
			a.BucketPath, a.Metadata = attachments[i].BucketPath, attachments[i].Metadata
		}
		return a
	})
}
