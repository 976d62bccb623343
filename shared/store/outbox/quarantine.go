package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// quarantineItem is an event in the quarantine; its key says which.
type quarantineItem struct {
	At      collab.Millis   `dynamodbav:"at"`
	Reason  string          `dynamodbav:"why"`
	Kind    collab.WorkKind `dynamodbav:"kind"` // with those below it where its delivery stood
	Stage   collab.Stage    `dynamodbav:"stg"`
	Cursor  string          `dynamodbav:"cur"`
	Since   collab.Millis   `dynamodbav:"due"`
	Expires int64           `dynamodbav:"ttl"`
}

// Quarantine puts a pending event into the quarantine, where nothing is done to it.
func (s *Store) Quarantine(ctx context.Context, w collab.Work, reason string) error {
	now := s.Millis()
	it, err := store.Encode(table.Quarantined(w.Account, w.ID), quarantineItem{now, reason, w.Kind, w.Stage, w.Cursor, w.Since, expiry(now)})
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, s.Replace(it), s.Remove(workKey(w)))
	return err
}

// Quarantined returns the events in the quarantine, by account, and their bodies as they are stored. Those that can't be read are told to skip.
func (s *Store) Quarantined(ctx context.Context, skip func(error)) ([]collab.Quarantined, error) {
	items, err := s.Query(ctx, store.Scan{PK: table.Quarantine, Keys: store.Everything})
	if err != nil {
		return nil, err
	}
	var list []collab.Quarantined
	for _, it := range items {
		acct, id, err := table.ParseWork(it.Text(table.SK))
		var stored quarantineItem
		if err == nil {
			err = it.Decode(&stored)
		}
		if err != nil {
			skip(store.Unreadable(it.Key(), err))
			continue
		}
		list = append(list, collab.Quarantined{EventRef: collab.EventRef{Account: acct, ID: id}, At: stored.At, Reason: stored.Reason})
	}
	return list, nil
}

// EventBody returns the JSON of an event as it is stored, for people; NOT_FOUND when it is not there or no more.
func (s *Store) EventBody(ctx context.Context, ref collab.EventRef) (collab.JSON, error) {
	it, err := s.Get(ctx, table.Event(ref.Account, ref.ID))
	if err == nil && it == nil {
		err = collab.Errorf(collab.NotFound, "event %q does not exist", ref.ID)
	}
	return collab.JSON(it.Text(table.Body)), err
}

// Retry takes an event out of the quarantine: it goes on where it stood, and the relay sends it. NOT_FOUND when it is not there.
func (s *Store) Retry(ctx context.Context, ref collab.EventRef) error {
	k := table.Quarantined(ref.Account, ref.ID)
	stood, exists, err := store.Read[quarantineItem](ctx, s.Table, k)
	if err == nil && !exists {
		err = collab.Errorf(collab.NotFound, "event %q of account %q is not in the quarantine", ref.ID, ref.Account)
	}
	if err != nil {
		return err
	}
	work, err := encodeWork(collab.Work{
		EventRef: ref, Kind: stood.Kind, Stage: stood.Stage, Cursor: stood.Cursor,
		Since: stood.Since, Next: s.Millis(), Expires: stood.Expires * 1000,
	})
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, s.Remove(k), s.Replace(work))
	return err
}
