package commentannotations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AddCommentsRequest adds comments to an annotation.
type AddCommentsRequest struct {
	Target
	CreateFlags
	AnnotationID string       `json:"annotationId" rule:"required,id"`
	CommentData  []NewComment `json:"commentData" rule:"required,nonempty,max=90,rest=/v2/commentannotations/comments/add" doc:"The comments, at most 90; send further ones in another request"`
}

// Validate refuses ids given twice, comments without content, and more tagged users than an event names.
func (r *AddCommentsRequest) Validate(m *rpc.Violations) {
	checkComments(m, "commentData", r.CommentData)
}

// AddComments adds comments to an annotation, all or none. It answers their ids in the order sent.
func (s *Service) AddComments(ctx context.Context, call *rpc.Call, req *AddCommentsRequest) ([]int64, error) {
	sent := req.CommentData
	doc, err := s.begin(ctx, call, req.Target, req.CreateFlags, wanted(call, sent))
	if err != nil {
		return nil, err
	}
	add := collab.NewComments{Field: "data.commentData"}
	for i := range sent {
		add.Comments = append(add.Comments, sent[i].stored(Times{}, call.Millis()))
	}
	ev := newEvent(call, doc, 0, req.AnnotationID)
	if wanted(call, sent) {
		add.Event = func(head *collab.Annotation, comments []collab.Comment) *collab.Event {
			return commentsAdded(ev, head, comments, sent, call.Settings.AllEvents)
		}
	}
	ids, err := s.Threads.AddComments(ctx, call.Tx, doc, req.AnnotationID, add)
	if err != nil {
		return nil, err
	}
	call.Items = len(ids)
	call.Message = rpc.Count(len(ids), "comment") + " added"
	return ids, nil
}

// checkAttachments refuses attachment ids given twice in one comment.
func checkAttachments(m *rpc.Violations, attachments []Attachment) {
	rpc.Unique(m, "attachments[%d].attachmentId", attachments, func(a *Attachment) *int64 { return a.AttachmentID })
}
