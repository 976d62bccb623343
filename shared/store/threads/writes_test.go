package threads

import (
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// on returns the annotations of a table.
func on(t *store.Table) *Store {
	d := directory.New(t)
	return New(d, outbox.New(t))
}

// writing is an annotation to write to, and its document, read back item by item.
type writing struct {
	*Store
	t   testing.TB
	doc collab.DocumentRef
	ann string
}

// newWriting returns a document of a table, with the annotation a of one comment.
func newWriting(t testing.TB, tb *store.Table) *writing {
	t.Helper()
	w := &writing{Store: on(tb), t: t}
	var err error
	w.doc, err = w.Directory.OpenDocument(t.Context(), "acct", "org", "doc", collab.CreateFlags{Organization: true, Document: true})
	w.must(err)
	return w.another(t, "a")
}

// another returns a further annotation of the document, of one comment.
func (w *writing) another(t testing.TB, ann string) *writing {
	t.Helper()
	w = &writing{Store: w.Store, t: t, doc: w.doc, ann: ann}
	w.must(w.AddAnnotation(t.Context(), newRequest(0), w.doc, storetest.Thread(ann, "ann", 1), collab.NewAnnotation{}))
	return w
}

// sized gives the comments of a thread texts of a size.
func sized(th *collab.Thread, size int) *collab.Thread {
	text := strings.Repeat("x", size)
	for i := range th.Comments {
		th.Comments[i].Text = &text
	}
	return th
}

func (w *writing) must(err error) {
	w.t.Helper()
	must.Do(w.t, err)
}

// newRequest returns the work of a request that arrives at a time, 0 for now.
func newRequest(at collab.Millis) *request.Request {
	if at == 0 {
		return storetest.Request(time.Now())
	}
	return storetest.Request(time.UnixMilli(at))
}

// add adds comments with ids of their own.
func (w *writing) add(ann string, comments ...collab.Comment) ([]int64, error) {
	return w.AddComments(w.t.Context(), newRequest(0), w.doc, ann, collab.NewComments{Comments: comments})
}

// items returns the head of an annotation and its comments as they are stored.
func (w *writing) items(ann string) (store.Item, []collab.Comment) {
	w.t.Helper()
	k := keys.Annotation(w.doc, ann)
	items, err := w.Query(w.t.Context(), store.Scan{PK: k.PK, Keys: threadSpan(k.SK), Strong: true})
	w.must(err)
	if len(items) == 0 || items[0].Key() != k {
		return nil, nil
	}
	var comments []collab.Comment
	for _, it := range items[1:] {
		c, err := readComment(it)
		w.must(err)
		comments = append(comments, c)
	}
	return items[0], comments
}

// mustHold holds the invariant of the time key: it is not earlier than a comment, nor more than a quarter of a second after the head's own
// time.
func (w *writing) mustHold(when string) {
	w.t.Helper()
	head, comments := w.items(w.ann)
	key, own := timeKey(head), head.Number(keys.LastUpdated)
	for _, c := range comments {
		if c.LastUpdated > key {
			w.t.Fatalf("%s: comment %d of %d can be seen, and the time key stands at %d", when, c.ID, c.LastUpdated, key)
		}
	}
	if key < own || key > own+quarter {
		w.t.Fatalf("%s: the time key stands at %d, lastUpdated at %d", when, key, own)
	}
}
