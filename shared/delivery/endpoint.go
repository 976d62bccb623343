package delivery

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/task"
)

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
	limit := endpointPage
	switch {
	case r.progress.Health.Resting():
		limit = 1
	case r.width > posts:
		limit = quickPage
	}
	// also if some wait
	fresh, more, err := r.Hooks.NewDeliveries(ctx, r.endpoint, limit, r.skip(ctx))
	if err != nil {
		return err
	}
	r.list, r.next, err = r.Hooks.WaitingDeliveries(ctx, r.endpoint, r.millis(), limit, r.skip(ctx))
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
