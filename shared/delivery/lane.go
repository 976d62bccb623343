package delivery

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
)

const (
	posts      = 5                // to one endpoint at a time
	quickPosts = 50               // while it answers within quick
	quick      = time.Second      //
	laneTime   = 10 * time.Second // after which a run begins no further posts
	quickRound = 4 * quickPosts   // of them are begun before it is looked what came of all
	reserve    = 8 * time.Second  // of a run's time, for the posts of a round before the last, and for what follows
	leaseRest  = 5 * time.Second  // of its lease, at which a run ends whatever it waits for
	lanePage   = 100              // deliveries read at once
	quickPage  = 500              // while the endpoint answers quickly

	probeEvery = 30 * time.Second // while an endpoint rests
	shortWait  = 45 * time.Second // a delayed message bridges it: the relay looks every minute only
	parkFor    = 10 * time.Minute // until it is looked again whether an account or an organization is still disabled
)

// laneRun is the work of one holder of a lane.
type laneRun struct {
	*Deliverer
	lane     outbox.Lane
	endpoint collab.EndpointRef
	hook     collab.Webhook
	began    time.Time
	settings *collab.Settings // of the account, nil until they were read

	list   []collab.Delivery // read and not posted yet
	more   bool              // there are others to post
	next   collab.Millis     // the first of those that wait is to be posted then, 0 for none
	parked collab.Millis     // the account is disabled: look again then
	width  int               // posts at a time
}

// Lane works on the lane of a webhook endpoint, unless somebody else does: posts what is due for some time, and leaves the rest to a
// further message, or where it waits to the relay. The message wakes only: what there is to do is what the table says.
func (d *Deliverer) Lane(ctx context.Context, m queue.Lane) error {
	l, err := d.Outbox.ClaimLane(ctx, m.LaneRef, m.Token)
	if err != nil || l == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.UnixMilli(l.Until).Sub(d.Now())-leaseRest)
	defer cancel()
	ctx, charge := d.metered(ctx)
	r := &laneRun{Deliverer: d, lane: *l, began: d.Now(), width: posts}
	defer func() {
		if r.settings != nil {
			charge(m.Account, *r.settings, 0)
		}
	}()
	found, err := r.readHook(ctx)
	for found && err == nil {
		if err := r.work(ctx); err != nil {
			return err
		}
		if released, err := r.release(ctx, m.Hops); released || err != nil {
			return err
		}
		found, err = r.lookAgain(ctx)
	}
	return err
}

// skip passes over what can't be read.
func (d *Deliverer) skip(ctx context.Context) func(error) { return d.Metrics.PassOver(ctx, d.Log) }

// work posts until nothing is due, or the run's time is over.
func (r *laneRun) work(ctx context.Context) error {
	r.list, r.more, r.parked = nil, true, 0
	for !r.hook.Disabled && r.lane.Pause <= r.millis() {
		deadline, ok := ctx.Deadline()
		if r.Now().Sub(r.began) >= laneTime || ok && time.Until(deadline) < r.postTime+reserve {
			return nil
		}
		account, enabled, err := r.enabled(ctx, r.lane.Account, "")
		r.settings = &account.Settings
		switch {
		case err != nil:
			return err
		case !enabled:
			r.parked = r.Now().Add(parkFor).UnixMilli()
			return nil
		}
		if len(r.list) == 0 && (r.more || r.next != 0 && r.next <= r.millis()) {
			if err := r.read(ctx); err != nil {
				return err
			}
		}
		if len(r.list) == 0 {
			return nil
		}
		if err := r.post(ctx); err != nil {
			return err
		}
	}
	return nil
}

// read reads the deliveries to post next: those whose time has come, then new ones.
func (r *laneRun) read(ctx context.Context) error {
	most := lanePage
	switch {
	case r.lane.Health.Resting():
		most = 1
	case r.width > posts:
		most = quickPage
	}
	fresh, more, err := r.Outbox.NewDeliveries(ctx, r.endpoint, most, r.skip(ctx)) // it may have some wait
	if err != nil {
		return err
	}
	r.list, r.next, err = r.Outbox.WaitingDeliveries(ctx, r.endpoint, r.millis(), most, r.skip(ctx))
	r.list, r.more = append(r.list, fresh...), more
	return err
}

// due is when there is something to post again, 0 for never.
func (r *laneRun) due() collab.Millis {
	switch {
	case r.hook.Disabled:
		return 0
	case r.parked != 0:
		return r.parked
	case r.more || len(r.list) > 0:
		return max(r.millis(), r.lane.Pause)
	case r.next != 0:
		return max(r.millis(), r.lane.Pause, r.next)
	}
	return 0
}

// release ends the run, and reports false where somebody has asked it to look again. What there is to do goes on by a message: at once, or
// delayed for a short while. For longer, or behind maxHops messages, it is left to the relay.
func (r *laneRun) release(ctx context.Context, hops int) (bool, error) {
	now, at := r.millis(), r.due()
	more := at != 0 && at <= now && hops < maxHops
	alarm := false
	r.lane.Next = at
	if wait := at - now; !more && at != 0 && wait <= shortWait.Milliseconds() && hops < maxHops {
		if alarm = r.lane.Alarm <= now || r.lane.Alarm > at; alarm {
			r.lane.Alarm = at
		}
		r.lane.Next = at + time.Minute.Milliseconds() // should the message be lost
	}
	token, released, err := r.Outbox.ReleaseLane(ctx, r.lane, more)
	if err != nil || !released {
		return false, err
	}
	next := queue.Lane{LaneRef: r.lane.LaneRef, Token: token, Hops: hops + 1}
	switch {
	case more:
		err = r.Webhooks.SendLanes(ctx, 0, next)
	case alarm:
		err = r.Webhooks.SendLanes(ctx, time.Duration(at-now)*time.Millisecond, next)
	}
	return true, err
}

// lookAgain goes on with a lane to which somebody has added something, or whose endpoint was changed, and reports whether the lane is still
// held.
func (r *laneRun) lookAgain(ctx context.Context) (held bool, err error) {
	before := r.lane
	l, err := r.Outbox.ClaimLane(ctx, r.lane.LaneRef, r.lane.Holder)
	if err != nil || l == nil {
		return false, err
	}
	r.lane = *l
	seen := r.hook
	if found, err := r.readHook(ctx); !found || err != nil {
		return false, err
	}
	if r.hook.CreatedAt == seen.CreatedAt && (r.hook.LastUpdated == seen.LastUpdated || r.hook.Disabled) {
		r.lane.Health, r.lane.Pause = before.Health, before.Pause // else the endpoint begins afresh
	}
	return true, nil
}

// readHook reads the lane's endpoint, and reports whether it is there. The lane of one that is not is deleted.
func (r *laneRun) readHook(ctx context.Context) (found bool, err error) {
	r.hook, err = r.Outbox.Webhook(ctx, r.lane.Account, r.lane.WebhookID)
	if collab.CodeOf(err) == collab.NotFound {
		return false, r.Outbox.DropLane(ctx, &r.lane)
	}
	r.endpoint = collab.EndpointRef{LaneRef: r.lane.LaneRef, CreatedAt: r.hook.CreatedAt}
	return err == nil, err
}
