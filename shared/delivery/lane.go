package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/queue"
)

const (
	posts      = 5                // to one endpoint at a time
	quickPosts = 50               // while it answers within quick
	quick      = time.Second      //
	sliceTime  = 10 * time.Second // after which a holder begins no further posts
	lease      = time.Minute      // longer than a slice with the end of its last posts takes
	quickRound = 4 * quickPosts   // of them are begun before it is looked what came of all
	reserve    = 8 * time.Second  // of a run's time, for the posts of a round before the last, and for what follows
	lanePage   = 100              // deliveries read at once
	quickPage  = 500              // while the endpoint answers quickly, and to look again

	probeEvery = 30 * time.Second // while an endpoint rests
	shortWait  = 45 * time.Second // a delayed message bridges it: the relay looks every minute only
	parkFor    = 10 * time.Minute // until it is looked again whether an account or an organization is still disabled

	leastBehind = 2 * time.Second // Low stays behind the present, and at least twice as long as deliveries were added behind their events:
	mostBehind  = time.Minute     // an event that comes before its time has to wait as one that failed, which costs more
	busyPosts   = 150             // a second: then a lane's deliveries are spread
	busyShards  = 8               // over so many partitions
)

// slice is the work of one holder of a lane.
type slice struct {
	*Deliverer
	lane  *collab.Lane
	hook  collab.Webhook
	began time.Time
	low   string // the lane's when it was claimed

	waiting []collab.Delivery // read and not posted yet: those whose time has come
	fresh   []collab.Delivery // the same: new ones
	from    string            // the event behind them
	drained bool              // there are no new ones behind them
	more    bool              // the slice has ended before the work
	parked  collab.Millis     // the account is disabled: look again then
	width   int               // posts at a time
	posted  int
	lag     collab.Millis // by which a delivery was added behind its event, at most
}

// Lane works on the lane of a webhook endpoint, unless somebody else does: posts what is due in order, for a slice of time, and leaves the
// rest to a further message, or where it waits to the relay. The message wakes only: what there is to do is what the table says.
func (d *Deliverer) Lane(ctx context.Context, m queue.Lane) error {
	ref := m.LaneRef
	l, err := d.Outbox.ClaimLane(ctx, ref, m.Woken, lease)
	if err != nil || l == nil {
		return err // its holder looks once more when it has let go
	}
	hook, err := d.Outbox.Webhook(ctx, ref.Account, ref.WebhookID)
	if collab.CodeOf(err) == collab.NotFound {
		return d.Outbox.DropLane(ctx, l)
	}
	if err != nil {
		return err
	}
	l.Made = hook.CreatedAt
	s := &slice{Deliverer: d, lane: l, hook: hook, began: d.Now(), low: l.Low, from: l.Low, width: posts}
	if err := s.work(ctx); err != nil {
		return err
	}
	return s.release(ctx)
}

// skip passes over what can't be read.
func (d *Deliverer) skip(ctx context.Context) func(error) { return d.Metrics.PassOver(ctx, d.Log) }

// work posts until nothing is due, or the slice is over.
func (s *slice) work(ctx context.Context) error {
	for !s.hook.Disabled && s.lane.Pause <= s.millis() {
		deadline, ok := ctx.Deadline()
		if s.Now().Sub(s.began) >= sliceTime || ok && time.Until(deadline) < s.postTime+reserve {
			s.more = true
			return nil
		}
		switch _, enabled, err := s.enabled(ctx, s.lane.Account, ""); {
		case err != nil:
			return err
		case !enabled:
			s.parked = s.Now().Add(parkFor).UnixMilli()
			return nil
		}
		list, err := s.due(ctx)
		if err != nil || len(*list) == 0 {
			return err
		}
		if err := s.post(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// due returns the deliveries to post, in order: first those whose time has come, then the new ones. An empty list says that there are none.
func (s *slice) due(ctx context.Context) (list *[]collab.Delivery, err error) {
	if now := s.millis(); len(s.waiting) == 0 && s.lane.Due != 0 && s.lane.Due <= now {
		if s.waiting, s.lane.Due, err = s.Outbox.WaitingDeliveries(ctx, s.lane, now, lanePage, s.skip(ctx)); err != nil {
			return nil, err
		}
	}
	if len(s.waiting) > 0 {
		return &s.waiting, nil
	}
	for len(s.fresh) == 0 && !s.drained {
		var next string
		most := lanePage
		if s.width > posts {
			most = quickPage
		}
		if s.fresh, next, err = s.Outbox.NewDeliveries(ctx, s.lane, s.from, most, s.skip(ctx)); err != nil {
			return nil, err
		}
		if s.drained = next == ""; !s.drained {
			s.from = next
		}
	}
	return &s.fresh, nil
}

// next is when there is something to post again, 0 for never.
func (s *slice) next() collab.Millis {
	now := s.millis()
	switch {
	case s.hook.Disabled:
		return 0
	case s.parked != 0:
		return s.parked
	case s.more || len(s.waiting) > 0 || len(s.fresh) > 0 || !s.drained:
		return max(now, s.lane.Pause)
	case s.lane.Due != 0:
		return max(now, s.lane.Pause, s.lane.Due)
	}
	return 0
}

// release gives the lane back: with a message when there is more soon, else with the time of the next attempt, when the relay wakes it.
func (s *slice) release(ctx context.Context) error {
	l := s.lane
	l.Low = max(l.Low, s.passed())
	if took := s.Now().Sub(s.began).Seconds(); took > 0 && float64(s.posted) >= busyPosts*max(took, 1) {
		l.Shards = busyShards
	}
	if len(s.waiting) > 0 {
		l.Due = s.waiting[0].NextAttempt
	}
	for {
		at := s.next()
		wait := max(time.UnixMilli(at).Sub(s.Now()), 0)
		soon := at != 0 && wait <= shortWait
		if l.Next, l.Woken = at, 0; soon {
			l.Woken = at + time.Minute.Milliseconds() // until then the message is taken to be under way
			l.Next = l.Woken
		}
		released, err := s.Outbox.ReleaseLane(ctx, l)
		switch {
		case err != nil || l.Holder == "":
			return err
		case !released: // others have added to it, which l tells now
			continue
		case soon:
			err := s.Webhooks.SendLanes(ctx, wait, queue.Lane{LaneRef: l.LaneRef, Woken: l.Woken})
			return errors.Join(err, s.lookAgain(ctx, false))
		}
		return s.lookAgain(ctx, !s.hook.Disabled && s.drained && len(s.fresh) == 0)
	}
}

// passed is the event before which there is no new delivery: behind what was posted, and some way behind the present, as a delivery of an
// earlier event that is added later has to wait.
func (s *slice) passed() string {
	lag := time.Duration(s.lag) * time.Millisecond
	low := collab.EarliestID(s.Now().Add(-min(max(2*lag, leastBehind), mostBehind)).UnixMilli())
	switch {
	case len(s.fresh) > 0:
		return min(low, s.fresh[0].EventID)
	case !s.drained:
		return min(low, s.from)
	}
	return low
}

// lookAgain looks for deliveries that were added while the lane was held: whoever adds one then sends no message, and one who does not know
// that the lane's Low has moved takes it for new. Without all it looks for those before Low alone: the lane is known to have others.
func (s *slice) lookAgain(ctx context.Context, all bool) error {
	found := false
	for from, more := s.low, true; more && (all || from < s.lane.Low); {
		list, next, err := s.Outbox.NewDeliveries(ctx, s.lane, from, quickPage, s.skip(ctx))
		if err != nil {
			return err
		}
		late := slices.DeleteFunc(slices.Clone(list), func(del collab.Delivery) bool { return del.EventID >= s.lane.Low })
		if err := s.Outbox.AddLate(ctx, s.lane, late...); err != nil {
			return err
		}
		found = found || len(late) > 0 || all && len(list) > 0
		from, more = next, next != ""
	}
	if !found {
		return nil
	}
	return s.wake(ctx, s.lane.LaneRef)
}

// wake sends messages for lanes that nobody works on, and for which none is under way.
func (d *Deliverer) wake(ctx context.Context, refs ...collab.LaneRef) error {
	var mu sync.Mutex
	var send []queue.Lane
	err := each(len(refs), sideBySide, func(i int) error {
		woken, err := d.Outbox.WakeLane(ctx, refs[i])
		if woken != 0 {
			mu.Lock()
			defer mu.Unlock()
			send = append(send, queue.Lane{LaneRef: refs[i], Woken: woken})
		}
		return err
	})
	if len(send) > 0 {
		err = errors.Join(err, d.Webhooks.SendLanes(ctx, 0, send...))
	}
	return err
}
