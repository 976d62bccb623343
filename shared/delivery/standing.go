package delivery

import (
	"context"

	"collabdata/shared/collab"
)

// account returns an account, cached for accountTTL.
func (d *Deliverer) account(ctx context.Context, id string) (collab.Account, error) {
	now := d.Now()
	if a, ok := d.known.Get(id, now); ok {
		return a, nil
	}
	a, err := d.Accounts.Account(ctx, id)
	if err == nil {
		d.known.Put(id, a, now.Add(accountTTL))
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

// exists reports whether the event's document exists, disabled or not.
func (r *eventRun) exists(ctx context.Context) (bool, error) {
	doc := r.document
	is, err := r.Directory.OpenDocument(ctx, doc.Account, doc.Organization, doc.Document, collab.CreateFlags{})
	// it is disabled, or replaced by a later one with its id
	if collab.CodeOf(err) == collab.FailedPrecondition {
		is = doc
		_, err = r.Directory.Document(ctx, doc)
	}
	if collab.CodeOf(err) == collab.NotFound {
		return false, nil
	}
	return is == doc, err
}
