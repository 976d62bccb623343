package threads

import (
	"context"
	"slices"

	"collabdata/shared/store"
	"collabdata/shared/table"
)

// byID walks the annotations of q.IDs, in the named documents or all.
func (w *walk) byID(ctx context.Context) error {
	found, err := w.lookUp(ctx)
	if err != nil {
		return err
	}
	inFolder := func(string) bool { return true }
	if w.q.Folder != "" {
		documents := slices.Concat(found...)
		if len(documents) > 0 {
			if documents, err = w.Directory.FindDocuments(ctx, w.org, w.q.Folder, documents); err != nil {
				return err
			}
		}
		inFolder = func(d string) bool { return slices.Contains(documents, d) }
	}
	var entries []entry
	for i, id := range w.q.IDs {
		documents := found[i]
		if len(documents) == 0 {
			documents = []string{""}
		}
		for _, d := range documents {
			e := entry{document: d, id: id, at: position{Value: i + 1, Key: table.Escape(d)}, missing: d == ""}
			if w.compare(e.at, w.at) > 0 && (e.missing || inFolder(d)) {
				entries = append(entries, e)
			}
		}
	}
	err = w.deliver(ctx, entries)
	w.complete = !w.ended
	return err
}

// lookUp returns the documents that have an annotation of each of q.IDs behind the walk's position, of those that the query names, while it
// checks what the query names. In one named document it does not look: fetching an annotation shows whether there is one.
func (w *walk) lookUp(ctx context.Context) ([][]string, error) {
	found := make([][]string, len(w.q.IDs))
	if len(w.q.Documents) == 1 && w.q.Folder == "" {
		documents, err := w.Directory.FindDocuments(ctx, w.org, "", w.q.Documents)
		for i := range found {
			found[i] = documents
		}
		return found, err
	}
	return found, store.Each(ctx, len(found)+1, func(ctx context.Context, n int) error {
		switch {
		case n == 0:
			_, err := w.Directory.FindDocuments(ctx, w.org, w.q.Folder, nil)
			return err
		case n < w.at.Value:
			return nil
		}
		i := n - 1
		items, err := w.Query(ctx, store.Scan{
			PK: table.AnnotationID(w.org.Account, w.org.Organization, w.q.IDs[i], "").PK, Keys: store.Everything, Strong: true,
		})
		for _, it := range items {
			d, err := table.Unescape(it.Text(table.SK))
			if err != nil {
				return store.Unreadable(it.Key(), err)
			}
			if w.q.Documents == nil || slices.Contains(w.q.Documents, d) {
				found[i] = append(found[i], d)
			}
		}
		return err
	})
}
