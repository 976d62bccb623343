package outbox

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
	"collabdata/shared/store/task"
)

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
		t := &task.Task{TaskRef: EventTask(ev.Account, ev.ID), Due: s.Millis(), Body: string(body), Expires: Expiry(s.Millis())}
		if ev.AnnotationID != "" {
			t.Org, t.OrgUpd = keys.EventPartition(ev.Document()), keys.EventOf(ev.AnnotationID, ev.ID)
		}
		writes = append(writes, s.PutTask(t))
	}
	return writes
}

// EventTask returns the reference of the task that delivers an event. The task has the event, and
// stays as long as its deliveries.
func EventTask(acct, id string) collab.TaskRef {
	return collab.TaskRef{Kind: collab.EventTask, Account: acct, ID: id}
}

// EventOf returns the event of a task. Its error wraps collab.ErrUnreadable.
func EventOf(t *task.Task) (*collab.Event, error) { return readEvent(t.TaskRef, t.Body) }

func readEvent(t collab.TaskRef, body string) (*collab.Event, error) {
	ev := &collab.Event{}
	if err := json.Unmarshal([]byte(body), ev); err != nil {
		return nil, store.Unreadable(keys.Task(t), err)
	}
	return ev, nil
}

// Event returns an event. It returns NOT_FOUND if the event does not exist, or has expired.
func (s *Store) Event(ctx context.Context, acct, id string) (*collab.Event, error) {
	body, err := s.EventBody(ctx, acct, id)
	if err != nil {
		return nil, err
	}
	return readEvent(EventTask(acct, id), string(body))
}

// EventBody returns the stored JSON of an event. It returns NOT_FOUND if the event does not exist,
// or has expired.
func (s *Store) EventBody(ctx context.Context, acct, id string) (collab.JSON, error) {
	k := keys.Task(EventTask(acct, id))
	found, err := s.GetSettled(ctx, []keys.Key{k}) // events never change
	if err == nil && found[k] == nil {
		err = collab.Errorf(collab.NotFound, "event %q does not exist", id)
	}
	return collab.JSON(found[k].Text(keys.Body)), err
}

// EventsOf returns the ids of up to limit events of a thread, newest first, with or without
// recipients: those before an id, unless it is "". It reads with eventual consistency. If more is
// true, further events exist.
func (s *Store) EventsOf(ctx context.Context, doc collab.DocumentRef, annotation, before string, limit int) (ids []string, more bool, err error) {
	span := store.Children(keys.EventOf(annotation, ""))
	if before != "" {
		span = span.Before(keys.EventOf(annotation, before))
	}
	items, more, err := s.QueryPage(ctx, store.Scan{Index: keys.IndexOrg, PK: keys.EventPartition(doc), Keys: span, Newest: true, Limit: limit + 1})
	if len(items) > limit {
		items, more = items[:limit], true
	}
	for _, it := range items {
		t, err := keys.ParseTask(it.Key())
		if err != nil {
			return nil, false, store.Unreadable(it.Key(), err)
		}
		ids = append(ids, t.ID)
	}
	return ids, more, err
}
