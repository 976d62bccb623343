package delivery

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/queue"
	"collabdata/shared/store/hooks"
)

const (
	posts      = 5                // concurrent posts to an endpoint
	quickPosts = 50               // if it answers within quick
	quick      = time.Second      //
	laneTime   = 10 * time.Second // then a run starts no further posts
	quickRound = 4 * quickPosts   // posts to a quick endpoint between writes of results
	reserve    = 8 * time.Second  // of a run's time, for the second-last round and the release
	leaseRest  = 5 * time.Second  // of the lease, when a run stops waiting
	lanePage   = 100              // deliveries per read
	quickPage  = 500              // if the endpoint answers quickly

	probeEvery = 30 * time.Second // while an endpoint rests
	// maximum delay of a message, because the relay runs once a minute
	shortWait = 45 * time.Second
	parkFor   = 10 * time.Minute // between checks of a disabled account or organization
)

// laneRun is the work of one holder of a lane.
type laneRun struct {
	*Deliverer
	lane     hooks.Lane
	endpoint collab.EndpointRef
	hook     collab.Webhook
	began    time.Time
	settings *collab.Settings // of the account; nil until read

	list   []collab.Delivery // deliveries to post
	more   bool              // more due deliveries are in the table
	next   collab.Millis     // when the first waiting delivery is due; 0 for none
	parked collab.Millis     // next check of a disabled account; 0 if enabled
	width  int               // concurrent posts
}

// Lane posts due deliveries of a webhook endpoint for laneTime, unless its lane has another holder.
// A further message or the relay continues.
func (d *Deliverer) Lane(ctx context.Context, m queue.Lane) error {
	l, err := d.Hooks.ClaimLane(ctx, m.LaneRef, m.Token)
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

// skip returns a callback that counts and logs an unreadable item.
func (d *Deliverer) skip(ctx context.Context) func(error) { return d.Metrics.PassOver(ctx, d.Log) }

// work posts until nothing is due or the run's time is over.
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

// read reads the next deliveries: due waiting ones, then new ones.
func (r *laneRun) read(ctx context.Context) error {
	most := lanePage
	switch {
	case r.lane.Health.Resting():
		most = 1
	case r.width > posts:
		most = quickPage
	}
	// also if some wait
	fresh, more, err := r.Hooks.NewDeliveries(ctx, r.endpoint, most, r.skip(ctx))
	if err != nil {
		return err
	}
	r.list, r.next, err = r.Hooks.WaitingDeliveries(ctx, r.endpoint, r.millis(), most, r.skip(ctx))
	r.list, r.more = append(r.list, fresh...), more
	return err
}

// due returns the time of the next post, or 0 for never.
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

// release ends the run. It returns false if something was added meanwhile; then the run must look
// again. A message continues work due within shortWait. The relay continues other work, and all
// work after maxHops messages.
func (r *laneRun) release(ctx context.Context, hops int) (bool, error) {
	now, at := r.millis(), r.due()
	more := at != 0 && at <= now && hops < maxHops
	alarm := false
	r.lane.Next = at
	if wait := at - now; !more && at != 0 && wait <= shortWait.Milliseconds() && hops < maxHops {
		if alarm = r.lane.Alarm <= now || r.lane.Alarm > at; alarm {
			r.lane.Alarm = at
		}
		r.lane.Next = at + time.Minute.Milliseconds() // in case the message is lost
	}
	token, released, err := r.Hooks.ReleaseLane(ctx, r.lane, more)
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

// lookAgain reads the lane and its endpoint again after an addition or a change. It reports whether
// this run still holds the lane.
func (r *laneRun) lookAgain(ctx context.Context) (held bool, err error) {
	before := r.lane
	l, err := r.Hooks.ClaimLane(ctx, r.lane.LaneRef, r.lane.Holder)
	if err != nil || l == nil {
		return false, err
	}
	r.lane = *l
	seen := r.hook
	if found, err := r.readHook(ctx); !found || err != nil {
		return false, err
	}
	if r.hook.CreatedAt == seen.CreatedAt && (r.hook.LastUpdated == seen.LastUpdated || r.hook.Disabled) {
		// otherwise the endpoint starts afresh
		r.lane.Health, r.lane.Pause = before.Health, before.Pause
	}
	return true, nil
}

// readHook reads the lane's endpoint. If the endpoint does not exist, it deletes the lane and
// returns false.
func (r *laneRun) readHook(ctx context.Context) (found bool, err error) {
	r.hook, err = r.Hooks.Webhook(ctx, r.lane.Account, r.lane.WebhookID)
	if collab.CodeOf(err) == collab.NotFound {
		return false, r.Hooks.DropLane(ctx, &r.lane)
	}
	r.endpoint = collab.EndpointRef{LaneRef: r.lane.LaneRef, CreatedAt: r.hook.CreatedAt}
	return err == nil, err
}
