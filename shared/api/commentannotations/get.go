package commentannotations

import (
	"bytes"
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// GetRequest is the data of POST /v2/commentannotations/get. All filters combine.
type GetRequest struct {
	OrganizationID    string         `json:"organizationId" rule:"required,id"`
	DocumentID        *string        `json:"documentId" rule:"notnull,docid"`
	DocumentIDs       []string       `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid"`
	GroupByDocumentID bool           `json:"groupByDocumentId"`
	LocationIDs       []string       `json:"locationIds" rule:"notnull,nonempty,max=30,each=id"`
	FolderID          *string        `json:"folderId" rule:"notnull,id"`
	AnnotationIDs     []string       `json:"annotationIds" rule:"notnull,nonempty,max=30,each=id"`
	UserIDs           []string       `json:"userIds" rule:"notnull,nonempty,max=30,each=id"`
	StatusID          *string        `json:"statusId" rule:"notnull,id"`
	StatusIDs         []string       `json:"statusIds" rule:"notnull,nonempty,max=30,each=id"`
	UpdatedAfter      *collab.Millis `json:"updatedAfter" rule:"notnull,time"`
	UpdatedBefore     *collab.Millis `json:"updatedBefore" rule:"notnull,time"`
	CreatedAfter      *collab.Millis `json:"createdAfter" rule:"notnull,time"`
	CreatedBefore     *collab.Millis `json:"createdBefore" rule:"notnull,time"`
	PageSize          *int64         `json:"pageSize" rule:"notnull,min=1,max=1000"`
	PageToken         string         `json:"pageToken"`
}

// Validate checks the unions of single and plural fields, and that no window ends before it begins.
func (r *GetRequest) Validate(m *rpc.Mistakes) {
	if len(union(r.DocumentID, r.DocumentIDs)) > collab.MaxIDsPerFilter {
		m.Add("documentIds", "must have at most %d ids together with documentId", collab.MaxIDsPerFilter)
	}
	if len(union(r.StatusID, r.StatusIDs)) > collab.MaxIDsPerFilter {
		m.Add("statusIds", "must have at most %d ids together with statusId", collab.MaxIDsPerFilter)
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
		IDs:           r.AnnotationIDs,
		Locations:     distinct(r.LocationIDs),
		Creators:      distinct(r.UserIDs),
		Statuses:      union(r.StatusID, r.StatusIDs),
		UpdatedAfter:  r.UpdatedAfter,
		UpdatedBefore: r.UpdatedBefore,
		CreatedAfter:  r.CreatedAfter,
		CreatedBefore: r.CreatedBefore,
	}
}

// union returns one, where it is given, and the ids of list, each once; nil for none.
func union(one *string, list []string) []string {
	if one == nil {
		return distinct(list)
	}
	return distinct(append([]string{*one}, list...))
}

// Get returns a page of the annotations that pass all filters, in the order of Store.Walk, with null for each of annotationIds that does
// not exist; with groupByDocumentId an object of arrays by document, without nulls. A page ends at pageSize, or before its answer is
// larger than 5 MB. A thread that is larger by itself stands alone on its page, with as many of its comments as fit and
// commentsTruncated.
//
// It fails with FAILED_PRECONDITION where the account's advanced queries are off or the organization is disabled, and NOT_FOUND when
// the organization, the folder, or the document of documentId alone does not exist. Missing ones of documentIds are passed over.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (any, error) {
	if call.Settings.AdvancedQueriesOff {
		return nil, collab.Errorf(collab.FailedPrecondition, `the setting "advanced queries" of the account is off`)
	}
	var from []byte
	if err := call.Position(req.PageToken, &from); err != nil {
		return nil, err
	}
	org := collab.OrganizationRef{Account: call.Account, Organization: req.OrganizationID}
	if req.DocumentID != nil && req.DocumentIDs == nil {
		if err := s.Directory.CheckDocument(ctx, org.Document(*req.DocumentID), collab.CreateFlags{}); err != nil {
			return nil, err
		}
	}
	most := collab.MaxPageSize
	if req.PageSize != nil {
		most = int(*req.PageSize)
	}
	p := page{left: maxPage, grouped: req.GroupByDocumentID}
	next, err := s.Threads.Walk(ctx, org, req.query(), from, most, p.take)
	if err != nil {
		return nil, err
	}
	if next != nil {
		call.NextPageToken = call.PageToken(next)
	}
	p.report(call)
	if p.grouped {
		return p.groups, nil
	}
	return p.list, nil
}

// GetV1Request is the data of POST /v1/commentannotations/get.
type GetV1Request struct {
	Target
	LocationIDs   []string `json:"locationIds" rule:"notnull,nonempty,max=30,each=id"`
	AnnotationIDs []string `json:"annotationIds" rule:"notnull,nonempty,max=30,each=id"`
	UserIDs       []string `json:"userIds" rule:"notnull,nonempty,max=30,each=id"`
}

// GetV1 is Get for one document, all in one answer and whatever the account's settings. It fails with RESOURCE_EXHAUSTED when the answer
// is larger than 5 MB.
func (s *Service) GetV1(ctx context.Context, call *rpc.Call, req *GetV1Request) ([]collab.JSON, error) {
	doc := req.document(call)
	if err := s.Directory.CheckDocument(ctx, doc, collab.CreateFlags{}); err != nil {
		return nil, err
	}
	v2 := GetRequest{
		DocumentID:    &req.DocumentID,
		LocationIDs:   req.LocationIDs,
		AnnotationIDs: req.AnnotationIDs,
		UserIDs:       req.UserIDs,
	}
	query := v2.query()
	p := page{left: maxPage}
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
			return nil, collab.Errorf(collab.ResourceExhausted,
				"one answer does not hold these annotations: page through them with /v2/commentannotations/get, or narrow the filters")
		case next == nil:
			p.report(call)
			return p.list, nil
		}
		from = next
	}
}

// maxPage is the most that the annotations of an answer take, in bytes as Lambda wraps them: 5 MB less what stands around them.
const maxPage = 4_990_000

// page collects the annotations of an answer until it is full.
type page struct {
	left      int           // bytes that still fit, as wrapped
	items     int           // in the answer so far
	list      []collab.JSON // unless grouped; nil stands for null
	grouped   bool
	groups    rpc.Keyed[[]collab.JSON] // when grouped: the annotations by document
	group     map[string]int           // a document's index in groups
	truncated bool                     // holds a single thread, and not all of its comments
	scratch   []byte
}

// report tells the call what the page holds.
func (p *page) report(call *rpc.Call) {
	call.Items = p.items
	call.Message = rpc.Count(p.items, "comment annotation")
}

// take takes an annotation, or null for one that does not exist, and reports whether it fits.
func (p *page) take(_ string, t *collab.Thread) bool {
	switch {
	case p.truncated:
		return false
	case t == nil && p.grouped:
		return true
	case t == nil:
		p.items++
		p.left -= len("null,")
		p.list = append(p.list, nil)
		return true
	}
	left := p.left - len(",")
	group, known := p.group[t.Document]
	if p.grouped && !known {
		left -= 2*rpc.WrappedLen(t.Document) + len(`\"\":[],`) // a quote in an id takes four
	}
	text, size, whole := appendThread(p.scratch[:0], t, left)
	p.scratch = text
	if !whole && p.items > 0 {
		return false
	}
	p.items++
	p.left = left - size
	p.truncated = !whole
	item := collab.JSON(bytes.Clone(text))
	if !p.grouped {
		p.list = append(p.list, item)
		return true
	}
	if !known {
		group = len(p.groups)
		if p.group == nil {
			p.group = map[string]int{}
		}
		p.group[t.Document] = group
		p.groups = append(p.groups, rpc.Member[[]collab.JSON]{Key: t.Document})
	}
	p.groups[group].Value = append(p.groups[group].Value, item)
	return true
}
