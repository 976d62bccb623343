package threads

import (
	"context"
	"maps"

	"collabdata/shared/collab"
	"collabdata/shared/store"
)

// fewReadStates is the maximum of threads of a document that are looked up one by one, at half a
// unit each.
const fewReadStates = 20

// prepareUnread reads the read states of UnreadFor for the entries.
func (w *walk) prepareUnread(ctx context.Context, entries []entry) error {
	if w.q.UnreadFor == "" {
		return nil
	}
	unknown := map[collab.DocumentRef][]string{} // ids
	var docs []collab.DocumentRef
	for _, e := range entries {
		b := w.states[e.document]
		if _, ok := b.threadsOf()[e.id]; ok || b != nil && b.all {
			continue
		}
		if unknown[e.document] == nil {
			docs = append(docs, e.document)
		}
		unknown[e.document] = append(unknown[e.document], e.id)
	}
	found := make([]*readStates, len(docs))
	err := store.Each(ctx, len(docs), func(ctx context.Context, i int) (err error) {
		if ids := unknown[docs[i]]; len(ids) > fewReadStates {
			found[i], err = w.readStates(ctx, docs[i], w.q.UnreadFor)
		} else {
			found[i], err = w.readStatesIn(ctx, docs[i], w.q.UnreadFor, ids)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, doc := range docs {
		maps.Copy(found[i].threads, w.states[doc].threadsOf())
		w.states[doc] = found[i]
		w.sifted += found[i].units
	}
	return nil
}

// isUnread states a thread as read or unread for UnreadFor, and reports whether it matches
// UnreadOnly.
func (w *walk) isUnread(doc collab.DocumentRef, head store.Item, t *collab.Thread) bool {
	if w.q.UnreadFor == "" {
		return true
	}
	unread := t.UnreadBy(w.q.UnreadFor, w.states[doc].before(t.ID, head)) && !t.Follows.Mutes(w.q.UnreadFor)
	t.Unread = &unread
	return unread || !w.q.UnreadOnly
}
