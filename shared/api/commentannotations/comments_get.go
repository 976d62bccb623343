package commentannotations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetCommentsRequest is the data of POST /v2/commentannotations/comments/get, an extension of the contract: it pages through the
// comments of one annotation, above all of one that Get answers with commentsTruncated.
type GetCommentsRequest struct {
	Target
	AnnotationID string `json:"annotationId" rule:"required,id"`
	PageSize     *int64 `json:"pageSize" rule:"notnull,min=1,max=1000"`
	PageToken    string `json:"pageToken"`
}

// GetComments returns a page of an annotation's comments by comment id. A page ends at pageSize, or before its answer is larger than
// 5 MB. It fails with NOT_FOUND when the organization, the document or the annotation does not exist.
func (s *Service) GetComments(ctx context.Context, call *rpc.Call, req *GetCommentsRequest) ([]collab.JSON, error) {
	doc := req.document(call)
	var after int64
	if err := call.Position(req.PageToken, &after); err != nil {
		return nil, err
	}
	if err := s.Directory.CheckDocument(ctx, doc, collab.CreateFlags{}); err != nil {
		return nil, err
	}
	most := collab.MaxPageSize
	if req.PageSize != nil {
		most = int(*req.PageSize)
	}
	var (
		list []collab.JSON
		left = maxPage
	)
	more, err := s.Threads.ListComments(ctx, doc, req.AnnotationID, after, most, func(c *collab.Comment) bool {
		var o object
		o.comment(c)
		if left -= rpc.WrappedLen(o) + len(","); left < 0 && len(list) > 0 {
			return false
		}
		list = append(list, collab.JSON(o))
		after = c.ID
		return true
	})
	if err != nil {
		return nil, err
	}
	if more {
		call.NextPageToken = call.PageToken(after)
	}
	call.Items = len(list)
	call.Message = rpc.Count(len(list), "comment")
	return list, nil
}
