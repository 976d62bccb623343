package delivery

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// Mails over the quota of the account wait at least shortHold, so that waiting costs little, and at most longHold, so that they leave soon
// after the quota is raised; mails that SES refuses wait a third of queue.MaxDelay. Up to another shortHold is added at random, which
// spreads them.
const (
	shortHold = 10 * time.Minute
	longHold  = time.Hour
)

// metered returns a context that counts the units of the table that are used, and a function that charges an account for them and for
// mails. It refuses nothing: the account's next requests wait instead.
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
