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

// Mails over the account's quota wait at least shortHold, so that many events cost little while they wait, and at most longHold, so that
// they go soon when the quota is raised; the moment varies by up to another shortHold.
const (
	shortHold = 10 * time.Minute
	longHold  = time.Hour
)

// holdMails puts off the mails of one page of the recipients where the account has used up its quota, and reports whether it did. The relay
// brings the event back.
func (d *Deliverer) holdMails(ctx context.Context, w *work) (held bool, err error) {
	if d.Mailer == nil {
		return false, nil
	}
	refused, held := errors.AsType[*collab.Error](d.ledger.Account(ctx, w.Account, w.settings).Admit(quota.Mails))
	if !held {
		return false, nil
	}
	part, err := d.random()
	if err != nil {
		return false, err
	}
	to := w.Work
	to.Since = d.Now().Add(min(max(refused.RetryAfter, shortHold), longHold) + time.Duration(part*float64(shortHold))).UnixMilli()
	to.Next = to.Since
	if _, err := d.advance(ctx, w, to); err != nil {
		return false, err
	}
	d.Metrics.Add(metrics.MailsHeld, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelWarn, "mails wait: the account has used up its quota",
		slog.String("account", w.Account), slog.String("event", w.ID), slog.String("cause", refused.Message))
	return true, nil
}

// metered returns a context in which it is counted what is used of the table, and what charges an account for that, and for mails. What is
// used stays admitted: the account's next requests wait for it.
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
