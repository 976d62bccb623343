package commentannotations

import (
	"cmp"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type CountGetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id" person:"in"`
	AsUser
	DocumentIDs []string `json:"documentIds" rule:"required,nonempty,max=30,each=docid" person:"in" doc:"In the order of the response; a missing document has 0"`
	UserID      *string  `json:"userId" rule:"notnull,id" doc:"Count unread annotations for this user. Default: asUserId; without either, unread is absent"`
	StatusIDs   []string `json:"statusIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"Only annotations with one of these statuses"`
}

// DocumentCount is the number of annotations of a document.
type DocumentCount struct {
	Total           int64  `json:"total" person:"out" doc:"Number of annotations"`
	TotalIsAtLeast  bool   `json:"totalIsAtLeast,omitzero" person:"out" doc:"True if counting stopped early"`
	Unread          *int64 `json:"unread,omitzero" person:"out" doc:"Annotations with unread comments; a user's own comments are read, and muted annotations"`
	UnreadIsAtLeast bool   `json:"unreadIsAtLeast,omitzero" person:"out" doc:"True if counting stopped early"`
}

// CountGet is POST /v2/commentannotations/count/get.
func CountGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/count/get", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.ReadProviders,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).CountGet), Requires: collab.AdvancedQueries, Description: `
Count threads.

Counts the threads of documents, and a user's unread ones. It counts annotations, not comments.
Counts are by document id, in the order asked. 'unread' counts annotations with comments by others
that are newer than the user's mark: see 'read/set'. Annotations that userId or asUserId cannot
see do not count.

Counting stops at 10,000 annotations of a document, or at 3,000 annotations in total that are
restricted to some people; then totalIsAtLeast is true. It stops after reading the comments of
3,000 annotations, or very long threads; then unreadIsAtLeast is true. Annotations of the last
second can be missing.

The request fails with NOT_FOUND if the organization does not exist, and with FAILED_PRECONDITION
if it is disabled. A document that does not exist or is disabled has 0.`}
}

// CountGet counts the annotations of documents, and a user's unread ones.
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
