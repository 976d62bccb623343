package commentannotations

import (
	"context"

	"collabdata/shared/api/rpc"
)

// GetCommentsRequest is the data of POST /v2/commentannotations/comments/get, an extension of the contract: it pages through the
// comments of one annotation, above all of one that Get answers with commentsTruncated.
type GetCommentsRequest struct {
	Target
	AnnotationID string `json:"annotationId" rule:"required,id"`
	rpc.PageRequest
}

// GetComments returns a page of an annotation's comments by comment id. A page ends at pageSize, or before its answer is larger than
// 5 MB. It fails with NOT_FOUND when the organization, the document or the annotation does not exist.
func (s *Service) GetComments(ctx context.Context, call *rpc.Call, req *GetCommentsRequest) (*rpc.Page[Comment], error) {
	var after int64
	page, err := rpc.NewPage[Comment](call, "comment", req.PageRequest, &after)
	if err != nil {
		return nil, err
	}
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	for c, err := range s.Threads.ListComments(ctx, doc, req.AnnotationID, after, page.Most()) {
		if err != nil {
			return nil, err
		}
		answer := answeredComment(&c)
		if text := rpc.EncodeStored(&answer); !page.AddEncoded(text, rpc.WrappedLen(text)) {
			page.Next(after)
			break
		}
		after = c.ID
	}
	return page, nil
}
