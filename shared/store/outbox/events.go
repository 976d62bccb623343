package outbox

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// An event is first stored in pending work. When its delivery begins, it gets its own item, which
// outlives the work.

const firstDue = 2 * time.Minute // from an event's write to the relay

type eventItem struct {
	Body    string `dynamodbav:"body"`
	Expires int64  `dynamodbav:"ttl"`
}

// Commit executes the writes of a request and records its events in one transaction. It ignores nil
// events. It returns a Refusal, and writes nothing, if a condition fails.
func (s *Store) Commit(ctx context.Context, req *request.Request, writes []store.Write, events ...*collab.Event) (refused *store.Refusal, err error) {
	refused, err = s.Write(ctx, append(writes, s.Record(events...)...)...)
	if err == nil && refused == nil {
		req.Recorded(events...)
	}
	return refused, err
}

// Record returns the writes that record events, for the transaction that writes their data. It
// ignores nil events.
func (s *Store) Record(events ...*collab.Event) []store.Write {
	var writes []store.Write
	for _, ev := range events {
		if ev == nil {
			continue
		}
		body, err := collab.EncodeJSON(ev)
		if err != nil {
			panic(err) // events always encode
		}
		now := s.Millis()
		work := Work{
			EventRef: collab.EventRef{Account: ev.Account, ID: ev.ID}, Kind: collab.EventWork, Body: string(body),
			Since: now, Next: now + firstDue.Milliseconds(), Expires: Expiry(now),
		}
		writes = append(writes, store.Put(store.ItemOf(workKey(work), work)))
	}
	return writes
}

// Event returns the event of pending work. Its error wraps collab.ErrUnreadable.
func (w *Work) Event() (*collab.Event, error) {
	ev := &collab.Event{}
	if err := json.Unmarshal([]byte(w.Body), ev); err != nil {
		return nil, store.Unreadable(workKey(*w), err)
	}
	return ev, nil
}

// KeepEvent stores the event of pending work for as long as its deliveries, plus mailsWait. It is
// idempotent.
func (s *Store) KeepEvent(ctx context.Context, w Work, mailsWait time.Duration) error {
	return s.Put(ctx, store.ItemOf(keys.Event(w.Account, w.ID), eventItem{w.Body, w.Expires + int64(mailsWait.Seconds())}))
}

// Events returns the readable ones of an account's events, in the order of ids.
func (s *Store) Events(ctx context.Context, acct string, ids []string) ([]*collab.Event, error) {
	found, err := s.GetSettled(ctx, collab.Map(ids, func(id string) keys.Key { return keys.Event(acct, id) }))
	if err != nil {
		return nil, err
	}
	var list []*collab.Event
	for _, id := range slices.Sorted(slices.Values(ids)) {
		w := Work{EventRef: collab.EventRef{Account: acct, ID: id}, Body: found[keys.Event(acct, id)].Text(keys.Body)}
		if ev, err := w.Event(); err == nil {
			list = append(list, ev)
		}
	}
	return list, nil
}

// Event returns an event. It returns NOT_FOUND if the event does not exist, or has expired.
func (s *Store) Event(ctx context.Context, acct, id string) (*collab.Event, error) {
	ref := collab.EventRef{Account: acct, ID: id}
	body, err := s.EventBody(ctx, ref)
	if err != nil {
		return nil, err
	}
	return (&Work{EventRef: ref, Body: string(body)}).Event()
}

// EventBody returns the stored JSON of an event. It returns NOT_FOUND if the event does not exist,
// or has expired.
func (s *Store) EventBody(ctx context.Context, ref collab.EventRef) (collab.JSON, error) {
	k := keys.Event(ref.Account, ref.ID)
	found, err := s.GetSettled(ctx, []keys.Key{k}) // events never change
	if err != nil || found[k] != nil {
		return collab.JSON(found[k].Text(keys.Body)), err
	}
	for _, kind := range []collab.WorkKind{collab.EventWork, collab.ParkedWork, collab.FailedWork} {
		if w, err := s.Pending(ctx, ref, kind); err != nil || w != nil {
			return collab.JSON(collab.Deref(w).Body), err
		}
	}
	return nil, collab.Errorf(collab.NotFound, "event %q does not exist", ref.ID)
}
