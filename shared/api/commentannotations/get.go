package commentannotations

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetRequest is the data of POST /v2/commentannotations/get. All filters combine.
type GetRequest struct {
	OrganizationID string `json:"organizationId" rule:"required,id" person:"in"`
	AsUser
	DocumentID        *string        `json:"documentId" rule:"notnull,docid" person:"in" doc:"As documentIds, with which it makes a union of at most 30; alone, a missing document is NOT_FOUND"`
	DocumentIDs       []string       `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"In the order of the answer; missing ones are passed over; without any, all documents of the organization"`
	GroupByDocumentID bool           `json:"groupByDocumentId"`
	LocationIDs       []string       `json:"locationIds" rule:"notnull,nonempty,max=30,each=id" person:"in"`
	FolderID          *string        `json:"folderId" rule:"notnull,id" doc:"Those in documents directly in this folder; root: in documents in no folder"`
	AnnotationID      *string        `json:"annotationId" rule:"notnull,id" person:"in" doc:"As annotationIds, before which it comes, and with which it makes a union of at most 30"`
	AnnotationIDs     []string       `json:"annotationIds" rule:"notnull,nonempty,max=30,each=id" person:"in"`
	UserIDs           []string       `json:"userIds" rule:"notnull,nonempty,max=30,each=id" person:"in"`
	StatusID          *string        `json:"statusId" rule:"notnull,id" doc:"One more of statusIds"`
	StatusIDs         []string       `json:"statusIds" rule:"notnull,nonempty,max=100,each=id" person:"in" doc:"Those in any of these statuses"`
	MentionedUserIDs  []string       `json:"mentionedUserIds" rule:"notnull,nonempty,max=30,each=id" doc:"Those in which a comment tags any of these users"`
	ResolvedBy        *string        `json:"resolvedBy" rule:"notnull,id" doc:"Those that this user resolved: see resolvedByUserId"`
	UnreadFor         *string        `json:"unreadFor" rule:"notnull,id" person:"self" doc:"Each annotation says as unread whether it has comments that this user has not seen: see read/set"`
	UnreadOnly        bool           `json:"unreadOnly" person:"in" doc:"Those alone that are unread; with unreadFor"`
	Order             *collab.Order  `json:"order" rule:"notnull" person:"in" doc:"By lastUpdated, the earliest first (asc) or the latest first (desc); where it is left out, see Order above"`
	UpdatedAfter      *collab.Millis `json:"updatedAfter" rule:"notnull,time" person:"in" doc:"Last updated then or later"`
	UpdatedBefore     *collab.Millis `json:"updatedBefore" rule:"notnull,time" doc:"Last updated then or earlier"`
	IncludeDeleted    bool           `json:"includeDeleted" person:"in" doc:"Also annotations that were deleted since updatedAfter: see Deleted above. Only with documentId alone and updatedAfter"`
	CreatedAfter      *collab.Millis `json:"createdAfter" rule:"notnull,time" doc:"Created then or later"`
	CreatedBefore     *collab.Millis `json:"createdBefore" rule:"notnull,time" doc:"Created then or earlier"`
	rpc.PageRequest
}

const maxStatuses = 100 // that a read asks for

// Validate checks the unions of single and plural fields, and that no window ends before it begins.
func (r *GetRequest) Validate(m *rpc.Violations) {
	if len(union(r.DocumentID, r.DocumentIDs)) > collab.MaxIDsPerFilter {
		m.Add("documentIds", "must have at most %d ids together with documentId", collab.MaxIDsPerFilter)
	}
	if len(r.ids()) > collab.MaxIDsPerFilter {
		m.Add("annotationIds", "must have at most %d ids together with annotationId", collab.MaxIDsPerFilter)
	}
	if len(union(r.StatusID, r.StatusIDs)) > maxStatuses {
		m.Add("statusIds", "must have at most %d ids together with statusId", maxStatuses)
	}
	if r.UnreadOnly && r.UnreadFor == nil {
		m.Add("unreadOnly", "needs unreadFor")
	}
	if r.IncludeDeleted && (r.DocumentID == nil || r.DocumentIDs != nil || r.FolderID != nil || r.UpdatedAfter == nil) {
		m.Add("includeDeleted", "needs documentId, without documentIds and folderId, and updatedAfter")
	}
	if r.UpdatedAfter != nil && r.UpdatedBefore != nil && *r.UpdatedAfter > *r.UpdatedBefore {
		m.Add("updatedAfter", "must not be later than updatedBefore")
	}
	if r.CreatedAfter != nil && r.CreatedBefore != nil && *r.CreatedAfter > *r.CreatedBefore {
		m.Add("createdAfter", "must not be later than createdBefore")
	}
}

func (r *GetRequest) query() collab.AnnotationQuery {
	return collab.AnnotationQuery{
		Documents:     union(r.DocumentID, r.DocumentIDs),
		Folder:        collab.Deref(r.FolderID),
		IDs:           r.ids(),
		Locations:     rpc.Distinct(r.LocationIDs),
		Creators:      rpc.Distinct(r.UserIDs),
		Statuses:      union(r.StatusID, r.StatusIDs),
		Mentioned:     rpc.Distinct(r.MentionedUserIDs),
		ResolvedBy:    union(r.ResolvedBy, nil),
		UnreadFor:     collab.Deref(r.UnreadFor),
		UnreadOnly:    r.UnreadOnly,
		Order:         collab.Deref(r.Order),
		UpdatedAfter:  r.UpdatedAfter,
		UpdatedBefore: r.UpdatedBefore,
		CreatedAfter:  r.CreatedAfter,
		CreatedBefore: r.CreatedBefore,
	}
}

// ids returns annotationIds, and before them annotationId unless it is one of them.
func (r *GetRequest) ids() []string {
	if r.AnnotationID == nil || slices.Contains(r.AnnotationIDs, *r.AnnotationID) {
		return r.AnnotationIDs
	}
	return append([]string{*r.AnnotationID}, r.AnnotationIDs...)
}

// union returns one, where it is given, and the ids of list, each once; nil for none.
func union(one *string, list []string) []string {
	if one == nil {
		return rpc.Distinct(list)
	}
	return rpc.Distinct(append([]string{*one}, list...))
}

// Get is POST /v2/commentannotations/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/commentannotations/get", Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.ReadProviders,
		Person:    rpc.PersonReads,
		Operation: rpc.Method((*Service).Get), Requires: collab.AdvancedQueries, Description: `
Lists comment annotations by document, folder, location, creator, status, times or id, in pages. The response has those that pass all
filters given, with their comments. Within an array any value fits; times are inclusive; userIds are those of the creators. Without any
filter these are all annotations of the organization. An empty array is refused, and so is null.

**Order.** With annotationIds it is theirs: one that does not exist in the documents asked for is null, and counts as an item; one that
exists but does not pass another filter is left out. Else, with order, updatedAfter or updatedBefore, it is by lastUpdated, in each
document in the order asked, or in one list where no document is named, the earliest first unless order is desc. An annotation that is
written while you page from the latest on may be passed over: it comes first the next time. Else it is in the order asked: of documents, in each of locations
(or creators, or statuses), and in each by annotation id; where no document is named, of locations, creators or statuses, and in each by
document id and annotation id. Generated ids sort by time. Comments are by comment id.

**Pages.** A page also ends at about 5 MB, or when much had to be searched for little. A thread that is larger than that by itself stands
alone on its page, with commentsTruncated: read the rest by comments/get. mentionedUserIds looks at the comments that a page holds of a
thread.

**Deleted.** With includeDeleted the first page begins with the annotations that were deleted at updatedAfter or later, and, with asUserId,
those that this person saw before and may not see now, whatever the other filters say: each with deleted true, without its content, and with
the time of that as lastUpdated. They count as items. So who keeps a copy of a document learns of all that changed. FAILED_PRECONDITION when
updatedAfter is more than 24 hours ago, or more than pageSize were deleted: read the document anew.

**A person.** With asUserId the response has what that person may see: see Who may see what. A document of documentId alone that they may
not see is NOT_FOUND, an id of annotationIds that they may not see is null, and all else is left out. A page may then be short, or empty
with a nextPageToken. unreadFor leaves out what that user may not see.

With groupByDocumentId the response is an object by document id, in the same order.

NOT_FOUND when the organization, the folder, or the document of documentId alone does not exist. FAILED_PRECONDITION when the organization
is disabled.`}
}

// Get returns a page of the annotations that pass all filters, in the order of Threads.Walk, with null for each of annotationIds that does
// not exist; with groupByDocumentId an object of arrays by document, without nulls. A page ends at pageSize, or before its answer is
// larger than 5 MB. A thread that is larger by itself is alone on its page, with as many of its comments as fit and
// commentsTruncated.
//
// It fails with FAILED_PRECONDITION where the organization is disabled, and NOT_FOUND when the organization, the folder, or the document of
// documentId alone does not exist. Missing ones of documentIds are passed over.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (*rpc.GroupedPage[*Annotation], error) {
	var from []byte
	list, err := rpc.NewPage[*Annotation](call, "comment annotation", req.PageRequest, &from)
	if err != nil {
		return nil, err
	}
	q := req.query()
	q.Sight = s.sight(call, collab.Deref(req.AsUserID), q.UnreadFor)
	var org collab.OrganizationRef
	alone := req.DocumentID != nil && req.DocumentIDs == nil && q.Folder == ""
	if alone {
		doc, err := s.open(ctx, call, Target{req.OrganizationID, *req.DocumentID}, collab.CreateFlags{})
		if err != nil {
			return nil, err
		}
		org, q.Found = doc.OrganizationRef, []collab.DocumentRef{doc}
	} else if org, q.Found, err = s.Directory.Open(ctx, call.Account, req.OrganizationID, q.Folder, q.Documents); err != nil {
		return nil, err
	}
	p := page{
		GroupedPage: list.Group(req.GroupByDocumentID), grouped: req.GroupByDocumentID,
		reader: reader{call.APIKey, req.OrganizationID, collab.Deref(req.AsUserID)},
	}
	if q.Sight != nil && len(q.Found) > 0 {
		collab.Later(ctx, func() (any, error) { return q.Sight.Viewers(ctx, q.Found, time.Time{}) }) // it remembers them
	}
	gone := func() ([]*collab.Thread, error) { return nil, nil }
	if req.IncludeDeleted && from == nil {
		gone = collab.Later(ctx, func() ([]*collab.Thread, error) {
			return s.Threads.Gone(ctx, q.Found[0], *q.UpdatedAfter, q.Sight, p.Most())
		})
	}
	first := sync.OnceValue(func() error { return addGone(&p, gone) })
	next, err := s.Threads.Walk(ctx, org, q, from, p.Most(), func(id string, t *collab.Thread) bool { return first() == nil && p.take(id, t) })
	err = cmp.Or(first(), err)
	if alone && req.AsUserID != nil {
		// Its error comes before every other one, which could tell of what is hidden.
		err = cmp.Or(checkDocument(ctx, q.Sight, q.Found[0]), err)
	}
	if err != nil {
		return nil, err
	}
	if next != nil {
		p.Next(next)
	}
	return p.GroupedPage, nil
}

// addGone adds to a page what left the document of its query.
func addGone(p *page, gone func() ([]*collab.Thread, error)) error {
	list, err := gone()
	for _, t := range list {
		if !p.take(t.ID, t) {
			return collab.Errorf(collab.FailedPrecondition, "more was deleted since updatedAfter than an answer holds: read all anew")
		}
	}
	return err
}

// GetV1Request is the data of POST /v1/commentannotations/get.
type GetV1Request struct {
	Target
	LocationIDs   []string `json:"locationIds" rule:"notnull,nonempty,max=30,each=id"`
	AnnotationIDs []string `json:"annotationIds" rule:"notnull,nonempty,max=30,each=id"`
	UserIDs       []string `json:"userIds" rule:"notnull,nonempty,max=30,each=id"`
}

// GetV1 is POST /v1/commentannotations/get.
func GetV1() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v1/commentannotations/get", Grants: rpc.ReadTable | rpc.ReadIndexes,
		Operation: rpc.Method((*Service).GetV1), Description: `
Lists comment annotations of a document in version 1, all at once. As version 2 for one document, in the order of version 2, in one
response. FAILED_PRECONDITION when that would be larger than 5 MB (page through it with version 2), or when the organization is disabled.
NOT_FOUND when the organization or the document does not exist.`}
}

// GetV1 is Get for one document, all in one answer and whatever the account's settings. It fails with FAILED_PRECONDITION when the answer
// is larger than 5 MB.
func (s *Service) GetV1(ctx context.Context, call *rpc.Call, req *GetV1Request) (*rpc.Page[*Annotation], error) {
	doc, err := s.begin(ctx, call, req.Target, CreateFlags{}, false)
	if err != nil {
		return nil, err
	}
	v2 := GetRequest{
		DocumentID:    &req.DocumentID,
		LocationIDs:   req.LocationIDs,
		AnnotationIDs: req.AnnotationIDs,
		UserIDs:       req.UserIDs,
	}
	query := v2.query()
	query.Found = []collab.DocumentRef{doc}
	p := page{
		GroupedPage: rpc.NewList[*Annotation](call, "comment annotation").Group(false), reader: reader{call.APIKey, req.OrganizationID, ""},
	}
	fits := true
	take := func(id string, t *collab.Thread) bool {
		fits = p.take(id, t) && !p.truncated
		return fits
	}
	for from := []byte(nil); ; {
		next, err := s.Threads.Walk(ctx, doc.OrganizationRef, query, from, collab.MaxPageSize, take)
		switch {
		case err != nil:
			return nil, err
		case !fits:
			return nil, collab.Errorf(collab.FailedPrecondition,
				"one answer does not hold these annotations: page through them with /v2/commentannotations/get, or narrow the filters")
		case next == nil:
			return p.Page, nil
		}
		from = next
	}
}

// page fills with annotations until its answer is full.
type page struct {
	*rpc.GroupedPage[*Annotation]
	reader    reader
	grouped   bool
	truncated bool // holds a single thread, and not all of its comments
}

// take takes an annotation, or null for one that does not exist, and reports whether it fits.
func (p *page) take(_ string, t *collab.Thread) bool {
	switch {
	case p.truncated:
		return false
	case t == nil && p.grouped:
		return true
	case t == nil:
		return p.AddEncoded(nil, len("null"))
	}
	text, size, whole := p.reader.encode(t, p.RoomIn(t.Document))
	if !whole && p.Len() > 0 {
		return false
	}
	p.truncated = !whole
	return p.AddTo(t.Document, text, size)
}
