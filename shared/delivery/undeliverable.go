package delivery

import (
	"context"
	"log/slog"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/metrics"
)

// undeliverable marks the address that a report of SES is about, and records an event, both once.
// The email's token names the person, so that a report reaches only the organization that sent the
// email. A report without a stored person who has the address is dropped, and so is one that says
// nothing about the address: it may be temporary.
func (d *Deliverer) undeliverable(ctx context.Context, r *mail.Report) error {
	if r.Reason == "" {
		return nil
	}
	to, org, err := d.reported(ctx, r)
	if err != nil || to == nil {
		if err == nil {
			d.Metrics.Add(metrics.ReportsDropped, "", 1)
		}
		return err
	}
	id, err := d.newID()
	if err != nil {
		return err
	}
	ev := &collab.Event{
		ID: id, Type: collab.EmailUndeliverable, Account: org.Account, OrganizationID: org.Organization,
		Incarnation: [2]int64{org.Incarnation}, Time: d.millis(), Undeliverable: to,
	}
	marked, err := d.Directory.MarkUndeliverable(ctx, org, *to, d.Outbox.Record(ev)...)
	if err != nil || !marked {
		return err
	}
	d.Metrics.Add(metrics.Undeliverable, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelInfo, "address accepts no email", slog.String("account", org.Account),
		slog.String("organization", org.Organization), slog.String("user", to.UserID), slog.String("reason", string(to.Reason)))
	d.announce(ctx, ev)
	return nil
}

// reported returns the stored person whose address a report is about, nil if there is none.
func (d *Deliverer) reported(ctx context.Context, r *mail.Report) (*collab.Undeliverable, collab.OrganizationRef, error) {
	var org collab.OrganizationRef
	to, err := unsubscribe.Read(r.Token, func(acct string) ([]byte, error) { return d.Accounts.MailSecret(ctx, acct) })
	if unsubscribe.Invalid(err) || err == nil && !r.Names(to.Email) {
		return nil, org, nil
	}
	if err != nil {
		return nil, org, err
	}
	org, err = d.Directory.FindOrganization(ctx, to.Account, to.Organization, false)
	if err == nil {
		var has bool
		if has, err = d.Directory.HasAddress(ctx, org, to.User, to.Email); has {
			return &collab.Undeliverable{UserID: to.User, Email: to.Email, Reason: r.Reason, Time: r.Time, Sent: r.Sent}, org, nil
		}
	}
	switch collab.CodeOf(err) {
	case collab.NotFound, collab.FailedPrecondition: // deleted or disabled
		err = nil
	}
	return nil, org, err
}
