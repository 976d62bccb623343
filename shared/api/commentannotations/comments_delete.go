package commentannotations

import (
	"context"
	"maps"
	"strconv"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DeleteCommentsRequest selects comments of an annotation by id, by author, or all.
type DeleteCommentsRequest struct {
	Target
	AnnotationID string   `json:"annotationId" rule:"required,id" person:"in"`
	CommentIDs   []int64  `json:"commentIds" rule:"notnull,nonempty,max=500,each=commentid" person:"in" doc:"The comments to delete; without them, all of the annotation"`
	UserIDs      []string `json:"userIds" rule:"notnull,nonempty,max=500,each=id" person:"self" doc:"Only comments by any of these users"`
}

func (r *DeleteCommentsRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	checkNamedComments(m, r.CommentIDs)
}

// DeleteCommentResult is the outcome of one comment.
type DeleteCommentResult struct {
	rpc.Outcome
	ID int64 `json:"id" person:"out"`
}

// CommentsDelete is POST /v2/commentannotations/comments/delete.
func CommentsDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).DeleteComments), Description: `
Delete comments.

Deletes the comments that match all selectors, commentIds and userIds (the authors). Without
selectors, all comments of the annotation are deleted. The annotation and its creator remain, and
its lastUpdated moves to now. If a person deletes the last comment of an annotation of theirs, the
annotation is deleted with it, unless somebody comments meanwhile. An id can be reused at once. If the account's setting allEvents is
on, the deletion is posted to webhooks as 'comment.deleted'.

The response has a result for each comment by id, in the order sent; without commentIds, sorted by
id. An item fails with NOT_FOUND if the comment does not exist or userIds excludes its author. It
fails with PERMISSION_DENIED if a person deletes a comment by another author.

The request fails with NOT_FOUND if the organization, the document or the annotation does not
exist. It fails with FAILED_PRECONDITION if the organization is disabled. Without commentIds, it
also fails with FAILED_PRECONDITION if more than 1,000 comments are selected, or if the annotation
has too many comments to search for userIds.`}
}

// DeleteComments deletes comments of an annotation, which remains unless a person who created it
// deletes the last one.
func (s *Service) DeleteComments(ctx context.Context, call *rpc.Call, req *DeleteCommentsRequest) (rpc.Keyed[DeleteCommentResult], error) {
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, call.Settings.AllEvents)
	if err != nil {
		return nil, err
	}
	if _, err := s.mayAct(ctx, call, doc, req.AnnotationID, nil); err != nil {
		return nil, err
	}
	var event func(*collab.Annotation, []collab.Comment) *collab.Event
	if call.Settings.AllEvents {
		event = func(head *collab.Annotation, gone []collab.Comment) *collab.Event {
			return commentsDeleted(newEvent(call, doc, 0, strconv.FormatInt(gone[0].ID, 10)), head, gone)
		}
	}
	ids := rpc.Distinct(req.CommentIDs)
	var failures map[int64]error
	if call.Person != nil {
		ids, failures, err = s.Threads.DeleteOwnComments(ctx, call.Request, doc, req.AnnotationID, ids, call.Person.UserID, event)
	} else {
		ids, failures, err = s.Threads.DeleteComments(ctx, call.Request, doc, req.AnnotationID, ids, req.UserIDs, event)
	}
	if err != nil {
		return nil, err
	}
	others, err := s.ofOthers(ctx, call, doc, req.AnnotationID, failures)
	if err != nil {
		return nil, err
	}
	results := make(rpc.Keyed[DeleteCommentResult], len(ids))
	for i, id := range ids {
		err := failures[id]
		if _, ok := others[id]; ok {
			err = errNotAuthor
		} else if collab.CodeOf(err) == collab.NotFound {
			err = collab.Errorf(collab.NotFound, "Not found")
		}
		results[i] = rpc.Member[DeleteCommentResult]{
			Key: strconv.FormatInt(id, 10), Value: DeleteCommentResult{call.Outcome(err, "Deleted successfully"), id},
		}
	}
	call.Message = "Comments(s) deleted successfully."
	return results, nil
}

// errNotAuthor rejects a person's change of a comment by another author.
var errNotAuthor = collab.Errorf(collab.PermissionDenied, "only its author can change or delete a comment")

// ofOthers returns the existing comments among a person's failed deletions.
func (s *Service) ofOthers(
	ctx context.Context, call *rpc.Call, doc collab.DocumentRef, ann string, failures map[int64]error,
) (map[int64]collab.Comment, error) {
	var ids []int64
	for id, err := range failures {
		if collab.CodeOf(err) == collab.NotFound {
			ids = append(ids, id)
		}
	}
	if call.Person == nil || len(ids) == 0 {
		return nil, nil
	}
	found, err := s.Threads.Comments(ctx, doc, ann, ids)
	maps.DeleteFunc(found, func(_ int64, c collab.Comment) bool { return c.AuthorID == call.Person.UserID })
	return found, err
}
