package delivery

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
)

// fanOutWebhooks adds a delivery of an event to the lane of each endpoint that wants it, and wakes the lanes that nobody works on. The lanes are
// read after the deliveries were written: so either their holders see these, or it is seen here that there is no holder, or that it has
// passed them.
func (d *Deliverer) fanOutWebhooks(ctx context.Context, ref collab.EventRef, event collab.EventType) error {
	hooks, err := d.Outbox.Endpoints(ctx, ref.Account)
	if err != nil {
		return err
	}
	hooks = slices.DeleteFunc(hooks, func(h collab.Webhook) bool { return !h.Wants(event) })
	if len(hooks) == 0 {
		return nil
	}
	now := d.millis()
	refs, there := make([]collab.LaneRef, len(hooks)), make([]collab.Delivery, len(hooks))
	lane := func(i int) *collab.Lane {
		shards, _ := d.shards.Get(madeLane{refs[i], hooks[i].CreatedAt}, d.Now())
		return &collab.Lane{LaneRef: refs[i], Made: hooks[i].CreatedAt, Shards: shards}
	}
	err = each(len(hooks), sideBySide, func(i int) (err error) {
		refs[i] = collab.LaneRef{Account: ref.Account, WebhookID: hooks[i].ID}
		there[i], err = d.Outbox.AddDelivery(ctx, lane(i), collab.Delivery{
			WebhookID: hooks[i].ID, EventID: ref.ID, Type: event, State: collab.DeliveryPending,
			NextAttempt: now, CreatedAt: now, LastUpdated: now,
		})
		return err
	})
	if err != nil {
		return err
	}
	lanes, err := d.Outbox.Lanes(ctx, refs...)
	if err != nil {
		return err
	}
	var asleep []collab.LaneRef
	for i, l := range lanes {
		if l.Shards > 1 {
			d.shards.Put(madeLane{l.LaneRef, hooks[i].CreatedAt}, l.Shards, d.Now().Add(shardsFor))
		}
		del := there[i]
		if del.State != collab.DeliveryPending {
			continue
		}
		late := !del.Waits && del.EventID < l.Low
		if late {
			if err := d.Outbox.AddLate(ctx, lane(i), del); err != nil {
				return err
			}
		}
		if paused := l.Pause > now && l.Next != 0; !l.Held(now) && (late || !paused) {
			asleep = append(asleep, l.LaneRef)
		}
	}
	return d.wake(ctx, asleep...)
}

// disable disables an endpoint and tells of it.
func (d *Deliverer) disable(ctx context.Context, ref collab.LaneRef, reason string) error {
	seed := make([]byte, 16)
	if _, err := io.ReadFull(d.Random, seed); err != nil {
		return err
	}
	now := d.Now()
	ev := &collab.Event{
		ID: collab.NewIDs(now, seed).Next(), Type: collab.WebhookDisabled, Account: ref.Account, Time: now.UnixMilli(),
		Webhook: &collab.EventWebhook{WebhookID: ref.WebhookID, Reason: reason},
	}
	disabled, err := d.Outbox.DisableWebhook(ctx, ref.Account, ref.WebhookID, reason, ev)
	if err != nil || !disabled {
		return err
	}
	d.Metrics.Add(metrics.WebhooksDisabled, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelWarn, "webhook disabled", slog.String("account", ref.Account), slog.String("webhook", ref.WebhookID))
	if err := d.Events.SendEvents(ctx, queue.Event{EventRef: collab.EventRef{Account: ref.Account, ID: ev.ID}}); err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not sent: the relay sends it later",
			slog.String("account", ref.Account), slog.String("first", ev.ID), slog.Any("cause", err))
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
