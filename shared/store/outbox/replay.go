package outbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// laneOf reads the lane of an endpoint that is there; NOT_FOUND when it is not.
func (s *Store) laneOf(ctx context.Context, acct, hook string) (*collab.Lane, error) {
	w, err := s.Webhook(ctx, acct, hook)
	if err != nil {
		return nil, err
	}
	lanes, err := s.Lanes(ctx, collab.LaneRef{Account: acct, WebhookID: hook})
	if err != nil {
		return nil, err
	}
	lanes[0].Made = w.CreatedAt
	return &lanes[0], nil
}

// ReplayDelivery makes a delivery pending again, whatever had become of it; the relay wakes its lane. It fails with NOT_FOUND when there is
// none.
func (s *Store) ReplayDelivery(ctx context.Context, acct, hook, event string) error {
	l, err := s.laneOf(ctx, acct, hook)
	if err == nil {
		err = s.replay(ctx, l, event)
	}
	if err == nil {
		err = s.addedToLane(ctx, l.LaneRef)
	}
	return err
}

// replay has a delivery of a lane wait for now, whatever had become of it. addedToLane is to follow.
func (s *Store) replay(ctx context.Context, l *collab.Lane, event string) error {
	return s.changeDelivery(ctx, l, event, func(d *collab.Delivery) bool {
		d.Replay(s.Millis())
		return true
	})
}

// AddLate has a new delivery, which the lane's holder may have passed already, wait for now, and tells the holder.
func (s *Store) AddLate(ctx context.Context, l *collab.Lane, event string) error {
	err := s.changeDelivery(ctx, l, event, func(d *collab.Delivery) bool {
		if d.State != collab.DeliveryPending || d.Waits {
			return false
		}
		d.Wait(s.Millis())
		return true
	})
	if err != nil {
		return err
	}
	return s.addedToLane(ctx, l.LaneRef)
}

// changeDelivery changes a delivery, unless change says that there is nothing to do.
func (s *Store) changeDelivery(ctx context.Context, l *collab.Lane, event string, change func(*collab.Delivery) bool) error {
	mark := s.NewMark()
	return s.Try(ctx, "the delivery of event "+event, mark, func(ctx context.Context) ([]store.Write, error) {
		before, err := s.Delivery(ctx, l, event)
		if err != nil {
			return nil, err
		}
		after := before
		if !change(&after) {
			return nil, nil
		}
		return s.saveDelivery(l, before, after, mark), nil
	})
}

// replayReserve is what is left of a call's time when no further page is replayed.
const replayReserve = 10 * time.Second

// ReplayDeliveries makes up to most deliveries of an endpoint that pass the filter pending again, oldest event first, from behind the event
// id after ("" for the oldest); the relay wakes the lane. replayed is how many it were. next is the position of the next call, "" when there
// are no more: a call whose time runs out leaves others to it.
func (s *Store) ReplayDeliveries(ctx context.Context, acct, hook string, f collab.DeliveryFilter, after string, most int) (replayed int, next string, err error) {
	l, err := s.laneOf(ctx, acct, hook)
	if err != nil {
		return 0, "", err
	}
	keys := store.Span{From: max(collab.EarliestID(f.After), store.Everything.From), To: behindEvents}.After(after)
	for more := true; more; {
		var items []store.Item
		items, more, err = s.deliveries(ctx, l, keys, min(most-replayed, deliveriesExamined), false)
		if err != nil {
			return replayed, "", err
		}
		var events []string
		for _, it := range items {
			if d, err := readDelivery(hook, it); err == nil && f.Matches(&d) {
				events = append(events, d.EventID)
			}
			after = it.Text(table.SK)
		}
		err = store.Each(ctx, len(events), func(ctx context.Context, i int) error {
			err := s.replay(ctx, l, events[i])
			if collab.CodeOf(err) == collab.NotFound {
				return nil // it has expired
			}
			return err
		})
		if err != nil {
			return replayed, "", err
		}
		replayed += len(events)
		keys = keys.After(after)
		deadline, ok := ctx.Deadline()
		if more && (replayed >= most || ok && time.Until(deadline) < replayReserve) {
			next = after
			break
		}
	}
	return replayed, next, s.addedToLane(ctx, l.LaneRef)
}
