package threads

import (
	"context"
	"reflect"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// LeftFor is how long the table remembers annotations that left a document.
const LeftFor = 24 * time.Hour

// left records an annotation that was deleted, shown to fewer users, or changed without a new
// lastUpdated: its previous head without content.
type left struct {
	Status     collab.JSON        `dynamodbav:"sts"`
	CreatedAt  collab.Millis      `dynamodbav:"ca"`
	CreatorID  string             `dynamodbav:"cr,omitempty"`
	StatusID   string             `dynamodbav:"si"`
	Visibility *collab.Visibility `dynamodbav:"vis,omitempty"` // previous visibility
	Deleted    bool               `dynamodbav:"del,omitempty"`
	Changed    bool               `dynamodbav:"chg,omitempty"` // and neither deleted nor narrowed
	Request    string             `dynamodbav:"rid,omitempty"` // request id as in the log
	Expires    int64              `dynamodbav:"ttl"`
}

// leftWrite returns the write that records that an annotation is deleted or narrowed now. It
// belongs in the same transaction.
func (s *Store) leftWrite(ctx context.Context, doc collab.DocumentRef, before *collab.Annotation, deleted bool) store.Write {
	now := s.Millis()
	return store.Put(store.ItemOf(keys.AnnotationLeft(doc, now, before.ID), left{
		Status: before.Status, CreatedAt: before.CreatedAt, CreatorID: before.CreatorID, StatusID: before.StatusID, Visibility: before.Visibility,
		Deleted: deleted, Request: collab.RequestIDOf(ctx), Expires: (now + LeftFor.Milliseconds()) / 1000,
	}))
}

// changedWrite returns the write that records that an annotation changed now without a new
// lastUpdated. It belongs in the same transaction. It fails if another record has its time, and
// does not replace that.
func (s *Store) changedWrite(doc collab.DocumentRef, a *collab.Annotation) store.Write {
	now := s.Millis()
	return store.Create(store.ItemOf(keys.AnnotationLeft(doc, now, a.ID), left{
		Status: a.Status, CreatedAt: a.CreatedAt, StatusID: a.StatusID, Changed: true, Expires: (now + LeftFor.Milliseconds()) / 1000,
	}))
}

// leftLookUp returns the write that keeps a deleted annotation's look-up item for LeftFor, so that
// its document can be found by the annotation's id. Adding the annotation again replaces it.
func (s *Store) leftLookUp(doc collab.DocumentRef, ann string) store.Write {
	look := store.NewItem(keys.AnnotationID(doc, ann))
	look[keys.Expires] = store.Number((s.Millis() + LeftFor.Milliseconds()) / 1000)
	return store.Put(look)
}

// leads reports whether a look-up item, which may be nil, belongs to an existing annotation.
func leads(look store.Item) bool { return look != nil && look[keys.Expires] == nil }

// narrows reports whether a change may hide an annotation from some users.
func narrows(before, after *collab.Annotation) bool {
	return after.Visibility != nil && (before.CreatorID != after.CreatorID || !reflect.DeepEqual(before.Visibility, after.Visibility))
}

// Limits on reading annotations that left a document.
const (
	mostLeftLooked = 2000   // by FindDeleted
	mostLeft       = 10_000 // by Left: about 300 read units
)

var errTooMuchLeft = collab.Errorf(collab.FailedPrecondition, "too much changed since updatedAfter: read the document again")

// FindDeleted returns the time at which an annotation was deleted and the request id. It returns 0
// if the annotation is not among the latest 2,000 that left the document within LeftFor. It reads
// with eventual consistency.
func (s *Store) FindDeleted(ctx context.Context, doc collab.DocumentRef, id string) (at collab.Millis, request string, err error) {
	q := store.Scan{PK: keys.LeftPartition(doc), Keys: store.Everything, Newest: true, Limit: mostLeftLooked}
	items, _, err := s.QueryPage(ctx, q)
	for _, it := range items {
		var l left
		if at, ann, err := keys.ParseAnnotationLeft(it.Text(keys.SK)); err != nil || ann != id {
			continue
		} else if err := it.Decode(&l); err != nil {
			return 0, "", store.Unreadable(it.Key(), err)
		} else if l.Deleted {
			return at, l.Request, nil
		}
	}
	return 0, "", err
}

// Left returns the annotations of a document that were deleted since after, or hidden from the
// users of sight, which is nil for nobody. They have no comments, and come earliest first.
// Annotations that were hidden before, or exist again, are omitted. changed holds the ids of
// annotations that changed since after without a new lastUpdated; the users may not see them, and
// they may not exist.
//
// It returns FAILED_PRECONDITION if list exceeds most or the bound of a page of the request, or if
// changed exceeds collab.MaxPageSize. It also does so if too many left the document, or if after is
// more than LeftFor ago. most does not limit changed, because that would reveal hidden annotations.
// It reads with eventual consistency.
func (s *Store) Left(
	ctx context.Context, doc collab.DocumentRef, after collab.Millis, sight collab.Sight, limit int,
) (list []*collab.Thread, changed []string, err error) {
	if after < s.Millis()-LeftFor.Milliseconds() {
		return nil, nil, collab.Errorf(collab.FailedPrecondition, "updatedAfter is too long ago: read the document again")
	}
	viewers := collab.Later(ctx, func() (v collab.Viewers, err error) {
		if sight == nil {
			return nil, nil
		}
		viewers, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{})
		return viewers[doc], err
	})
	latest := map[string]int{} // index in list, by id
	moved := map[string]bool{}
	examined := 0
	for it, err := range s.Items(ctx, store.Scan{PK: keys.LeftPartition(doc), Keys: store.Span{From: keys.Time(after)}, Limit: limit + 1}) {
		if err != nil {
			return nil, nil, err
		}
		var l left
		err = it.Decode(&l)
		t := &collab.Thread{Document: doc.Document, Deleted: true, Annotation: collab.Annotation{
			Status: l.Status, CreatedAt: l.CreatedAt, CreatorID: l.CreatorID, StatusID: l.StatusID, Visibility: l.Visibility,
		}}
		if err == nil {
			t.LastUpdated, t.ID, err = keys.ParseAnnotationLeft(it.Text(keys.SK))
		}
		if err != nil {
			return nil, nil, store.Unreadable(it.Key(), err)
		}
		if examined++; examined > mostLeft {
			return nil, nil, collab.Errorf(collab.FailedPrecondition, "too much was deleted since updatedAfter: read the document again")
		}
		if l.Changed {
			if !moved[t.ID] {
				moved[t.ID], changed = true, append(changed, t.ID)
			}
			if len(changed) > collab.MaxPageSize {
				return nil, nil, errTooMuchLeft
			}
			continue
		}
		see, err := viewers()
		if err != nil {
			return nil, nil, err
		}
		if !see.See(&t.Annotation) {
			continue
		}
		if i, again := latest[t.ID]; again {
			list[i] = t
			continue
		}
		latest[t.ID] = len(list)
		if list = append(list, t); len(list) > limit {
			return nil, nil, collab.Errorf(collab.FailedPrecondition, "more than %d annotations were deleted since updatedAfter: read the document again", limit)
		}
	}
	see, err := viewers()
	if err != nil {
		return nil, nil, err
	}
	list, err = s.stillLeft(ctx, doc, list, see)
	return list, changed, err
}

// stillLeft returns the annotations that do not exist, or that some viewer cannot see.
func (s *Store) stillLeft(ctx context.Context, doc collab.DocumentRef, list []*collab.Thread, viewers collab.Viewers) ([]*collab.Thread, error) {
	itemKeys := collab.Map(list, func(t *collab.Thread) keys.Key { return headKey(doc, t.ID) })
	heads, n, err := s.GetSome(ctx, itemKeys, false, collab.UsageOf(ctx).PageLeft())
	if err == nil && n < len(list) {
		err = errTooMuchLeft
	}
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
