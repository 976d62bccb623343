package delivery

import (
	"context"
	"errors"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/metrics"
)

// account returns an account, cached for accountTTL.
func (d *Deliverer) account(ctx context.Context, id string) (collab.Account, error) {
	now := d.Now()
	if a, ok := d.accounts.Get(id, now); ok {
		return a, nil
	}
	a, err := d.Accounts.Account(ctx, id)
	if err == nil {
		d.accounts.Put(id, a, now.Add(accountTTL))
	}
	return a, err
}

// enabled returns an account, and whether it exists and neither it nor its organization ("" for
// none) is disabled. If not, nothing is sent for it.
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

// longestSilence is the time for which a delivery waits for a silent permission provider.
const longestSilence = 10 * time.Minute

// errSilent means that a delivery waits for access.SilentPause.
var errSilent error = &collab.Error{
	Code: collab.Unavailable, Message: "the permission provider did not answer in time, and is asked again", RetryAfter: access.SilentPause,
}

// answered counts people that the permission provider did not answer for, and drops that error:
// they are refused. It returns errSilent if some were not asked, unless the delivery has waited
// since longestSilence.
func (d *Deliverer) answered(err error, since collab.Millis) error {
	if noAnswer, ok := errors.AsType[*access.NoAnswer](err); ok {
		if noAnswer.Later && d.millis()-since < longestSilence.Milliseconds() {
			return errSilent
		}
		d.Metrics.Add(metrics.DeliveryFailures, metrics.Inbox, float64(noAnswer.Users))
		return nil
	}
	return err
}
