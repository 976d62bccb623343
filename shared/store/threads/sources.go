package threads

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

// sources returns a walk's sources in order, from the walk's position.
type sources struct {
	w         *walk
	documents []collab.DocumentRef // to walk; the first one may be partly done
	listing   bool                 // further documents to list
	listFrom  string               // next document to list, inclusive
	limit     int                  // documents in the next part of the listing
	// Nothing more is listed for this page, because its viewers are unknown.
	late  bool
	value int      // of the next source
	from  position // the walk's position
}

func newSources(w *walk) *sources {
	l := &sources{w: w, from: w.at}
	switch {
	case w.acrossDocuments():
		l.add([]collab.DocumentRef{{}})
	case w.q.Documents != nil:
		begun := slices.Index(w.q.Documents, w.at.Document)
		l.add(slices.DeleteFunc(slices.Clone(w.q.Found), func(d collab.DocumentRef) bool {
			return slices.Index(w.q.Documents, d.Document) < begun
		}))
	default:
		l.listing, l.listFrom, l.limit = true, w.at.Document, 20
	}
	return l
}

// add appends documents. If the walk's position is in the first one, the walk continues there.
func (l *sources) add(documents []collab.DocumentRef) {
	if len(l.documents) == 0 && len(documents) > 0 && documents[0].Document == l.from.Document {
		l.value = l.from.Value
	}
	l.documents = append(l.documents, documents...)
}

func (l *sources) ended() bool { return len(l.documents) == 0 && !l.listing }

func (l *sources) next(ctx context.Context, n int) ([]source, error) {
	var group []source
	for len(group) < n && !l.ended() {
		if len(l.documents) == 0 {
			if l.late {
				break
			}
			if err := l.fill(ctx); err != nil {
				return nil, err
			}
			continue
		}
		r := l.w.keyRange(l.documents[0], l.value)
		if r.document.Document == l.from.Document && r.value == l.from.Value && l.from.Key != "" {
			r.advance(l.from.Key)
		}
		if r.index == "" {
			group = append(group, &wholeThreads{w: l.w, keyRange: r})
		} else {
			group = append(group, newEntries(l.w, r))
		}
		if l.value++; l.value >= len(l.w.values) {
			l.documents, l.value = l.documents[1:], 0
		}
	}
	return group, nil
}

func (l *sources) fill(ctx context.Context) error {
	documents, last, bytes, err := l.w.Directory.ListDocuments(ctx, l.w.org, l.w.q.Folder, l.listFrom, l.limit)
	if err != nil {
		return err
	}
	l.w.spent.units += readUnits(bytes)
	l.listFrom = last + "\x00" // the next string after it
	l.listing, l.limit = last != "", 100
	if err := l.w.ask(ctx, documents); err != nil {
		return err
	}
	if i := l.w.unknown(documents); i >= 0 {
		l.listFrom, l.listing, l.late, documents = documents[i].Document, true, true, documents[:i]
	}
	l.add(slices.DeleteFunc(documents, l.w.barred))
	return nil
}

// wholeThreads is the source of a document's annotations from the table itself.
type wholeThreads struct {
	w *walk
	keyRange
	reading *threadReader // unfinished thread, or nil
}

// read returns whole threads. The source keeps the start of a thread that the read cuts.
func (src *wholeThreads) read(ctx context.Context, want, _ int) (part, error) {
	w := src.w
	q := src.scan()
	q.Limit, q.Strong = w.itemsFor(want), w.strong()
	var p part
	for len(p.entries) == 0 && !p.done {
		q.Keys = src.keys
		items, more, err := w.QueryPage(ctx, q)
		if err == collab.ErrRead && src.reading != nil {
			src.reading.more, src.reading.short = true, true
			src.finish(&p)
			break
		}
		if err != nil {
			return part{}, err
		}
		for _, it := range items {
			sk := it.Text(keys.SK)
			src.keys = src.keys.After(sk)
			if _, comment, err := keys.ParseAnnotation(sk); err == nil && comment == 0 {
				src.finish(&p)
				src.reading = &threadReader{}
			}
			if src.reading != nil {
				if err := src.reading.add(it); err != nil {
					return part{}, err
				}
			}
		}
		if src.reading != nil && src.reading.bytes > pageBytes {
			src.reading.more = true
			src.finish(&p)
		}
		if !more {
			src.finish(&p)
			p.done = true
		}
	}
	return p, nil
}

// finish ends the unfinished thread, and skips its unread items.
func (src *wholeThreads) finish(p *part) {
	r := src.reading
	if r == nil {
		return
	}
	src.reading = nil
	src.last = threadSpan(r.head.Text(keys.SK)).To
	src.keys = src.keys.After(src.last)
	p.entries = append(p.entries, entry{document: src.document, id: r.t.ID, at: src.position(), thread: r})
	p.cost.threads++
	p.cost.items += r.items
}
