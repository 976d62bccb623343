package commentannotations

import (
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetCommentsRequest asks for comments of an annotation: those of the ids, those of the authors, or all of them in pages.
type GetCommentsRequest struct {
	Target
	AsUser
	AnnotationID string   `json:"annotationId" rule:"required,id" person:"in"`
	CommentIDs   []int64  `json:"commentIds" rule:"notnull,nonempty,max=30,each=commentid" person:"in" doc:"These, in whose order the response is; null stands for one that does not exist"`
	UserIDs      []string `json:"userIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"Those that any of these users wrote"`
	rpc.PageRequest
}

// ListedComment is a comment as GetComments answers it.
type ListedComment struct {
	Comment
	Type    CommentKind   `json:"type" doc:"Always text"`
	Status  CommentStatus `json:"status" doc:"updated where it was changed after it was made"`
	IsDraft bool          `json:"isDraft" doc:"Always false: drafts are not stored"`
}

// CommentKind is what kind of content a comment has.
type CommentKind string

// Values returns all kinds.
func (CommentKind) Values() []string { return []string{"text"} }

// CommentStatus says what was done to a comment last.
type CommentStatus string

// Values returns all statuses.
func (CommentStatus) Values() []string { return []string{"added", "updated"} }

func (r reader) listed(c *collab.Comment) *ListedComment {
	l := &ListedComment{Comment: r.comment(c), Type: "text", Status: "added"}
	if c.LastUpdated > c.CreatedAt {
		l.Status = "updated"
	}
	return l
}

// maxPassedOver is how many comments a page passes over, and how many bytes of them, before it ends.
const maxPassedOver, maxPassedOverBytes = 10_000, 10_000_000

// CommentsGet is POST /v2/commentannotations/comments/get.
func CommentsGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/comments/get", Grants: rpc.ReadTable | rpc.ReadProviders,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).GetComments), Requires: collab.AdvancedQueries, Description: `
Lists the comments of a comment annotation, in pages. The response has those that pass all filters given: with commentIds in their order,
null for one that does not exist (one that exists but does not pass userIds is left out); else by comment id, which for generated ids is by
time. NOT_FOUND when the organization, the document or the annotation does not exist, or the person of asUserId may not see it.
FAILED_PRECONDITION when the organization is disabled.`}
}

// GetComments returns comments of an annotation: in the order of commentIds, with null for one that does not exist, else by comment id. A
// page ends at pageSize, before its answer is larger than 5 MB, or when much was passed over for the authors. It fails with NOT_FOUND when
// the organization, the document or the annotation does not exist.
func (s *Service) GetComments(ctx context.Context, call *rpc.Call, req *GetCommentsRequest) (*rpc.Page[*ListedComment], error) {
	var after int64 // the last comment id; where commentIds are given how many of them were answered
	page, err := rpc.NewPage[*ListedComment](call, "comment", req.PageRequest, &after)
	if err != nil {
		return nil, err
	}
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	seen := s.checkAnnotation(ctx, call, s.sight(call, collab.Deref(req.AsUserID)), doc, req.AnnotationID)
	err = s.fillComments(ctx, req, doc, after, page)
	if hidden := seen(); hidden != nil {
		err = hidden
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

// fillComments fills a page with comments: those after an id, or of commentIds those not yet answered.
func (s *Service) fillComments(
	ctx context.Context, req *GetCommentsRequest, doc collab.DocumentRef, after int64, page *rpc.Page[*ListedComment],
) error {
	wanted := func(c *collab.Comment) bool { return req.UserIDs == nil || slices.Contains(req.UserIDs, c.AuthorID) }
	to := reader{person: collab.Deref(req.AsUserID)}
	add := func(c *collab.Comment) bool {
		text := rpc.EncodeStored(to.listed(c))
		return page.AddEncoded(text, rpc.WrappedLen(text))
	}
	if req.CommentIDs != nil {
		ids := req.CommentIDs[min(max(0, after), int64(len(req.CommentIDs))):]
		found, err := s.Threads.Comments(ctx, doc, req.AnnotationID, ids)
		if err != nil {
			return err
		}
		for i, id := range ids {
			c, exists := found[id]
			if !exists && !page.AddEncoded(nil, len("null")) || exists && wanted(&c) && !add(&c) {
				page.Next(after + int64(i))
				break
			}
		}
		return nil
	}
	passed, bytes := 0, 0
	for c, err := range s.Threads.ListComments(ctx, doc, req.AnnotationID, after, page.Most()) {
		switch {
		case err != nil:
			return err
		case passed > maxPassedOver, bytes > maxPassedOverBytes, wanted(&c) && !add(&c):
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
