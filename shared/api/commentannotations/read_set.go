package commentannotations

import (
	"context"

	"collabdata/shared/api/rpc"
)

// ReadSetRequest says what a user has seen.
type ReadSetRequest struct {
	Target
	UserID        string   `json:"userId" rule:"required,id" doc:"Who has seen it, or not"`
	AnnotationIDs []string `json:"annotationIds" rule:"notnull,nonempty,max=500,each=id" doc:"The annotations; without them all of the document. Repeats count once"`
	Read          *bool    `json:"read" rule:"required" doc:"True: all comments so far are seen. False: none is"`
}

// ReadSet says of annotations, or of all of a document, that a user has seen their comments so far, or none of them. The answer has
// annotations by id in the order sent; an unknown one is that item's failure, NOT_FOUND.
func (s *Service) ReadSet(ctx context.Context, call *rpc.Call, req *ReadSetRequest) (rpc.Keyed[rpc.Item], error) {
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	done := "the comment annotation is unread"
	if *req.Read {
		done = "the comment annotation is read"
	}
	if req.AnnotationIDs == nil {
		if err := s.Threads.SetAllSeen(ctx, call.Request, doc, req.UserID, *req.Read); err != nil {
			return nil, err
		}
		call.Message = "all of the document was set"
		return rpc.Keyed[rpc.Item]{}, nil
	}
	ids := rpc.Distinct(req.AnnotationIDs)
	errs, err := s.Threads.SetSeen(ctx, call.Request, doc, req.UserID, ids, *req.Read)
	if err != nil {
		return nil, err
	}
	items := call.Outcomes(ids, errs, done)
	call.Sum("comment annotation", "set")
	return items, nil
}
