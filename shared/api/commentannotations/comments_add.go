package commentannotations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type AddCommentsRequest struct {
	Target
	CreateFlags
	VerifyFlag
	AnnotationID string       `json:"annotationId" rule:"required,id" person:"in"`
	CommentData  []NewComment `json:"commentData" rule:"nonempty,max=90,rest=/v2/commentannotations/comments/add" person:"in" doc:"The comments, 1 to 90; send more in another request"`
	Comments     []NewComment `json:"comments" rule:"nonempty,max=90,rest=/v2/commentannotations/comments/add" doc:"Another name of commentData: send exactly one"`
}

// Validate requires comments, and rejects duplicate ids, comments without content, and more tagged
// users than an event allows.
func (r *AddCommentsRequest) Validate(m *rpc.Violations) {
	checkNames(m, "commentData", r.CommentData != nil, "comments", r.Comments != nil)
	if r.CommentData == nil && r.Comments == nil {
		m.Add("commentData", "is required")
	}
	checkComments(m, "commentData", r.CommentData)
	checkComments(m, "comments", r.Comments)
}

func (r *AddCommentsRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if len(r.CommentData) > maxComments {
		m.Add("commentData", "must have at most %d items, not %d", maxComments, len(r.CommentData))
	}
}

// comments returns the comments and the name of their field.
func (r *AddCommentsRequest) comments() (list []NewComment, field string) {
	if r.Comments != nil {
		return r.Comments, "comments"
	}
	return r.CommentData, "commentData"
}

// CommentsAdd is POST /v2/commentannotations/comments/add.
func CommentsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/add", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders | rpc.SendEvents,
		Person:    rpc.PersonWrites,
		Operation: rpc.Method((*Service).AddComments), Description: `
Add comments.

Adds comments to a thread, all or none. The response has their ids in the order sent. A comment
requires 'from', and content: a text or HTML that is not empty, attachments, or
isCommentResolverUsed. Missing ids are generated in ascending order. 'comments' is another name of
commentData.

The annotation's lastUpdated moves to the latest of the comments. If the annotation has no
creator, the author of the first comment becomes the creator. For the author of a comment, the
annotation is marked as read up to this comment, and so are the notifications about it that were
sent to the author, if they are among the latest 100. Those to everyone stay unread.

The request fails with:

- ALREADY_EXISTS if one of the ids already exists.
- NOT_FOUND if the organization or the document does not exist and is not to be created, or if the
  annotation does not exist.
- PERMISSION_DENIED if verifyUserPermissions is true and an author cannot write in the document or
  see the annotation.
- INVALID_ARGUMENT if a comment, or all together, are too large to be stored.
- FAILED_PRECONDITION if the organization is disabled.`}
}

// AddComments adds comments to an annotation, all or none.
func (s *Service) AddComments(ctx context.Context, call *rpc.Call, req *AddCommentsRequest) ([]int64, error) {
	sent, field := req.comments()
	doc, err := s.begin(ctx, call, req.Target, req.CreateFlags, wanted(call, sent))
	if err != nil {
		return nil, err
	}
	head, err := s.mayAct(ctx, call, doc, req.AnnotationID, req.acting(authorsOf(sent)...))
	if err != nil {
		return nil, err
	}
	if err := s.introduce(ctx, call, doc, nil, sent); err != nil {
		return nil, err
	}
	add := collab.NewComments{Field: "data." + field, Moved: moved(sent), First: call.Person != nil && head.CreatorID == ""}
	for i := range sent {
		add.Comments = append(add.Comments, sent[i].stored(Times{}, call.Millis()))
	}
	if err := s.bringBack(ctx, call, doc, &collab.Thread{Comments: add.Comments}); err != nil {
		return nil, err
	}
	ev := newEvent(call, doc, 0, req.AnnotationID)
	if wanted(call, sent) {
		add.Event = func(head *collab.Annotation, comments []collab.Comment) *collab.Event {
			return commentsAdded(ev, head, comments, sent, call.Settings.AllEvents)
		}
	}
	answered := s.readByAuthors(ctx, call, doc, req.AnnotationID, add)
	ids, err := s.Threads.AddComments(ctx, call.Request, doc, req.AnnotationID, add)
	if err == nil {
		err = answered()
	}
	if err != nil {
		return nil, err
	}
	call.Items = len(ids)
	call.Message = rpc.Count(len(ids), "comment") + " added"
	return ids, nil
}

// readByAuthors begins to find the notifications about an annotation that were sent to the authors
// of comments. read marks these as read. Imported comments mark none.
func (s *Service) readByAuthors(
	ctx context.Context, call *rpc.Call, doc collab.DocumentRef, ann string, add collab.NewComments,
) (read func() error) {
	var found []func() (func(context.Context) error, error)
	for author, last := range collab.LastOf(add.Comments) {
		if !add.Moved && call.Millis()-last <= collab.MaxLate {
			found = append(found, collab.Later(ctx, func() (func(context.Context) error, error) {
				return s.Inbox.ReadBy(ctx, doc, ann, author, last)
			}))
		}
	}
	return func() error {
		for _, find := range found {
			mark, err := find()
			if err == nil {
				err = mark(ctx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
