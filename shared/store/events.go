package store

import (
	"context"
	"encoding/json"
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

// outbox returns the writes that record an event in the transaction of its data: the event, and the work that is due until it was
// delivered. nil for no event.
func (s *Store) outbox(ev *collab.Event) ([]types.TransactWriteItem, error) {
	if ev == nil {
		return nil, nil
	}
	now := s.now()
	expires := now.Add(eventRetention).Unix()
	short := *ev
	people, err := json.Marshal(ev.People)
	if err != nil {
		return nil, fail(context.Background(), err)
	}
	var writes []types.TransactWriteItem
	if len(people) > inlinePeople {
		short.People = nil
		for from, n := 0, 0; from < len(ev.People); n++ {
			part, size := from, 0
			for ; part < len(ev.People) && size < partPeople; part++ {
				u := ev.People[part]
				size += 60 + len(u.UserID) + len(collab.Deref(u.Name)) + len(collab.Deref(u.Email))
			}
			text, err := json.Marshal(ev.People[from:part])
			if err != nil {
				return nil, fail(context.Background(), err)
			}
			it := newItem(table.EventPeople(ev.Account, ev.ID, n))
			it[table.Body] = str(string(text))
			it.setNum(table.Expires, expires)
			writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: it}})
			from = part
		}
	}
	body, err := short.Encode()
	if err != nil {
		return nil, fail(context.Background(), err)
	}
	event := newItem(table.Event(ev.Account, ev.ID))
	event[table.Body] = str(string(body))
	event.setNum(table.Expires, expires)
	due := newItem(table.Due(now.Add(firstDue).UnixMilli(), DueEvent, ev.Account, ev.ID))
	return append(writes,
		types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: event}},
		types.TransactWriteItem{Put: &types.Put{TableName: &s.table, Item: due}},
	), nil
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
	var ev collab.Event
	if err := json.Unmarshal(items[0].json(table.Body), &ev); err != nil {
		return nil, fail(ctx, err)
	}
	for _, it := range items[1:] {
		var people []collab.User
		if err := json.Unmarshal(it.json(table.Body), &people); err != nil {
			return nil, fail(ctx, err)
		}
		ev.People = append(ev.People, people...)
	}
	return &ev, nil
}
