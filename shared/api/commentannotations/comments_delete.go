package commentannotations

import (
	"context"
	"maps"
	"strconv"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// DeleteCommentsRequest deletes comments of an annotation: those of the ids, those of the authors, or all.
type DeleteCommentsRequest struct {
	Target
	AnnotationID string   `json:"annotationId" rule:"required,id" person:"in"`
	CommentIDs   []int64  `json:"commentIds" rule:"notnull,nonempty,max=500,each=commentid" person:"in" doc:"The comments to delete; repeats count once; left out: all of the annotation"`
	UserIDs      []string `json:"userIds" rule:"notnull,nonempty,max=500,each=id" person:"self" doc:"Only comments that any of these users wrote"`
}

// DeleteCommentResult is what became of one comment.
type DeleteCommentResult struct {
	rpc.Outcome
	ID int64 `json:"id" person:"out"`
}

// CommentsDelete is POST /v2/commentannotations/comments/delete.
func CommentsDelete() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/delete", Grants: rpc.ReadTable | rpc.WriteTable | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).DeleteComments), Description: `
Deletes comments. It deletes those that pass all selectors given, commentIds and userIds (of the authors), or without any all of the
annotation. The annotation stays, with its creator, and its
lastUpdated moves to now. An id may be added again at once. With the account's setting allEvents they are posted to webhooks as
comment.deleted.

The response has a result for each by comment id, in the order sent, all of them by id. An item fails with NOT_FOUND where there is no
comment with its id, or userIds does not have its author; with PERMISSION_DENIED for a person if somebody else wrote it. NOT_FOUND when the organization, the document or the annotation does not exist. FAILED_PRECONDITION when the
organization is disabled, or without commentIds when more than 1,000 comments are selected, or the annotation has too many to look for
those of userIds.`}
}

// DeleteComments deletes comments of an annotation, which stays: see threads.Store.DeleteComments. The answer has them by id in the order
// sent, repeats once; those that were not named by id.
func (s *Service) DeleteComments(ctx context.Context, call *rpc.Call, req *DeleteCommentsRequest) (rpc.Keyed[DeleteCommentResult], error) {
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, call.Settings.AllEvents)
	if err != nil {
		return nil, err
	}
	if err := s.checkAnnotation(ctx, call, s.mine(call), doc, req.AnnotationID)(); err != nil {
		return nil, err
	}
	var event func(*collab.Annotation, []collab.Comment) *collab.Event
	if call.Settings.AllEvents {
		event = func(head *collab.Annotation, gone []collab.Comment) *collab.Event {
			return commentsDeleted(newEvent(call, doc, 0, strconv.FormatInt(gone[0].ID, 10)), head, gone)
		}
	}
	ids, failures, err := s.Threads.DeleteComments(ctx, call.Request, doc, req.AnnotationID, rpc.Distinct(req.CommentIDs), req.UserIDs, event)
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
		if _, there := others[id]; there {
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

// errNotAuthor is why a person may not change or delete a comment of somebody else.
var errNotAuthor = collab.Errorf(collab.PermissionDenied, "only its author may change or delete a comment")

// ofOthers returns the comments among those that a person failed to delete. The others do not exist.
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
	there, err := s.Threads.Comments(ctx, doc, ann, ids)
	maps.DeleteFunc(there, func(_ int64, c collab.Comment) bool { return c.AuthorID == call.Person.UserID })
	return there, err
}
