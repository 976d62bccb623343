package store

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// What one walk examines before it ends its page. So a page costs at most 400 capacity units beside its threads.
const (
	mostEntries = 10_000 // index entries
	mostSources = 500    // ranges of keys
	mostUnits   = 330    // capacity units of index reads

	readAhead = 16 // sources read side by side when they turn out small
)

// pageBytes is about the content that fits on a page: the walk reads no further ahead.
const pageBytes = 5_000_000

// position is where a walk goes on: behind a key in a source. It names nothing but what the caller may read: keys are built from the
// caller's own account and filters.
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
// CheckOrganization, with NOT_FOUND for an unknown folder, and with INVALID_ARGUMENT when from is no position of this query. Unknown
// documents are passed over.
func (s *Store) Walk(ctx context.Context, org collab.OrganizationRef, q collab.AnnotationQuery, from []byte, most int,
	take func(id string, t *collab.Thread) bool,
) (next []byte, err error) {
	w := &walk{s: s, org: org, q: q, most: most, take: take}
	w.index, w.values = driver(&q)
	if from != nil && (json.Unmarshal(from, &w.at) != nil || !w.valid(w.at)) {
		return nil, errPosition()
	}
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	if q.IDs != nil {
		err = w.byID(ctx)
	} else {
		err = w.bySource(ctx)
	}
	if err != nil || w.complete {
		return nil, err
	}
	return json.Marshal(w.at)
}

// errPosition says that a list has no such position: the caller forged one.
func errPosition() error {
	return collab.Errorf(collab.InvalidArgument, "the page token leads to no place in this list")
}

type walk struct {
	s    *Store
	org  collab.OrganizationRef
	q    collab.AnnotationQuery
	most int
	take func(string, *collab.Thread) bool

	index     string   // that the walk goes through; "" for the table itself
	values    []string // asked for in the index, where it is one of values
	documents []string // the named ones that exist and lie in the folder; nil where none was named
	others    []string // further indexes, which may turn out narrower
	probed    int      // how often they were looked into

	at       position // behind what was offered or passed over
	ended    bool     // the page ends at `at`
	complete bool     // the list ends at `at`

	taken, bytes        int     // threads, and their content
	sources             int     // examined to their end
	entries, entryBytes int     // of indexes
	units               float64 // of capacity, for reading indexes
	threads, items      int     // of whole threads read from the table itself
}

// driver returns the index that a walk goes through, and the values asked for where it is one of values; "" for the table itself.
func driver(q *collab.AnnotationQuery) (index string, values []string) {
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

// valid reports whether a walk of this query can be at the position: a caller can forge one.
func (w *walk) valid(at position) bool {
	values := max(1, len(w.values))
	if w.q.IDs != nil {
		values = len(w.q.IDs) + 1
	}
	return 0 <= at.Value && at.Value < values && len(at.Key) <= table.MaxSortKey &&
		(at.Document == "" || collab.CheckID(at.Document, collab.MaxDocumentID) == nil)
}

// entry is one annotation on the way: from an index, or with its thread from the table.
type entry struct {
	document, id string
	at           position
	thread       *collab.Thread // nil: to be fetched
	missing      bool           // there is none: take hears of it
}

// open checks what the query names, and finds the named documents.
func (w *walk) open(ctx context.Context) error {
	acct, org, q := w.org.Account, w.org.Organization, w.q
	var keys []table.Key
	folder := table.Folder(acct, org, q.Folder)
	if q.Folder != "" && q.Folder != collab.RootFolder {
		keys = append(keys, folder)
	}
	for _, d := range q.Documents {
		if k := table.Document(acct, org, d); q.Folder != "" || !w.s.known.has(k, w.s.now()) {
			keys = append(keys, k)
		}
	}
	found, err := w.s.seek(ctx, w.org, keys)
	if err != nil {
		return err
	}
	asked := func(k table.Key) bool { return slices.Contains(keys, k) }
	if asked(folder) && found[folder] == nil {
		return folderMissing(q.Folder)
	}
	if q.Documents == nil {
		return nil
	}
	w.documents = []string{}
	for _, d := range q.Documents {
		k := table.Document(acct, org, d)
		it := found[k]
		if it != nil {
			w.s.knowDocument(k)
		}
		if !asked(k) || it != nil && (q.Folder == "" || it.text(table.Parent) == q.Folder) {
			w.documents = append(w.documents, d)
		}
	}
	return nil
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

// inPlace reports whether a head still has the value under which the index listed it: when it has moved to another value that was
// asked for, it is listed there.
func (w *walk) inPlace(e entry, h *collab.Annotation) bool {
	switch {
	case w.q.IDs != nil:
		return true
	case w.index == table.IndexIn:
		return h.LocationID == w.values[e.at.Value]
	case w.index == table.IndexBy:
		return h.CreatorID == w.values[e.at.Value]
	case w.index == table.IndexSt:
		return h.StatusID == w.values[e.at.Value]
	}
	return true
}

// deliver offers those of the entries that pass the filters, in order. Threads that are not at hand are fetched side by side.
func (w *walk) deliver(ctx context.Context, entries []entry) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	threads := make([]<-chan fetched, len(entries))
	ahead := 0
	for i, e := range entries {
		if w.taken == w.most {
			w.ended = true
			return nil
		}
		for ; ahead < len(entries) && ahead < i+w.window(); ahead++ {
			threads[ahead] = w.fetch(ctx, entries[ahead])
		}
		f := <-threads[i]
		if f.err != nil {
			return f.err
		}
		offered := w.q.IDs != nil // take hears of a missing one
		if f.thread != nil {
			offered = w.matches(&f.thread.Annotation) && w.inPlace(e, &f.thread.Annotation)
		}
		if offered {
			if !w.take(e.id, f.thread) {
				w.ended = true
				return nil
			}
			w.taken++
			w.bytes += f.bytes
		}
		w.at = e.at
	}
	return nil
}

// fetched is a thread, nil when there is none, and about the bytes of its content.
type fetched struct {
	thread *collab.Thread
	bytes  int
	err    error
}

// fetch begins to read the thread of an entry. The channel gives it once.
func (w *walk) fetch(ctx context.Context, e entry) <-chan fetched {
	c := make(chan fetched, 1)
	if e.thread != nil || e.missing {
		c <- fetched{thread: e.thread, bytes: threadBytes(e.thread)}
		return c
	}
	go func() {
		t, bytes, err := w.s.readThread(ctx, w.org.Document(e.document), e.id, w.q.IDs != nil)
		c <- fetched{t, bytes, err}
	}()
	return c
}

// window is how many threads are worth fetching side by side: no more than the page may take.
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
func (w *walk) byID(ctx context.Context) error {
	found := make([][]string, len(w.q.IDs)) // documents by id
	if len(w.q.Documents) == 1 && len(w.documents) == 1 && w.q.Folder == "" {
		for i := range found {
			found[i] = w.documents
		}
	} else if err := each(ctx, len(found), func(ctx context.Context, i int) error {
		if i+1 < w.at.Value {
			return nil
		}
		items, err := w.s.query(ctx, scan{
			pk: table.AnnotationID(w.org.Account, w.org.Organization, w.q.IDs[i], "").PK, keys: everything, strong: true,
		})
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
		documents := found[i]
		if len(documents) == 0 {
			documents = []string{""}
		}
		for _, d := range documents {
			e := entry{document: d, id: id, at: position{Value: i + 1, Key: table.Escape(d)}, missing: d == ""}
			behind := e.at.Value > w.at.Value || e.at.Value == w.at.Value && e.at.Key > w.at.Key
			if behind && (e.missing || inFolder(d)) {
				entries = append(entries, e)
			}
		}
	}
	err = w.deliver(ctx, entries)
	w.complete = !w.ended
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

// bySource walks one source after the other: the documents, and in each the values, that the query asks for.
func (w *walk) bySource(ctx context.Context) error {
	list := newSourceList(w)
	w.others = w.alternatives()
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
			first[i], err = group[i].read(ctx, want, len(group))
			return err
		}); err != nil {
			return err
		}
		for i, src := range group {
			if err := w.exhaust(ctx, src, first[i]); err != nil || w.ended {
				return err
			}
			w.sources++
			if w.taken == w.most || w.spent() {
				w.complete = i+1 == len(group) && list.ended()
				return nil
			}
		}
		if err := w.tryNarrow(ctx); err != nil || w.ended {
			return err
		}
	}
}

// exhaust offers what a source holds, of which the first part was read.
func (w *walk) exhaust(ctx context.Context, src *source, p part) error {
	for {
		w.count(p)
		if err := w.deliver(ctx, p.entries); err != nil || w.ended {
			return err
		}
		w.at = src.position()
		if p.done {
			return nil
		}
		if w.ended = w.taken == w.most || w.spent(); w.ended {
			return nil
		}
		if err := w.tryNarrow(ctx); err != nil || w.ended {
			return err
		}
		var err error
		if p, err = src.read(ctx, w.most-w.taken, 1); err != nil {
			return err
		}
	}
}

// count adds up what was examined.
func (w *walk) count(p part) {
	w.entries += p.examined
	w.entryBytes += p.bytes
	w.units += p.units
	w.items += p.items
	if p.items > 0 {
		w.threads += len(p.entries)
	}
}

// spent reports whether the walk has examined as much as it may.
func (w *walk) spent() bool {
	return w.entries >= mostEntries || w.units >= mostUnits || w.sources >= mostSources
}

// allowance is how many index entries each of n sources that are read side by side may examine.
func (w *walk) allowance(n int) int {
	bytes := 300.0 // of an entry
	if w.entries > 0 {
		bytes = float64(w.entryBytes) / float64(w.entries)
	}
	left := min(float64(mostEntries-w.entries), (mostUnits-w.units)*bytesPerUnit/bytes)
	return max(1, int(left)/n)
}

// perSource is about how many annotations the sources seen so far had.
func (w *walk) perSource() int { return w.taken / max(1, w.sources) }

// width is how many sources are worth reading side by side: one while nothing is known, many when they turn out small.
func (w *walk) width() int {
	if w.sources == 0 {
		return 1
	}
	n := min(readAhead, math.Ceil(float64(w.most-w.taken)/float64(max(1, w.perSource()))))
	if average := w.bytes / w.sources; average > 0 {
		n = min(n, math.Ceil(float64(pageBytes-w.bytes)/float64(average)))
	}
	return max(1, int(n))
}
