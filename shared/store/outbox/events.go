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

	inlinePeople = 8_000   // bytes of people in the event's own item
	partPeople   = 200_000 // bytes of people in each further item
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
	var people []store.Item
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
		if parts := peopleParts(stored.People); parts != nil {
			stored.People = nil
			for n, part := range parts {
				people = append(people, store.ItemOf(keys.EventPeople(ev.Account, ev.ID, n), newEventItem(part, expires)))
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
	return writes, store.Each(ctx, len(people), func(ctx context.Context, i int) error { return s.Put(ctx, people[i]) })
}

// peopleParts divides people into lists that fit into an item; nil when they fit into the event's own.
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

// Event reads an event with all its people; NOT_FOUND when it does not exist, or has expired.
func (s *Store) Event(ctx context.Context, acct, id string) (*collab.Event, error) {
	k := keys.Event(acct, id)
	q := store.Scan{PK: k.PK, Keys: store.Span{From: k.SK, To: keys.EventPeopleEnd(id)}} // eventually consistent, as it never changes
	items, err := s.Query(ctx, q)
	if err == nil && len(items) == 0 {
		q.Strong = true // it may have been written a moment ago
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
