package delivery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/quota"
)

// Mails over the account's quota, or over that of SES, wait at least shortHold, so that waiting events cost little, and at most longHold, so that they leave soon
// after the quota is raised. Up to another shortHold is added at random.
const (
	shortHold = 10 * time.Minute
	longHold  = time.Hour
)

// heldUntil returns until when a page of mails waits, as the account has used up its quota; 0 where it has not.
func (r *eventRun) heldUntil(ctx context.Context) (collab.Millis, error) {
	if r.Mailer == nil {
		return 0, nil
	}
	refused, used := errors.AsType[*collab.Error](r.ledger.Account(ctx, r.event.Account, r.settings).Admit(quota.Mails))
	if !used {
		return 0, nil
	}
	return r.hold(ctx, "the account has used up its quota", min(max(refused.RetryAfter, shortHold), longHold), refused)
}

// hold tells the operator that mails wait, for that time and up to another shortHold, and returns until when.
func (r *eventRun) hold(ctx context.Context, why string, wait time.Duration, cause error) (collab.Millis, error) {
	part, err := r.random()
	if err != nil {
		return 0, err
	}
	r.Metrics.Add(metrics.MailsHeld, "", 1)
	r.Log.LogAttrs(ctx, slog.LevelWarn, "mails wait: "+why,
		slog.String("account", r.event.Account), slog.String("event", r.event.ID), slog.String("cause", cause.Error()))
	return r.Now().Add(wait + time.Duration(part*float64(shortHold))).UnixMilli(), nil
}

// metered returns a context that counts what is used of the table, and a function that charges an account for that and for mails. Nothing is
// refused: the account's next requests wait for what was used.
func (d *Deliverer) metered(ctx context.Context) (context.Context, func(acct string, s collab.Settings, mails float64)) {
	usage := collab.UsageOf(ctx)
	if usage == nil {
		usage = new(collab.Usage)
		ctx = collab.WithUsage(ctx, usage)
	}
	readBefore, writtenBefore, _ := usage.Total()
	return ctx, func(acct string, s collab.Settings, mails float64) {
		read, written, _ := usage.Total()
		d.ledger.Spend(ctx, acct, s, quota.Amounts{quota.Reads: read - readBefore, quota.Writes: written - writtenBefore, quota.Mails: mails})
	}
}
