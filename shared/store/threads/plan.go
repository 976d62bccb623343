package threads

import (
	"cmp"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// plan selects the index, the order and the key ranges of a query. It reads nothing.
type plan struct {
	org    collab.OrganizationRef
	q      *collab.AnnotationQuery
	index  string   // index of the walk; "" for the table itself
	by     *filter  // filter that owns the index; nil for an index by time, or none
	values []string // requested values of that filter
}

func newPlan(org collab.OrganizationRef, q *collab.AnnotationQuery) plan {
	p := plan{org: org, q: q}
	by := slices.IndexFunc(filters[:], func(f *filter) bool { return f.list != nil && f.values(q) != nil })
	switch {
	case q.IDs != nil:
	case updated.in(q), q.Order != "":
		p.index = keys.IndexUpd
	case by >= 0:
		p.by = filters[by]
		p.index, p.values = p.by.list.index, p.by.values(q)
	case created.in(q):
		p.index = keys.IndexUpd
	}
	if p.index == keys.IndexUpd && q.Documents == nil && q.Folder == "" {
		p.index = keys.IndexOrg
	}
	return p
}

// acrossDocuments reports whether each range spans all documents, rather than one.
func (p *plan) acrossDocuments() bool {
	return p.index != "" && p.q.Documents == nil && p.q.Folder == ""
}

// position is a position in a walk: after a key in a range. A forged one reveals nothing, because
// keys are built from the caller's account and filters.
type position struct {
	Document string `json:"d,omitempty"` // the range's document, "" if it spans documents
	Value    int    `json:"v,omitempty"` // index of the requested value; of ids, from 1
	// Sort key of the last entry; in a walk over ids, the document's key.
	Key string `json:"k,omitempty"`
	Met bool   `json:"m,omitempty"` // in a walk over ids: see walk.visit
}

// valid reports whether a walk of this query can have the position, which may be forged.
func (p *plan) valid(at position) bool {
	values := max(1, len(p.values))
	if p.q.IDs != nil {
		values = len(p.q.IDs) + 1
	}
	return 0 <= at.Value && at.Value < values && len(at.Key) <= keys.MaxSortKey &&
		(at.Document == "" || collab.CheckID(at.Document, collab.MaxDocumentID) == nil)
}

// compare orders positions as the walk reaches them.
func (p *plan) compare(a, b position) int {
	return cmp.Or(
		cmp.Compare(slices.Index(p.q.Documents, a.Document), slices.Index(p.q.Documents, b.Document)),
		cmp.Compare(a.Value, b.Value),
		cmp.Compare(a.Key, b.Key),
	)
}

type keyRange struct {
	document  collab.DocumentRef // zero for all
	value     int                // index in the plan's values
	index     string             // "" for the table itself
	partition string
	keys      store.Span
	newest    bool   // read from its end
	last      string // last key examined, or ""
}

func (r *keyRange) scan() store.Scan {
	return store.Scan{Index: r.index, PK: r.partition, Keys: r.keys, Newest: r.newest}
}

// advance limits the range to keys after key. A range that is read from its end keeps key itself,
// because no key directly precedes another.
func (r *keyRange) advance(key string) {
	switch r.last = key; {
	case !r.newest:
		r.keys = r.keys.After(key)
	case r.keys.To == "" || key < r.keys.To:
		r.keys.To = key
	}
}

func (r *keyRange) in() collab.DocumentRef { return r.document }

func (r *keyRange) position() position {
	return position{Document: r.document.Document, Value: r.value, Key: r.last}
}

func (p *plan) keyRange(document collab.DocumentRef, value int) keyRange {
	r := keyRange{document: document, value: value, index: p.index, newest: p.newest()}
	switch {
	case p.by != nil:
		r.partition, r.keys = p.by.list.partition(p.org, p.values[value]), inDocument(document)
	case p.index == keys.IndexOrg:
		r.partition, r.keys = keys.UpdatedPartition(p.org), p.times()
	case p.index == keys.IndexUpd:
		r.partition, r.keys = keys.DocumentPartition(document), p.times()
	default:
		r.partition, r.keys = keys.DocumentPartition(document), store.Children(keys.Annotations)
	}
	return r
}

// inDocument returns the span of a document's entries under one value of an index, or of all
// entries for the zero document.
func inDocument(document collab.DocumentRef) store.Span {
	if document == (collab.DocumentRef{}) {
		return store.Everything
	}
	return store.Children(keys.Heads(document))
}

// times returns the span of an index by time that can match the windows. A time key is never
// earlier than lastUpdated, nor lastUpdated earlier than createdAt.
func (p *plan) times() store.Span {
	from := collab.Millis(0)
	for _, w := range windows {
		if after, _ := w.bounds(p.q); after != nil {
			from = max(from, *after)
		}
	}
	itemKeys := store.Span{From: keys.Time(from)}
	if _, before := updated.bounds(p.q); before != nil {
		itemKeys.To = keys.Time(latestKey(*before)) + keys.AfterChildren
	}
	return itemKeys
}

// strong reports whether threads are read with strong consistency: by id, and by documents alone.
func (p *plan) strong() bool { return p.q.IDs != nil || p.index == "" && p.q.Documents != nil }

// newest reports whether a range of an index by time is read from its end.
func (p *plan) newest() bool { return p.q.Order == collab.Descending && p.q.IDs == nil }

// quarter is the step of a busy thread's time key, in milliseconds.
const quarter = 250

// latestKey returns the latest possible time key of an annotation that was last updated at t.
func latestKey(t collab.Millis) collab.Millis {
	return min((t+quarter-1)/quarter*quarter+quarter, collab.MaxMillis)
}
