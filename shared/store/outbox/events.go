package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Kinds of pending work.
const (
	DueEvent = "event" // an event whose delivery has not been marked as done
)

const (
	eventRetention = 30 * 24 * time.Hour
	firstDue       = 2 * time.Minute // from an event's write until the relay sends it again

	inlinePeople = 8_000   // bytes of people that an event carries itself
	partPeople   = 200_000 // bytes of people in an item beside it
)

// outbox returns the writes that record events in the transaction of their data: each event, the people it carries where they are too
// many for it, and the work that is due until it was delivered.
func (s *Store) outbox(events []*collab.Event) ([]types.TransactWriteItem, error) {
	var writes []types.TransactWriteItem
	put := func(it item) {
		writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: it}})
	}
	for _, ev := range events {
		now := s.now()
		expires := now.Add(eventRetention).Unix()
		due := now.Add(firstDue).UnixMilli()
		record := func(k table.Key, v any) error {
			body, err := json.Marshal(v)
			if err != nil {
				return err
			}
			it := newItem(k)
			it[table.Body] = str(string(body))
			it.setNum(table.DueAt, due)
			it.setNum(table.Expires, expires)
			put(it)
			return nil
		}
		stored := *ev
		stored.People = make([]collab.User, len(ev.People))
		for i, u := range ev.People {
			stored.People[i] = u.Short()
		}
		if parts := peopleParts(stored.People); parts != nil {
			stored.People = nil
			for n, part := range parts {
				if err := record(table.EventPeople(ev.Account, ev.ID, n), part); err != nil {
					return nil, fail(context.Background(), err)
				}
			}
		}
		if err := stored.Shorten(); err != nil {
			return nil, fail(context.Background(), err)
		}
		if err := record(table.Event(ev.Account, ev.ID), &stored); err != nil {
			return nil, fail(context.Background(), err)
		}
		put(dueItem(due, DueEvent, ev.Account, ev.ID, 0, now.UnixMilli(), expires))
	}
	return writes, nil
}

// record is outbox, for events that may name too many people for a transaction: those are put ahead. Nothing points to them until the
// event is there.
func (s *Store) record(ctx context.Context, events []*collab.Event) ([]types.TransactWriteItem, error) {
	writes, err := s.outbox(events)
	if err != nil {
		return nil, err
	}
	var ahead []item
	writes = slices.DeleteFunc(writes, func(w types.TransactWriteItem) bool {
		people := strings.HasPrefix(item(w.Put.Item).text(table.SK), table.EventPeoplePrefix)
		if people {
			ahead = append(ahead, w.Put.Item)
		}
		return people
	})
	return writes, each(ctx, len(ahead), func(ctx context.Context, i int) error { return s.put(ctx, ahead[i]) })
}

// peopleParts divides people into lists that an item takes; nil when the event itself takes them.
func peopleParts(people []collab.User) [][]collab.User {
	size := func(u collab.User) int {
		return 60 + len(u.UserID) + len(collab.Deref(u.Name)) + len(collab.Deref(u.Email))
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

// Event reads an event of the outbox; NOT_FOUND when it is not there or no more.
func (s *Store) Event(ctx context.Context, acct, id string) (*collab.Event, error) {
	k := table.Event(acct, id)
	items, err := s.query(ctx, scan{pk: k.PK, keys: span{k.SK, table.EventPeopleEnd}, strong: true})
	if err != nil {
		return nil, err
	}
	if len(items) == 0 || items[0].key() != k {
		return nil, collab.Errorf(collab.NotFound, "event %q does not exist", id)
	}
	ev, err := readEvent(items)
	return ev, fail(ctx, err)
}
