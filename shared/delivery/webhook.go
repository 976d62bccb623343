package delivery

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
)

// fanOutWebhooks adds a delivery of an event to each endpoint that wants it, and wakes the lanes that do not rest: those are looked at when
// they have rested.
func (d *Deliverer) fanOutWebhooks(ctx context.Context, w *work) error {
	hooks, err := d.Outbox.Endpoints(ctx, w.Account)
	if err != nil {
		return err
	}
	hooks = slices.DeleteFunc(hooks, func(h collab.Webhook) bool { return !h.Wants(w.event.Type) })
	now := d.millis()
	refs := make([]collab.LaneRef, len(hooks))
	err = each(len(hooks), sideBySide, func(i int) error {
		refs[i] = collab.LaneRef{Account: w.Account, WebhookID: hooks[i].ID}
		return d.Outbox.AddDelivery(ctx, collab.EndpointRef{LaneRef: refs[i], CreatedAt: hooks[i].CreatedAt}, collab.Delivery{
			EventID: w.ID, Type: w.event.Type, State: collab.DeliveryPending, NextAttempt: now, CreatedAt: now, LastUpdated: now,
		})
	})
	if err != nil {
		return err
	}
	lanes, err := d.Outbox.Lanes(ctx, refs...)
	if err != nil {
		return err
	}
	lanes = slices.DeleteFunc(lanes, func(l outbox.Lane) bool { return !l.Held(now) && l.Pause > now && l.Next != 0 })
	return d.wake(ctx, w.hops, lanes...)
}

// disable disables an endpoint, as it was when it answered, and tells of it.
func (d *Deliverer) disable(ctx context.Context, acct string, hook collab.Webhook, reason string) error {
	seed := make([]byte, 16)
	if _, err := io.ReadFull(d.Random, seed); err != nil {
		return err
	}
	now := d.Now()
	ev := &collab.Event{
		ID: collab.NewIDs(now, seed).Next(), Type: collab.WebhookDisabled, Account: acct, Time: now.UnixMilli(),
		Webhook: &collab.EventWebhook{WebhookID: hook.ID, Reason: reason},
	}
	disabled, err := d.Outbox.DisableWebhook(ctx, acct, hook, reason, ev)
	if err != nil || !disabled {
		return err
	}
	d.Metrics.Add(metrics.WebhooksDisabled, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelWarn, "webhook disabled", slog.String("account", acct), slog.String("webhook", hook.ID))
	if err := d.Events.SendEventsIn(ctx, 0, queue.Event{EventRef: collab.EventRef{Account: acct, ID: ev.ID}}); err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not sent: the relay sends it later",
			slog.String("account", acct), slog.String("first", ev.ID), slog.Any("cause", err))
	}
	return nil
}

// account reads an account, or knows it for a moment.
func (d *Deliverer) account(ctx context.Context, id string) (collab.Account, error) {
	now := d.Now()
	if a, ok := d.accounts.Get(id, now); ok {
		return a, nil
	}
	a, err := d.Directory.Account(ctx, id)
	if err == nil {
		d.accounts.Put(id, a, now.Add(accountFor))
	}
	return a, err
}

// enabled returns an account and reports whether it is there and neither it nor its organization, "" for none, is disabled: else nothing of
// theirs goes out.
func (d *Deliverer) enabled(ctx context.Context, acct, org string) (a collab.Account, enabled bool, err error) {
	a, err = d.account(ctx, acct)
	if collab.CodeOf(err) == collab.NotFound || a.Disabled {
		return a, false, nil
	}
	if err == nil && org != "" {
		err = d.Directory.CheckOrganization(ctx, collab.OrganizationRef{Account: acct, Organization: org})
	}
	switch collab.CodeOf(err) {
	case "", collab.NotFound:
		return a, true, nil
	case collab.FailedPrecondition:
		return a, false, nil
	}
	return a, false, err
}
