package delivery

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/outbox"
)

// webhooks adds a delivery to each subscribed endpoint, and wakes their tasks, except for those
// that rest and are due later.
func (r *eventRun) webhooks(ctx context.Context) error {
	acct := r.event.Account
	endpoints, err := r.webhookEndpoints(ctx)
	if err != nil {
		return err
	}
	endpoints = slices.DeleteFunc(endpoints, func(h collab.Webhook) bool { return !h.WantsEvent(r.event) })
	if endpoints, err = r.mentioning(ctx, endpoints); err != nil || len(endpoints) == 0 {
		return err
	}
	now := r.millis()
	refs := make([]collab.TaskRef, len(endpoints))
	err = each(len(endpoints), func(i int) error {
		refs[i] = hooks.EndpointTask(acct, endpoints[i].ID)
		return r.Hooks.AddDelivery(ctx, collab.EndpointRef{Account: acct, WebhookID: endpoints[i].ID, CreatedAt: endpoints[i].CreatedAt}, collab.Delivery{
			EventID: r.event.ID, Type: r.event.Type, State: collab.DeliveryPending, NextAttempt: now, CreatedAt: now, LastUpdated: now,
		})
	})
	if err != nil {
		return err
	}
	tasks, err := r.Outbox.Tasks(ctx, refs...)
	if err != nil {
		return err
	}
	var woken []collab.TaskRef
	for i, t := range tasks {
		p, err := hooks.ProgressOf(t, endpoints[i])
		switch {
		case err != nil:
			return err
		case t != nil && (t.Sees(now) || t.Due > now && p.Pause > now):
			continue
		}
		woken = append(woken, refs[i])
	}
	err = each(len(woken), func(i int) error {
		_, err := r.Outbox.Write(ctx, r.Outbox.Wake(woken[i], true))
		return err
	})
	if len(woken) > 0 {
		err = errors.Join(err, r.Queue.SendIn(ctx, 0, woken...))
	}
	return err
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
	if err := d.Queue.SendIn(ctx, 0, outbox.EventTask(ev.Account, ev.ID)); err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not sent: the relay sends it later",
			slog.String("account", ev.Account), slog.String("first", ev.ID), slog.Any("cause", err))
	}
}
