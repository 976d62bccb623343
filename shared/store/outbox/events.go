package outbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

const (
	firstDue = 2 * time.Minute // from an event's write until the relay sends it
)

// eventItem is an event, or some of its people.
type eventItem[T any] struct {
	Body    store.Encoded[T] `dynamodbav:"body"`
	Expires int64            `dynamodbav:"ttl"`
}

func newEventItem[T any](v T, expires int64) eventItem[T] {
	return eventItem[T]{store.Encoded[T]{Value: v}, expires}
}

// Commit carries out the writes of a request and records its events (nil: none) in one transaction. refused is not nil when a condition did
// not hold: then nothing was written.
func (s *Store) Commit(ctx context.Context, req *request.Request, writes []store.Write, events ...*collab.Event) (refused *store.Refusal, err error) {
	outbox, err := s.Record(ctx, events...)
	if err != nil {
		return nil, err
	}
	refused, err = s.Write(ctx, append(writes, outbox...)...)
	if err == nil && refused == nil {
		req.Recorded(events...)
	}
	return refused, err
}

// Record returns the writes that record events (nil: none), to be carried out in one transaction with their data: each event, and its
// pending work. Where an event has too many people for its item it writes them first: nothing refers to them until the event exists.
func (s *Store) Record(ctx context.Context, events ...*collab.Event) ([]store.Write, error) {
	var writes []store.Write
	for _, ev := range events {
		if ev == nil {
			continue
		}
		now := s.Millis()
		expires := Expiry(now)
		stored := *ev
		stored.People = make([]collab.User, len(ev.People))
		for i, u := range ev.People {
			stored.People[i] = u.Short()
		}
		if err := stored.Shorten(collab.MaxEventBytes); err != nil {
			return nil, store.Fail(ctx, err)
		}
		work := Work{
			EventRef: collab.EventRef{Account: ev.Account, ID: ev.ID}, Kind: collab.EventWork,
			Since: now, Next: now + firstDue.Milliseconds(), Expires: expires,
		}
		it := store.ItemOf(keys.Event(ev.Account, ev.ID), newEventItem(&stored, expires))
		writes = append(writes, store.Put(it), store.Put(store.ItemOf(workKey(work), work)))
	}
	return writes, nil
}

// Event reads an event; NOT_FOUND when it does not exist, or has expired.
func (s *Store) Event(ctx context.Context, acct, id string) (*collab.Event, error) {
	it, exists, err := store.Read[eventItem[collab.Event]](ctx, s.Table, keys.Event(acct, id))
	if err == nil && !exists {
		err = collab.Errorf(collab.NotFound, "the event does not exist")
	}
	return &it.Body.Value, err
}
