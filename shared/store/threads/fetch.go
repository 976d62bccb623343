package threads

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// deliver yields the entries that match, in order, in parts if many may be hidden.
func (w *walk) deliver(ctx context.Context, entries []entry) error {
	entries, err := w.current(ctx, entries)
	for err == nil && len(entries) > 0 {
		examined := entries
		var part []entry
		if part, entries, err = w.visible(ctx, examined); err != nil || w.ended {
			return err
		}
		if err = w.emit(ctx, part); err != nil || w.ended {
			return err
		}
		w.move(examined[len(examined)-len(entries)-1].at)
		if w.ended = len(entries) > 0 && (w.siftedEnough() || w.usage.PageLeft() <= 0); w.ended {
			return nil
		}
	}
	return err
}

// emit yields the entries that match, in order. It fetches threads concurrently, but reads the
// rest of a long thread only in its turn, so that memory holds one long thread at a time.
func (w *walk) emit(ctx context.Context, entries []entry) error {
	if err := w.prepareUnread(ctx, entries); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begun := make([]<-chan *threadReader, len(entries))
	ahead := 0
	for i, e := range entries {
		fetched := e.thread != nil || i < ahead
		if w.want() == 0 || i > 0 && (w.siftedEnough() || !fetched && w.usage.PageLeft() <= 0) {
			w.ended = true
			return nil
		}
		window := w.window(len(entries), store.Concurrency)
		if w.sifts {
			window = min(window, w.siftAhead())
		}
		for ; ahead < len(entries) && ahead < i+window; ahead++ {
			begun[ahead] = w.fetch(ctx, entries[ahead])
		}
		r := <-begun[i]
		begun[i] = nil
		t, err := r.finish(ctx)
		if w.ended = i > 0 && (err == collab.ErrRead || r.short); w.ended {
			return nil
		}
		if err != nil {
			return err
		}
		if e.outside && w.q.Sight == nil {
			w.visit(e)
		}
		hidden := t != nil && !w.sees(e.document, t)
		if hidden {
			t = nil
		}
		matched := t == nil && e.last && w.visited != e.at.Value
		if t != nil {
			w.visit(e)
			// an annotation that moved to another requested value is listed there
			moved := w.by != nil && !w.by.has(t, w.values[e.at.Value])
			matched = !moved && !e.outside && matches(w.q, t) && w.isUnread(e.document, r.head, t)
		}
		if matched {
			if !w.yield(e.id, t) {
				w.ended = true
				return nil
			}
			w.taken++
			w.content += r.bytes
			w.visit(e)
		} else if w.sifts || hidden {
			w.sift(r.bytes, w.strong(), e.thread != nil)
		}
		w.move(e.at)
	}
	return nil
}

// visit records that a document has the id of an entry, or that the id was matched as missing.
func (w *walk) visit(e entry) {
	if w.q.IDs != nil {
		w.visited = e.at.Value
	}
}

func (w *walk) move(at position) {
	w.at = at
	w.at.Met = w.visited == at.Value
}

// current removes the entries of deleted or disabled documents, which an index across documents may
// still list.
func (w *walk) current(ctx context.Context, entries []entry) ([]entry, error) {
	if !w.acrossDocuments() || len(entries) == 0 {
		return entries, nil
	}
	documents := collab.Map(entries, func(e entry) collab.DocumentRef { return e.document })
	current, err := w.Directory.Current(ctx, w.org, documents)
	return collab.Where(entries, func(e entry) bool { return current[e.document] }), err
}

// fetch starts to read the thread of an entry. The channel returns it once.
func (w *walk) fetch(ctx context.Context, e entry) <-chan *threadReader {
	c := make(chan *threadReader, 1)
	if e.thread != nil {
		c <- e.thread
		return c
	}
	go func() {
		k := headKey(e.document, e.id)
		r := &threadReader{Table: w.Table, scan: store.Scan{PK: k.PK, Keys: threadSpan(k.SK), Strong: w.strong()}, more: true}
		r.read(ctx)
		c <- r
	}()
	return c
}
