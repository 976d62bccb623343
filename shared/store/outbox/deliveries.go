package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// A delivery is one item for as long as it is kept. While it is new it is found by its event's id, behind the lane's Low. Once it waits
// for a time, a pointer beside it says so.

func shards(l *collab.Lane) int { return max(l.Shards, 1) }

func deliveryKey(l *collab.Lane, d *collab.Delivery) table.Key {
	return table.Delivery(l.Account, l.WebhookID, l.Made, d.Shard, d.EventID)
}

func deliveryItem(l *collab.Lane, d collab.Delivery) store.Item {
	it := store.ItemOf(deliveryKey(l, &d), d)
	it[table.Expires] = store.Number(expiry(d.CreatedAt))
	return it
}

func readDelivery(hook string, it store.Item) (d collab.Delivery, err error) {
	if err := it.Decode(&d); err != nil {
		return d, err
	}
	d.WebhookID, d.EventID = hook, it.Text(table.SK)
	if d.Shard, err = table.ParseDeliveryPartition(it.Text(table.PK)); err != nil {
		return d, store.Unreadable(it.Key(), err)
	}
	return d, nil
}

// AddDelivery adds a new delivery to a lane unless there is one of its event, and returns the one that is there then. Of the lane it needs
// to know Made and Shards; fewer shards than there are do no harm.
func (s *Store) AddDelivery(ctx context.Context, l *collab.Lane, d collab.Delivery) (collab.Delivery, error) {
	d.Rev, d.Shard = 1, table.DeliveryShard(d.EventID, shards(l))
	there, err := s.PutNew(ctx, deliveryItem(l, d))
	if err != nil || there == nil {
		return d, err
	}
	return readDelivery(d.WebhookID, there)
}

// Delivery reads the delivery of an event to an endpoint; NOT_FOUND when there is none, or no more.
func (s *Store) Delivery(ctx context.Context, l *collab.Lane, event string) (d collab.Delivery, err error) {
	for _, shard := range []int{table.DeliveryShard(event, shards(l)), 0} { // the second is where it is from before there were more
		it, err := s.Get(ctx, table.Delivery(l.Account, l.WebhookID, l.Made, shard, event))
		if err != nil {
			return d, err
		}
		if it != nil {
			return readDelivery(l.WebhookID, it)
		}
		if shard == 0 {
			break
		}
	}
	return d, collab.Errorf(collab.NotFound, "webhook %q has no delivery of event %q", l.WebhookID, event)
}

// SaveDelivery writes a delivery that was read as before, with where it waits. It fails with ABORTED when another has written it since.
func (s *Store) SaveDelivery(ctx context.Context, l *collab.Lane, before, after collab.Delivery) error {
	mark := s.NewMark()
	refused, err := s.Write(ctx, s.saveDelivery(l, before, after, mark)...)
	if err == nil && refused != nil && !refused.By(mark) {
		err = store.ErrAborted("the delivery of event " + after.EventID)
	}
	return err
}

func (s *Store) saveDelivery(l *collab.Lane, before, after collab.Delivery, mark string) []store.Write {
	after.LastUpdated, after.Rev = s.Millis(), before.Rev+1
	it := deliveryItem(l, after)
	it[table.Writer] = store.Text(mark)
	writes := []store.Write{store.Save[collab.Delivery](s.Table, it, store.Item{table.Rev: store.Number(before.Rev)})}
	if before.Waits && (!after.Waits || after.NextAttempt != before.NextAttempt) {
		writes = append(writes, s.Remove(table.Waiting(it.Key(), before.NextAttempt)))
	}
	if after.Waits && (!before.Waits || after.NextAttempt != before.NextAttempt) {
		pointer := store.NewItem(table.Waiting(it.Key(), after.NextAttempt))
		pointer[table.Expires] = store.Number(expiry(after.CreatedAt))
		writes = append(writes, s.Replace(pointer))
	}
	return writes
}

// shareMargin is what is read of a shard beyond its share of a page: of shards that are alike one always has more than the others.
const shareMargin = 10

// deliveries reads up to most items of a span of a lane's sort keys, in their order over all its shards. more reports that there are others
// behind them: there is at least one item then.
func (s *Store) deliveries(ctx context.Context, l *collab.Lane, keys store.Span, most int, newest bool) (list []store.Item, more bool, err error) {
	pks := make([]string, shards(l))
	for i := range pks {
		pks[i] = table.DeliveryPartition(l.Account, l.WebhookID, l.Made, i)
	}
	share := min(most, most/len(pks)+shareMargin)
	return s.merged(ctx, pks, store.Scan{Keys: keys, Limit: share, Newest: newest, Strong: true}, most)
}

// behindEvents sorts behind all event ids, and before where deliveries wait.
const behindEvents = "{"

// NewDeliveries returns those of up to most deliveries of a lane, from an event on, that are new: pending, and not waiting. next is the event
// to go on from, "" when there are no more. Those that can't be read are passed over, and told to skip.
func (s *Store) NewDeliveries(ctx context.Context, l *collab.Lane, from string, most int, skip func(error)) (list []collab.Delivery, next string, err error) {
	items, more, err := s.deliveries(ctx, l, store.Span{From: max(from, store.Everything.From), To: behindEvents}, most, false)
	if err != nil {
		return nil, "", err
	}
	for _, it := range items {
		if d, err := readDelivery(l.WebhookID, it); err != nil {
			skip(err)
		} else if d.State == collab.DeliveryPending && !d.Waits {
			list = append(list, d)
		}
	}
	if more && len(items) > 0 {
		next = items[len(items)-1].Text(table.SK) + "0"
	}
	return list, next, nil
}

// WaitingDeliveries returns up to most deliveries of a lane that wait for the time until or before, earliest first, and for when the first
// behind them waits, 0 for none. Those that can't be read are passed over, and told to skip.
func (s *Store) WaitingDeliveries(ctx context.Context, l *collab.Lane, until collab.Millis, most int, skip func(error)) (list []collab.Delivery, next collab.Millis, err error) {
	var keys []table.Key
	at := map[table.Key]collab.Millis{}
	for span, more := (store.Span{From: table.Waits}), true; more && next == 0; {
		var pointers []store.Item
		if pointers, more, err = s.deliveries(ctx, l, span, most+1-len(keys), false); err != nil {
			return nil, 0, err
		}
		for _, it := range pointers {
			sk, ms, err := table.ParseWaiting(it.Text(table.SK))
			span = span.After(it.Text(table.SK))
			if err != nil {
				skip(store.Unreadable(it.Key(), err))
				continue
			}
			if ms > until || len(keys) == most {
				next = ms
				break
			}
			k := table.Key{PK: it.Text(table.PK), SK: sk}
			keys, at[k] = append(keys, k), ms
		}
	}
	found, err := s.GetAll(ctx, keys, true)
	if err != nil {
		return nil, 0, err
	}
	for _, k := range keys {
		d, err := readDelivery(l.WebhookID, found[k])
		if found[k] == nil || err != nil {
			skip(store.Unreadable(k, err))
			continue
		}
		if d.Waits && d.NextAttempt == at[k] {
			list = append(list, d)
		}
	}
	return list, next, nil
}

// deliveriesExamined bounds what one page of deliveries looks at.
const deliveriesExamined = 1_000

// Deliveries returns up to most deliveries of an endpoint that pass the filter, newest event first, behind the event id after ("" for the
// newest). next is the position of the next page, "" when the list ends: a page may hold fewer than most, even none, and have one.
// Strongly consistent.
func (s *Store) Deliveries(ctx context.Context, acct, hook string, f collab.DeliveryFilter, after string, most int) (list []collab.Delivery, next string, err error) {
	l, err := s.laneOf(ctx, acct, hook)
	if err != nil {
		return nil, "", err
	}
	keys := store.Span{From: max(collab.EarliestID(f.After), store.Everything.From), To: behindEvents}
	if f.Before != 0 {
		keys.To = collab.EarliestID(f.Before + 1)
	}
	for examined := 0; ; {
		items, more, err := s.deliveries(ctx, l, keys.Before(after), min(most+1, deliveriesExamined), true)
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
