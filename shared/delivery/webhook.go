package delivery

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/webhook"
)

const (
	postsAtOnce = 2                // to one endpoint, in one run
	postsWait   = 8                // that may wait for one of them to end: those of a whole batch; more would hold up other endpoints
	slotWait    = 2 * time.Second  // for so long
	slotRetry   = 10 * time.Second // then they come again
	probeEvery  = 30 * time.Second // while an endpoint rests
	restFor     = time.Minute      // until a delivery to it comes up again at first; then the relay waits longer each time
	early       = time.Second      // clocks may differ by so much
	reserve     = 5 * time.Second  // of a run's time, for what follows a post
	saveTries   = 5
	failingFor  = 5 * 24 * time.Hour // then an endpoint that only fails is disabled
)

// spreadWebhooks records a delivery to each endpoint that wants the event, and puts their messages on the queue.
func (d *Deliverer) spreadWebhooks(ctx context.Context, w *work) error {
	hooks, err := d.Outbox.Webhooks(ctx, w.Account)
	if err != nil {
		return err
	}
	hooks = slices.DeleteFunc(hooks, func(h collab.Webhook) bool { return !h.Wants(w.event.Type) })
	now := d.millis()
	there := make([]collab.Delivery, len(hooks))
	err = each(len(hooks), sideBySide, func(i int) (err error) {
		there[i], err = d.Outbox.AddDelivery(ctx, w.Account, collab.Delivery{
			WebhookID: hooks[i].ID, EventID: w.ID, Type: w.event.Type, State: collab.DeliveryPending,
			NextAttempt: now, CreatedAt: now, LastUpdated: now,
		})
		return err
	})
	if err != nil {
		return err
	}
	var messages []queue.Webhook
	for _, del := range there {
		if del.State == collab.DeliveryPending && del.Due == 0 && del.Made == 0 {
			messages = append(messages, queue.Webhook{EventRef: w.EventRef, WebhookID: del.WebhookID, Attempt: 1})
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return d.Webhooks.SendWebhooks(ctx, 0, messages...)
}

// Webhook makes the next attempt of a delivery to a webhook endpoint, when it is time and the endpoint does not rest. The message wakes
// only: what there is to do is what the table says.
func (d *Deliverer) Webhook(ctx context.Context, m queue.Webhook) error {
	hook, del, err := d.deliverable(ctx, m)
	if err != nil || hook == nil {
		return err
	}
	release, waited := d.endpoints.take(ctx, m.Account+"#"+m.WebhookID)
	if release == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return d.Webhooks.SendWebhooks(ctx, slotRetry, m)
	}
	defer release()
	if waited { // what was read is old, and the others may have told something of the endpoint
		if hook, del, err = d.deliverable(ctx, m); err != nil || hook == nil {
			return err
		}
	}
	if hook.Health.Resting() {
		now := d.Now()
		probes, err := d.Outbox.ClaimProbe(ctx, m.Account, hook.ID, now.UnixMilli(), now.Add(probeEvery).UnixMilli())
		if err != nil {
			return err
		}
		if !probes {
			return d.rest(ctx, m.Account, *del)
		}
	}
	return d.attempt(ctx, m.Account, hook, del)
}

// deliverable reads what a message is about; no webhook when there is nothing to post now. Then whatever comes next was seen to.
func (d *Deliverer) deliverable(ctx context.Context, m queue.Webhook) (*collab.Webhook, *collab.Delivery, error) {
	hook, del, err := d.Outbox.DeliveryWork(ctx, m.Account, m.WebhookID, m.ID)
	switch {
	case err != nil:
		return nil, nil, err
	case del == nil:
		d.Log.LogAttrs(ctx, slog.LevelWarn, "delivery not there any more",
			slog.String("account", m.Account), slog.String("webhook", m.WebhookID), slog.String("event", m.ID))
		return nil, nil, nil
	case del.State != collab.DeliveryPending:
		if del.Due == 0 {
			return nil, nil, nil
		}
		return nil, nil, d.end(ctx, m.Account, *del, del.State)
	case hook == nil || hook.Disabled:
		d.Metrics.Add(metrics.DeliveryFailures, metrics.Webhook, 1)
		return nil, nil, d.end(ctx, m.Account, *del, collab.DeliveryCanceled)
	}
	if wait := time.UnixMilli(del.NextAttempt).Sub(d.Now()); wait > early {
		if del.Due != 0 {
			return nil, nil, nil // the relay wakes it
		}
		return nil, nil, d.Webhooks.SendWebhooks(ctx, min(wait, queue.MaxDelay),
			queue.Webhook{EventRef: m.EventRef, WebhookID: m.WebhookID, Attempt: del.Made + 1})
	}
	if hook.Health.Resting() && d.millis() < hook.Health.NextProbe {
		return nil, nil, d.rest(ctx, m.Account, *del)
	}
	return hook, del, nil
}

// rest leaves a delivery to the relay, unattempted. One that the relay wakes already stays with it.
func (d *Deliverer) rest(ctx context.Context, acct string, del collab.Delivery) error {
	if del.Due != 0 {
		return nil
	}
	random, err := d.random()
	if err != nil {
		return err
	}
	after := del
	after.Due = d.Now().Add(time.Duration(float64(restFor) * (1 + random))).UnixMilli()
	_, err = d.Outbox.SaveDelivery(ctx, acct, del, after)
	return err
}

// end gives a delivery its last state.
func (d *Deliverer) end(ctx context.Context, acct string, del collab.Delivery, state collab.DeliveryState) error {
	after := del
	after.State, after.Due = state, 0
	_, err := d.Outbox.SaveDelivery(ctx, acct, del, after)
	return err
}

// attempt posts a delivery once and sees to what comes next.
func (d *Deliverer) attempt(ctx context.Context, acct string, hook *collab.Webhook, del *collab.Delivery) error {
	ev, err := d.Outbox.Event(ctx, acct, del.EventID)
	if collab.CodeOf(err) == collab.NotFound {
		return d.end(ctx, acct, *del, collab.DeliveryCanceled)
	}
	if err != nil {
		return err
	}
	body, err := d.payload(ctx, ev)
	if err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d.postTime+reserve {
		return errors.New("delivery: no time left for a post")
	}
	at := d.Now()
	attempt, err := d.poster.Deliver(ctx, at, webhook.Message{
		URL: hook.URL, ID: del.EventID, Secrets: hook.SigningSecrets(at.UnixMilli()), Body: body,
	})
	if err != nil {
		return err
	}
	if attempt.Err != nil {
		d.Log.LogAttrs(ctx, slog.LevelInfo, "webhook not reached", slog.String("account", acct), slog.String("webhook", hook.ID),
			slog.String("event", del.EventID), slog.Any("cause", attempt.Err))
	}
	disabled, err := d.report(ctx, acct, hook, attempt)
	if err != nil {
		return err
	}
	return d.record(ctx, acct, *del, attempt, disabled, collab.DeliveryAttempt{
		At: at.UnixMilli(), Status: attempt.Status, Reason: attempt.Reason, Duration: d.Now().Sub(at).Milliseconds(),
	})
}

// report notes how an endpoint answered, and disables one that is gone or has only failed for too long.
func (d *Deliverer) report(ctx context.Context, acct string, hook *collab.Webhook, attempt webhook.Attempt) (disabled bool, err error) {
	switch attempt.Outcome {
	case webhook.Delivered:
		if hook.Health == (collab.WebhookHealth{}) {
			return false, nil
		}
		return false, d.Outbox.ForgetFailures(ctx, acct, hook.ID)
	case webhook.Gone:
		return true, d.disable(ctx, acct, hook.ID, "the endpoint "+attempt.Reason)
	}
	now := d.Now()
	failing, err := d.Outbox.CountFailure(ctx, acct, hook.ID, now.UnixMilli(), now.Add(probeEvery).UnixMilli())
	if err != nil || failing == nil {
		return false, err
	}
	if now.Sub(time.UnixMilli(failing.Health.FailingSince)) < failingFor {
		return false, nil
	}
	return true, d.disable(ctx, acct, hook.ID, "the endpoint has only failed for 5 days; last it "+attempt.Reason)
}

// disable disables an endpoint and tells of it.
func (d *Deliverer) disable(ctx context.Context, acct, id, reason string) error {
	seed := make([]byte, 16)
	if _, err := io.ReadFull(d.Random, seed); err != nil {
		return err
	}
	now := d.Now()
	ev := &collab.Event{
		ID: collab.NewIDs(now, seed).Next(), Type: collab.WebhookDisabled, Account: acct, Time: now.UnixMilli(),
		Webhook: &collab.EventWebhook{WebhookID: id, Reason: reason},
	}
	disabled, err := d.Outbox.DisableWebhook(ctx, acct, id, reason, ev)
	if err != nil || !disabled {
		return err
	}
	d.Metrics.Add(metrics.WebhooksDisabled, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelWarn, "webhook disabled", slog.String("account", acct), slog.String("webhook", id))
	if err := d.Events.SendEvents(ctx, queue.Event{EventRef: collab.EventRef{Account: acct, ID: ev.ID}}); err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not sent: the relay sends it later",
			slog.String("account", acct), slog.String("first", ev.ID), slog.Any("cause", err))
	}
	return nil
}

// record keeps an attempt and sets what comes next: the next step of the ladder, by a delayed message or for longer ones by the relay, or
// an end.
func (d *Deliverer) record(ctx context.Context, acct string, del collab.Delivery, a webhook.Attempt, disabled bool, kept collab.DeliveryAttempt) error {
	random, err := d.random()
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		after := del
		after.Keep(kept)
		after.Made++
		after.Due = 0
		delay, more := webhook.RetryDelay(after.Made, a.RetryAfter, random)
		figure := metrics.DeliveryFailures
		switch {
		case a.Outcome == webhook.Delivered:
			after.State, figure = collab.DeliveryDelivered, metrics.Deliveries
		case disabled:
			after.State = collab.DeliveryCanceled
		case !more:
			after.State = collab.DeliveryExhausted
		default:
			figure = metrics.DeliveryRetries
			after.NextAttempt = d.Now().Add(delay).UnixMilli()
			if delay > queue.MaxDelay {
				after.Due = after.NextAttempt
			}
		}
		_, err := d.Outbox.SaveDelivery(ctx, acct, del, after)
		if err == nil {
			d.Metrics.Add(figure, metrics.Webhook, 1)
			if after.State != collab.DeliveryPending || after.Due != 0 {
				return nil
			}
			return d.Webhooks.SendWebhooks(ctx, delay, queue.Webhook{
				EventRef: collab.EventRef{Account: acct, ID: del.EventID}, WebhookID: del.WebhookID, Attempt: after.Made + 1,
			})
		}
		if collab.CodeOf(err) != collab.Aborted || n == saveTries {
			return err
		}
		// The relay has moved it, or another run has made an attempt too.
		_, now, err := d.Outbox.DeliveryWork(ctx, acct, del.WebhookID, del.EventID)
		if err != nil || now == nil || now.State != collab.DeliveryPending {
			return err
		}
		if now.Made > del.Made && a.Outcome != webhook.Delivered {
			return nil // the other's counts, and it has seen to what comes next
		}
		del = *now
	}
}
