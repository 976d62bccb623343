package threads

import (
	"context"
	"slices"
	"strings"

	"collabdata/shared/store"
	"collabdata/shared/table"
)

// How many documents of an id are looked up at once: few for each of the ids side by side, then more for one that has more.
const (
	firstLookUp = 8
	nextLookUp  = 50
)

// lastKey is behind the key of every document.
const lastKey = "\U0010FFFF"

// lookUp finds the documents that have an annotation of one of q.IDs, in their order, part by part.
type lookUp struct {
	n         int      // which of q.IDs, counted from 1
	documents []string // found by the last look
	last      string   // key of the last document looked at, "" for none
	more      bool     // there may be others behind it
	exists    bool     // an annotation of the id, in one of the documents asked for
	units     float64  // of capacity that the last look took
}

// byID walks the annotations of q.IDs, in the named documents or all.
func (w *walk) byID(ctx context.Context) error {
	list, err := w.beginLookUps(ctx)
	if err != nil {
		return err
	}
	var batch []entry
	var done position // behind the last id of which all documents are known
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
				w.at = done
			}
			if w.want() == 0 || looked && w.over() {
				w.ended = true
				return nil
			}
			looked = true
			if err := w.look(ctx, l, nextLookUp); err != nil {
				return err
			}
			if err := w.inFolder(ctx, l); err != nil {
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

// beginLookUps takes the first look for each of the ids from the walk's position on, side by side, while it checks what the query names.
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
		list[0].last, list[0].exists = w.at.Key, w.at.Key != ""
	}
	if len(w.q.Documents) == 1 && w.q.Folder == "" { // fetching an annotation shows whether there is one
		documents, err := w.Directory.FindDocuments(ctx, w.org, "", w.q.Documents)
		for _, l := range list {
			l.documents, l.exists = documents, len(documents) > 0
		}
		return list, err
	}
	if err := store.Each(ctx, len(list)+1, func(ctx context.Context, i int) error {
		if i == len(list) {
			_, err := w.Directory.FindDocuments(ctx, w.org, w.q.Folder, nil)
			return err
		}
		return w.look(ctx, list[i], firstLookUp)
	}); err != nil {
		return nil, err
	}
	return list, w.inFolder(ctx, list...)
}

// look looks at further documents of an id: up to most of all that there are; where documents are named, a second look is at all that are left
// of those.
func (w *walk) look(ctx context.Context, l *lookUp, most int) error {
	key := func(document string) table.Key {
		return table.AnnotationID(w.org.Account, w.org.Organization, w.q.IDs[l.n-1], document)
	}
	l.documents = nil
	if w.q.Documents != nil && l.last != "" {
		var keys []table.Key
		for _, d := range w.q.Documents {
			if k := key(d); k.SK > l.last {
				keys = append(keys, k)
			}
		}
		found, err := w.GetAll(ctx, keys, true)
		for i, d := range w.q.Documents {
			if _, ok := found[key(w.q.Documents[i])]; ok {
				l.documents = append(l.documents, d)
			}
		}
		slices.SortFunc(l.documents, func(a, b string) int { return strings.Compare(table.Escape(a), table.Escape(b)) })
		l.more, l.units, l.exists = false, float64(len(keys)), l.exists || len(l.documents) > 0
		return err
	}
	scan := store.Scan{PK: key("").PK, Keys: store.Everything, Limit: most, Strong: true}
	if l.last != "" {
		scan.Keys = scan.Keys.After(l.last)
	}
	items, more, err := w.QueryPage(ctx, scan)
	for _, it := range items {
		l.last = it.Text(table.SK)
		d, err := table.Unescape(l.last)
		if err != nil {
			return store.Unreadable(it.Key(), err)
		}
		if w.q.Documents == nil || slices.Contains(w.q.Documents, d) {
			l.documents = append(l.documents, d)
			l.exists = true
		}
	}
	l.more, l.units = more, 2*readUnits(bytes(items))
	return err
}

// inFolder counts what looks took, and leaves of the documents that they found those in the folder that the query names.
func (w *walk) inFolder(ctx context.Context, list ...*lookUp) error {
	var documents []string
	for _, l := range list {
		w.spent.units += l.units
		documents = append(documents, l.documents...)
	}
	if w.q.Folder == "" || len(documents) == 0 {
		return nil
	}
	w.spent.units += float64(len(documents)) / 2
	in, err := w.Directory.FindDocuments(ctx, w.org, w.q.Folder, documents)
	for _, l := range list {
		l.documents = slices.DeleteFunc(l.documents, func(d string) bool { return !slices.Contains(in, d) })
	}
	return err
}

// offers returns the entries of the documents that the last look found, behind the walk's position: one without a thread where there is no
// annotation of the id.
func (w *walk) offers(l *lookUp) []entry {
	id := w.q.IDs[l.n-1]
	var list []entry
	if !l.exists && !l.more {
		list = append(list, entry{id: id, at: position{Value: l.n}, thread: &threadReader{}})
	}
	for _, d := range l.documents {
		list = append(list, entry{document: d, id: id, at: position{Value: l.n, Key: table.Escape(d)}})
	}
	return slices.DeleteFunc(list, func(e entry) bool { return w.compare(e.at, w.at) <= 0 })
}
