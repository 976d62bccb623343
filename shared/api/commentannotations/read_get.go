package commentannotations

import (
	"context"
	"slices"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type ReadGetRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id" person:"in"`
	DocumentIDs    []string `json:"documentIds" rule:"required,nonempty,max=30,each=docid" person:"in" doc:"In the order of the response; missing ones are skipped"`
	rpc.PageRequest
}

// ReadState records when a user last marked a document or an annotation as read or unread.
type ReadState struct {
	DocumentID   string        `json:"documentId" person:"out"`
	UserID       string        `json:"userId"`
	AnnotationID string        `json:"annotationId,omitempty" person:"out" doc:"The annotation; absent for the whole document"`
	Read         bool          `json:"read" person:"out" doc:"True: all comments up to then are read. False: none is"`
	ReadAt       collab.Millis `json:"readAt" person:"out" schema:"Millis" doc:"Time of the mark"`
}

// ReadGet is POST /v2/commentannotations/read/get.
func ReadGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/read/get", Grants: rpc.ReadTable,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).ReadGet), Requires: collab.AdvancedQueries, Description: `
List read states.

Lists the marks that users set on documents and threads, in pages. Each item has the form of a
'read/set' request. Items are sorted by document in the order asked, then by user id. The latest
mark of several counts. A page can have fewer items than asked, even none, and still have a
nextPageToken.

The request fails with NOT_FOUND if the organization does not exist, and with FAILED_PRECONDITION
if it is disabled.`}
}

type readPosition struct {
	Document, After string // After is a sort key
}

// ReadGet returns a page of read states.
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
	for first := true; len(docs) > 0; first = false {
		doc := docs[0]
		if at.Document != doc.Document {
			at = readPosition{Document: doc.Document}
		}
		if page.Most() == 0 || !first && collab.UsageOf(ctx).PageLeft() <= 0 {
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
		if at.After = next; next == "" {
			docs = docs[1:]
		}
	}
	return page, nil
}
