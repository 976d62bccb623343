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
	DocumentID        *string        `json:"documentId" rule:"notnull,docid" person:"in" doc:"Added to documentIds, at most 30 together; alone, a missing document is NOT_FOUND"`
	DocumentIDs       []string       `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"In the order of the response; missing ones are skipped. Default: all documents"`
	GroupByDocumentID bool           `json:"groupByDocumentId"`
	LocationIDs       []string       `json:"locationIds" rule:"notnull,nonempty,max=30,each=id" person:"in"`
	FolderID          *string        `json:"folderId" rule:"notnull,id" doc:"In documents directly in this folder; root: in documents without a folder"`
	AnnotationID      *string        `json:"annotationId" rule:"notnull,id" person:"in" doc:"Added before annotationIds, at most 30 together"`
	AnnotationIDs     []string       `json:"annotationIds" rule:"notnull,nonempty,max=30,each=id" person:"in"`
	UserIDs           []string       `json:"userIds" rule:"notnull,nonempty,max=30,each=id" person:"in"`
	StatusID          *string        `json:"statusId" rule:"notnull,id" doc:"Added to statusIds"`
	StatusIDs         []string       `json:"statusIds" rule:"notnull,nonempty,max=100,each=id" person:"in" doc:"With any of these statuses"`
	MentionedUserIDs  []string       `json:"mentionedUserIds" rule:"notnull,nonempty,max=30,each=id" doc:"With a comment that tags any of these users"`
	ResolvedBy        *string        `json:"resolvedBy" rule:"notnull,id" doc:"Resolved by this user: see resolvedByUserId"`
	AgentID           *string        `json:"agentId" rule:"notnull,id" doc:"With this agentId in its agent. Only one filter of agents in a request"`
	ExecutionID       *string        `json:"executionId" rule:"notnull,id" doc:"With this executionId in its agent"`
	AgentType         *string        `json:"agentType" rule:"notnull,id" doc:"With this agentType in its agent; external if the agent has the agentSource external and no agentType"`
	AgentSource       *string        `json:"agentSource" rule:"notnull,id" doc:"With this agentSource in its agent"`
	AgentSuggestions  bool           `json:"agentSuggestions" doc:"Only pending suggestions with an agent"`
	AgentComments     bool           `json:"agentComments" doc:"Only annotations with a comment by an agent"`
	UnreadFor         *string        `json:"unreadFor" rule:"notnull,id" person:"self" doc:"Sets unread: whether an annotation that this user has not muted has comments that the user has not seen, see read/set"`
	UnreadOnly        bool           `json:"unreadOnly" person:"in" doc:"Only unread annotations; requires unreadFor"`
	Order             *collab.Order  `json:"order" rule:"notnull" person:"in" doc:"By lastUpdated, earliest first (asc) or latest first (desc). Default: see Order above"`
	UpdatedAfter      *collab.Millis `json:"updatedAfter" rule:"notnull,time" person:"in" doc:"Last updated then or later"`
	UpdatedBefore     *collab.Millis `json:"updatedBefore" rule:"notnull,time" doc:"Last updated then or earlier"`
	IncludeDeleted    bool           `json:"includeDeleted" person:"in" doc:"Also annotations that were deleted, or got or lost reactions, since updatedAfter. Requires updatedAfter and only documentId"`
	CreatedAfter      *collab.Millis `json:"createdAfter" rule:"notnull,time" doc:"Created then or later"`
	CreatedBefore     *collab.Millis `json:"createdBefore" rule:"notnull,time" doc:"Created then or earlier"`
	rpc.PageRequest
}

const maxStatuses = 100 // for each read

// Validate limits unions of single and plural fields, and rejects windows that end before they
// begin.
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
	if filters := r.agentFilters(); len(filters) > 1 {
		m.Add(filters[1], "cannot be combined with %s: send one filter of agents", filters[0])
	}
	if r.UnreadOnly && r.UnreadFor == nil {
		m.Add("unreadOnly", "requires unreadFor")
	}
	if r.IncludeDeleted && (r.DocumentID == nil || r.DocumentIDs != nil || r.FolderID != nil || r.UpdatedAfter == nil) {
		m.Add("includeDeleted", "requires documentId, without documentIds and folderId, and updatedAfter")
	}
	if r.UpdatedAfter != nil && r.UpdatedBefore != nil && *r.UpdatedAfter > *r.UpdatedBefore {
		m.Add("updatedAfter", "must not be later than updatedBefore")
	}
	if r.CreatedAfter != nil && r.CreatedBefore != nil && *r.CreatedAfter > *r.CreatedBefore {
		m.Add("createdAfter", "must not be later than createdBefore")
	}
}

// agentFilters returns the names of the requested filters of agents.
func (r *GetRequest) agentFilters() (names []string) {
	for _, f := range []struct {
		name string
		sent bool
	}{
		{"agentId", r.AgentID != nil}, {"executionId", r.ExecutionID != nil}, {"agentType", r.AgentType != nil},
		{"agentSource", r.AgentSource != nil}, {"agentSuggestions", r.AgentSuggestions}, {"agentComments", r.AgentComments},
	} {
		if f.sent {
			names = append(names, f.name)
		}
	}
	return names
}

// agent returns the filter of agents, nil for none.
func (r *GetRequest) agent() *collab.AgentFilter {
	if r.agentFilters() == nil {
		return nil
	}
	return &collab.AgentFilter{
		ID: collab.Deref(r.AgentID), Execution: collab.Deref(r.ExecutionID), Type: collab.Deref(r.AgentType), Source: collab.Deref(r.AgentSource),
		Suggestions: r.AgentSuggestions, Comments: r.AgentComments,
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
		Agent:         r.agent(),
		UnreadFor:     collab.Deref(r.UnreadFor),
		UnreadOnly:    r.UnreadOnly,
		Order:         collab.Deref(r.Order),
		UpdatedAfter:  r.UpdatedAfter,
		UpdatedBefore: r.UpdatedBefore,
		CreatedAfter:  r.CreatedAfter,
		CreatedBefore: r.CreatedBefore,
	}
}

// ids returns annotationId and annotationIds, without duplicates.
func (r *GetRequest) ids() []string {
	if r.AnnotationID == nil || slices.Contains(r.AnnotationIDs, *r.AnnotationID) {
		return r.AnnotationIDs
	}
	return append([]string{*r.AnnotationID}, r.AnnotationIDs...)
}

// union returns one, if given, and list, without duplicates; nil for none.
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
List threads.

Lists threads by document, folder, location, creator, status, time or id, in pages. The response
has the annotations that match all filters, with their comments. Within an array any value
matches; times are inclusive; userIds are the creators. Without filters, the response has all
annotations of the organization. An empty array and 'null' are refused.

**Order.** With annotationIds, the response has their order. An id that does not exist in the
documents is 'null', and counts as an item; an annotation that another filter excludes is omitted.

With 'order', updatedAfter or updatedBefore, the order is by lastUpdated, earliest first unless
'order' is 'desc': for each document in the order asked, or in one list if the request has no
document. In descending order, an annotation written during paging can be missed; it comes first
in the next walk.

Otherwise the order is that of the request: by document, then by location (or creator, or status),
then by annotation id. If the request has no document, the order is by location, creator or
status, then by document id and annotation id. Generated ids sort by time. Comments are sorted by
comment id.

**Pages.** A page also ends at about 5 MB, or after a long search with few matches. A larger
thread is alone on its page, with commentsTruncated: read the rest with 'comments/get'.
mentionedUserIds and agentComments check only the comments of a thread that the page holds.

**Agents.** One of agentId, executionId, agentType, agentSource, agentSuggestions and agentComments
filters by agents. All except agentComments compare the agent of the annotation: see 'agent' in the
response.

**Deleted.** With includeDeleted, the first page begins with the annotations deleted at
updatedAfter or later, followed by those with a comment whose reactions changed since, which does
not move lastUpdated. With asUserId, annotations that became hidden from this person are
included. A deleted one has 'deleted: true', no content, and the time of the deletion as
lastUpdated; other filters apply to existing annotations only. They count as items. Use this to
keep a copy of a document up to date. The
request fails with FAILED_PRECONDITION if updatedAfter is more than 24 hours ago, or more than
pageSize of them are in the response, or over 1,000 got or lost reactions: then read the document again.

**A person.** With asUserId, the response has only the content that this person can see: see
[Permissions](#permissions). If the person cannot see the document of documentId alone, the request
fails with NOT_FOUND; an invisible id of annotationIds is 'null', and other invisible annotations
are omitted. A page can then be short, or empty with a nextPageToken. unreadFor omits annotations
that this user cannot see.

With groupByDocumentId, the response is an object by document id, in the same order.

The request fails with NOT_FOUND if the organization, the folder, or the document of documentId
alone does not exist. It fails with FAILED_PRECONDITION if the organization is disabled.`}
}

// Get returns a page of the annotations that match all filters, in the order of Threads.Walk, with
// null for unknown annotationIds.
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
		reader: reader{apiKey: call.APIKey, organization: req.OrganizationID, person: collab.Deref(req.AsUserID), token: call.Person != nil},
	}
	if q.Sight != nil && len(q.Found) > 0 {
		collab.Later(ctx, func() (any, error) { return q.Sight.Viewers(ctx, q.Found, time.Time{}) }) // Viewers caches its result
	}
	first := func() error { return nil }
	if req.IncludeDeleted && from == nil {
		type found struct {
			left    []*collab.Thread
			changed []string
		}
		later := collab.Later(ctx, func() (f found, err error) {
			f.left, f.changed, err = s.Threads.Left(ctx, q.Found[0], *q.UpdatedAfter, q.Sight, p.Most())
			return f, err
		})
		first = sync.OnceValue(func() error {
			f, err := later()
			if err == nil {
				err = p.addLeft(f.left)
			}
			if err != nil {
				return err
			}
			return s.addChanged(ctx, &p, org, q, f.changed)
		})
	}
	take := func(id string, t *collab.Thread) bool { return first() == nil && p.take(id, t) }
	next, err := s.Threads.Walk(ctx, org, q, from, p.Most(), take)
	err = cmp.Or(first(), err)
	if alone && req.AsUserID != nil {
		// Its error comes first: others could reveal hidden content.
		_, hidden := viewersOf(ctx, q.Sight, q.Found[0])
		err = cmp.Or(hidden, err)
	}
	if err != nil {
		return nil, err
	}
	if next != nil {
		p.Next(next)
	}
	return p.GroupedPage, nil
}

var errFull = collab.Errorf(
	collab.FailedPrecondition, "more annotations were deleted or changed since updatedAfter than one response can hold: read the document again",
)

// addLeft adds deleted annotations to a page.
func (p *page) addLeft(list []*collab.Thread) error {
	for _, t := range list {
		if !p.take(t.ID, t) {
			return errFull
		}
	}
	return nil
}

// addChanged adds the annotations among ids that match the query to a page, except the ones that
// the query finds by their lastUpdated.
func (s *Service) addChanged(ctx context.Context, p *page, org collab.OrganizationRef, q collab.AnnotationQuery, ids []string) error {
	after := *q.UpdatedAfter
	if q.IDs != nil {
		ids = collab.Where(ids, func(id string) bool { return slices.Contains(q.IDs, id) })
	}
	if len(ids) == 0 {
		return nil
	}
	q.IDs, q.UpdatedAfter, q.UpdatedBefore = ids, nil, nil
	whole := true
	for from := []byte(nil); ; {
		// One more than fits, because a walk needs room to end.
		next, err := s.Threads.Walk(ctx, org, q, from, p.Most()+1, func(id string, t *collab.Thread) bool {
			whole = t == nil || t.Latest() >= after || p.take(id, t)
			return whole
		})
		switch from = next; {
		case err != nil:
			return err
		case !whole, next != nil && collab.UsageOf(ctx).PageLeft() <= 0:
			return errFull
		case next == nil:
			return nil
		}
	}
}

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
List threads (v1).

Lists the threads of one document in one response, in the order of version 2. The request fails
with FAILED_PRECONDITION if the response would exceed 5 MB (use version 2, which has pages), or if
the organization is disabled. It fails with NOT_FOUND if the organization or the document does not
exist.`}
}

// GetV1 is Get for one document, in one response and regardless of the account's settings.
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
		GroupedPage: rpc.NewList[*Annotation](call, "comment annotation").Group(false), reader: reader{apiKey: call.APIKey, organization: req.OrganizationID, v1: true},
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
				"the response would exceed 5 MB: use pages of /v2/commentannotations/get, or narrow the filters")
		case next == nil:
			return p.Page, nil
		}
		from = next
	}
}

// page collects annotations until the response is full.
type page struct {
	*rpc.GroupedPage[*Annotation]
	reader    reader
	grouped   bool
	truncated bool // holds a single thread without all of its comments
}

// take adds an annotation, or null for nil, and reports whether it fits.
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
