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
	firstDue = 2 * time.Minute // from an event's write until the relay sends it again

	inlinePeople = 8_000   // bytes of people that an event carries itself
	partPeople   = 200_000 // bytes of people in an item beside it
)

// eventItem is an event, or a part of its people.
type eventItem[T any] struct {
	Body    store.Encoded[T] `dynamodbav:"body"`
	Expires int64            `dynamodbav:"ttl"`
}

func newEventItem[T any](v T, expires int64) eventItem[T] {
	return eventItem[T]{store.Encoded[T]{Value: v}, expires}
}

// Commit carries out writes of a request with those that record events, nil for none: all or none. refused is not nil where a condition of
// the writes did not hold; then nothing was written.
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

// Record returns the writes that record events, nil for none, in the transaction of their data: each event, and the work that is due until
// it was delivered. People who are too many for an event are put ahead; nothing points to them until the event is there.
func (s *Store) Record(ctx context.Context, events ...*collab.Event) ([]store.Write, error) {
	var writes []store.Write
	var ahead []store.Item
	for _, ev := range events {
		if ev == nil {
			continue
		}
		now := s.Millis()
		expires := expiry(now)
		stored := *ev
		stored.People = make([]collab.User, len(ev.People))
		for i, u := range ev.People {
			stored.People[i] = u.Short()
		}
		if parts := peopleParts(stored.People); parts != nil {
			stored.People = nil
			for n, part := range parts {
				ahead = append(ahead, store.ItemOf(keys.EventPeople(ev.Account, ev.ID, n), newEventItem(part, expires)))
			}
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
	return writes, store.Each(ctx, len(ahead), func(ctx context.Context, i int) error { return s.Put(ctx, ahead[i]) })
}

// peopleParts divides people into lists that an item takes; nil when the event itself takes them.
func peopleParts(people []collab.User) [][]collab.User {
	size := func(u collab.User) int {
		text, err := collab.EncodeJSON(u)
		if err != nil {
			panic(err) // texts always have a JSON form
		}
		return len(text) + len(",")
	}
	total := 0
	for _, u := range people {
		total += size(u)
	}
	if total <= inlinePeople {
		return nil
	}
	parts := [][]collab.User{nil}
	left := partPeople
	for _, u := range people {
		if left -= size(u); left < 0 {
			parts = append(parts, nil)
			left = partPeople - size(u)
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], u)
	}
	return parts
}

// Event reads an event of the outbox, with all its people; NOT_FOUND when it is not there or no more.
func (s *Store) Event(ctx context.Context, acct, id string) (*collab.Event, error) {
	k := keys.Event(acct, id)
	q := store.Scan{PK: k.PK, Keys: store.Span{From: k.SK, To: keys.EventPeopleEnd}} // it never changes
	items, err := s.Query(ctx, q)
	if err == nil && len(items) == 0 {
		q.Strong = true // it may be younger than what was read
		items, err = s.Query(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	if len(items) == 0 || items[0].Key() != k {
		return nil, collab.Errorf(collab.NotFound, "the event does not exist")
	}
	var stored eventItem[collab.Event]
	if err := items[0].Decode(&stored); err != nil {
		return nil, err
	}
	ev := &stored.Body.Value
	for _, it := range items[1:] {
		var part eventItem[[]collab.User]
		if err := it.Decode(&part); err != nil {
			return nil, err
		}
		ev.People = append(ev.People, part.Body.Value...)
	}
	return ev, nil
}
