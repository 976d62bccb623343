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
	"collabdata/shared/webhook"
)

// result is what became of a delivery that was taken.
type result struct {
	kept    collab.DeliveryAttempt
	attempt *webhook.Attempt // nil: nothing was posted
	after   collab.Delivery
	err     error
}

// post posts deliveries of the list in their order, some side by side, takes them off it, and notes what became of them. Once one has
// failed or was slow it begins no more.
func (r *laneRun) post(ctx context.Context) error {
	resting := r.lane.Health.Resting()
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
	for _, of := range results[:begun] {
		if of.err != nil {
			return of.err
		}
		if of.after.State == collab.DeliveryPending && (r.next == 0 || of.after.NextAttempt < r.next) {
			r.next = of.after.NextAttempt
		}
		if of.attempt == nil {
			continue
		}
		if err := r.recordHealth(ctx, of.attempt); err != nil {
			return err
		}
	}
	return nil
}

// quick reports that nothing speaks against many posts at a time.
func (r *result) quick() bool {
	return r.err == nil && (r.attempt == nil || r.attempt.Outcome == webhook.Delivered && r.kept.Duration < quick.Milliseconds())
}

// recordHealth notes how the endpoint answered, and disables one that is gone or has only failed for too long.
func (s *laneRun) recordHealth(ctx context.Context, a *webhook.Attempt) error {
	now := s.millis()
	if a.Outcome == webhook.Delivered {
		s.lane.Health, s.lane.Pause = collab.WebhookHealth{}, 0
		return nil
	}
	s.lane.Health.Fail(now)
	s.lane.Pause = max(s.lane.Pause, now+a.RetryAfter.Milliseconds())
	if s.lane.Health.Resting() {
		s.lane.Pause = max(s.lane.Pause, now+probeEvery.Milliseconds())
	}
	switch {
	case s.hook.Disabled:
		return nil
	case a.Outcome == webhook.Gone:
		defer func() { s.hook.Disabled = true }()
		return s.disable(ctx, s.lane.Account, s.hook, "the endpoint "+a.Reason)
	case s.lane.Health.Hopeless(now):
		defer func() { s.hook.Disabled = true }()
		return s.disable(ctx, s.lane.Account, s.hook, "the endpoint has only failed for 5 days; last it "+a.Reason)
	}
	return nil
}

// deliver posts one delivery and writes what comes next. A panic is a failed attempt of this one alone.
func (s *laneRun) deliver(ctx context.Context, del collab.Delivery, resting bool) (r result) {
	r.after = del
	at := s.Now()
	func() {
		defer func() {
			if p := recover(); p != nil {
				r.attempt, r.err = nil, nil
				s.fail(ctx, &r, at, resting, webhook.Attempt{Outcome: webhook.Failed, Reason: "could not be posted"})
				s.Log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("event", del.EventID), slog.String("cause", fmt.Sprint(p)))
			}
		}()
		s.attempt(ctx, del, at, resting, &r)
	}()
	if r.err != nil {
		return r
	}
	r.err = s.Outbox.SaveDelivery(ctx, s.endpoint, del, r.after)
	return r
}

// attempt posts a delivery, and tells in r what became of it.
func (s *laneRun) attempt(ctx context.Context, del collab.Delivery, at time.Time, resting bool, r *result) {
	if !s.hook.Wants(del.Type) { // not any more
		r.after.State = collab.DeliveryCanceled
		return
	}
	ev, err := s.Outbox.Event(ctx, s.lane.Account, del.EventID)
	switch {
	case errors.Is(err, collab.ErrUnreadable):
		s.skip(ctx)(err)
		fallthrough
	case collab.CodeOf(err) == collab.NotFound:
		r.after.State = collab.DeliveryCanceled
		s.Metrics.Add(metrics.DeliveryFailures, metrics.Webhook, 1)
		return
	case err != nil:
		r.err = err
		return
	}
	_, enabled, err := s.enabled(ctx, s.lane.Account, ev.OrganizationID)
	if err != nil || !enabled {
		r.err = err
		r.after.NextAttempt = at.Add(parkFor).UnixMilli()
		return
	}
	body, err := Payload(ctx, s.Outbox, ev)
	if err != nil {
		r.err = err
		return
	}
	a, err := s.poster.Deliver(ctx, at, webhook.Message{
		URL: s.hook.URL, ID: del.EventID, Secrets: s.hook.SigningSecrets(at.UnixMilli()), Body: body,
	})
	if err != nil {
		r.err = err
		return
	}
	if a.Err != nil {
		s.Log.LogAttrs(ctx, slog.LevelInfo, "webhook not reached", slog.String("account", s.lane.Account),
			slog.String("webhook", s.hook.ID), slog.String("event", del.EventID), slog.Any("cause", a.Err))
	}
	r.attempt = &a
	s.fail(ctx, r, at, resting, a)
}

// fail keeps an attempt and sets what comes next: an end, or the next step of the ladder. While an endpoint rests nothing is given up.
func (s *laneRun) fail(ctx context.Context, r *result, at time.Time, resting bool, a webhook.Attempt) {
	r.kept = collab.DeliveryAttempt{At: at.UnixMilli(), Status: a.Status, Reason: a.Reason, Duration: s.Now().Sub(at).Milliseconds()}
	r.after.Keep(r.kept)
	r.after.Tries++
	random, err := s.random()
	if err != nil {
		r.err = err
		return
	}
	tries := r.after.Tries
	if resting {
		tries = min(tries, webhook.Attempts-1)
	}
	delay, more := webhook.RetryDelay(tries, a.RetryAfter, random)
	figure := metrics.DeliveryRetries
	switch {
	case a.Outcome == webhook.Delivered:
		r.after.State, figure = collab.DeliveryDelivered, metrics.Deliveries
	case !more:
		r.after.State, figure = collab.DeliveryExhausted, metrics.DeliveryFailures
	default:
		r.after.NextAttempt = s.Now().Add(delay).UnixMilli()
	}
	s.Metrics.Add(figure, metrics.Webhook, 1)
}
