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
	AnnotationID string               `json:"annotationId" rule:"required,id"`
	CommentIDs   []int64              `json:"commentIds" rule:"required,nonempty,max=500,each=commentid" doc:"The comments to change; repeats count once"`
	UpdatedData  rpc.One[CommentData] `json:"updatedData" rule:"required,nonempty"`
}

// CommentData is what an update makes of comments: a field left out stays, null clears it, the author is merged, everything else
// replaced whole.
type CommentData struct {
	CommentText            rpc.Opt[string]       `json:"commentText"`
	CommentHTML            rpc.Opt[string]       `json:"commentHtml"`
	Context                rpc.Opt[collab.JSON]  `json:"context" rule:"object"`
	IsCommentResolverUsed  rpc.Opt[bool]         `json:"isCommentResolverUsed"`
	IsCommentTextAvailable rpc.Opt[bool]         `json:"isCommentTextAvailable"`
	From                   rpc.Opt[collab.User]  `json:"from" rule:"notnull,partial"`
	TaggedUserContacts     rpc.Opt[[]Tag]        `json:"taggedUserContacts"`
	Attachments            rpc.Opt[[]Attachment] `json:"attachments"`
}

// UpdateCommentsResult is what became of one comment.
type UpdateCommentsResult struct {
	rpc.Outcome
	ID int64 `json:"id"`
}

// Validate refuses attachment ids given twice and more tagged users than an event names.
func (d *CommentData) Validate(m *rpc.Violations) {
	checkAttachments(m, d.Attachments.Value)
	checkPeople(m, "taggedUserContacts", taggedBy([]NewComment{{TaggedUserContacts: d.TaggedUserContacts.Value}}))
}

// UpdateComments updates comments of an annotation, each as a whole or not at all. The answer has them by id in the order sent,
// repeats once.
func (s *Service) UpdateComments(ctx context.Context, call *rpc.Call, req *UpdateCommentsRequest,
) (rpc.Keyed[UpdateCommentsResult], error) {
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, call.Settings.AllEvents)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.CommentIDs)
	change := collab.CommentChange{
		IDs:    ids,
		Change: func(c *collab.Comment) error { return req.UpdatedData.Value.apply(c, call.Millis()) },
	}
	if call.Settings.AllEvents {
		change.Event = func(head *collab.Annotation, comments []collab.Comment) *collab.Event {
			first := comments[0].ID
			return commentsUpdated(newEvent(call, doc, slices.Index(ids, first), strconv.FormatInt(first, 10)), head, comments)
		}
	}
	failures, err := s.Threads.UpdateComments(ctx, call.Tx, doc, req.AnnotationID, change)
	if err != nil {
		return nil, err
	}
	results := make(rpc.Keyed[UpdateCommentsResult], len(ids))
	for i, id := range ids {
		results[i] = rpc.Member[UpdateCommentsResult]{
			Key: strconv.FormatInt(id, 10), Value: UpdateCommentsResult{call.Outcome(failures[id], "the comment was updated"), id},
		}
	}
	call.Sum("comment", "updated")
	return results, nil
}

// apply changes a stored comment. It fails with INVALID_ARGUMENT where the comment would be left without content, or its author without an id.
func (d *CommentData) apply(c *collab.Comment, now collab.Millis) (err error) {
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
	c.LastUpdated = max(c.LastUpdated, now)
	if !c.HasContent() {
		return collab.Errorf(collab.InvalidArgument, "the comment would have no content: %s", contentRule)
	}
	return nil
}
