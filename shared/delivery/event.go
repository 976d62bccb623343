package delivery

import (
	"context"
	"log/slog"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
)

// event delivers an event: first to webhook endpoints and the list for all, then to a page of its
// audience. The state of its task is the cursor of the next page.
func (d *Deliverer) event(ctx context.Context, t *task.Task) (task.Outcome, error) {
	ev, err := outbox.EventOf(t)
	if err != nil {
		d.skip(ctx)(err)
		return task.Outcome{}, err
	}
	r := d.about(ev, collab.Settings{}, &thread{})
	var account collab.Account
	enabled := false
	err = both(func() (err error) {
		account, enabled, err = d.enabled(ctx, t.Account, ev.OrganizationID)
		return err
	}, func() error {
		_, err := r.webhookEndpoints(ctx)
		return err
	})
	if err != nil {
		return task.Outcome{}, err
	}
	r.settings = account.Settings
	done := task.Outcome{State: t.State, Keep: true, Expires: t.Expires + int64(mailDelay(account.Settings).Seconds())}
	switch {
	case !enabled:
		return task.Outcome{Due: d.Now().Add(parkFor).UnixMilli(), State: t.State}, nil
	case ev.Time < account.CreatedAt:
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event of a deleted account", slog.String("account", t.Account), slog.String("event", t.ID))
		return done, nil
	}
	next, err := r.deliver(ctx, t.State)
	switch {
	case err == errSilent:
		return task.Outcome{Due: d.Now().Add(access.SilentPause).UnixMilli(), State: t.State}, nil
	case next != "":
		return task.Outcome{Due: d.millis(), State: next}, err
	}
	return done, err
}

// deliver delivers to webhook endpoints and the list for all if cursor is "", and to the page of
// the audience at the cursor. It returns the cursor of the next page, "" at the end.
func (r *eventRun) deliver(ctx context.Context, cursor string) (next string, err error) {
	if cursor == "" {
		if err := r.webhooks(ctx); err != nil {
			return "", err
		}
		if ends, err := r.listForAll(ctx); ends || err != nil {
			return "", err
		}
		r.Metrics.Add(metrics.Events, "", 1)
	}
	return r.inboxes(ctx, cursor)
}
