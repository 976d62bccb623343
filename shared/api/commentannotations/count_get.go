package commentannotations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// CountGetRequest counts the annotations of documents.
type CountGetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id" person:"in"`
	AsUser
	DocumentIDs []string `json:"documentIds" rule:"required,nonempty,max=30,each=docid" person:"in" doc:"In the order of the response; of those that do not exist there are 0"`
	UserID      *string  `json:"userId" rule:"notnull,id" doc:"Of whom unread is counted; where it is left out, of asUserId; without either there is no unread"`
	StatusIDs   []string `json:"statusIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"Only annotations in any of these statuses"`
}

// DocumentCount is how many annotations a document has.
type DocumentCount struct {
	Total           int64  `json:"total" person:"out" doc:"Its annotations"`
	TotalIsAtLeast  bool   `json:"totalIsAtLeast,omitzero" person:"out" doc:"True where counting ended before the end"`
	Unread          *int64 `json:"unread,omitzero" person:"out" doc:"Those with a comment that the user has not seen; one's own comments are seen"`
	UnreadIsAtLeast bool   `json:"unreadIsAtLeast,omitzero" person:"out" doc:"As totalIsAtLeast"`
}

// CountGet is POST /v2/commentannotations/count/get.
func CountGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/count/get", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.ReadProviders,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).CountGet), Requires: collab.AdvancedQueries, Description: `
Counts the comment annotations of documents, and those that a user has not seen. It counts annotations, not comments. The counts are by
document id, in the order asked. With userId, unread are those with a comment of somebody else that was made after the user had seen the
annotation or the document: see read/set. With userId or asUserId, annotations that these may not see do not count. Counting ends at
10,000 annotations of a document, which totalIsAtLeast says, or where more than 3,000 in all are for some people only; and once the comments
of 3,000 annotations in all, or very long threads, had to be looked at, which unreadIsAtLeast says. Annotations of the last second may be
missing.

NOT_FOUND when the organization does not exist. FAILED_PRECONDITION when it is disabled. A document that does not exist, or is disabled,
has 0.`}
}

// CountGet counts the annotations of documents, and those that a user has not seen all of. Documents come in the order asked, repeats once.
// It fails with NOT_FOUND when the organization does not exist.
func (s *Service) CountGet(ctx context.Context, call *rpc.Call, req *CountGetRequest) (rpc.Keyed[DocumentCount], error) {
	ids := rpc.Distinct(req.DocumentIDs)
	_, docs, err := s.Directory.Open(ctx, call.Account, req.OrganizationID, "", ids)
	if err != nil {
		return nil, err
	}
	as, user := collab.Deref(req.AsUserID), cmp.Or(collab.Deref(req.UserID), collab.Deref(req.AsUserID))
	counts, err := s.Threads.Count(ctx, docs, rpc.Distinct(req.StatusIDs), user, s.sight(call, as, user))
	if err != nil {
		return nil, err
	}
	results := make(rpc.Keyed[DocumentCount], len(ids))
	for i, id := range ids {
		var n collab.AnnotationCount
		for at, doc := range docs {
			if doc.Document == id {
				n = counts[at]
			}
		}
		results[i] = rpc.Member[DocumentCount]{
			Key:   id,
			Value: DocumentCount{Total: n.Total, TotalIsAtLeast: n.TotalIsAtLeast, UnreadIsAtLeast: n.UnreadAtLeast},
		}
		if user != "" {
			results[i].Value.Unread = &n.Unread
		}
	}
	call.Items = len(ids)
	call.Message = "Comment count retrieved successfully."
	return results, nil
}
