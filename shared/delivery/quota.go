package delivery

import (
	"context"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/quota"
)

// Mails over the account's quota wait at least shortHold, so that many events cost little while they wait, and at most longHold, so that they
// go soon when the quota is raised; the moment is spread over another shortHold.
const (
	shortHold = 10 * time.Minute
	longHold  = time.Hour
)

// holdMails puts off the mails of one part of the recipients where the account has used up its quota, and reports whether it did. The relay
// brings the event back.
func (d *Deliverer) holdMails(ctx context.Context, w *work) (held bool, err error) {
	limit := quota.Of(w.settings)[quota.Mails]
	if limit.Most == 0 || d.Mailer == nil {
		return false, nil
	}
	if w.paid, err = d.Directory.Paid(ctx, w.Account); err != nil {
		return false, err
	}
	wait := limit.Wait(time.UnixMilli(w.paid[quota.Mails]), d.Now())
	if wait == 0 {
		return false, nil
	}
	spread, err := d.random()
	if err != nil {
		return false, err
	}
	wait = min(max(wait, shortHold), longHold) + time.Duration(spread*float64(shortHold))
	to := w.Work
	to.Since, to.Kind = d.Now().Add(wait).UnixMilli(), collab.MailWork
	to.Next = to.Since
	if _, err := d.advance(ctx, w, to); err != nil {
		return false, err
	}
	d.Metrics.Add(metrics.MailsHeld, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelWarn, "mails wait: the account has used up its quota",
		slog.String("account", w.Account), slog.String("event", w.ID), slog.Int64("mailsPerDay", limit.Most))
	return true, nil
}

// chargeMails charges the account for the mails that were sent. Where it fails they are free: mails that people want come before the count.
func (d *Deliverer) chargeMails(ctx context.Context, w *work) {
	cost := quota.Of(w.settings)[quota.Mails].Cost(float64(w.mailed.Swap(0)))
	if cost == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := d.Directory.Charge(ctx, w.Account, w.paid, quota.Costs{quota.Mails: cost}); err != nil {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "mails not charged", slog.String("account", w.Account), slog.Any("cause", err))
	}
}
