package threads

import (
	"context"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

const restrictedAtOnce = 100

// askAhead starts to query the Sight about the requested documents while the walk reads them. end
// stops it.
func (w *walk) askAhead(ctx context.Context) (end func()) {
	if w.q.Sight == nil || len(w.q.Found) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.q.Sight.Viewers(ctx, w.q.Found, w.until) // the walk asks again and gets the error
	}()
	return func() {
		cancel()
		<-done
	}
}

// ask queries the Sight about new documents. After askingTime it leaves the remaining ones unknown.
func (w *walk) ask(ctx context.Context, documents []collab.DocumentRef) error {
	if w.q.Sight == nil {
		return nil
	}
	var ask []collab.DocumentRef
	for _, d := range documents {
		if _, ok := w.viewers[d]; !ok {
			ask = append(ask, d)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	found, err := w.q.Sight.Viewers(ctx, ask, w.until)
	maps.Copy(w.viewers, found)
	w.decisions += len(ask)
	w.spent.units += float64(len(ask))
	return err
}

// unknown returns the index of the first document whose viewers are unknown, or -1.
func (w *walk) unknown(documents []collab.DocumentRef) int {
	return slices.IndexFunc(documents, func(d collab.DocumentRef) bool {
		_, ok := w.viewers[d]
		return w.q.Sight != nil && !ok && d.Document != ""
	})
}

// barred reports whether a viewer cannot see a known document. It is false for the zero document.
func (w *walk) barred(document collab.DocumentRef) bool { return !w.viewers[document].May() }

func (w *walk) sees(document collab.DocumentRef, t *collab.Thread) bool {
	return w.viewers[document].See(&t.Annotation)
}

// visible returns the first part of the entries without hidden ones, and the rest of the entries.
// It queries documents, and reads the heads of restricted threads, within the page's budget.
func (w *walk) visible(ctx context.Context, entries []entry) (part, rest []entry, err error) {
	if w.q.Sight == nil {
		return entries, nil, nil
	}
	var documents []collab.DocumentRef
	var heads []keys.Key
	var places []int // of these in entries
	restricted := min(restrictedAtOnce, w.siftable())
	fresh := map[collab.DocumentRef]bool{}
	for i, e := range entries {
		if _, ok := w.viewers[e.document]; !ok && e.document.Document != "" && !fresh[e.document] {
			if w.decisions+len(fresh) >= mostAsked {
				entries, rest = entries[:i], entries[i:]
				w.ended = i == 0
				break
			}
			fresh[e.document] = true
			documents = append(documents, e.document)
		}
		if e.restricted() {
			if len(heads) == restricted {
				entries, rest = entries[:i], entries[i:]
				break
			}
			heads, places = append(heads, headKey(e.document, e.id)), append(places, i)
		}
	}
	if err := w.ask(ctx, documents); err != nil {
		return nil, nil, err
	}
	if i := w.unknown(collab.Map(entries, func(e entry) collab.DocumentRef { return e.document })); i >= 0 {
		entries, rest = entries[:i], slices.Concat(entries[i:], rest)
		w.ended = i == 0
	}
	found, n, err := w.GetSome(ctx, heads, w.strong(), w.usage.PageLeft())
	if err != nil {
		return nil, nil, err
	}
	if n < len(heads) && places[n] < len(entries) {
		entries, rest = entries[:places[n]], slices.Concat(entries[places[n]:], rest)
	}
	for _, e := range entries {
		hidden, err := w.hides(e, found)
		if err != nil {
			return nil, nil, err
		}
		if hidden && e.last {
			e.thread, hidden = &threadReader{}, false // like a missing one
		}
		if !hidden {
			part = append(part, e)
		}
	}
	return part, rest, nil
}

// restricted reports whether only the head of an entry's thread shows its visibility.
func (e *entry) restricted() bool {
	return e.thread == nil && e.narrowed != "" && e.narrowed != keys.NarrowedToMembers
}

// hides reports whether an entry is hidden, according to its document, its index and the heads
// read. It counts wasted reads.
func (w *walk) hides(e entry, heads map[keys.Key]store.Item) (bool, error) {
	viewers := w.viewers[e.document]
	switch {
	case e.document.Document == "":
		return false, nil
	case !viewers.May():
		if e.thread != nil {
			w.sift(e.thread.bytes, w.strong(), true)
		}
		return true, nil
	case e.thread != nil || e.narrowed == "":
		return false, nil
	case e.narrowed == keys.NarrowedToMembers:
		return !viewers.Members(), nil
	}
	it := heads[headKey(e.document, e.id)]
	if it == nil {
		return true, nil // deleted meanwhile
	}
	a, err := readHead(it)
	if err != nil {
		return false, store.Unreadable(it.Key(), err)
	}
	if viewers.See(&a) {
		w.spent.units += readUnits(it.Size())
		return false, nil
	}
	w.sift(it.Size(), w.strong(), false)
	return true, nil
}

// visibleOf returns the index entries of heads that all viewers can see.
func (s *Store) visibleOf(ctx context.Context, entries []store.Item, viewers collab.Viewers) (visible []store.Item, err error) {
	heads, err := s.GetAll(ctx, collab.Map(entries, store.Item.Key), false)
	if err != nil {
		return nil, err
	}
	for _, it := range entries {
		head := heads[it.Key()]
		if head == nil {
			continue // deleted meanwhile
		}
		a, err := readHead(head)
		if err != nil {
			return nil, store.Unreadable(it.Key(), err)
		}
		if viewers.See(&a) {
			visible = append(visible, it)
		}
	}
	return visible, nil
}
