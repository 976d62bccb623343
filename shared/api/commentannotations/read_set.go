package commentannotations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ReadSetRequest says what a user has seen.
type ReadSetRequest struct {
	Target
	UserID        string   `json:"userId" rule:"required,id" person:"self" doc:"The user who has seen it, or not"`
	AnnotationIDs []string `json:"annotationIds" rule:"notnull,nonempty,max=500,each=id" person:"in" doc:"The annotations; without them all of the document. Repeats count once"`
	Read          *bool    `json:"read" rule:"required" person:"in" doc:"True: all comments so far are seen. False: none is"`

	ReadAt *collab.Millis `json:"readAt" rule:"notnull,time" doc:"Say it as of then: of comments that were made until then. Passed over where the user has said something of the same since. Left out: now"`
}

// ReadSet is POST /v2/commentannotations/read/set.
func ReadSet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/read/set", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).ReadSet), Description: `
Says of comment annotations that a user has seen their comments, or not. With read true, all comments that there are now count as seen by
the user; a comment that is added later is unread again. With read false none of them does. One's own comments are always seen. Without
annotationIds it holds for all of the document, whatever was said of single annotations before. With read true, those of the user's latest
100 notifications that are about these annotations are read, too. With readAt it is said as of then: that is
how what read/get returns comes to another account.

The response has a result for each annotation by id, in the order sent; none without annotationIds. An item fails with NOT_FOUND where
there is no annotation with its id; with UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL where it may be sent again. NOT_FOUND when the
organization or the document does not exist. FAILED_PRECONDITION when one of them is disabled.`}
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
	ids := rpc.Distinct(req.AnnotationIDs)
	viewers, err := s.viewers(ctx, call, doc)
	if err != nil {
		return nil, err
	}
	read := func() (any, error) { return nil, nil }
	if *req.Read && req.ReadAt == nil {
		read = collab.Later(ctx, func() (any, error) { return nil, s.Inbox.ReadThreads(ctx, doc, req.UserID, ids) })
	}
	var errs []error
	switch {
	case req.ReadAt != nil:
		said := collab.SeenAt(min(*req.ReadAt, call.Millis()), *req.Read)
		_, errs, err = s.Threads.RestoreSeen(ctx, call.Request, doc, req.UserID, ids, said)
	case ids == nil:
		err = s.Threads.SetAllSeen(ctx, call.Request, doc, req.UserID, *req.Read)
	default:
		errs, err = s.Threads.SetSeen(ctx, call.Request, doc, req.UserID, ids, *req.Read, viewers)
	}
	if _, failed := read(); err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	if ids == nil {
		call.Message = "all of the document was set"
		return rpc.Keyed[rpc.Item]{}, nil
	}
	items := call.Outcomes(ids, errs, done)
	call.Sum("comment annotation", "set")
	return items, nil
}
