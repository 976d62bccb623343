package commentannotations

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetCommentsRequest selects comments of an annotation by id, by author, or all in pages.
type GetCommentsRequest struct {
	Target
	AsUser
	AnnotationID string   `json:"annotationId" rule:"required,id" person:"in"`
	CommentIDs   []int64  `json:"commentIds" rule:"notnull,nonempty,max=30,each=commentid" person:"in" doc:"Only these, in this order; null stands for one that does not exist"`
	UserIDs      []string `json:"userIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"Only comments by any of these users"`
	rpc.PageRequest
}

// ListedComment is a comment in the response of GetComments.
type ListedComment struct {
	Comment
	IsDraft bool `json:"isDraft" doc:"Always false: drafts are not stored"`
}

func (r reader) listed(c *collab.Comment) *ListedComment {
	return &ListedComment{Comment: r.comment(c)}
}

// maxPassedOver and maxPassedOverBytes limit the comments that a page skips before it ends.
const maxPassedOver, maxPassedOverBytes = 10_000, 10_000_000

// CommentsGet is POST /v2/commentannotations/comments/get.
func CommentsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/get", Grants: rpc.ReadTable | rpc.ReadProviders,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).GetComments), Requires: collab.AdvancedQueries, Description: `
List comments.

Lists the comments of a thread, in pages. The response has the comments that match all filters.
With commentIds it has their order: an id that does not exist is 'null', and a comment that
userIds excludes is omitted. Otherwise comments are sorted by id; generated ids sort by time.

The request fails with NOT_FOUND if the organization, the document or the annotation does not
exist, or if the person of asUserId cannot see it. It fails with FAILED_PRECONDITION if the
organization is disabled.`}
}

// GetComments returns comments of an annotation: in the order of commentIds, with null for unknown
// ones, else by comment id.
func (s *Service) GetComments(ctx context.Context, call *rpc.Call, req *GetCommentsRequest) (*rpc.Page[*ListedComment], error) {
	var after int64 // the last comment id; with commentIds, the number of answered ones
	page, err := rpc.NewPage[*ListedComment](call, "comment", req.PageRequest, &after)
	if err != nil {
		return nil, err
	}
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	hidden := collab.Later(ctx, func() (any, error) { return nil, s.checkSeen(ctx, call, doc, req) })
	err = s.fillComments(ctx, call, req, doc, after, page)
	if _, first := hidden(); first != nil { // others could reveal hidden content
		err = first
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

// checkSeen returns NOT_FOUND if the person of asUserId cannot see the annotation.
func (s *Service) checkSeen(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, req *GetCommentsRequest) error {
	sight := s.sight(call, collab.Deref(req.AsUserID))
	if sight == nil {
		return nil
	}
	_, err := s.checked(ctx, doc, req.AnnotationID, func() (rights, error) {
		person, err := viewersOf(ctx, sight, doc)
		return rights{person: person}, err
	})
	return err
}

// fillComments fills a page with comments after an id, or with the remaining commentIds.
func (s *Service) fillComments(
	ctx context.Context, call *rpc.Call, req *GetCommentsRequest, doc collab.DocumentRef, after int64, page *rpc.Page[*ListedComment],
) error {
	usage := collab.UsageOf(ctx)
	wanted := func(c *collab.Comment) bool { return req.UserIDs == nil || slices.Contains(req.UserIDs, c.AuthorID) }
	to := reader{person: collab.Deref(req.AsUserID), token: call.Person != nil}
	add := func(c *collab.Comment) bool {
		text := rpc.EncodeStored(to.listed(c))
		return page.AddEncoded(text, rpc.WrappedLen(text))
	}
	if req.CommentIDs != nil {
		ids := req.CommentIDs[min(max(0, after), int64(len(req.CommentIDs))):]
		found, n, err := s.Threads.SomeComments(ctx, doc, req.AnnotationID, ids, usage.PageLeft())
		if err != nil {
			return err
		}
		if n < len(ids) {
			page.Next(after + int64(n))
		}
		for i, id := range ids[:n] {
			c, exists := found[id]
			if !exists && !page.AddEncoded(nil, len("null")) || exists && wanted(&c) && !add(&c) {
				page.Next(after + int64(i))
				break
			}
		}
		return nil
	}
	passed, bytes, from := 0, 0, after
	for c, err := range s.Threads.ListComments(ctx, doc, req.AnnotationID, after, page.Most()) {
		switch {
		case err != nil:
			return err
		case after > from && usage.PageLeft() <= 0, passed > maxPassedOver, bytes > maxPassedOverBytes, wanted(&c) && !add(&c):
			page.Next(after)
			return nil
		case !wanted(&c):
			passed++
			bytes += c.Content()
		}
		after = c.ID
	}
	return nil
}
