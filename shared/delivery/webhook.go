package delivery

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"
)

// webhooks stores the event, adds a delivery to each subscribed endpoint, and wakes their lanes. It
// leaves resting lanes to the relay.
func (r *eventRun) webhooks(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	var endpoints []collab.Webhook
	err := both(func() error {
		return r.Outbox.KeepEvent(ctx, w, r.mailDelay(r.settings))
	}, func() (err error) {
		endpoints, err = r.Hooks.Endpoints(ctx, w.Account)
		return err
	})
	if err != nil {
		return w, err
	}
	endpoints = slices.DeleteFunc(endpoints, func(h collab.Webhook) bool { return !h.WantsEvent(r.event) })
	if endpoints, err = r.mentioning(ctx, endpoints); err != nil {
		return w, err
	}
	now := r.millis()
	refs := make([]collab.LaneRef, len(endpoints))
	err = each(len(endpoints), concurrency, func(i int) error {
		refs[i] = collab.LaneRef{Account: w.Account, WebhookID: endpoints[i].ID}
		return r.Hooks.AddDelivery(ctx, collab.EndpointRef{LaneRef: refs[i], CreatedAt: endpoints[i].CreatedAt}, collab.Delivery{
			EventID: w.ID, Type: r.event.Type, State: collab.DeliveryPending, NextAttempt: now, CreatedAt: now, LastUpdated: now,
		})
	})
	if err != nil {
		return w, err
	}
	lanes, err := r.Hooks.Lanes(ctx, refs...)
	if err != nil {
		return w, err
	}
	lanes = slices.DeleteFunc(lanes, func(l hooks.Lane) bool { return !l.Held(now) && l.Pause > now && l.Next != 0 })
	return then(w, outbox.StageList), r.wake(ctx, lanes)
}

// mentioning removes endpoints with MentionedUserIDs that the event does not mention. It reads the
// event's comments only if an endpoint has such a filter.
func (r *eventRun) mentioning(ctx context.Context, endpoints []collab.Webhook) ([]collab.Webhook, error) {
	if !slices.ContainsFunc(endpoints, func(h collab.Webhook) bool { return !h.WantsMention(nil) }) {
		return endpoints, nil
	}
	var mentioned []string
	switch {
	case r.event.Due != nil && r.event.Due.Mentioned:
		mentioned = []string{r.event.Due.UserID}
	case r.event.Notifying > 0:
		err := r.readThread(ctx)
		if err == nil {
			mentioned, err = r.mentioned(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return collab.Where(endpoints, func(h collab.Webhook) bool { return h.WantsMention(mentioned) }), nil
}

// wake sends messages for free lanes.
func (r *eventRun) wake(ctx context.Context, lanes []hooks.Lane) error {
	var mu sync.Mutex
	var send []queue.Lane
	err := each(len(lanes), concurrency, func(i int) error {
		token, err := r.Hooks.WakeLane(ctx, lanes[i])
		if token != "" {
			mu.Lock()
			defer mu.Unlock()
			send = append(send, queue.Lane{LaneRef: lanes[i].LaneRef, Token: token, Hops: r.hops + 1})
		}
		return err
	})
	if len(send) > 0 {
		err = errors.Join(err, r.Webhooks.SendLanes(ctx, 0, send...))
	}
	return err
}

// disable disables an endpoint and raises an event about it. It does nothing if the endpoint was
// changed since it was read.
func (d *Deliverer) disable(ctx context.Context, acct string, hook collab.Webhook, reason string) error {
	id, err := d.newID()
	if err != nil {
		return err
	}
	ev := &collab.Event{
		ID: id, Type: collab.WebhookDisabled, Account: acct, Time: d.millis(),
		Webhook: &collab.EventWebhook{WebhookID: hook.ID, Reason: reason},
	}
	disabled, err := d.Hooks.DisableWebhook(ctx, acct, hook, reason, ev)
	if err != nil || !disabled {
		return err
	}
	d.Metrics.Add(metrics.WebhooksDisabled, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelWarn, "webhook disabled", slog.String("account", acct), slog.String("webhook", hook.ID))
	d.announce(ctx, ev)
	return nil
}

// newID returns a new id of an event.
func (d *Deliverer) newID() (string, error) {
	seed := make([]byte, 16)
	if _, err := io.ReadFull(d.Random, seed); err != nil {
		return "", err
	}
	return collab.NewIDs(d.Now(), seed).Next(), nil
}

// announce sends the message about a recorded event. If it is lost, the relay sends it later.
func (d *Deliverer) announce(ctx context.Context, ev *collab.Event) {
	if err := d.Events.SendEventsIn(ctx, 0, queue.Event{EventRef: collab.EventRef{Account: ev.Account, ID: ev.ID}}); err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not sent: the relay sends it later",
			slog.String("account", ev.Account), slog.String("first", ev.ID), slog.Any("cause", err))
	}
}
