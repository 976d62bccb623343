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
	lag     collab.Millis // of it
	err     error
}

// post posts deliveries of a list in their order, some side by side, takes them off it, and notes what became of them. Once one has failed or
// was slow it begins no more.
func (s *slice) post(ctx context.Context, list *[]collab.Delivery) error {
	resting := s.lane.Health.Resting()
	side, round := s.width, s.width
	switch {
	case resting:
		side, round = 1, 1
	case s.width == quickPosts:
		round = quickRound
	}
	results := make([]result, min(round, len(*list)))
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
			r := s.deliver(ctx, (*list)[i], resting)
			if results[i] = r; !r.quick() {
				bad.Store(true)
			}
			<-places
		})
	}
	wg.Wait()
	*list = (*list)[begun:]
	s.width = min(2*s.width, quickPosts)
	if bad.Load() {
		s.width = posts
	}
	for _, r := range results[:begun] {
		if r.err != nil {
			return r.err
		}
		if r.after.Waits && (s.lane.Due == 0 || r.after.NextAttempt < s.lane.Due) {
			s.lane.Due = r.after.NextAttempt
		}
		s.lag = max(s.lag, r.lag)
		if r.attempt == nil {
			continue
		}
		s.posted++
		if err := s.judge(ctx, r.attempt); err != nil {
			return err
		}
	}
	return nil
}

// quick reports that nothing speaks against many posts at a time.
func (r *result) quick() bool {
	return r.err == nil && (r.attempt == nil || r.attempt.Outcome == webhook.Delivered && r.kept.Duration < quick.Milliseconds())
}

// judge notes how the endpoint answered, and disables one that is gone or has only failed for too long.
func (s *slice) judge(ctx context.Context, a *webhook.Attempt) error {
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
		s.hook.Disabled = true
		return s.disable(ctx, s.lane.LaneRef, "the endpoint "+a.Reason)
	case s.lane.Health.Hopeless(now):
		s.hook.Disabled = true
		return s.disable(ctx, s.lane.LaneRef, "the endpoint has only failed for 5 days; last it "+a.Reason)
	}
	return nil
}

// deliver posts one delivery and writes what comes next. A panic is a failed attempt of this one alone.
func (s *slice) deliver(ctx context.Context, del collab.Delivery, resting bool) (r result) {
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
	err := s.Outbox.SaveDelivery(ctx, s.lane, del, r.after)
	if collab.CodeOf(err) == collab.Aborted {
		return r // it is to be posted again: the lane's Late tells
	}
	r.err = err
	return r
}

// attempt posts a delivery, and tells in r what became of it.
func (s *slice) attempt(ctx context.Context, del collab.Delivery, at time.Time, resting bool, r *result) {
	if !s.hook.Wants(del.Type) { // not any more
		r.after.State, r.after.Waits = collab.DeliveryCanceled, false
		return
	}
	ev, err := s.Outbox.Event(ctx, s.lane.Account, del.EventID)
	switch {
	case errors.Is(err, collab.ErrUnreadable):
		s.skip(ctx)(err)
		fallthrough
	case collab.CodeOf(err) == collab.NotFound:
		r.after.State, r.after.Waits = collab.DeliveryCanceled, false
		s.Metrics.Add(metrics.DeliveryFailures, metrics.Webhook, 1)
		return
	case err != nil:
		r.err = err
		return
	}
	r.lag = del.CreatedAt - ev.Time
	_, enabled, err := s.enabled(ctx, s.lane.Account, ev.OrganizationID)
	if err != nil || !enabled {
		r.err = err
		r.after.Wait(at.Add(parkFor).UnixMilli())
		return
	}
	body, err := s.payload(ctx, ev)
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
func (s *slice) fail(ctx context.Context, r *result, at time.Time, resting bool, a webhook.Attempt) {
	r.kept = collab.DeliveryAttempt{At: at.UnixMilli(), Status: a.Status, Reason: a.Reason, Duration: s.Now().Sub(at).Milliseconds()}
	r.after.Keep(r.kept)
	r.after.Made++
	random, err := s.random()
	if err != nil {
		r.err = err
		return
	}
	made := r.after.Made
	if resting {
		made = min(made, webhook.Attempts-1)
	}
	delay, more := webhook.RetryDelay(made, a.RetryAfter, random)
	figure := metrics.DeliveryRetries
	switch {
	case a.Outcome == webhook.Delivered:
		r.after.State, r.after.Waits, figure = collab.DeliveryDelivered, false, metrics.Deliveries
	case !more:
		r.after.State, r.after.Waits, figure = collab.DeliveryExhausted, false, metrics.DeliveryFailures
	default:
		r.after.Wait(s.Now().Add(delay).UnixMilli())
	}
	s.Metrics.Add(figure, metrics.Webhook, 1)
}
