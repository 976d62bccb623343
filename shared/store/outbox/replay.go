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
	mark := s.NewMark()
	return s.Try(ctx, "the delivery of event "+event, mark, func(ctx context.Context) ([]store.Write, error) {
		before, err := s.Delivery(ctx, l, event)
		if err != nil {
			return nil, err
		}
		after := before
		after.Replay(s.Millis())
		return s.saveDelivery(l, before, after, mark), nil
	})
}

// AddLate has new deliveries, which the lane's holder may have passed already, wait for now, and tells the holder. Those that another has
// written since stay as they are.
func (s *Store) AddLate(ctx context.Context, l *collab.Lane, late ...collab.Delivery) error {
	if len(late) == 0 {
		return nil
	}
	err := store.Each(ctx, len(late), func(ctx context.Context, i int) error {
		after := late[i]
		after.Wait(s.Millis())
		_, err := s.Write(ctx, s.saveDelivery(l, late[i], after, s.NewMark())...)
		return err
	})
	if err != nil {
		return err
	}
	return s.addedToLane(ctx, l.LaneRef)
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
