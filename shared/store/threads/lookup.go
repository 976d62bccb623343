package threads

import (
	"context"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Documents to read in one look-up of an id: few at first, concurrently for all ids, then more.
const (
	firstLookUp = 8
	nextLookUp  = 50
)

// lastKey sorts after the key of every document.
const lastKey = "\U0010FFFF"

// lookUp finds the documents that have an annotation with one of q.IDs, in order.
type lookUp struct {
	n         int // position in q.IDs, from 1
	documents []collab.DocumentRef
	outside   []collab.DocumentRef // outside the query's folder
	last      string               // last document read
	more      bool
	units     float64 // of the last look
}

// byID walks the annotations of q.IDs, in the requested documents or all.
func (w *walk) byID(ctx context.Context) error {
	list, err := w.beginLookUps(ctx)
	if err != nil {
		return err
	}
	var batch []entry
	var done position // after the last id with all documents known
	looked := false
	for _, l := range list {
		batch = append(batch, w.offers(l)...)
		for l.more {
			if err := w.deliver(ctx, batch); err != nil || w.ended {
				return err
			}
			if w.q.Documents == nil {
				done = position{Value: l.n, Key: l.last}
			}
			if w.compare(done, w.at) > 0 {
				w.move(done)
			}
			if w.want() == 0 || looked && w.over() {
				w.ended = true
				return nil
			}
			looked = true
			if err := w.look(ctx, l, nextLookUp); err != nil {
				return err
			}
			if err := w.sieve(ctx, l); err != nil {
				return err
			}
			batch = w.offers(l)
		}
		done = position{Value: l.n, Key: lastKey}
	}
	err = w.deliver(ctx, batch)
	w.complete = !w.ended
	return err
}

func (w *walk) beginLookUps(ctx context.Context) ([]*lookUp, error) {
	first := max(w.at.Value, 1)
	if w.at.Key == lastKey {
		first++
	}
	list := make([]*lookUp, len(w.q.IDs)-first+1)
	for i := range list {
		list[i] = &lookUp{n: first + i}
	}
	if len(list) > 0 && w.at.Value == first && w.q.Documents == nil {
		list[0].last = w.at.Key
	}
	if len(w.q.Documents) == 1 && w.q.Folder == "" { // a fetch shows whether the annotation exists
		for _, l := range list {
			l.documents = w.q.Found
		}
		return list, nil
	}
	if err := store.Each(ctx, len(list), func(ctx context.Context, i int) error { return w.look(ctx, list[i], firstLookUp) }); err != nil {
		return nil, err
	}
	return list, w.sieve(ctx, list...)
}

// look reads up to limit further documents of an id. If the query names documents, the second look
// reads all that are left.
func (w *walk) look(ctx context.Context, l *lookUp, limit int) error {
	id := w.q.IDs[l.n-1]
	l.documents = nil
	if w.q.Documents != nil && l.last != "" {
		documents := collab.Map(w.q.Documents, w.org.Document)
		var itemKeys []keys.Key
		for _, d := range documents {
			if k := keys.AnnotationID(d, id); k.SK > l.last {
				itemKeys = append(itemKeys, k)
			}
		}
		found, err := w.GetAll(ctx, itemKeys, true)
		for _, d := range documents {
			if leads(found[keys.AnnotationID(d, id)]) {
				l.documents = append(l.documents, d)
			}
		}
		slices.SortFunc(l.documents, func(a, b collab.DocumentRef) int {
			return strings.Compare(keys.AnnotationID(a, id).SK, keys.AnnotationID(b, id).SK)
		})
		l.more, l.units = false, float64(len(itemKeys))
		return err
	}
	scan := store.Scan{PK: keys.AnnotationIDPartition(w.org, id), Keys: store.Everything, Limit: limit, Strong: true}
	if l.last != "" {
		scan.Keys = scan.Keys.After(l.last)
	}
	items, more, err := w.QueryPage(ctx, scan)
	for _, it := range items {
		l.last = it.Text(keys.SK)
		d, err := keys.ParseAnnotationID(w.org, l.last)
		if err != nil {
			return store.Unreadable(it.Key(), err)
		}
		if leads(it) && (w.q.Documents == nil || slices.Contains(w.q.Documents, d.Document)) {
			l.documents = append(l.documents, d)
		}
	}
	l.more, l.units = more, 2*readUnits(bytes(items))
	return err
}

// sieve counts the cost of looks, and keeps the existing documents.
func (w *walk) sieve(ctx context.Context, list ...*lookUp) error {
	var documents []collab.DocumentRef
	for _, l := range list {
		w.spent.units += l.units
		documents = append(documents, l.documents...)
	}
	if len(documents) == 0 {
		return nil
	}
	w.spent.units += float64(len(documents)) / 2
	current, err := w.Directory.Current(ctx, w.org, documents)
	if err != nil {
		return err
	}
	in := w.q.Found
	if w.q.Folder != "" && w.q.Documents == nil {
		w.spent.units += float64(len(documents)) / 2
		ids := collab.Map(documents, func(d collab.DocumentRef) string { return d.Document })
		if _, in, err = w.Directory.Open(ctx, w.org.Account, w.org.Organization, w.q.Folder, ids); err != nil {
			return err
		}
	}
	for _, l := range list {
		l.documents = slices.DeleteFunc(l.documents, func(d collab.DocumentRef) bool { return !current[d] })
		l.outside = nil
		for _, d := range l.documents {
			if w.q.Folder != "" && !slices.Contains(in, d) {
				l.outside = append(l.outside, d)
			}
		}
	}
	return nil
}

// offers returns the entries of the documents from the last look, after the walk's position. At the
// end, the last entry is marked; it has no document if none is left.
func (w *walk) offers(l *lookUp) []entry {
	id := w.q.IDs[l.n-1]
	var list []entry
	for _, d := range l.documents {
		at := position{Value: l.n, Key: keys.AnnotationID(d, id).SK}
		if w.compare(at, w.at) <= 0 {
			continue
		}
		e := entry{document: d, id: id, at: at, outside: slices.Contains(l.outside, d)}
		if e.outside && w.q.Sight == nil {
			e.thread = &threadReader{} // its existence is enough
		}
		list = append(list, e)
	}
	switch {
	case l.more:
	case len(list) == 0:
		list = append(list, entry{id: id, at: position{Value: l.n, Key: lastKey}, thread: &threadReader{}, last: true})
	default:
		list[len(list)-1].last = true
	}
	return list
}
