package delivery

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
)

// Emails over the account's quota wait at least shortHold, to make waiting cheap, and at most
// longHold, to leave soon after the quota is raised. Emails that SES throttles wait a third of
// queue.MaxDelay. A random part of shortHold is added to spread them.
const (
	shortHold = 10 * time.Minute
	longHold  = time.Hour
)

// metered returns a context that counts used units of the table, and a function that charges an
// account for them. It refuses nothing; the account's next requests wait instead.
func (d *Deliverer) metered(ctx context.Context) (context.Context, func(acct string)) {
	usage := collab.UsageOf(ctx)
	if usage == nil {
		usage = new(collab.Usage)
		ctx = collab.WithUsage(ctx, usage)
	}
	readBefore, writtenBefore, _ := usage.Total()
	return ctx, func(acct string) {
		read, written, _ := usage.Total()
		if account, ok := d.accounts.Get(acct, d.Now()); ok {
			d.ledger.Spend(ctx, acct, account.Settings, quota.Amounts{quota.Reads: read - readBefore, quota.Writes: written - writtenBefore})
		}
	}
}
