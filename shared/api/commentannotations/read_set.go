package commentannotations

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ReadSetRequest marks annotations, or a document, as read or unread for a user.
type ReadSetRequest struct {
	Target
	UserID        string   `json:"userId" rule:"required,id" person:"self" doc:"The user"`
	AnnotationIDs []string `json:"annotationIds" rule:"notnull,nonempty,max=500,each=id" person:"in" doc:"The annotations; without them, the whole document"`
	Read          *bool    `json:"read" rule:"required" person:"in" doc:"True: all comments so far are read. False: none is"`

	ReadAt *collab.Millis `json:"readAt" rule:"notnull,time" doc:"Mark comments up to this time. Ignored if the user has a later mark. Default: now"`
}

func (r *ReadSetRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if r.AnnotationIDs != nil {
		checkNamed(m, r.AnnotationIDs)
	}
}

// ReadSet is POST /v2/commentannotations/read/set.
func ReadSet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/read/set", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).ReadSet), Description: `
Mark as read.

Marks threads as read or unread for a user. With 'read' true, all current comments count as read;
later comments are unread. With 'read' false, no comment counts as read. A user's own comments are
always read. Without annotationIds, the mark covers the whole document and replaces marks of
single annotations.

With 'read' true, the user's notifications about these annotations are also marked as read, if
they are among the latest 100. Use readAt to copy marks, as 'read/get' returns them, to another
account.

The response has a result for each annotation by id, in the order sent; it is empty without
annotationIds. An item fails with NOT_FOUND if the annotation does not exist, and with
UNAVAILABLE, DEADLINE_EXCEEDED or INTERNAL if it can be retried. The request fails with NOT_FOUND
if the organization or the document does not exist, and with FAILED_PRECONDITION if one of them is
disabled.`}
}

// ReadSet marks annotations, or a whole document, as read or unread.
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
	r, err := s.rights(ctx, call, doc, nil)
	if err != nil {
		return nil, err
	}
	read := func() (any, error) { return nil, nil }
	if *req.Read && req.ReadAt == nil {
		read = collab.Later(ctx, func() (any, error) { return nil, s.Inbox.ReadThreads(ctx, doc, req.UserID, ids, true) })
	}
	var errs []error
	switch {
	case req.ReadAt != nil:
		state := collab.ReadStateAt(min(*req.ReadAt, call.Millis()), *req.Read)
		_, errs, err = s.Threads.RestoreRead(ctx, call.Request, doc, req.UserID, ids, state)
	case ids == nil:
		err = s.Threads.SetAllRead(ctx, call.Request, doc, req.UserID, *req.Read)
	default:
		errs, err = s.Threads.SetRead(ctx, call.Request, doc, req.UserID, ids, *req.Read, r.person)
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
