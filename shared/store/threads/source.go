package store

import (
	"context"
	"math"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// source is one range of keys that a walk reads: the threads of a document, or the entries of an index under one value, within one
// document or across all.
type source struct {
	w        *walk
	document string // "" for all
	value    int    // which of the walk's values
	index    string // "" for the table itself
	pk       string
	keys     span   // what is left to be read
	last     string // the last key examined

	thread *collab.Thread // under way: all but the comments that were not read yet; nil for none
	head   item           // of thread
	items  int            // of thread
	bytes  int            // of thread
}

// part is what one read of a source gave.
type part struct {
	entries  []entry
	done     bool    // the source ends here
	examined int     // index entries
	bytes    int     // of the index entries
	units    float64 // of capacity, for the index entries
	items    int     // that the whole threads are made of
}

// bytesPerUnit is what a capacity unit reads, eventually consistent.
const bytesPerUnit = 8192

// readUnits is the capacity that an eventually consistent read of so many bytes takes.
func readUnits(bytes int) float64 { return max(1, math.Ceil(2*float64(bytes)/bytesPerUnit)) / 2 }

// position is that behind what was examined.
func (src *source) position() position {
	return position{Document: src.document, Value: src.value, Key: src.last}
}

// read returns the next entries, about want of them where there are as many. beside is how many sources are read at once.
func (src *source) read(ctx context.Context, want, beside int) (part, error) {
	if src.index == "" {
		return src.readThreads(ctx, want)
	}
	return src.readEntries(ctx, want, beside)
}

func (src *source) readEntries(ctx context.Context, want, beside int) (part, error) {
	w := src.w
	limit := want + 1 // one more tells whether the list goes on
	if w.entries > 0 {
		limit = max(limit, int(float64(want)*float64(w.entries)/float64(w.taken+1)))
	}
	if len(w.others) > 0 && w.probed == 0 {
		limit = min(limit, firstRead)
	}
	limit = min(limit, w.allowance(beside))
	items, more, err := w.s.queryPage(ctx, scan{index: src.index, pk: src.pk, keys: src.keys, limit: limit})
	if err != nil {
		return part{}, err
	}
	p := part{examined: len(items), done: !more}
	_, skName := keyNames(src.index)
	for _, it := range items {
		p.bytes += it.size()
		src.last = it.text(skName)
		src.keys = src.keys.after(src.last)
		if !w.mayMatch(it, src.index) {
			continue
		}
		e, err := newEntry(it)
		if err != nil {
			return part{}, fail(ctx, err)
		}
		e.at = src.position()
		p.entries = append(p.entries, e)
	}
	p.units = readUnits(p.bytes)
	return p, nil
}

// mayMatch reports whether the head of an index entry may pass the filters: those on what the entry does not carry pass.
func (w *walk) mayMatch(it item, index string) bool {
	q := &w.q
	return (q.Locations == nil || index == table.IndexIn || slices.Contains(q.Locations, it.text(table.Location))) &&
		(q.Creators == nil || index == table.IndexBy || slices.Contains(q.Creators, it.text(table.Creator))) &&
		(q.Statuses == nil || index == table.IndexSt || slices.Contains(q.Statuses, it.text(table.Status))) &&
		within(it.num(table.CreatedAt), q.CreatedAfter, q.CreatedBefore)
}

// newEntry reads document and annotation from the table key that every index entry carries.
func newEntry(it item) (entry, error) {
	id, _, err := table.ParseAnnotation(it.text(table.SK))
	if err != nil {
		return entry{}, err
	}
	parts, err := table.Split(it.text(table.PK))
	return entry{document: parts[len(parts)-1], id: id}, err
}

// readThreads reads whole threads. What it has read of the thread it is in stays in the source.
func (src *source) readThreads(ctx context.Context, want int) (part, error) {
	w := src.w
	perThread := 2.0 // items
	if w.threads > 0 {
		perThread = float64(w.items) / float64(w.threads)
	}
	limit := int(math.Ceil(float64(want)*perThread)) + 1 // the next head ends the last thread
	var p part
	for len(p.entries) == 0 && !p.done {
		items, more, err := w.s.queryPage(ctx, scan{pk: src.pk, keys: src.keys, strong: w.q.Documents != nil, limit: limit})
		if err != nil {
			return part{}, err
		}
		for _, it := range items {
			src.keys = src.keys.after(it.text(table.SK))
			if err := src.add(&p, it); err != nil {
				return part{}, fail(ctx, err)
			}
		}
		if src.thread != nil && src.bytes > pageBytes {
			src.thread.Truncated = true
			src.keys = src.keys.after(threadSpan(src.head.text(table.SK)).to)
			src.finish(&p)
		}
		if !more {
			src.finish(&p)
			p.done = true
		}
	}
	return p, nil
}

// add takes one item of the document.
func (src *source) add(p *part, it item) error {
	id, number, err := table.ParseAnnotation(it.text(table.SK))
	if err != nil {
		return err
	}
	if number == 0 {
		src.finish(p)
		head, err := readHead(it)
		src.thread, src.head = &collab.Thread{Document: src.document, Annotation: head}, it
		src.items, src.bytes = 1, contentSize(it)
		return err
	}
	if src.thread == nil || src.thread.ID != id || !visible(it, src.head) {
		return nil
	}
	c, err := readComment(it)
	src.thread.Comments = append(src.thread.Comments, c)
	src.items++
	src.bytes += contentSize(it)
	return err
}

// finish ends the thread that the source is in.
func (src *source) finish(p *part) {
	if src.thread == nil {
		return
	}
	src.last = threadSpan(src.head.text(table.SK)).to
	p.entries = append(p.entries, entry{document: src.document, id: src.thread.ID, at: src.position(), thread: src.thread})
	p.items += src.items
	src.thread, src.head = nil, nil
}

// readThread reads one thread; nil when it does not exist. One larger than a page is cut short and says so.
func (s *Store) readThread(ctx context.Context, doc collab.DocumentRef, id string, strong bool) (t *collab.Thread, size int, err error) {
	k := table.Annotation(doc.Account, doc.Organization, doc.Document, id)
	src := &source{document: doc.Document, pk: k.PK, keys: threadSpan(k.SK)}
	for more := true; more && src.bytes <= pageBytes; {
		var items []item
		if items, more, err = s.queryPage(ctx, scan{pk: k.PK, keys: src.keys, strong: strong}); err != nil {
			return nil, 0, err
		}
		for _, it := range items {
			src.keys = src.keys.after(it.text(table.SK))
			if err := src.add(nil, it); err != nil {
				return nil, 0, fail(ctx, err)
			}
		}
		if src.thread == nil {
			return nil, 0, nil
		}
		src.thread.Truncated = more
	}
	return src.thread, src.bytes, nil
}

// sourceList yields a walk's sources in order, from the walk's position on.
type sourceList struct {
	w         *walk
	documents []string // those at hand and not yet begun; the first one may be under way
	listing   *scan    // the rest of the documents: of a folder or of the organization; nil when all are at hand
	value     int      // of the next source
	from      position // where the walk goes on, in the source that has its document and value
}

func newSourceList(w *walk) *sourceList {
	l := &sourceList{w: w, from: w.at}
	acct, org := w.org.Account, w.org.Organization
	switch {
	case w.q.Documents != nil:
		begun := slices.Index(w.q.Documents, w.at.Document)
		l.add(slices.DeleteFunc(slices.Clone(w.documents), func(d string) bool { return slices.Index(w.q.Documents, d) < begun }))
		return l
	case w.q.Folder != "":
		l.listing = &scan{index: table.IndexIn, pk: table.FolderPartition(acct, org, w.q.Folder)}
	case w.index == "":
		l.listing = &scan{pk: table.OrganizationPartition(acct, org)}
	default:
		l.add([]string{""})
		return l
	}
	l.listing.keys, l.listing.limit = children(table.Documents), 20
	if w.at.Document != "" {
		l.listing.keys.from = table.Document(acct, org, w.at.Document).SK
	}
	return l
}

// add appends documents. The walk goes on within the first one when that is where it was.
func (l *sourceList) add(documents []string) {
	if len(l.documents) == 0 && len(documents) > 0 && documents[0] == l.from.Document {
		l.value = l.from.Value
	}
	l.documents = append(l.documents, documents...)
}

// ended reports whether no source is left for sure.
func (l *sourceList) ended() bool { return len(l.documents) == 0 && l.listing == nil }

// next returns up to n further sources, none at the end.
func (l *sourceList) next(ctx context.Context, n int) ([]*source, error) {
	var group []*source
	for len(group) < n && !l.ended() {
		if len(l.documents) == 0 {
			if err := l.fill(ctx); err != nil {
				return nil, err
			}
			continue
		}
		src := l.w.newSource(l.documents[0], l.value)
		if src.document == l.from.Document && src.value == l.from.Value && l.from.Key != "" {
			src.last = l.from.Key
			src.keys = src.keys.after(src.last)
		}
		group = append(group, src)
		if l.value++; l.value >= len(l.w.values) {
			l.documents, l.value = l.documents[1:], 0
		}
	}
	return group, nil
}

// fill reads further documents.
func (l *sourceList) fill(ctx context.Context) error {
	items, more, err := l.w.s.queryPage(ctx, *l.listing)
	if err != nil {
		return err
	}
	bytes := 0
	var documents []string
	for _, it := range items {
		bytes += it.size()
		sk := it.text(table.SK)
		l.listing.keys = l.listing.keys.after(sk)
		d, err := table.Unescape(sk[len(table.Documents):])
		if err != nil {
			return fail(ctx, err)
		}
		documents = append(documents, d)
	}
	l.add(documents)
	l.w.units += readUnits(bytes)
	if l.listing.limit = 100; !more {
		l.listing = nil
	}
	return nil
}

// newSource returns the source of a document ("" for all) and the value of that number.
func (w *walk) newSource(document string, value int) *source {
	src := &source{w: w, document: document, value: value, index: w.index}
	acct, org, q := w.org.Account, w.org.Organization, &w.q
	switch {
	case w.values != nil:
		src.pk, src.keys = w.valueRange(w.index, w.values[value], document)
		return src
	case w.index == "":
		src.pk, src.keys = table.DocumentPartition(acct, org, document), children(table.Annotations)
		return src
	case document == "":
		src.index, src.pk = table.IndexOrg, table.UpdatedPartition(acct, org)
	default:
		src.pk = table.DocumentPartition(acct, org, document)
	}
	from := collab.Millis(0) // a window of createdAt bounds lastUpdated from below, which is never earlier
	for _, after := range []*collab.Millis{q.UpdatedAfter, q.CreatedAfter} {
		if after != nil {
			from = max(from, *after)
		}
	}
	src.keys.from = table.Time(from)
	if q.UpdatedBefore != nil {
		src.keys.to = table.Time(*q.UpdatedBefore) + table.AfterChildren
	}
	return src
}

// valueRange returns where an index of values lists a value, within a document or across all ("").
func (w *walk) valueRange(index, value, document string) (pk string, keys span) {
	partition := map[string]func(acct, org, value string) string{
		table.IndexIn: table.LocationPartition, table.IndexBy: table.CreatorPartition, table.IndexSt: table.StatusPartition,
	}[index]
	keys = everything
	if document != "" {
		keys = children(table.Escape(document) + "#")
	}
	return partition(w.org.Account, w.org.Organization, value), keys
}
