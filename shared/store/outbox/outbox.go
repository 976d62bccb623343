package store

import (
	"context"
	"encoding/json"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DueDelivery is the kind of pending work that is a delivery to a webhook endpoint.
const DueDelivery = "hook"

// Pending reads an event of the outbox and how far its delivery has come, in one call; NOT_FOUND when it is not there or no more.
func (s *Store) Pending(ctx context.Context, ref collab.EventRef) (*collab.Event, collab.Progress, error) {
	var p collab.Progress
	k, mark := table.Event(ref.Account, ref.ID), table.EventMark(ref.Account, ref.ID, table.ProgressMark)
	items, err := s.query(ctx, scan{pk: k.PK, keys: span{k.SK, mark.SK}, strong: true})
	if err != nil {
		return nil, p, err
	}
	if len(items) == 0 || items[0].key() != k {
		return nil, p, collab.Errorf(collab.NotFound, "event %q does not exist", ref.ID)
	}
	p.Due = items[0].num(table.DueAt)
	if last := items[len(items)-1]; last.key() == mark {
		items = items[:len(items)-1]
		p.Stage, p.Cursor = collab.Stage(last.text(table.Stage)), last.text(table.Cursor)
		if due := last.num(table.DueAt); due != 0 {
			p.Due = due
		}
	}
	ev, err := readEvent(items)
	return ev, p, fail(ctx, err)
}

// readEvent puts an event and the parts of its people together.
func readEvent(items []item) (*collab.Event, error) {
	var ev collab.Event
	if err := json.Unmarshal(items[0].json(table.Body), &ev); err != nil {
		return nil, err
	}
	for _, it := range items[1:] {
		var people []collab.User
		if err := json.Unmarshal(it.json(table.Body), &people); err != nil {
			return nil, err
		}
		ev.People = append(ev.People, people...)
	}
	return &ev, nil
}

// progressUpdate is the write of where an event's delivery stands, with a condition unless that is empty.
func (s *Store) progressUpdate(ref collab.EventRef, e *expression, set, condition string) *types.Update {
	expires := e.name(table.Expires)
	set += ", " + expires + " = if_not_exists(" + expires + ", " + e.value(num(expiry(s.millis()))) + ")"
	update := &types.Update{
		TableName: &s.table, Key: keyOf(table.EventMark(ref.Account, ref.ID, table.ProgressMark)), UpdateExpression: &set,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if condition != "" {
		update.ConditionExpression = &condition
	}
	return update
}

func (s *Store) advance(ref collab.EventRef, from, to collab.Progress) *types.Update {
	e := newExpression()
	stage, cursor := e.name(table.Stage), e.name(table.Cursor)
	condition := "attribute_not_exists(" + stage + ")"
	if from.Stage != collab.StageNew {
		condition = stage + " = " + e.value(str(string(from.Stage))) + " AND " + cursor + " = " + e.value(str(from.Cursor))
	}
	set := "SET " + stage + " = " + e.value(str(string(to.Stage))) + ", " + cursor + " = " + e.value(str(to.Cursor))
	if to.Due != from.Due {
		set += ", " + e.name(table.DueAt) + " = " + e.value(num(to.Due))
	}
	return s.progressUpdate(ref, e, set, condition)
}

// Advance moves the delivery of an event on from where it stood, and its pending work when to.Due is another time. It reports false, and
// nothing has changed, when the delivery stands elsewhere by now: another run has moved it on. Where it stands at to already it may have
// been this call, whose answer was lost, so that is success.
func (s *Store) Advance(ctx context.Context, ref collab.EventRef, from, to collab.Progress) (bool, error) {
	u := s.advance(ref, from, to)
	var there item
	if to.Due == from.Due {
		_, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression, ConditionExpression: u.ConditionExpression,
			ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: u.ReturnValuesOnConditionCheckFailure,
		})
		refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
		if !ok {
			return err == nil, fail(ctx, err)
		}
		there = refused.Item
	} else {
		refused, err := s.transact(ctx, []types.TransactWriteItem{
			{Update: u},
			{Delete: &types.Delete{TableName: &s.table, Key: keyOf(table.Due(from.Due, DueEvent, ref.Account, ref.ID))}},
			{Put: &types.Put{TableName: &s.table, Item: dueItem(to.Due, DueEvent, ref.Account, ref.ID, 0, to.Due, expiry(s.millis()))}},
		})
		if err != nil || refused == nil {
			return err == nil, err
		}
		there = refused[0].Item
	}
	return collab.Stage(there.text(table.Stage)) == to.Stage && there.text(table.Cursor) == to.Cursor, nil
}

// Finish marks the delivery of an event as done and deletes its pending work. What the relay has moved in the meantime it wakes once more.
func (s *Store) Finish(ctx context.Context, ref collab.EventRef, p collab.Progress) error {
	if p.Stage != collab.StageDone {
		it := newItem(table.EventMark(ref.Account, ref.ID, table.ProgressMark))
		it.setText(table.Stage, string(collab.StageDone))
		it.setNum(table.Expires, expiry(s.millis()))
		if err := s.put(ctx, it); err != nil {
			return err
		}
	}
	return s.delete(ctx, table.Due(p.Due, DueEvent, ref.Account, ref.ID))
}

func (s *Store) delete(ctx context.Context, k table.Key) error {
	_, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.table, Key: keyOf(k)})
	return fail(ctx, err)
}

// Circle reads the part of an event's recipients that begins at a cursor; nil when it has not been worked out.
func (s *Store) Circle(ctx context.Context, ref collab.EventRef, cursor string) (*collab.Circle, error) {
	it, err := s.get(ctx, table.EventMark(ref.Account, ref.ID, table.CircleMark+cursor))
	if err != nil || it == nil {
		return nil, err
	}
	return readCircle(ctx, it)
}

func readCircle(ctx context.Context, it item) (*collab.Circle, error) {
	var c collab.Circle
	if err := json.Unmarshal(it.json(table.Body), &c); err != nil {
		return nil, fail(ctx, err)
	}
	return &c, nil
}

// KeepCircle keeps a part of an event's recipients, unless it was kept before, and returns the one that is kept.
func (s *Store) KeepCircle(ctx context.Context, ref collab.EventRef, cursor string, c *collab.Circle) (*collab.Circle, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fail(ctx, err)
	}
	it := newItem(table.EventMark(ref.Account, ref.ID, table.CircleMark+cursor))
	it.setJSON(table.Body, body)
	it.setNum(table.Expires, expiry(s.millis()))
	there, err := s.putIfNew(ctx, it)
	if err != nil || there == nil {
		return c, err
	}
	return readCircle(ctx, there)
}

// putIfNew puts an item unless there is one with its key, which it then returns.
func (s *Store) putIfNew(ctx context.Context, it item) (there item, err error) {
	condition := "attribute_not_exists(" + table.PK + ")"
	_, err = s.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table, Item: it, ConditionExpression: &condition,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused.Item, nil
	}
	return nil, fail(ctx, err)
}

// UserPreferences returns the preferences of each of the users for a document, as Preferences does, but eventually consistent.
func (s *Store) UserPreferences(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]collab.Preferences, error) {
	var keys []table.Key
	for _, u := range users {
		keys = append(keys,
			table.OrganizationPreference(doc.Account, doc.Organization, u), table.Preference(doc.Account, doc.Organization, u, doc.Document))
	}
	found, err := s.getAll(ctx, keys, false)
	if err != nil {
		return nil, err
	}
	all := make(map[string]collab.Preferences, len(users))
	for i, u := range users {
		p := collab.DefaultPreferences
		for _, k := range keys[2*i : 2*i+2] {
			if v := found[k].text(table.Inbox); v != "" {
				p.Inbox = collab.Preference(v)
			}
			if v := found[k].text(table.Mail); v != "" {
				p.Email = collab.Preference(v)
			}
		}
		all[u] = p
	}
	return all, nil
}

// DueShards is the number of parts that the pending work is spread over.
const DueShards = table.DueShards

// Due returns up to most entries of a shard of the pending work, 0 to DueShards-1, that are due at the time until or before, earliest
// first. Eventually consistent.
func (s *Store) Due(ctx context.Context, shard int, until collab.Millis, most int) ([]collab.DueWork, error) {
	var items []item
	keys := span{everything.from, table.Time(until) + table.AfterChildren}
	for more := true; more && len(items) < most; {
		var page []item
		var err error
		page, more, err = s.queryPage(ctx, scan{pk: table.DuePartition(shard), keys: keys, limit: most - len(items)})
		if err != nil {
			return nil, err
		}
		for _, it := range page {
			keys = keys.after(it.text(table.SK))
		}
		items = append(items, page...)
	}
	list := make([]collab.DueWork, len(items))
	for i, it := range items {
		ms, kind, acct, id, err := table.ParseDue(it.text(table.SK))
		if err != nil {
			return nil, fail(ctx, err)
		}
		w := collab.DueWork{
			EventRef: collab.EventRef{Account: acct, ID: id}, At: ms,
			Moves: it.num(table.Attempts), Since: it.num(table.StartedAt), Expires: it.num(table.Expires) * 1000,
		}
		if kind == DueDelivery {
			parts, err := table.Split(id)
			if err != nil || len(parts) != 2 {
				return nil, fail(ctx, errors.Join(err, errors.New("not the id of a delivery's pending work")))
			}
			w.WebhookID, w.ID = parts[0], parts[1]
		}
		list[i] = w
	}
	return list, nil
}

// MoveDue moves pending work on to a later time. It reports false when there is nothing to do at its time: another run of the relay has
// moved it, or it is done. Then nothing is left of it at that time.
func (s *Store) MoveDue(ctx context.Context, w collab.DueWork, to collab.Millis) (bool, error) {
	kind, id := DueEvent, w.ID
	e := newExpression()
	due := e.name(table.DueAt)
	set := "SET " + due + " = " + e.value(num(to))
	var place *types.Update // where the work stands
	if w.WebhookID == "" {
		place = s.progressUpdate(w.EventRef, e, set, "")
	} else {
		kind, id = DueDelivery, deliveryDueID(w.WebhookID, w.ID)
		condition := due + " = " + e.value(num(w.At))
		set += " ADD " + e.name(table.Rev) + " " + e.value(num(1))
		place = &types.Update{
			TableName: &s.table, Key: keyOf(table.Delivery(w.Account, w.WebhookID, w.ID)), UpdateExpression: &set,
			ConditionExpression: &condition, ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		}
	}
	there := "attribute_exists(" + table.PK + ")"
	old := table.Due(w.At, kind, w.Account, id)
	refused, err := s.transact(ctx, []types.TransactWriteItem{
		{Delete: &types.Delete{TableName: &s.table, Key: keyOf(old), ConditionExpression: &there}},
		{Put: &types.Put{TableName: &s.table, Item: dueItem(to, kind, w.Account, id, w.Moves+1, w.Since, w.Expires/1000)}},
		{Update: place},
	})
	if err != nil || refused == nil {
		return err == nil, err
	}
	return false, s.delete(ctx, old)
}

// DropDue deletes pending work.
func (s *Store) DropDue(ctx context.Context, w collab.DueWork) error {
	if w.WebhookID == "" {
		return s.delete(ctx, table.Due(w.At, DueEvent, w.Account, w.ID))
	}
	return s.delete(ctx, table.Due(w.At, DueDelivery, w.Account, deliveryDueID(w.WebhookID, w.ID)))
}

// Backlog records whether a queue is long at the moment, and returns since when it has been without a break; 0 when it is not.
func (s *Store) Backlog(ctx context.Context, queue string, long bool) (collab.Millis, error) {
	k := table.Backlog(queue)
	if !long {
		return 0, s.delete(ctx, k)
	}
	e := newExpression()
	at := e.name(table.StartedAt)
	set := "SET " + at + " = if_not_exists(" + at + ", " + e.value(num(s.millis())) + ")"
	out, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: keyOf(k), UpdateExpression: &set,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil {
		return 0, fail(ctx, err)
	}
	return item(out.Attributes).num(table.StartedAt), nil
}
