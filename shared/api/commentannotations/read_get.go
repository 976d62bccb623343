package commentannotations

import (
	"context"
	"slices"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ReadGetRequest asks what users have seen of documents.
type ReadGetRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id" person:"in"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=30,each=docid" person:"in" doc:"In the order of the response; those that do not exist are passed over"`
	rpc.PageRequest
}

// ReadState is what a user has said of a document, or of an annotation.
type ReadState struct {
	DocumentID   string        `json:"documentId" person:"out"`
	UserID       string        `json:"userId"`
	AnnotationID string        `json:"annotationId,omitempty" person:"out" doc:"The annotation; none for all of the document"`
	Read         bool          `json:"read" person:"out" doc:"True: all comments that there were then are seen. False: none is"`
	ReadAt       collab.Millis `json:"readAt" person:"out" schema:"Millis" doc:"When that was said"`
}

// ReadGet is POST /v2/commentannotations/read/get.
func ReadGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/read/get", Grants: rpc.ReadTable,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).ReadGet), Requires: collab.AdvancedQueries, Description: `
Lists what users have said of having seen documents and their comment annotations, in pages. The response has it as read/set takes it,
document by document, and in each by user id. The latest state holds. A page may have fewer items than asked for, even none, and have a
nextPageToken. NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`}
}

// readPosition is the item after which a page goes on.
type readPosition struct {
	Document, After string // After is a sort key
}

// ReadGet returns a page of what users have said of documents. It fails with NOT_FOUND when the organization does not exist.
func (s *Service) ReadGet(ctx context.Context, call *rpc.Call, req *ReadGetRequest) (*rpc.Page[ReadState], error) {
	var at readPosition
	page, err := rpc.NewPage[ReadState](call, "read state", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	ids := rpc.Distinct(req.DocumentIDs)
	_, docs, err := s.Directory.Open(ctx, call.Account, req.OrganizationID, "", ids[max(slices.Index(ids, at.Document), 0):])
	if err != nil {
		return nil, err
	}
	viewers := map[collab.DocumentRef]collab.Viewers{}
	if sight := s.mine(call); sight != nil {
		if viewers, err = sight.Viewers(ctx, docs, time.Time{}); err != nil {
			return nil, err
		}
		docs = slices.DeleteFunc(docs, func(doc collab.DocumentRef) bool { return !viewers[doc].May() })
	}
	for _, doc := range docs {
		if at.Document != doc.Document {
			at = readPosition{Document: doc.Document}
		}
		if page.Most() == 0 {
			page.Next(at)
			break
		}
		list, next, err := s.Threads.ReadStates(ctx, doc, viewers[doc], at.After, page.Most())
		if err != nil {
			return nil, err
		}
		for _, v := range list { // 1,000 of at most 2,000 bytes
			page.Add(ReadState{DocumentID: doc.Document, UserID: v.User, AnnotationID: v.Annotation, Read: v.Before > 0, ReadAt: v.At})
		}
		if next != "" {
			page.Next(readPosition{doc.Document, next})
			break
		}
	}
	return page, nil
}
