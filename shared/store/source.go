package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync/atomic"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// source is one range of keys that a walk reads: the threads of a document, or the entries of an index under one value, within one
// document or across all.
type source struct {
	w        *walk
	document string // "" for all
	value    int
	index    string // "" for the table itself
	pk       string
	keys     span   // what is left to be read
	last     string // the last key examined
	thread   *collab.Thread
	head     item // of thread
	bytes    int  // of thread
}

// part is what one read of a source gave.
type part struct {
	entries  []entry
	examined int      // index entries
	at       position // behind the last one examined
	done     bool     // the source ends here
}

func (src *source) position(key string) position {
	return position{Document: src.document, Value: src.value, Key: key}
}

// end is the position behind what was examined.
func (src *source) end() position { return src.position(src.last) }

// read returns the next entries, about want of them where there are as many.
func (src *source) read(ctx context.Context, want int) (part, error) {
	if src.index == "" {
		return src.readThreads(ctx, want)
	}
	return src.readEntries(ctx, want)
}

// probeAfter is how many entries a walk examines before it asks whether another index is narrower.
const probeAfter = 100

func (src *source) readEntries(ctx context.Context, want int) (part, error) {
	w := src.w
	limit := want + 1
	if w.entries > 0 {
		limit = max(limit, int(float64(want)*float64(w.entries)/float64(w.taken+1)))
	}
	limit = min(limit, max(mostEntries-w.entries, 1))
	if len(w.probe) > 0 {
		limit = min(limit, probeAfter)
	}
	items, more, err := w.s.queryPage(ctx, scan{index: src.index, pk: src.pk, keys: src.keys, limit: limit})
	if err != nil {
		return part{}, err
	}
	p := part{examined: len(items), done: !more}
	_, skName := keyNames(src.index)
	for _, it := range items {
		src.last = it.text(skName)
		src.keys = src.keys.after(src.last)
		if !w.mayMatch(it, src.index) {
			continue
		}
		e, err := newEntry(it)
		if err != nil {
			return part{}, fail(ctx, err)
		}
		e.at = src.end()
		p.entries = append(p.entries, e)
	}
	p.at = src.end()
	return p, nil
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
	p := part{at: src.end()}
	for len(p.entries) == 0 && !p.done {
		perThread := 2.0
		if w.threads > 0 {
			perThread = max(1, float64(w.items)/float64(w.threads))
		}
		items, more, err := w.s.queryPage(ctx, scan{
			pk: src.pk, keys: src.keys, strong: w.q.Documents != nil, limit: int(math.Ceil(float64(want)*perThread)) + 1,
		})
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
	p.at = src.end()
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
		src.thread, src.head, src.bytes = &collab.Thread{Document: src.document, Annotation: head}, it, contentSize(it)
		return err
	}
	if src.thread == nil || src.thread.ID != id || !visible(it, src.head) {
		return nil
	}
	c, err := readComment(it)
	src.thread.Comments = append(src.thread.Comments, c)
	src.bytes += contentSize(it)
	return err
}

// finish ends the thread that the source is in.
func (src *source) finish(p *part) {
	if src.thread == nil {
		return
	}
	src.last = threadSpan(src.head.text(table.SK)).to
	p.entries = append(p.entries, entry{document: src.document, id: src.thread.ID, at: src.end(), thread: src.thread})
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
	documents []string // those at hand and not yet begun; the first one is under way
	listing   *scan    // the rest of the documents: of a folder or of the organization; nil when all are at hand
	value     int      // of the next source
	from      position // the first source begins behind it
}

func newSourceList(w *walk, documents []string) *sourceList {
	l := &sourceList{w: w, from: w.at, value: w.at.Value}
	index, _ := w.driver()
	acct, org := w.org.Account, w.org.Organization
	switch {
	case w.q.Documents != nil:
		begun := slices.Index(w.q.Documents, w.at.Document)
		l.documents = slices.DeleteFunc(slices.Clone(documents), func(d string) bool { return slices.Index(w.q.Documents, d) < begun })
		if len(l.documents) == 0 || l.documents[0] != w.at.Document {
			l.value, l.from = 0, position{}
		}
		return l
	case w.q.Folder != "":
		l.listing = &scan{index: table.IndexIn, pk: table.FolderPartition(acct, org, w.q.Folder)}
	case index == "":
		l.listing = &scan{pk: table.OrganizationPartition(acct, org)}
	default:
		l.documents = []string{""}
		return l
	}
	l.listing.keys, l.listing.limit, l.listing.project = children(table.Documents), 100, []string{table.SK}
	if w.at.Document != "" {
		l.listing.keys.from = table.Documents + table.Escape(w.at.Document)
	}
	return l
}

// ended reports whether no source is left for sure.
func (l *sourceList) ended() bool { return len(l.documents) == 0 && l.listing == nil }

// next returns up to n further sources, none at the end.
func (l *sourceList) next(ctx context.Context, n int) ([]*source, error) {
	_, values := l.w.driver()
	var group []*source
	for len(group) < n {
		if len(l.documents) == 0 {
			if l.listing == nil {
				break
			}
			if err := l.fill(ctx); err != nil {
				return nil, err
			}
			continue
		}
		src := l.w.newSource(l.documents[0], l.value)
		if l.from != (position{}) && src.document == l.from.Document && src.value == l.from.Value {
			src.last = l.from.Key
			src.keys = src.keys.after(src.last)
		}
		group = append(group, src)
		if l.value++; l.value >= len(values) {
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
	for _, it := range items {
		sk := it.text(table.SK)
		l.listing.keys = l.listing.keys.after(sk)
		d, err := table.Unescape(sk[len(table.Documents):])
		if err != nil {
			return fail(ctx, err)
		}
		if len(l.documents) == 0 && d != l.from.Document {
			l.value = 0
		}
		l.documents = append(l.documents, d)
	}
	if !more {
		l.listing = nil
	}
	return nil
}

// newSource returns the source of a document ("" for all) and the value of that number.
func (w *walk) newSource(document string, value int) *source {
	index, values := w.driver()
	src := &source{w: w, document: document, value: value}
	if values != nil {
		src.index, src.pk, src.keys = w.valueRange(index, values[value], document)
		return src
	}
	acct, org, q := w.org.Account, w.org.Organization, &w.q
	if index == "" {
		src.pk, src.keys = table.DocumentPartition(acct, org, document), children(table.Annotations)
		return src
	}
	src.index, src.pk = table.IndexUpd, table.DocumentPartition(acct, org, document)
	if document == "" {
		src.index, src.pk = table.IndexOrg, table.UpdatedPartition(acct, org)
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

// valueRange returns where an index lists a value, within a document or across all.
func (w *walk) valueRange(index, value, document string) (name, pk string, keys span) {
	partition := map[string]func(acct, org, value string) string{
		table.IndexIn: table.LocationPartition, table.IndexBy: table.CreatorPartition, table.IndexSt: table.StatusPartition,
	}[index]
	keys = everything
	if document != "" {
		keys = children(table.Escape(document) + "#")
	}
	return index, partition(w.org.Account, w.org.Organization, value), keys
}

// mostProbes is how many ranges of another index a walk looks into.
const mostProbes = 30

// alternatives returns the indexes of values, beside the driver, that the query's other filters could be answered from.
func (w *walk) alternatives(documents []string) []string {
	driver, values := w.driver()
	if values == nil || w.q.Folder != "" {
		return nil
	}
	var list []string
	for _, a := range []struct {
		index  string
		values []string
	}{{table.IndexBy, w.q.Creators}, {table.IndexSt, w.q.Statuses}} {
		if a.index != driver && a.values != nil && len(a.values)*max(1, len(documents)) <= mostProbes {
			list = append(list, a.index)
		}
	}
	return list
}

// tryNarrow looks, once, whether another index has few entries for what the query asks of it, when the driver yields little of what
// it examines. If so it ends the walk from that index, in the driver's order.
func (w *walk) tryNarrow(ctx context.Context, documents []string) (done bool, err error) {
	if len(w.probe) == 0 || w.entries < probeAfter || w.taken > w.entries/5 {
		return false, nil
	}
	probe := w.probe
	w.probe = nil
	if documents == nil {
		documents = []string{""}
	}
	driver, values := w.driver()
	attribute := map[string]string{table.IndexIn: table.Location, table.IndexBy: table.Creator}[driver]
	for _, index := range probe {
		of := map[string][]string{table.IndexBy: w.q.Creators, table.IndexSt: w.q.Statuses}[index]
		found := make([][]item, len(documents)*len(of))
		var wide atomic.Bool
		if err := each(ctx, len(found), func(ctx context.Context, i int) error {
			name, pk, keys := w.valueRange(index, of[i%len(of)], documents[i/len(of)])
			items, more, err := w.s.queryPage(ctx, scan{index: name, pk: pk, keys: keys, limit: probeAfter})
			found[i] = items
			if more {
				wide.Store(true)
			}
			return err
		}); err != nil {
			return false, err
		}
		var entries []entry
		for i, items := range found {
			w.entries += len(items)
			for _, it := range items {
				if !w.mayMatch(it, index) {
					continue
				}
				e, err := newEntry(it)
				if err != nil {
					return false, fail(ctx, err)
				}
				e.at = position{
					Document: documents[i/len(of)], Value: slices.Index(values, it.text(attribute)), Key: it.text(table.DocAnn),
				}
				entries = append(entries, e)
			}
		}
		if wide.Load() {
			continue
		}
		compare := func(a, b position) int {
			return cmp.Or(cmp.Compare(slices.Index(documents, a.Document), slices.Index(documents, b.Document)),
				cmp.Compare(a.Value, b.Value), cmp.Compare(a.Key, b.Key))
		}
		entries = slices.DeleteFunc(entries, func(e entry) bool { return compare(e.at, w.at) <= 0 })
		slices.SortFunc(entries, func(a, b entry) int { return compare(a.at, b.at) })
		err := w.deliver(ctx, entries, false)
		w.complete = !w.full
		return true, err
	}
	return false, nil
}
