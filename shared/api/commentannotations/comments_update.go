package commentannotations

import (
	"context"
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
	CommentIDs   []int64              `json:"commentIds" rule:"notnull,nonempty,max=500,each=commentid" person:"in" doc:"The comments to change; repeats count once; this or userIds is required"`
	UserIDs      []string             `json:"userIds" rule:"notnull,nonempty,max=500,each=id" person:"self" doc:"Only comments that any of these users wrote; without commentIds all of them, at most 500"`
	UpdatedData  rpc.One[CommentData] `json:"updatedData" rule:"required,nonempty" person:"in"`
	Actor
	// as in comments/add
	TriggerNotification bool `json:"triggerNotification" doc:"Notify those whom the change newly mentions, in the app and by email, and post it to webhooks; false where it is left out"`
}

// CommentData is what an update makes of comments: a field left out stays, null clears it, the author is merged, everything else
// replaced whole.
type CommentData struct {
	CommentText            rpc.Opt[string]        `json:"commentText" person:"in"`
	CommentHTML            rpc.Opt[string]        `json:"commentHtml" person:"in"`
	Context                rpc.Opt[collab.JSON]   `json:"context" rule:"object"`
	IsCommentResolverUsed  rpc.Opt[bool]          `json:"isCommentResolverUsed"`
	IsCommentTextAvailable rpc.Opt[bool]          `json:"isCommentTextAvailable"`
	From                   rpc.Opt[collab.User]   `json:"from" rule:"notnull,partial"`
	TaggedUserContacts     rpc.Opt[[]Tag]         `json:"taggedUserContacts" person:"in"`
	Attachments            rpc.Opt[[]Attachment]  `json:"attachments" person:"in"`
	Actions                rpc.Opt[[]collab.JSON] `json:"actions" rule:"max=20,each=object" doc:"Replaced whole"`
	Progress               rpc.Opt[Progress]      `json:"progress" rule:"exact" doc:"Replaced whole"`
	CreatedAt              rpc.Opt[int64]         `json:"createdAt" rule:"notnull,time" doc:"When it was made"`
	LastUpdated            rpc.Opt[int64]         `json:"lastUpdated" rule:"notnull,time" doc:"When it was last changed: now where it is left out; never moves back"`
}

// UpdateCommentsResult is what became of one comment.
type UpdateCommentsResult struct {
	rpc.Outcome
	ID int64 `json:"id" person:"out"`
}

// Validate demands that comments are named, by their ids or their authors.
func (r *UpdateCommentsRequest) Validate(m *rpc.Violations) {
	if r.CommentIDs == nil && r.UserIDs == nil {
		m.Add("commentIds", "is required where there are no userIds")
	}
}

// Validate refuses rights in a context, attachment ids given twice and more tagged users than an event names.
func (d *CommentData) Validate(m *rpc.Violations) {
	checkContext(m, "context", d.Context.Value)
	checkAttachments(m, d.Attachments.Value)
	checkPeople(m, "taggedUserContacts", []NewComment{{TaggedUserContacts: d.TaggedUserContacts.Value}})
}

// CommentsUpdate is POST /v2/commentannotations/comments/update.
func CommentsUpdate() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/update", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).UpdateComments), Description: `
Updates comments. It changes up to 500 of an annotation, each as a whole or not at all: a field left out stays, null clears it, from is
merged, and everything else is replaced whole. userIds narrows commentIds, or selects alone; what it excludes is not in the response. With
triggerNotification those are notified whom the comments mention now and did not before, by themselves or through a group, as mentioned by
actionUser, else by the author of the first comment; nobody else is. A webhook gets each change; with the account's setting allEvents also
one without triggerNotification. With verifyUserPermissions an author whom from names, and actionUser, must have access to the
document, and be one of those who see the annotation: else PERMISSION_DENIED, and nothing is updated.

The response has a result for each by comment id, in the order sent. An item fails with NOT_FOUND where there is no comment with its id;
with PERMISSION_DENIED for a person if somebody else wrote it;
with INVALID_ARGUMENT where it would be left without content, or would be too large; with ABORTED, UNAVAILABLE, DEADLINE_EXCEEDED or
INTERNAL where it may be sent again. NOT_FOUND when the organization, the document or the annotation does not exist. FAILED_PRECONDITION
when the organization is disabled, or when the annotation has too many comments to select them by userIds alone.`}
}

// UpdateComments updates comments of an annotation, each as a whole or not at all. The answer has them by id in the order sent,
// repeats once.
func (s *Service) UpdateComments(ctx context.Context, call *rpc.Call, req *UpdateCommentsRequest,
) (rpc.Keyed[UpdateCommentsResult], error) {
	raise := req.TriggerNotification || call.Settings.AllEvents
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, raise)
	if err != nil {
		return nil, err
	}
	if err := s.checkAnnotation(ctx, call, s.mine(call), doc, req.AnnotationID)(); err != nil {
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
	people := req.Actor.id()
	if author := req.UpdatedData.Value.From.Value.UserID; author != "" {
		people = append(people, author)
	}
	if req.VerifyUserPermissions && len(people) > 0 {
		allowed, err := s.writers(ctx, call, doc, req.VerifyFlag, people)
		if err != nil {
			return nil, err
		}
		a, err := s.Threads.Head(ctx, doc, req.AnnotationID)
		if err == nil {
			err = allowed.check(&a, people)
		}
		if err != nil {
			return nil, err
		}
	}
	ids := rpc.Distinct(req.CommentIDs)
	if ids == nil {
		if ids, err = s.commentsOf(ctx, doc, req.AnnotationID, req.UserIDs); err != nil {
			return nil, err
		}
	}
	at := req.UpdatedData.Value.at(call.Millis())
	change := collab.CommentChange{
		IDs: ids, At: at,
		Change: func(c *collab.Comment) error {
			if req.UserIDs != nil && !slices.Contains(req.UserIDs, c.AuthorID) {
				if call.Person != nil {
					return errNotAuthor
				}
				return errNotSelected
			}
			return req.UpdatedData.Value.apply(c, at)
		},
	}
	if raise {
		change.Event = func(head *collab.Annotation, were, comments []collab.Comment) *collab.Event {
			first := comments[0].ID
			ev := req.of(newEvent(call, doc, slices.Index(ids, first), strconv.FormatInt(first, 10)))
			return commentsUpdated(ev, head, were, comments, req.TriggerNotification)
		}
	}
	failures, err := s.Threads.UpdateComments(ctx, call.Request, doc, req.AnnotationID, change)
	if err != nil {
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

// commentsOf returns the ids of the comments of an annotation that any of the users wrote. Where they are more than one call updates, or
// the annotation has more than are worth reading for them, it fails with FAILED_PRECONDITION.
func (s *Service) commentsOf(ctx context.Context, doc collab.DocumentRef, ann string, users []string) (ids []int64, err error) {
	const most = 500
	read, bytes := 0, 0
	for c, err := range s.Threads.ListComments(ctx, doc, ann, 0, collab.MaxPageSize) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(users, c.AuthorID) {
			ids = append(ids, c.ID)
		}
		read, bytes = read+1, bytes+c.Content()
		if len(ids) > most || read > maxPassedOver || bytes > maxPassedOverBytes {
			return nil, collab.Errorf(
				collab.FailedPrecondition, "the annotation has too many comments to select them by userIds alone: name them by commentIds",
			)
		}
	}
	return ids, nil
}

// at returns when comments are last changed.
func (d *CommentData) at(now collab.Millis) collab.Millis {
	if d.LastUpdated.Sent() {
		now = d.LastUpdated.Value
	}
	return max(now, d.CreatedAt.Value)
}

// apply changes a stored comment. It fails with INVALID_ARGUMENT where the comment would be left without content, or its author without an
// id.
func (d *CommentData) apply(c *collab.Comment, at collab.Millis) (err error) {
	if c.From, err = change("from", c.From, d.From.Raw, "userId"); err != nil {
		return err
	}
	c.AuthorID = changeID(c.AuthorID, d.From, d.From.Value.UserID)
	c.Text = changeValue(c.Text, d.CommentText)
	c.HTML = changeValue(c.HTML, d.CommentHTML)
	c.Context = changeJSON(c.Context, d.Context)
	c.ResolverUsed = changeValue(c.ResolverUsed, d.IsCommentResolverUsed)
	c.TextAvailable = changeValue(c.TextAvailable, d.IsCommentTextAvailable)
	c.TaggedUserContacts = changeJSON(c.TaggedUserContacts, d.TaggedUserContacts)
	c.Attachments = changeJSON(c.Attachments, d.Attachments)
	c.Kept = changeKept(c.Kept, rpc.Keyed[collab.JSON]{
		{Key: "actions", Value: d.Actions.Raw}, {Key: "progress", Value: d.Progress.Raw},
	})
	if d.CreatedAt.Sent() {
		added := c.Added()
		c.CreatedAt = d.CreatedAt.Value
		c.SetAdded(added)
	}
	c.LastUpdated = max(c.LastUpdated, at)
	if !c.HasContent() {
		return collab.Errorf(collab.InvalidArgument, "the comment would have no content: %s", contentRule)
	}
	return nil
}
