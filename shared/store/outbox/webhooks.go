package store

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// storedWebhook is what the owner of a webhook endpoint set, as the JSON of its item.
type storedWebhook struct {
	URL         string                 `json:"url"`
	Description string                 `json:"description,omitempty"`
	EventTypes  []collab.EventType     `json:"eventTypes,omitempty"`
	Secrets     []collab.WebhookSecret `json:"secrets"`
}

func webhookItem(acct string, w collab.Webhook) (item, error) {
	body, err := json.Marshal(storedWebhook{w.URL, w.Description, w.EventTypes, w.Secrets})
	it := newItem(table.Webhook(acct, w.ID))
	it.setJSON(table.Body, body)
	if w.Disabled {
		it.setBool(table.Disabled, &w.Disabled)
	}
	it.setText(table.Reason, w.DisabledReason)
	it.setNum(table.CreatedAt, w.CreatedAt)
	it.setNum(table.LastUpdated, w.LastUpdated)
	it.setNum(table.Rev, w.Rev)
	return it, err
}

func readWebhook(it item) (collab.Webhook, error) {
	var w collab.Webhook
	id, err := table.Unescape(it.text(table.SK))
	if err != nil {
		return w, err
	}
	var stored storedWebhook
	if err := json.Unmarshal(it.json(table.Body), &stored); err != nil {
		return w, err
	}
	disabled := it.bool(table.Disabled)
	return collab.Webhook{
		ID: id, URL: stored.URL, Description: stored.Description, EventTypes: stored.EventTypes, Secrets: stored.Secrets,
		Disabled: disabled != nil && *disabled, DisabledReason: it.text(table.Reason),
		CreatedAt: it.num(table.CreatedAt), LastUpdated: it.num(table.LastUpdated), Rev: it.num(table.Rev),
		Health: collab.WebhookHealth{
			Failures: int(it.num(table.Failures)), FailingSince: it.num(table.FailingSince), NextProbe: it.num(table.NextProbe),
		},
	}, nil
}

func noWebhook(id string) error {
	return collab.Errorf(collab.NotFound, "webhook %q does not exist", id)
}

// PutWebhook adds a webhook endpoint whose Rev is 0, and fails with ALREADY_EXISTS when there is one with its id. With another Rev it
// changes the endpoint, and fails with ABORTED when that is no longer its Rev and NOT_FOUND when it does not exist. It returns the endpoint
// as it is then, its health forgotten: whoever changes an endpoint gives it a fresh start.
func (s *Store) PutWebhook(ctx context.Context, acct string, w collab.Webhook) (collab.Webhook, error) {
	before := w.Rev
	w.Rev++
	w.Health = collab.WebhookHealth{}
	it, err := webhookItem(acct, w)
	if err != nil {
		return w, fail(ctx, err)
	}
	if err := checkSize(it, "the webhook"); err != nil {
		return w, err
	}
	in := putNew(s.table, it).Put
	if before > 0 {
		in.ConditionExpression = aws.String(table.Rev + " = :rev")
		in.ExpressionAttributeValues = map[string]types.AttributeValue{":rev": num(before)}
	}
	_, err = s.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: in.TableName, Item: in.Item, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeValues:           in.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
	refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	switch {
	case !ok:
		return w, fail(ctx, err)
	case refused.Item == nil:
		return w, noWebhook(w.ID)
	case maps.EqualFunc(refused.Item, it, equal):
		return w, nil // our own write, whose answer was lost
	case before == 0:
		return w, collab.Errorf(collab.AlreadyExists, "webhook %q already exists", w.ID)
	}
	return w, collab.Errorf(collab.Aborted, "webhook %q was changed at the same time: try again", w.ID)
}

// Webhook reads a webhook endpoint of the account; NOT_FOUND when it does not exist.
func (s *Store) Webhook(ctx context.Context, acct, id string) (collab.Webhook, error) {
	it, err := s.get(ctx, table.Webhook(acct, id))
	if err != nil {
		return collab.Webhook{}, err
	}
	if it == nil {
		return collab.Webhook{}, noWebhook(id)
	}
	w, err := readWebhook(it)
	return w, fail(ctx, err)
}

// Webhooks returns the webhook endpoints of the account by id. Strongly consistent.
func (s *Store) Webhooks(ctx context.Context, acct string) ([]collab.Webhook, error) {
	items, err := s.query(ctx, scan{pk: table.Webhook(acct, "").PK, keys: everything, strong: true})
	if err != nil {
		return nil, err
	}
	list := make([]collab.Webhook, len(items))
	for i, it := range items {
		if list[i], err = readWebhook(it); err != nil {
			return nil, fail(ctx, err)
		}
	}
	return list, nil
}

// DeleteWebhook deletes a webhook endpoint; NOT_FOUND when it does not exist. What was on its way to it is canceled when it comes up, and
// the record of its deliveries expires.
func (s *Store) DeleteWebhook(ctx context.Context, acct, id string) error {
	out, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: keyOf(table.Webhook(acct, id)), ReturnValues: types.ReturnValueAllOld,
	})
	if err != nil {
		return fail(ctx, err)
	}
	if len(out.Attributes) == 0 {
		return noWebhook(id)
	}
	return nil
}

// DisableWebhook disables a webhook endpoint for a reason and records the event that tells of it, both or neither. disabled is false, and
// nothing has changed, when it is disabled already or does not exist.
func (s *Store) DisableWebhook(ctx context.Context, acct, id, reason string, ev *collab.Event) (disabled bool, err error) {
	outbox, err := s.outbox(events(ev))
	if err != nil {
		return false, err
	}
	e := newExpression()
	update := "SET " + e.name(table.Disabled) + " = " + e.value(&types.AttributeValueMemberBOOL{Value: true}) +
		", " + e.name(table.Reason) + " = " + e.value(str(reason)) +
		", " + e.name(table.LastUpdated) + " = " + e.value(num(s.millis())) +
		" ADD " + e.name(table.Rev) + " " + e.value(num(1))
	condition := "attribute_exists(" + e.name(table.PK) + ") AND attribute_not_exists(" + e.name(table.Disabled) + ")"
	refused, err := s.transact(ctx, append([]types.TransactWriteItem{{Update: &types.Update{
		TableName: &s.table, Key: keyOf(table.Webhook(acct, id)), UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
	}}}, outbox...))
	return err == nil && refused == nil, err
}

// updateWebhook updates what deliveries know of an endpoint, on a condition beside that it exists. It returns the endpoint as it is then,
// nil when the condition is refused.
func (s *Store) updateWebhook(ctx context.Context, acct, id string, e *expression, update, condition string) (*collab.Webhook, error) {
	condition = "attribute_exists(" + e.name(table.PK) + ")" + condition
	out, err := s.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: keyOf(table.Webhook(acct, id)), UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValues: types.ReturnValueAllNew,
	})
	if isConditionFailed(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fail(ctx, err)
	}
	w, err := readWebhook(out.Attributes)
	return &w, fail(ctx, err)
}

// CountFailure records that a post to an endpoint failed at the time now, and that the next probe is made at nextProbe when it rests. It
// returns the endpoint as it is then, nil when it does not exist. A failure may be counted twice when the table's answer is lost.
func (s *Store) CountFailure(ctx context.Context, acct, id string, now, nextProbe collab.Millis) (*collab.Webhook, error) {
	e := newExpression()
	since, probe := e.name(table.FailingSince), e.name(table.NextProbe)
	update := "SET " + since + " = if_not_exists(" + since + ", " + e.value(num(now)) + "), " + probe + " = " + e.value(num(nextProbe)) +
		" ADD " + e.name(table.Failures) + " " + e.value(num(1))
	return s.updateWebhook(ctx, acct, id, e, update, "")
}

// ForgetFailures records that a post to an endpoint succeeded. An endpoint that does not exist is no error.
func (s *Store) ForgetFailures(ctx context.Context, acct, id string) error {
	e := newExpression()
	update := "SET " + e.name(table.Failures) + " = " + e.value(num(0)) + " REMOVE " + e.name(table.FailingSince) + ", " + e.name(table.NextProbe)
	_, err := s.updateWebhook(ctx, acct, id, e, update, "")
	return err
}

// ClaimProbe claims the probe of a resting endpoint, and sets the time of the next one. It reports false when that is later than now:
// another has claimed it.
func (s *Store) ClaimProbe(ctx context.Context, acct, id string, now, next collab.Millis) (bool, error) {
	e := newExpression()
	probe := e.name(table.NextProbe)
	w, err := s.updateWebhook(ctx, acct, id, e, "SET "+probe+" = "+e.value(num(next)), " AND "+probe+" <= "+e.value(num(now)))
	return w != nil, err
}

// A delivery's item.

func (s *Store) deliveryItem(acct string, d collab.Delivery) (item, error) {
	it := newItem(table.Delivery(acct, d.WebhookID, d.EventID))
	it.setText(table.Type, string(d.Type))
	it.setText(table.State, string(d.State))
	it.setNum(table.Made, int64(d.Made))
	it.setNum(table.NextAttempt, d.NextAttempt)
	if d.Due != 0 {
		it.setNum(table.DueAt, d.Due)
	}
	it.setNum(table.CreatedAt, d.CreatedAt)
	it.setNum(table.LastUpdated, d.LastUpdated)
	it.setNum(table.Rev, d.Rev)
	it.setNum(table.Expires, expiry(d.CreatedAt))
	attempts, err := json.Marshal(d.Attempts)
	if len(d.Attempts) > 0 {
		it.setJSON(table.Attempts, attempts)
	}
	return it, err
}

func readDelivery(hook string, it item) (collab.Delivery, error) {
	var d collab.Delivery
	id, err := table.Unescape(it.text(table.SK))
	if err != nil {
		return d, err
	}
	d = collab.Delivery{
		WebhookID: hook, EventID: id, Type: collab.EventType(it.text(table.Type)), State: collab.DeliveryState(it.text(table.State)),
		Made: int(it.num(table.Made)), NextAttempt: it.num(table.NextAttempt), Due: it.num(table.DueAt),
		CreatedAt: it.num(table.CreatedAt), LastUpdated: it.num(table.LastUpdated), Rev: it.num(table.Rev),
	}
	if text := it.json(table.Attempts); text != nil {
		err = json.Unmarshal(text, &d.Attempts)
	}
	return d, err
}

// AddDelivery adds a delivery unless there is one of this event to this endpoint, and returns the one that is there then.
func (s *Store) AddDelivery(ctx context.Context, acct string, d collab.Delivery) (collab.Delivery, error) {
	d.Rev = 1
	it, err := s.deliveryItem(acct, d)
	if err != nil {
		return d, fail(ctx, err)
	}
	there, err := s.putIfNew(ctx, it)
	if err != nil || there == nil {
		return d, err
	}
	d, err = readDelivery(d.WebhookID, there)
	return d, fail(ctx, err)
}

// Delivery reads the delivery of an event to an endpoint; NOT_FOUND when there is none, or no more.
func (s *Store) Delivery(ctx context.Context, acct, hook, event string) (collab.Delivery, error) {
	it, err := s.get(ctx, table.Delivery(acct, hook, event))
	if err != nil {
		return collab.Delivery{}, err
	}
	if it == nil {
		return collab.Delivery{}, collab.Errorf(collab.NotFound, "webhook %q has no delivery of event %q", hook, event)
	}
	d, err := readDelivery(hook, it)
	return d, fail(ctx, err)
}

// DeliveryWork reads a webhook endpoint and one delivery to it, in one call; nil for what is not there.
func (s *Store) DeliveryWork(ctx context.Context, acct, hook, event string) (*collab.Webhook, *collab.Delivery, error) {
	hookKey, deliveryKey := table.Webhook(acct, hook), table.Delivery(acct, hook, event)
	found, err := s.getAll(ctx, []table.Key{hookKey, deliveryKey}, true)
	if err != nil {
		return nil, nil, err
	}
	var w *collab.Webhook
	var d *collab.Delivery
	if it := found[hookKey]; it != nil {
		read, err := readWebhook(it)
		if err != nil {
			return nil, nil, fail(ctx, err)
		}
		w = &read
	}
	if it := found[deliveryKey]; it != nil {
		read, err := readDelivery(hook, it)
		if err != nil {
			return nil, nil, fail(ctx, err)
		}
		d = &read
	}
	return w, d, nil
}

// SaveDelivery writes a delivery that was read as before, and moves its pending work to after.Due: none for 0. It returns the delivery as
// it is then. It fails with ABORTED when another has written it since.
func (s *Store) SaveDelivery(ctx context.Context, acct string, before, after collab.Delivery) (collab.Delivery, error) {
	after.Rev = before.Rev + 1
	after.LastUpdated = s.millis()
	it, err := s.deliveryItem(acct, after)
	if err != nil {
		return after, fail(ctx, err)
	}
	e := newExpression()
	condition := e.name(table.Rev) + " = " + e.value(num(before.Rev))
	put := &types.Put{
		TableName: &s.table, Item: it, ConditionExpression: &condition, ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	aborted := collab.Errorf(collab.Aborted, "the delivery of event %q to webhook %q was changed at the same time: try again", after.EventID, after.WebhookID)
	if before.Due == after.Due {
		_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
			ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
		})
		refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case !ok:
			return after, fail(ctx, err)
		case maps.EqualFunc(refused.Item, it, equal):
			return after, nil // our own write, whose answer was lost
		}
		return after, aborted
	}
	writes := []types.TransactWriteItem{{Put: put}}
	id := deliveryDueID(after.WebhookID, after.EventID)
	if before.Due != 0 {
		writes = append(writes, types.TransactWriteItem{Delete: &types.Delete{
			TableName: &s.table, Key: keyOf(table.Due(before.Due, DueDelivery, acct, id)),
		}})
	}
	if after.Due != 0 {
		writes = append(writes, types.TransactWriteItem{Put: &types.Put{
			TableName: &s.table, Item: dueItem(after.Due, DueDelivery, acct, id, 0, after.Due, expiry(after.CreatedAt)),
		}})
	}
	refused, err := s.transact(ctx, writes)
	if err == nil && refused != nil && !maps.EqualFunc(refused[0].Item, it, equal) { // else it is our own write, whose answer was lost
		err = aborted
	}
	return after, err
}

// deliveriesExamined bounds what one page of deliveries looks at.
const deliveriesExamined = 1_000

// Deliveries returns up to most deliveries of an endpoint that pass the filter, newest event first, behind the event id after ("" for the
// newest). next is the position of the next page, "" when the list ends: a page may hold fewer than most, even none, and have one.
// Strongly consistent.
func (s *Store) Deliveries(ctx context.Context, acct, hook string, f collab.DeliveryFilter, after string, most int) (list []collab.Delivery, next string, err error) {
	keys := span{from: collab.EarliestID(f.After)}
	if f.Before != 0 {
		keys.to = collab.EarliestID(f.Before + 1)
	}
	for examined := 0; ; {
		items, more, err := s.queryPage(ctx, scan{
			pk: table.Delivery(acct, hook, "").PK, keys: keys.before(after), limit: min(most+1, deliveriesExamined), newest: true, strong: true,
		})
		if err != nil {
			return nil, "", err
		}
		for _, it := range items {
			d, err := readDelivery(hook, it)
			if err != nil {
				return nil, "", fail(ctx, err)
			}
			if len(list) == most {
				return list, after, nil
			}
			after = d.EventID
			if f.Matches(&d) {
				list = append(list, d)
			}
		}
		if !more {
			return list, "", nil
		}
		if examined += len(items); examined >= deliveriesExamined {
			return list, after, nil
		}
	}
}

// ReplayDelivery makes a delivery pending again, whatever had become of it; the relay wakes it. It fails with NOT_FOUND when there is none.
func (s *Store) ReplayDelivery(ctx context.Context, acct, hook, event string) (collab.Delivery, error) {
	for n := 0; ; n++ {
		d, err := s.Delivery(ctx, acct, hook, event)
		if err != nil {
			return d, err
		}
		again := d
		again.Replay(s.millis())
		saved, err := s.SaveDelivery(ctx, acct, d, again)
		if collab.CodeOf(err) != collab.Aborted || n == tries || !s.backoff(ctx, n) {
			return saved, err
		}
	}
}

// ReplayDeliveries makes deliveries of an endpoint that pass the filter pending again, as ReplayDelivery does: one page of Deliveries, whose
// positions it takes and returns. replayed is how many it were.
func (s *Store) ReplayDeliveries(ctx context.Context, acct, hook string, f collab.DeliveryFilter, after string, most int) (replayed int, next string, err error) {
	list, next, err := s.Deliveries(ctx, acct, hook, f, after, most)
	if err != nil {
		return 0, "", err
	}
	err = each(ctx, len(list), func(ctx context.Context, i int) error {
		_, err := s.ReplayDelivery(ctx, acct, hook, list[i].EventID)
		if collab.CodeOf(err) == collab.NotFound {
			return nil // it has expired
		}
		return err
	})
	return len(list), next, err
}

func expiry(created collab.Millis) int64 {
	return created/1000 + int64(eventRetention.Seconds())
}

func deliveryDueID(hook, event string) string { return table.Join(hook, event) }

// dueItem is pending work that was moved on so many times, which should have been done at since.
func dueItem(ms int64, kind, acct, id string, moves int64, since collab.Millis, expires int64) item {
	it := newItem(table.Due(ms, kind, acct, id))
	it.setNum(table.Attempts, moves)
	it.setNum(table.StartedAt, since)
	it.setNum(table.Expires, expires)
	return it
}
