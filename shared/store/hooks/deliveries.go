package hooks

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"
)

// A delivery is a new item until its first attempt, which writes the kept item and deletes the new
// one. While a kept delivery waits for its next attempt, a pointer with its revision is listed by
// that time. So the new items and the pointers are exactly the work to do.

func newKey(e collab.EndpointRef, event string) keys.Key {
	return keys.NewDelivery(e.Account, e.WebhookID, e.CreatedAt, event)
}

func keptKey(e collab.EndpointRef, event string) keys.Key {
	return keys.Delivery(e.Account, e.WebhookID, e.CreatedAt, event)
}

func deliveryItem(k keys.Key, d collab.Delivery) store.Item {
	it := store.ItemOf(k, d)
	it[keys.Expires] = store.Number(outbox.Expiry(d.CreatedAt))
	return it
}

func waitingItem(k keys.Key, d collab.Delivery) store.Item {
	it := store.NewItem(keys.Waiting(k, d.NextAttempt))
	it[keys.Rev], it[keys.Expires] = store.Number(d.Rev), store.Number(outbox.Expiry(d.CreatedAt))
	return it
}

func readDelivery(hook string, it store.Item) (d collab.Delivery, err error) {
	err = it.Decode(&d)
	d.WebhookID, d.EventID = hook, it.Text(keys.SK)
	return d, err
}

// AddDelivery adds a new delivery to an endpoint. It is idempotent. If the delivery was already
// attempted, NewDeliveries deletes the new item.
func (s *Store) AddDelivery(ctx context.Context, e collab.EndpointRef, d collab.Delivery) error {
	_, err := s.Create(ctx, deliveryItem(newKey(e, d.EventID), d))
	return err
}

// Delivery returns the delivery of an event to an endpoint. It returns NOT_FOUND if there is none,
// or if it has expired.
func (s *Store) Delivery(ctx context.Context, e collab.EndpointRef, event string) (d collab.Delivery, err error) {
	stored, fresh := keptKey(e, event), newKey(e, event)
	found, err := s.GetAll(ctx, []keys.Key{stored, fresh}, true)
	if err != nil {
		return d, err
	}
	for _, k := range []keys.Key{stored, fresh} {
		if found[k] != nil {
			return readDelivery(e.WebhookID, found[k])
		}
	}
	return d, collab.Errorf(collab.NotFound, "webhook %q has no delivery of event %q", e.WebhookID, event)
}

// NewDeliveries returns up to limit new deliveries of an endpoint in the order of their events.
// more reports whether others follow. It deletes deliveries that were already attempted, and passes
// errors of unreadable ones to skip.
func (s *Store) NewDeliveries(
	ctx context.Context, e collab.EndpointRef, limit int, skip func(error),
) (list []collab.Delivery, more bool, err error) {
	itemKeys := store.Everything
	for more = true; more && len(list) < limit; {
		var items []store.Item
		if items, more, err = s.QueryPage(ctx, store.Scan{PK: newKey(e, "").PK, Keys: itemKeys, Limit: limit - len(list), Strong: true}); err != nil {
			return nil, false, err
		}
		stored := make([]keys.Key, len(items))
		for i, it := range items {
			stored[i], itemKeys = keptKey(e, it.Text(keys.SK)), itemKeys.After(it.Text(keys.SK))
		}
		found, err := s.GetAll(ctx, stored, false)
		if err != nil {
			return nil, false, err
		}
		for i, it := range items {
			d, err := readDelivery(e.WebhookID, it)
			switch existing := found[stored[i]]; {
			case err != nil:
				skip(err)
			case existing == nil:
				list = append(list, d)
			default:
				if err := s.attempted(ctx, e, existing, skip); err != nil {
					return nil, false, err
				}
			}
		}
	}
	return list, more, nil
}

// attempted deletes the new item of a kept delivery, and writes a pointer if it waits.
func (s *Store) attempted(ctx context.Context, e collab.EndpointRef, stored store.Item, skip func(error)) error {
	d, err := readDelivery(e.WebhookID, stored)
	if err != nil {
		skip(err)
	} else if d.State == collab.DeliveryPending {
		if err := s.Put(ctx, waitingItem(stored.Key(), d)); err != nil {
			return err
		}
	}
	return s.Delete(ctx, newKey(e, stored.Text(keys.SK)))
}

// SaveDelivery updates a delivery from before to after. It does nothing if before is out of date.
func (s *Store) SaveDelivery(ctx context.Context, e collab.EndpointRef, before, after collab.Delivery) error {
	if before.Rev > 0 {
		_, err := s.Write(ctx, s.saveDelivery(e, before, after, s.NewMark())...)
		return err
	}
	after.LastUpdated, after.Rev = s.Millis(), 1
	it := deliveryItem(keptKey(e, after.EventID), after)
	existing, err := s.Create(ctx, it)
	if err != nil {
		return err
	}
	if existing != nil {
		it = existing
	}
	return s.attempted(ctx, e, it, func(error) {})
}

func (s *Store) saveDelivery(e collab.EndpointRef, before, after collab.Delivery, mark string) []store.Write {
	after.LastUpdated, after.Rev = s.Millis(), before.Rev+1
	it := deliveryItem(keptKey(e, after.EventID), after)
	writes := []store.Write{store.Change(deliveryItem(it.Key(), before), it, mark)}
	waits := after.State == collab.DeliveryPending
	if before.State == collab.DeliveryPending && (!waits || after.NextAttempt != before.NextAttempt) {
		writes = append(writes, store.Delete(keys.Waiting(it.Key(), before.NextAttempt)))
	}
	if waits {
		writes = append(writes, store.Put(waitingItem(it.Key(), after)))
	}
	return writes
}

// WaitingDeliveries returns up to limit deliveries of an endpoint that are due by until, earliest
// first. next is the due time of the following one, or 0. It deletes pointers to expired or
// finished deliveries, and passes errors of unreadable ones to skip.
func (s *Store) WaitingDeliveries(
	ctx context.Context, e collab.EndpointRef, until collab.Millis, limit int, skip func(error),
) (list []collab.Delivery, next collab.Millis, err error) {
	pk, span := keptKey(e, "").PK, store.Span{From: keys.Waits}
	for more := true; more; {
		pointers, goesOn, err := s.QueryPage(ctx, store.Scan{PK: pk, Keys: span, Limit: limit - len(list) + 1, Strong: true})
		if err != nil {
			return nil, 0, err
		}
		next, more = 0, goesOn
		var itemKeys []keys.Key
		var due []store.Item
		for _, it := range pointers {
			sk, ms, err := keys.ParseWaiting(it.Text(keys.SK))
			if err == nil && (ms > until || len(list)+len(itemKeys) == limit) {
				next, more = ms, ms <= until
				break
			}
			span = span.After(it.Text(keys.SK))
			if err != nil {
				skip(store.Unreadable(it.Key(), err))
				continue
			}
			itemKeys, due = append(itemKeys, keys.Key{PK: pk, SK: sk}), append(due, it)
		}
		found, err := s.GetAll(ctx, itemKeys, true)
		if err != nil {
			return nil, 0, err
		}
		var obsolete []store.Item
		for i, k := range itemKeys {
			d, err := readDelivery(e.WebhookID, found[k])
			switch {
			case found[k] == nil || err == nil && (d.State != collab.DeliveryPending || d.Rev != due[i].Number(keys.Rev)):
				obsolete = append(obsolete, due[i])
			case err != nil:
				skip(err)
			default:
				list = append(list, d)
			}
		}
		err = store.Each(ctx, len(obsolete), func(ctx context.Context, i int) error {
			_, err := s.Write(ctx, store.DeleteRead(obsolete[i], keys.Rev))
			return err
		})
		if err != nil {
			return nil, 0, err
		}
		if len(list) == limit {
			break
		}
	}
	return list, next, nil
}

// afterEvents sorts after all event ids, and before the pointers.
const afterEvents = "{"

const deliveriesExamined = 1_000

// deliveries returns up to limit deliveries of an endpoint, kept and new, in a range of keys.
func (s *Store) deliveries(
	ctx context.Context, e collab.EndpointRef, itemKeys store.Span, limit int, newest bool,
) (list []collab.Delivery, more bool, err error) {
	pks := []string{keptKey(e, "").PK, newKey(e, "").PK}
	items, more, err := s.QueryMerged(ctx, pks, store.Scan{Keys: itemKeys, Limit: limit, Newest: newest, Strong: true}, limit)
	if err != nil {
		return nil, false, err
	}
	for _, it := range items {
		d, err := readDelivery(e.WebhookID, it)
		if err != nil {
			return nil, false, err
		}
		if n := len(list); n == 0 || list[n-1].EventID != d.EventID {
			list = append(list, d)
		}
	}
	return list, more, nil
}

func between(f collab.DeliveryFilter) store.Span {
	itemKeys := store.Span{From: max(collab.EarliestID(f.After), store.Everything.From), To: afterEvents}
	if f.Before != 0 {
		itemKeys.To = collab.EarliestID(f.Before + 1)
	}
	return itemKeys
}

// Deliveries returns up to limit deliveries of an endpoint that pass the filter, newest event
// first. after is an event id, or "" for the newest.
//
// next is the position of the next page, "" at the end. A page may be short or empty and still have
// a next one. It reads with strong consistency. It returns NOT_FOUND if the endpoint does not
// exist.
func (s *Store) Deliveries(
	ctx context.Context, acct, hook string, f collab.DeliveryFilter, after string, limit int,
) (list []collab.Delivery, next string, err error) {
	e, err := s.endpoint(ctx, acct, hook)
	if err != nil {
		return nil, "", err
	}
	for examined := 0; ; {
		page, more, err := s.deliveries(ctx, e, between(f).Before(after), min(limit+1, deliveriesExamined), true)
		if err != nil {
			return nil, "", err
		}
		for _, d := range page {
			if len(list) == limit {
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
		if examined += len(page); examined >= deliveriesExamined {
			return list, after, nil
		}
	}
}

func (s *Store) endpoint(ctx context.Context, acct, hook string) (e collab.EndpointRef, err error) {
	w, err := s.Webhook(ctx, acct, hook)
	return collab.EndpointRef{Account: acct, WebhookID: hook, CreatedAt: w.CreatedAt}, err
}

// ReplayDelivery makes a delivery pending again, whatever its state. The relay sends its endpoint.
// It returns NOT_FOUND if the delivery or the endpoint does not exist.
func (s *Store) ReplayDelivery(ctx context.Context, acct, hook, event string) error {
	e, err := s.endpoint(ctx, acct, hook)
	if err == nil {
		err = s.replay(ctx, e, event)
	}
	if err == nil {
		err = s.wake(ctx, e)
	}
	return err
}

func (s *Store) wake(ctx context.Context, e collab.EndpointRef) error {
	_, err := s.Write(ctx, s.outbox.Wake(EndpointTask(e.Account, e.WebhookID), false))
	return err
}

// replay makes a delivery due now. The caller must call wake afterwards.
func (s *Store) replay(ctx context.Context, e collab.EndpointRef, event string) error {
	mark := s.NewMark()
	return s.Try(ctx, "the delivery of event "+event, mark, func(ctx context.Context) ([]store.Write, error) {
		before, err := s.Delivery(ctx, e, event)
		if err != nil || before.Rev == 0 { // a new one is due anyway
			return nil, err
		}
		after := before
		after.Replay(s.Millis())
		return s.saveDelivery(e, before, after, mark), nil
	})
}

// replayReserve is the time that must remain to start another page.
const replayReserve = 10 * time.Second

// ReplayDeliveries makes up to limit deliveries of events since a time pending again, oldest first.
// after is an event id, or "" for the oldest. The relay sends the endpoint. next is the position of
// the next call, "" at the end; a call that runs out of time returns early. It returns NOT_FOUND if
// the endpoint does not exist.
func (s *Store) ReplayDeliveries(
	ctx context.Context, acct, hook string, since collab.Millis, after string, limit int,
) (replayed int, next string, err error) {
	e, err := s.endpoint(ctx, acct, hook)
	if err != nil {
		return 0, "", err
	}
	for {
		page, more, err := s.deliveries(ctx, e, between(collab.DeliveryFilter{After: since}).After(after), min(limit-replayed, deliveriesExamined), false)
		if err != nil {
			return replayed, "", err
		}
		err = store.Each(ctx, len(page), func(ctx context.Context, i int) error {
			err := s.replay(ctx, e, page[i].EventID)
			if collab.CodeOf(err) == collab.NotFound {
				return nil // expired
			}
			return err
		})
		if err != nil {
			return replayed, "", err
		}
		if n := len(page); n > 0 {
			replayed, after = replayed+n, page[n-1].EventID
		}
		deadline, ok := ctx.Deadline()
		if !more {
			return replayed, "", s.wake(ctx, e)
		}
		if replayed >= limit || ok && time.Until(deadline) < replayReserve {
			return replayed, after, s.wake(ctx, e)
		}
	}
}
