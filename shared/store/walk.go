package store

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// What one walk examines at most before it ends its page. A page costs no more than 400 capacity units beside its threads.
const (
	mostEntries = 10_000 // index entries
	mostSources = 500    // partitions, or ranges of one
	readAhead   = 16     // sources read side by side when they turn out small
)

// pageBytes is about the content that fits on a page: the walk reads no further ahead.
const pageBytes = 5_000_000

// position is where a walk goes on: behind a key in a source. It names nothing but what the caller may read: keys are built from the
// caller's own account.
type position struct {
	Document string `json:"d,omitempty"` // the source's document, "" where a source spans documents
	Value    int    `json:"v,omitempty"` // which of the locations, creators, statuses asked for; of the ids, counted from 1
	Key      string `json:"k,omitempty"` // sort key of the last one; the document, in a walk over ids
}

// Walk calls take with annotations of an organization in the order that the query implies, behind the position from (nil for the
// start), at most `most` of them. t is nil for one of q.IDs that does not exist. take answers false for one that it does not take: the
// walk ends before it. next is the position behind the last one taken, nil when the list is known to end there. A walk may end with
// fewer, even none, and a next.
//
// The order is that of q.IDs; else, by the first of these that the query has: a window of lastUpdated; locations, creators, statuses; a
// window of createdAt; else by document. Windows are walked in each document by lastUpdated, everything else by annotation id. Documents
// come in the order asked, else by id, locations, creators and statuses in the order asked.
//
// Reads by id and by named documents alone are strongly consistent; others go through an index, which may lag by a second. It fails like
// CheckOrganization, and with NOT_FOUND for an unknown folder. Unknown documents are passed over.
func (s *Store) Walk(ctx context.Context, org collab.OrganizationRef, q collab.AnnotationQuery, from []byte, most int,
	take func(id string, t *collab.Thread) bool,
) (next []byte, err error) {
	w := &walk{s: s, org: org, q: q, most: most, take: take}
	if from != nil {
		if err := json.Unmarshal(from, &w.at); err != nil || !w.valid(w.at) {
			return nil, collab.Errorf(collab.InvalidArgument, "the position is not one of this list")
		}
	}
	documents, err := w.open(ctx)
	if err != nil {
		return nil, err
	}
	if q.IDs != nil {
		err = w.byID(ctx, documents)
	} else {
		err = w.bySource(ctx, documents)
	}
	if err != nil || w.complete {
		return nil, err
	}
	return json.Marshal(w.at)
}

// valid reports whether a position may be one of this walk: a caller can forge one.
func (w *walk) valid(at position) bool {
	most := len(w.q.IDs)
	if w.q.IDs == nil {
		_, values := w.driver()
		most = max(len(values)-1, 0)
	}
	return 0 <= at.Value && at.Value <= most && len(at.Key) <= table.MaxSortKey &&
		(at.Document == "" || collab.CheckID(at.Document, collab.MaxDocumentID) == nil)
}

type walk struct {
	s    *Store
	org  collab.OrganizationRef
	q    collab.AnnotationQuery
	most int
	take func(string, *collab.Thread) bool

	at       position
	taken    int
	bytes    int // of the threads taken
	entries  int // index entries examined
	sources  int // sources examined to their end
	full     bool
	complete bool // the list ends at `at`

	threads, items int      // read from the table itself
	probe          []string // indexes that may turn out narrower than the driver
}

// entry is one annotation on the way: from an index, or with its thread from the table.
type entry struct {
	document, id string
	at           position
	thread       *collab.Thread // nil: to be fetched
	missing      bool           // there is none: take hears of it
}

// open checks what the query names, and returns the named documents that exist and lie in the folder; nil where none was named.
func (w *walk) open(ctx context.Context) ([]string, error) {
	acct, org, q := w.org.Account, w.org.Organization, w.q
	var keys []table.Key
	inFolder := q.Folder != "" && q.Folder != collab.RootFolder
	if inFolder {
		keys = append(keys, table.Folder(acct, org, q.Folder))
	}
	for _, d := range q.Documents {
		if k := table.Document(acct, org, d); q.Folder != "" || !w.s.known.has(k, w.s.now()) {
			keys = append(keys, k)
		}
	}
	found, err := w.s.seek(ctx, w.org, keys)
	if err != nil {
		return nil, err
	}
	if inFolder && found[keys[0]] == nil {
		return nil, folderMissing(q.Folder)
	}
	if q.Documents == nil {
		return nil, nil
	}
	documents := []string{}
	for _, d := range q.Documents {
		k := table.Document(acct, org, d)
		if it := found[k]; it != nil {
			w.s.knowDocument(k)
			if q.Folder != "" && it.text(table.Parent) != q.Folder {
				continue
			}
		} else if slices.Contains(keys, k) {
			continue
		}
		documents = append(documents, d)
	}
	return documents, nil
}

// matches reports whether a head passes all filters but those on document and folder.
func (w *walk) matches(h *collab.Annotation) bool {
	q := &w.q
	return (q.Locations == nil || slices.Contains(q.Locations, h.LocationID)) &&
		(q.Creators == nil || slices.Contains(q.Creators, h.CreatorID)) &&
		(q.Statuses == nil || slices.Contains(q.Statuses, h.StatusID)) &&
		within(h.CreatedAt, q.CreatedAfter, q.CreatedBefore) &&
		within(h.LastUpdated, q.UpdatedAfter, q.UpdatedBefore)
}

func within(t collab.Millis, after, before *collab.Millis) bool {
	return (after == nil || t >= *after) && (before == nil || t <= *before)
}

// mayMatch is matches on what an index entry carries; filters on what it does not carry pass.
func (w *walk) mayMatch(it item, index string) bool {
	q := &w.q
	return (q.Locations == nil || index == table.IndexIn || slices.Contains(q.Locations, it.text(table.Location))) &&
		(q.Creators == nil || index == table.IndexBy || slices.Contains(q.Creators, it.text(table.Creator))) &&
		(q.Statuses == nil || index == table.IndexSt || slices.Contains(q.Statuses, it.text(table.Status))) &&
		within(it.num(table.CreatedAt), q.CreatedAfter, q.CreatedBefore)
}

// offer gives one to take, and reports whether the page goes on.
func (w *walk) offer(e entry, t *collab.Thread, size int) bool {
	if w.taken == w.most || !w.take(e.id, t) {
		w.full = true
		return false
	}
	w.taken++
	w.bytes += size
	w.at = e.at
	return true
}

// deliver fetches the threads of the entries side by side and offers those that pass the filters, in order.
func (w *walk) deliver(ctx context.Context, entries []entry, strong bool) error {
	type result struct {
		t    *collab.Thread
		size int
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]chan result, len(entries))
	launched := 0
	for i, e := range entries {
		if w.taken == w.most {
			w.full = true
			return nil
		}
		for ; launched < len(entries) && launched < i+w.window(); launched++ {
			l := entries[launched]
			c := make(chan result, 1)
			results[launched] = c
			if l.thread != nil || l.missing {
				c <- result{t: l.thread, size: threadBytes(l.thread)}
				continue
			}
			go func() {
				t, size, err := w.s.readThread(ctx, w.org.Document(l.document), l.id, strong)
				c <- result{t, size, err}
			}()
		}
		r := <-results[i]
		switch {
		case r.err != nil:
			return r.err
		case r.t == nil && !e.missing && w.q.IDs == nil: // gone from where the index saw it
		case r.t == nil || w.matches(&r.t.Annotation) && w.inPlace(e, r.t):
			if !w.offer(e, r.t, r.size) {
				return nil
			}
			continue
		}
		w.at = e.at
	}
	return nil
}

// inPlace reports whether the thread still has the value under which the index listed it: when it has moved to another value that was
// asked for, it is listed there.
func (w *walk) inPlace(e entry, t *collab.Thread) bool {
	if w.q.IDs != nil {
		return true
	}
	switch index, values := w.driver(); index {
	case table.IndexIn:
		return t.LocationID == values[e.at.Value]
	case table.IndexBy:
		return t.CreatorID == values[e.at.Value]
	case table.IndexSt:
		return t.StatusID == values[e.at.Value]
	}
	return true
}

// window is how many threads are worth fetching ahead: no more than the page may take.
func (w *walk) window() int {
	n := min(concurrency, w.most-w.taken)
	if w.taken == 0 {
		n = min(n, concurrency/4)
	} else if average := w.bytes / w.taken; average > 0 {
		n = min(n, (pageBytes-w.bytes)/average+1)
	}
	return max(n, 1)
}

func threadBytes(t *collab.Thread) int {
	if t == nil {
		return 0
	}
	n := 500
	for i := range t.Comments {
		c := &t.Comments[i]
		n += 200 + len(collab.Deref(c.Text)) + len(collab.Deref(c.HTML)) + len(c.Context) + len(c.TaggedUserContacts) + len(c.Attachments)
	}
	return n
}

// byID walks the annotations of q.IDs, in the named documents or all.
func (w *walk) byID(ctx context.Context, documents []string) error {
	acct, org := w.org.Account, w.org.Organization
	found := make([][]string, len(w.q.IDs)) // documents by id
	if len(documents) == 1 && w.q.Documents != nil && w.q.Folder == "" {
		for i := range found {
			found[i] = documents
		}
	} else if err := each(ctx, len(found), func(ctx context.Context, i int) error {
		items, err := w.s.query(ctx, scan{pk: table.AnnotationID(acct, org, w.q.IDs[i], "").PK, keys: everything, strong: true})
		for _, it := range items {
			d, err := table.Unescape(it.text(table.SK))
			if err != nil {
				return fail(ctx, err)
			}
			if w.q.Documents == nil || slices.Contains(w.q.Documents, d) {
				found[i] = append(found[i], d)
			}
		}
		return err
	}); err != nil {
		return err
	}
	inFolder, err := w.inFolder(ctx, found)
	if err != nil {
		return err
	}
	var entries []entry
	for i, id := range w.q.IDs {
		if len(found[i]) == 0 {
			found[i] = []string{""}
		}
		for _, d := range found[i] {
			e := entry{document: d, id: id, at: position{Value: i + 1, Key: table.Escape(d)}, missing: d == ""}
			behind := e.at.Value > w.at.Value || e.at.Value == w.at.Value && e.at.Key > w.at.Key
			if behind && (e.missing || inFolder(d)) {
				entries = append(entries, e)
			}
		}
	}
	err = w.deliver(ctx, entries, true)
	w.complete = !w.full
	return err
}

// inFolder returns whether a document among the found ones lies in the query's folder.
func (w *walk) inFolder(ctx context.Context, found [][]string) (func(document string) bool, error) {
	if w.q.Folder == "" {
		return func(string) bool { return true }, nil
	}
	var keys []table.Key
	for _, list := range found {
		for _, d := range list {
			keys = append(keys, table.Document(w.org.Account, w.org.Organization, d))
		}
	}
	items, err := w.s.getAll(ctx, keys, true)
	return func(document string) bool {
		it := items[table.Document(w.org.Account, w.org.Organization, document)]
		return it != nil && it.text(table.Parent) == w.q.Folder
	}, err
}

// driver returns the index that the walk goes through, and the values asked for where it is one of values; "" for the table itself.
func (w *walk) driver() (index string, values []string) {
	q := &w.q
	switch {
	case q.UpdatedAfter != nil || q.UpdatedBefore != nil:
		return table.IndexUpd, nil
	case q.Locations != nil:
		return table.IndexIn, q.Locations
	case q.Creators != nil:
		return table.IndexBy, q.Creators
	case q.Statuses != nil:
		return table.IndexSt, q.Statuses
	case q.CreatedAfter != nil || q.CreatedBefore != nil:
		return table.IndexUpd, nil
	}
	return "", nil
}

// bySource walks one source after the other: the documents, and in each the values, that the query asks for.
func (w *walk) bySource(ctx context.Context, documents []string) error {
	list := newSourceList(w, documents)
	index, _ := w.driver()
	w.probe = w.alternatives(documents)
	for {
		group, err := list.next(ctx, w.width())
		if err != nil {
			return err
		}
		if len(group) == 0 {
			w.complete = true
			return nil
		}
		want := w.most - w.taken
		if len(group) > 1 {
			want = min(want, max(10, 2*w.perSource()))
		}
		first := make([]part, len(group))
		if err := each(ctx, len(group), func(ctx context.Context, i int) (err error) {
			first[i], err = group[i].read(ctx, want)
			return err
		}); err != nil {
			return err
		}
		for i, src := range group {
			for p := first[i]; ; {
				w.entries += p.examined
				if err := w.deliver(ctx, p.entries, index == "" && w.q.Documents != nil); err != nil || w.full {
					return err
				}
				if p.done {
					break
				}
				w.at = p.at
				if w.entries >= mostEntries || w.taken == w.most {
					return nil
				}
				if done, err := w.tryNarrow(ctx, documents); done || err != nil {
					return err
				}
				if p, err = src.read(ctx, w.most-w.taken); err != nil {
					return err
				}
			}
			w.at = src.end()
			w.sources++
			if w.taken == w.most || w.sources >= mostSources {
				w.complete = i+1 == len(group) && list.ended()
				return nil
			}
		}
	}
}

// perSource is about how many annotations the sources seen so far had.
func (w *walk) perSource() int {
	if w.sources == 0 {
		return 0
	}
	return w.taken / w.sources
}

// width is how many sources are worth reading side by side: one while nothing is known, many when they turn out small.
func (w *walk) width() int {
	if w.sources == 0 {
		return 1
	}
	return int(min(readAhead, math.Ceil(float64(w.most-w.taken)/float64(max(1, w.perSource())))))
}
