package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Quarantined is an event in the quarantine.
type Quarantined struct {
	Work                 // where its delivery stands
	At     collab.Millis `dynamodbav:"ca"`
	Reason string        `dynamodbav:"why"`
}

// Quarantine moves an event from the pending work into the quarantine, unless another run has advanced it.
func (s *Store) Quarantine(ctx context.Context, w Work, reason string) error {
	q := Quarantined{Work: w, At: s.Millis(), Reason: reason}
	q.Expires = Expiry(q.At)
	_, err := s.Write(ctx, store.Put(store.ItemOf(keys.Quarantined(w.Account, w.ID), q)), deleteWork(w))
	return err
}

// Quarantined lists at most most events in the quarantine (0: as many as one read holds), by account, after a position ("" for the first).
// next is the position of the next page, "" at the end. Events that can't be read go to skip.
func (s *Store) Quarantined(ctx context.Context, after string, most int, skip func(error)) (list []Quarantined, next string, err error) {
	items, more, err := s.QueryPage(ctx, store.Scan{PK: keys.Quarantine, Keys: store.Everything.After(after), Limit: most})
	if err != nil {
		return nil, "", err
	}
	if more {
		next = items[len(items)-1].Text(keys.SK)
	}
	for _, it := range items {
		var q Quarantined
		err := it.Decode(&q)
		if err == nil {
			q.Account, q.ID, err = keys.ParseWork(it.Text(keys.SK))
		}
		if err != nil {
			skip(store.Unreadable(it.Key(), err))
			continue
		}
		list = append(list, q)
	}
	return list, next, nil
}

// EventBody returns the stored JSON of an event, for people to read; NOT_FOUND when it does not exist.
func (s *Store) EventBody(ctx context.Context, ref collab.EventRef) (collab.JSON, error) {
	it, err := s.Get(ctx, keys.Event(ref.Account, ref.ID))
	if err == nil && it == nil {
		err = collab.Errorf(collab.NotFound, "event %q does not exist", ref.ID)
	}
	return collab.JSON(it.Text(keys.Body)), err
}

// Retry moves an event from the quarantine back into the pending work, where its delivery stood; the relay sends it. NOT_FOUND when it is
// not in the quarantine.
func (s *Store) Retry(ctx context.Context, ref collab.EventRef) error {
	k := keys.Quarantined(ref.Account, ref.ID)
	q, exists, err := store.Read[Quarantined](ctx, s.Table, k)
	if err == nil && !exists {
		err = collab.Errorf(collab.NotFound, "event %q of account %q is not in the quarantine", ref.ID, ref.Account)
	}
	if err != nil {
		return err
	}
	w := q.Work
	w.EventRef, w.Next, w.Postponed, w.Deaths, w.Began = ref, s.Millis(), 0, 0, 0
	_, err = s.Write(ctx, store.Delete(k), store.Put(store.ItemOf(workKey(w), w)))
	return err
}

// QuarantinedEvent reads an event of the quarantine; nil where it is not in it.
func (s *Store) QuarantinedEvent(ctx context.Context, ref collab.EventRef) (*Quarantined, error) {
	q, exists, err := store.Read[Quarantined](ctx, s.Table, keys.Quarantined(ref.Account, ref.ID))
	if err != nil || !exists {
		return nil, err
	}
	q.EventRef = ref
	return &q, nil
}
