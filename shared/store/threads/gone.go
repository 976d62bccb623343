package threads

import (
	"context"
	"reflect"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// GoneFor is how long the table says which annotations left a document.
const GoneFor = 24 * time.Hour

// gone is what the table says of an annotation that was deleted, or shown to fewer people: as its head was before, without content.
type gone struct {
	Status     collab.JSON        `dynamodbav:"sts"`
	CreatedAt  collab.Millis      `dynamodbav:"ca"`
	CreatorID  string             `dynamodbav:"cr,omitempty"`
	StatusID   string             `dynamodbav:"si"`
	Visibility *collab.Visibility `dynamodbav:"vis,omitempty"` // those who saw it
	Deleted    bool               `dynamodbav:"del,omitempty"`
	Request    string             `dynamodbav:"rid,omitempty"` // id of the request, as the log has it
	Expires    int64              `dynamodbav:"ttl"`
}

// goneWrite records that an annotation as it was leaves its readers now, as it is deleted or narrowed. It belongs to the transaction that
// does so.
func (s *Store) goneWrite(ctx context.Context, doc collab.DocumentRef, was *collab.Annotation, deleted bool) store.Write {
	now := s.Millis()
	return store.Put(store.ItemOf(keys.AnnotationGone(doc, now, was.ID), gone{
		Status: was.Status, CreatedAt: was.CreatedAt, CreatorID: was.CreatorID, StatusID: was.StatusID, Visibility: was.Visibility,
		Deleted: deleted, Request: collab.RequestIDOf(ctx), Expires: (now + GoneFor.Milliseconds()) / 1000,
	}))
}

// goneLookUp keeps the look-up item of an annotation that is deleted for GoneFor, so that its document is found by its id alone. Adding it again
// writes the item anew.
func (s *Store) goneLookUp(doc collab.DocumentRef, ann string) store.Write {
	look := store.NewItem(keys.AnnotationID(doc, ann))
	look[keys.Expires] = store.Number((s.Millis() + GoneFor.Milliseconds()) / 1000)
	return store.Put(look)
}

// leads reports whether a look-up item, nil for none, is that of an annotation that was not deleted.
func leads(look store.Item) bool { return look != nil && look[keys.Expires] == nil }

// narrows reports whether there may be people who saw an annotation, and do not see it as it is now.
func narrows(was, is *collab.Annotation) bool {
	return is.Visibility != nil && (was.CreatorID != is.CreatorID || !reflect.DeepEqual(was.Visibility, is.Visibility))
}

// How many annotations that left a document are looked through.
const (
	mostGoneLooked = 2000   // by FindDeleted
	mostGone       = 10_000 // by Gone: about 300 read units
)

// FindDeleted returns when an annotation of a document was deleted, and the id of the request, as the log has it; 0 where it is not among the
// latest 2,000 that left the document within GoneFor. Eventually consistent.
func (s *Store) FindDeleted(ctx context.Context, doc collab.DocumentRef, id string) (at collab.Millis, request string, err error) {
	q := store.Scan{PK: keys.GonePartition(doc), Keys: store.Everything, Newest: true, Limit: mostGoneLooked}
	items, _, err := s.QueryPage(ctx, q)
	for _, it := range items {
		var g gone
		if at, ann, err := keys.ParseAnnotationGone(it.Text(keys.SK)); err != nil || ann != id {
			continue
		} else if err := it.Decode(&g); err != nil {
			return 0, "", store.Unreadable(it.Key(), err)
		} else if g.Deleted {
			return at, g.Request, nil
		}
	}
	return 0, "", err
}

// Gone returns the annotations of a document that were deleted at a time or later, or from then on are not shown to those for whom sight is
// asked, nil for nobody: without comments, the earliest first. Those that the people did not see before are not among them, nor those that
// are there again. It fails with FAILED_PRECONDITION where they are more than most, very many left the document, or after is more than GoneFor
// ago. Eventually consistent.
func (s *Store) Gone(
	ctx context.Context, doc collab.DocumentRef, after collab.Millis, sight collab.Sight, most int,
) ([]*collab.Thread, error) {
	if after < s.Millis()-GoneFor.Milliseconds() {
		return nil, collab.Errorf(collab.FailedPrecondition, "updatedAfter is too long ago: read the document again")
	}
	viewers := collab.Later(ctx, func() (v collab.Viewers, err error) {
		if sight == nil {
			return nil, nil
		}
		of, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{})
		return of[doc], err
	})
	latest := map[string]int{} // by id, the place in list
	var list []*collab.Thread
	examined := 0
	for it, err := range s.Items(ctx, store.Scan{PK: keys.GonePartition(doc), Keys: store.Span{From: keys.Time(after)}, Limit: most + 1}) {
		if err != nil {
			return nil, err
		}
		var g gone
		err = it.Decode(&g)
		t := &collab.Thread{Document: doc.Document, Deleted: true, Annotation: collab.Annotation{
			Status: g.Status, CreatedAt: g.CreatedAt, CreatorID: g.CreatorID, StatusID: g.StatusID, Visibility: g.Visibility,
		}}
		if err == nil {
			t.LastUpdated, t.ID, err = keys.ParseAnnotationGone(it.Text(keys.SK))
		}
		if err != nil {
			return nil, store.Unreadable(it.Key(), err)
		}
		if examined++; examined > mostGone {
			return nil, collab.Errorf(collab.FailedPrecondition, "too much was deleted since updatedAfter: read the document again")
		}
		see, err := viewers()
		if err != nil {
			return nil, err
		}
		if !see.See(&t.Annotation) {
			continue
		}
		if i, again := latest[t.ID]; again {
			list[i] = t
			continue
		}
		latest[t.ID] = len(list)
		if list = append(list, t); len(list) > most {
			return nil, collab.Errorf(collab.FailedPrecondition, "more than %d annotations were deleted since updatedAfter: read the document again", most)
		}
	}
	see, err := viewers()
	if err != nil {
		return nil, err
	}
	return s.stillGone(ctx, doc, list, see)
}

// stillGone returns the annotations that are not there, or that not all viewers may see.
func (s *Store) stillGone(ctx context.Context, doc collab.DocumentRef, list []*collab.Thread, viewers collab.Viewers) ([]*collab.Thread, error) {
	heads, err := s.GetAll(ctx, collab.Map(list, func(t *collab.Thread) keys.Key { return headKey(doc, t.ID) }), false)
	if err != nil {
		return nil, err
	}
	var still []*collab.Thread
	for _, t := range list {
		head := heads[headKey(doc, t.ID)]
		if head != nil {
			a, err := readHead(head)
			if err != nil {
				return nil, store.Unreadable(head.Key(), err)
			}
			if viewers.See(&a) {
				continue
			}
		}
		still = append(still, t)
	}
	return still, nil
}
