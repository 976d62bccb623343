package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// quarantineItem is an event in the quarantine; its key says which.
type quarantineItem struct {
	At     collab.Millis   `dynamodbav:"at"`
	Reason string          `dynamodbav:"why"`
	Stage  collab.Stage    `dynamodbav:"stg"` // where its delivery stood
	Work   collab.WorkKind `dynamodbav:"kind"`
	Due    collab.Millis   `dynamodbav:"due"`
}

// CountDeath notes that the handling of an event begins once more, of which it is not known whether it will end, and returns how often that
// was noted since it last ended.
func (s *Store) CountDeath(ctx context.Context, ref collab.EventRef) (int64, error) {
	w, err := s.progress(ref, expression.Add(expression.Name(table.Deaths), expression.Value(1)), nil)
	if err != nil {
		return 0, err
	}
	it, _, err := s.WriteOne(ctx, w, types.ReturnValueAllNew)
	return it.Number(table.Deaths), err
}

// Survived notes that the handling of an event has ended in order.
func (s *Store) Survived(ctx context.Context, ref collab.EventRef) error {
	w, err := s.progress(ref, expression.Set(expression.Name(table.Deaths), expression.Value(0)), nil)
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, w)
	return err
}

// Quarantine puts an event, at any stage of its delivery, into the quarantine, where nothing is done to it.
func (s *Store) Quarantine(ctx context.Context, ref collab.EventRef, at collab.Progress, reason string) error {
	it, err := store.Encode(table.Quarantined(ref.Account, ref.ID), quarantineItem{s.Millis(), reason, at.Stage, at.Work, at.Due})
	if err != nil {
		return err
	}
	it[table.Expires] = store.Number(expiry(s.Millis()))
	stage, err := s.progress(ref, expression.Set(expression.Name(table.Stage), expression.Value(string(collab.StageQuarantine))), nil)
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, s.Replace(it), stage, s.Remove(workKey(pendingWork(ref, at))))
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
		acct, id, err := table.ParseLane(it.Text(table.SK))
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
	it, err := s.Get(ctx, k)
	if err != nil {
		return err
	}
	if it == nil {
		return collab.Errorf(collab.NotFound, "event %q of account %q is not in the quarantine", ref.ID, ref.Account)
	}
	var stored quarantineItem
	if err := it.Decode(&stored); err != nil {
		return err
	}
	work, err := s.encodeWork(pendingWork(ref, collab.Progress{Work: stored.Work, Due: stored.Due}))
	if err != nil {
		return err
	}
	u := expression.Set(expression.Name(table.Deaths), expression.Value(0))
	if stage := expression.Name(table.Stage); stored.Stage == collab.StageNew {
		u = u.Remove(stage)
	} else {
		u = u.Set(stage, expression.Value(string(stored.Stage)))
	}
	place, err := s.progress(ref, u, nil)
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, s.Remove(k), place, s.Replace(work))
	return err
}
