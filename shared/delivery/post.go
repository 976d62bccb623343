package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/store/hooks"
	"collabdata/shared/webhook"
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

type result struct {
	record  collab.DeliveryAttempt
	attempt *webhook.Attempt // nil if nothing was posted
	after   collab.Delivery
	err     error
}

// post posts deliveries in order, at most width concurrently, removes them from the list, and
// records their results. It starts no more after one that failed or was slow.
func (r *endpointRun) post(ctx context.Context) error {
	resting := r.progress.Health.Resting()
	side, round := r.width, r.width
	switch {
	case resting:
		side, round = 1, 1
	case r.width == quickPosts:
		round = quickRound
	}
	results := make([]result, min(round, len(r.list)))
	var wg sync.WaitGroup
	var bad atomic.Bool
	places := make(chan struct{}, side)
	begun := 0
	for i := range results {
		if places <- struct{}{}; bad.Load() {
			break
		}
		begun++
		wg.Go(func() {
			if results[i] = r.deliver(ctx, r.list[i], resting); !results[i].quick() {
				bad.Store(true)
			}
			<-places
		})
	}
	wg.Wait()
	r.list = r.list[begun:]
	r.width = min(2*r.width, quickPosts)
	if bad.Load() {
		r.width = posts
	}
	for _, result := range results[:begun] {
		if result.err != nil {
			return result.err
		}
		if result.after.State == collab.DeliveryPending && (r.next == 0 || result.after.NextAttempt < r.next) {
			r.next = result.after.NextAttempt
		}
		if result.attempt == nil {
			continue
		}
		if err := r.recordHealth(ctx, result.attempt); err != nil {
			return err
		}
	}
	return nil
}

// quick reports whether the endpoint answered fast enough for many concurrent posts.
func (res *result) quick() bool {
	return res.err == nil && (res.attempt == nil || res.attempt.Outcome == webhook.Delivered && res.record.Duration < quick.Milliseconds())
}

// recordHealth records the endpoint's response. It disables an endpoint that is gone or has failed
// for too long.
func (r *endpointRun) recordHealth(ctx context.Context, a *webhook.Attempt) error {
	now := r.millis()
	if a.Outcome == webhook.Delivered {
		r.progress.Health, r.progress.Pause = collab.WebhookHealth{}, 0
		return nil
	}
	r.progress.Health.Fail(now)
	r.progress.Pause = max(r.progress.Pause, now+a.RetryAfter.Milliseconds())
	if r.progress.Health.Resting() {
		r.progress.Pause = max(r.progress.Pause, now+probeEvery.Milliseconds())
	}
	switch {
	case r.hook.Disabled:
		return nil
	case a.Outcome == webhook.Gone:
		defer func() { r.hook.Disabled = true }()
		return r.disable(ctx, r.endpoint.Account, r.hook, "the endpoint "+a.Reason)
	case r.progress.Health.Hopeless(now):
		defer func() { r.hook.Disabled = true }()
		return r.disable(ctx, r.endpoint.Account, r.hook, "the endpoint has only failed for 5 days; last it "+a.Reason)
	}
	return nil
}

// deliver posts one delivery and stores its new state. A panic counts as a failed attempt.
func (r *endpointRun) deliver(ctx context.Context, del collab.Delivery, resting bool) (res result) {
	res.after = del
	at := r.Now()
	func() {
		defer func() {
			if p := recover(); p != nil {
				res.attempt, res.err = nil, nil
				r.record(ctx, &res, at, resting, webhook.Attempt{Outcome: webhook.Failed, Reason: "could not be posted"})
				r.Log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("event", del.EventID), slog.String("cause", fmt.Sprint(p)))
			}
		}()
		r.attempt(ctx, del, at, resting, &res)
	}()
	if res.err != nil {
		return res
	}
	res.err = r.Hooks.SaveDelivery(ctx, r.endpoint, del, res.after)
	return res
}

// attempt posts a delivery once, and sets the result.
func (r *endpointRun) attempt(ctx context.Context, del collab.Delivery, at time.Time, resting bool, res *result) {
	if !r.hook.Wants(del.Type) { // not subscribed anymore
		res.after.State = collab.DeliveryCanceled
		return
	}
	ev, err := r.Outbox.Event(ctx, r.endpoint.Account, del.EventID)
	switch {
	case errors.Is(err, collab.ErrUnreadable):
		r.skip(ctx)(err)
		fallthrough
	case collab.CodeOf(err) == collab.NotFound:
		res.after.State = collab.DeliveryCanceled
		r.Metrics.Add(metrics.DeliveryFailures, metrics.Webhook, 1)
		return
	case err != nil:
		res.err = err
		return
	case !r.hook.WantsEvent(ev):
		res.after.State = collab.DeliveryCanceled
		return
	}
	_, enabled, err := r.enabled(ctx, r.endpoint.Account, ev.OrganizationID)
	if err != nil || !enabled {
		res.err = err
		res.after.NextAttempt = at.Add(parkFor).UnixMilli()
		return
	}
	body, err := r.Payload(ctx, ev, &r.hook)
	if err != nil {
		res.err = err
		return
	}
	if body == nil {
		res.after.State = collab.DeliveryCanceled
		return
	}
	a, err := r.poster.Deliver(ctx, at, webhook.Message{
		URL: r.hook.URL, ID: del.EventID, Secrets: r.hook.SigningSecrets(at.UnixMilli()), Body: body,
	})
	if err != nil {
		res.err = err
		return
	}
	if a.Err != nil {
		r.Log.LogAttrs(ctx, slog.LevelInfo, "webhook not reached", slog.String("account", r.endpoint.Account),
			slog.String("webhook", r.hook.ID), slog.String("event", del.EventID), slog.Any("cause", a.Err))
	}
	res.attempt = &a
	r.record(ctx, res, at, resting, a)
}

// record adds an attempt to the delivery. The new state is final or waits for the next retry. While
// an endpoint rests, no delivery is abandoned.
func (r *endpointRun) record(ctx context.Context, res *result, at time.Time, resting bool, a webhook.Attempt) {
	res.record = collab.DeliveryAttempt{
		At: at.UnixMilli(), Status: a.Status, Reason: a.Reason, Duration: r.Now().Sub(at).Milliseconds(), Answer: a.Answer,
	}
	res.after.Keep(res.record)
	res.after.Tries++
	random, err := r.random()
	if err != nil {
		res.err = err
		return
	}
	tries := res.after.Tries
	if resting {
		tries = min(tries, webhook.Attempts-1)
	}
	delay, more := webhook.RetryDelay(tries, a.RetryAfter, random)
	figure := metrics.DeliveryRetries
	switch {
	case a.Outcome == webhook.Delivered:
		res.after.State, figure = collab.DeliveryDelivered, metrics.Deliveries
	case !more:
		res.after.State, figure = collab.DeliveryExhausted, metrics.DeliveryFailures
	default:
		res.after.NextAttempt = r.Now().Add(delay).UnixMilli()
	}
	r.Metrics.Add(figure, metrics.Webhook, 1)
}

// skip returns a callback that counts and logs an unreadable item.
func (d *Deliverer) skip(ctx context.Context) func(error) { return d.Metrics.PassOver(ctx, d.Log) }
