package delivery

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/task"
)

const (
	endpointLease = time.Minute
	posts         = 5  // concurrent posts to an endpoint
	quickPosts    = 50 // if it answers within quick
	quick         = time.Second
	postingTime   = 10 * time.Second // then a run starts no further posts.
	quickRound    = 4 * quickPosts   // posts to a quick endpoint between writes of results.
	reserve       = 8 * time.Second  // of a run's time, for the last round.
	leaseRest     = 5 * time.Second  // of the lease, when a run stops waiting.
	endpointPage  = 100              // deliveries per read
	quickPage     = 500              // if the endpoint answers quickly

	probeEvery = 30 * time.Second // while an endpoint rests
)

// endpointRun is a step of a webhook endpoint.
type endpointRun struct {
	*Deliverer
	hook     collab.Webhook
	endpoint collab.EndpointRef
	progress hooks.Progress
	began    time.Time

	list   []collab.Delivery // deliveries to post
	more   bool              // more due deliveries are in the table
	next   collab.Millis     // when the first waiting delivery is due; 0 for none
	parked collab.Millis     // next check of a disabled account; 0 if enabled
	width  int               // concurrent posts
}

// endpoint posts due deliveries of a webhook endpoint for postingTime.
func (d *Deliverer) endpoint(ctx context.Context, t *task.Task) (task.Outcome, error) {
	hook, err := d.Hooks.Webhook(ctx, t.Account, t.ID)
	if collab.CodeOf(err) == collab.NotFound {
		return task.Outcome{Added: d.millis()}, nil
	}
	if err != nil {
		return task.Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, endpointLease-leaseRest)
	defer cancel()
	r := &endpointRun{
		Deliverer: d, hook: hook, endpoint: collab.EndpointRef{Account: t.Account, WebhookID: t.ID, CreatedAt: hook.CreatedAt},
		began: d.Now(), width: posts, more: true,
	}
	if r.progress, err = hooks.ProgressOf(t, hook); err == nil {
		err = r.work(ctx)
	}
	state := r.progress.Text()
	return task.Outcome{Due: r.due(), Added: r.millis(), State: state, Keep: state != ""}, err
}

// skip returns a callback that counts and logs an unreadable item.
func (d *Deliverer) skip(ctx context.Context) func(error) { return d.Metrics.PassOver(ctx, d.Log) }

// work posts until nothing is due or the run's time is over.
func (r *endpointRun) work(ctx context.Context) error {
	for !r.hook.Disabled && r.progress.Pause <= r.millis() {
		deadline, ok := ctx.Deadline()
		if r.Now().Sub(r.began) >= postingTime || ok && time.Until(deadline) < r.postTime+reserve {
			return nil
		}
		_, enabled, err := r.enabled(ctx, r.endpoint.Account, "")
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
func (r *endpointRun) read(ctx context.Context) error {
	most := endpointPage
	switch {
	case r.progress.Health.Resting():
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
func (r *endpointRun) due() collab.Millis {
	switch {
	case r.hook.Disabled:
		return 0
	case r.parked != 0:
		return r.parked
	case r.more || len(r.list) > 0:
		return max(r.millis(), r.progress.Pause)
	case r.next != 0:
		return max(r.millis(), r.progress.Pause, r.next)
	}
	return 0
}
