package outbox

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// deliveryItem is the delivery of an event to a webhook endpoint.
type deliveryItem struct {
	Type        collab.EventType     `dynamodbav:"typ"`
	State       collab.DeliveryState `dynamodbav:"sta"`
	Made        int                  `dynamodbav:"made"`
	NextAttempt collab.Millis        `dynamodbav:"next"`
	Due         collab.Millis        `dynamodbav:"due,omitempty"`
	CreatedAt   collab.Millis        `dynamodbav:"ca"`
	LastUpdated collab.Millis        `dynamodbav:"lu"`
	Rev         int64                `dynamodbav:"rev"`
	Expires     int64                `dynamodbav:"ttl"`
	Attempts    store.JSON           `dynamodbav:"try,omitempty"`
}

func encodeDelivery(acct string, d collab.Delivery) (store.Item, error) {
	k := table.Delivery(acct, d.WebhookID, d.EventID)
	it := deliveryItem{
		d.Type, d.State, d.Made, d.NextAttempt, d.Due, d.CreatedAt, d.LastUpdated, d.Rev, expiry(d.CreatedAt), nil,
	}
	if len(d.Attempts) > 0 {
		attempts, err := json.Marshal(d.Attempts)
		if err != nil {
			return nil, store.Unreadable(k, err)
		}
		it.Attempts = attempts
	}
	return store.Encode(k, it)
}

func readDelivery(hook string, it store.Item) (d collab.Delivery, err error) {
	id, err := table.Unescape(it.Text(table.SK))
	if err != nil {
		return d, store.Unreadable(it.Key(), err)
	}
	var stored deliveryItem
	if err := it.Decode(&stored); err != nil {
		return d, err
	}
	d = collab.Delivery{
		WebhookID: hook, EventID: id, Type: stored.Type, State: stored.State, Made: stored.Made, NextAttempt: stored.NextAttempt,
		Due: stored.Due, CreatedAt: stored.CreatedAt, LastUpdated: stored.LastUpdated, Rev: stored.Rev,
	}
	if stored.Attempts != nil {
		if err := json.Unmarshal(stored.Attempts, &d.Attempts); err != nil {
			return d, store.Unreadable(it.Key(), err)
		}
	}
	return d, nil
}

// AddDelivery adds a delivery unless there is one of this event to this endpoint, and returns the one that is there then.
func (s *Store) AddDelivery(ctx context.Context, acct string, d collab.Delivery) (collab.Delivery, error) {
	d.Rev = 1
	it, err := encodeDelivery(acct, d)
	if err != nil {
		return d, err
	}
	there, err := s.PutNew(ctx, it)
	if err != nil || there == nil {
		return d, err
	}
	return readDelivery(d.WebhookID, there)
}

// Delivery reads the delivery of an event to an endpoint; NOT_FOUND when there is none, or no more.
func (s *Store) Delivery(ctx context.Context, acct, hook, event string) (collab.Delivery, error) {
	it, err := s.Get(ctx, table.Delivery(acct, hook, event))
	if err != nil {
		return collab.Delivery{}, err
	}
	if it == nil {
		return collab.Delivery{}, collab.Errorf(collab.NotFound, "webhook %q has no delivery of event %q", hook, event)
	}
	return readDelivery(hook, it)
}

// DeliveryWork reads a webhook endpoint and one delivery to it, in one call; nil for what is not there.
func (s *Store) DeliveryWork(ctx context.Context, acct, hook, event string) (*collab.Webhook, *collab.Delivery, error) {
	hookKey, deliveryKey := table.Webhook(acct, hook), table.Delivery(acct, hook, event)
	found, err := s.GetAll(ctx, []table.Key{hookKey, deliveryKey}, true)
	if err != nil {
		return nil, nil, err
	}
	var w *collab.Webhook
	var d *collab.Delivery
	if it := found[hookKey]; it != nil {
		read, err := readWebhook(it)
		if err != nil {
			return nil, nil, err
		}
		w = &read
	}
	if it := found[deliveryKey]; it != nil {
		read, err := readDelivery(hook, it)
		if err != nil {
			return nil, nil, err
		}
		d = &read
	}
	return w, d, nil
}

// SaveDelivery writes a delivery that was read as before, and moves its pending work to after.Due: none for 0. It returns the delivery as
// it is then. It fails with ABORTED when another has written it since.
func (s *Store) SaveDelivery(ctx context.Context, acct string, before, after collab.Delivery) (collab.Delivery, error) {
	after.Rev = before.Rev + 1
	after.LastUpdated = s.Millis()
	old, err := encodeDelivery(acct, before)
	if err != nil {
		return after, err
	}
	it, err := encodeDelivery(acct, after)
	if err != nil {
		return after, err
	}
	mark := s.NewMark()
	write, err := s.Change(old, it, mark)
	if err != nil {
		return after, err
	}
	writes := []store.Write{write}
	if before.Due != after.Due {
		if before.Due != 0 {
			writes = append(writes, s.Remove(deliveryDue(before.Due, acct, after.WebhookID, after.EventID)))
		}
		if after.Due != 0 {
			work, err := dueItem(deliveryDue(after.Due, acct, after.WebhookID, after.EventID), 0, after.Due, expiry(after.CreatedAt))
			if err != nil {
				return after, err
			}
			writes = append(writes, s.Replace(work))
		}
	}
	refused, err := s.Write(ctx, writes...)
	if err == nil && refused != nil && !refused.By(mark) {
		err = collab.Errorf(collab.Aborted, "the delivery of event %q to webhook %q was changed at the same time: try again", after.EventID, after.WebhookID)
	}
	return after, err
}

// deliveriesExamined bounds what one page of deliveries looks at.
const deliveriesExamined = 1_000

// Deliveries returns up to most deliveries of an endpoint that pass the filter, newest event first, behind the event id after ("" for the
// newest). next is the position of the next page, "" when the list ends: a page may hold fewer than most, even none, and have one.
// Strongly consistent.
func (s *Store) Deliveries(ctx context.Context, acct, hook string, f collab.DeliveryFilter, after string, most int) (list []collab.Delivery, next string, err error) {
	keys := store.Span{From: collab.EarliestID(f.After)}
	if f.Before != 0 {
		keys.To = collab.EarliestID(f.Before + 1)
	}
	for examined := 0; ; {
		items, more, err := s.QueryPage(ctx, store.Scan{
			PK: table.Delivery(acct, hook, "").PK, Keys: keys.Before(after), Limit: min(most+1, deliveriesExamined), Newest: true, Strong: true,
		})
		if err != nil {
			return nil, "", err
		}
		for _, it := range items {
			d, err := readDelivery(hook, it)
			if err != nil {
				return nil, "", err
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
		again.Replay(s.Millis())
		saved, err := s.SaveDelivery(ctx, acct, d, again)
		if collab.CodeOf(err) != collab.Aborted || n == 5 || !s.Backoff(ctx, n) {
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
	err = store.Each(ctx, len(list), func(ctx context.Context, i int) error {
		_, err := s.ReplayDelivery(ctx, acct, hook, list[i].EventID)
		if collab.CodeOf(err) == collab.NotFound {
			return nil // it has expired
		}
		return err
	})
	return len(list), next, err
}
