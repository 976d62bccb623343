package delivery

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/store/outbox"
)

// toAllAtOnce reports whether everyone of the organization is told by one entry in the list for all: who is left out is decided when
// somebody reads it.
func (w *work) toAllAtOnce() bool { return w.event.NotifyAll && !w.event.VerifyAccess }

// recipientPage returns the page of recipients at which the work is, as it was kept, or works it out and keeps it.
func (d *Deliverer) recipientPage(ctx context.Context, w *work) (*outbox.RecipientPage, error) {
	cursor := w.Cursor
	if !w.event.Notify || w.toAllAtOnce() && d.Mailer == nil {
		return &outbox.RecipientPage{}, nil
	}
	if w.again { // else it is not there, or will be found when it is to be kept
		page, err := d.Outbox.RecipientPage(ctx, w.EventRef, cursor)
		if err != nil || page != nil {
			return page, err
		}
	}
	people, next, err := d.concerned(ctx, w, cursor)
	if err != nil {
		return nil, err
	}
	page := &outbox.RecipientPage{Next: next}
	if page.Recipients, err = d.recipients(ctx, w, people); err != nil {
		return nil, err
	}
	if page.MailMode, err = d.mailMode(ctx, w, cursor, page); err != nil {
		return nil, err
	}
	if cursor == "" && next == "" && len(page.Recipients) == 0 {
		return page, nil
	}
	return d.Outbox.KeepRecipientPage(ctx, w.EventRef, cursor, page)
}

// mailMode decides with the first page when the mails about an event are sent; the others follow it.
func (d *Deliverer) mailMode(ctx context.Context, w *work, cursor string, page *outbox.RecipientPage) (outbox.MailMode, error) {
	if cursor != "" {
		first, err := d.Outbox.RecipientPage(ctx, w.EventRef, "")
		if err != nil || first == nil {
			return outbox.MailNone, err
		}
		return first.MailMode, nil
	}
	some := slices.ContainsFunc(page.Recipients, func(r outbox.Recipient) bool { return r.Mail })
	switch {
	case d.Mailer == nil || !some && page.Next == "":
		return outbox.MailNone, nil
	case w.event.AnnotationID == "" || w.settings.MailGroupingOff:
		return outbox.MailNow, nil
	}
	return outbox.MailWaits, nil
}

// recipients returns those of the people who may know of an event and want to be told, with the channels by which.
func (d *Deliverer) recipients(ctx context.Context, w *work, people []collab.User) ([]outbox.Recipient, error) {
	if len(people) == 0 {
		return nil, nil
	}
	ids := collab.Map(people, func(u collab.User) string { return u.UserID })
	if w.event.VerifyAccess {
		allowed, err := d.allowed(ctx, w, ids)
		if err != nil {
			return nil, err
		}
		kept := people[:0:0]
		ids = ids[:0]
		for _, u := range people {
			if allowed[u.UserID] {
				kept, ids = append(kept, u), append(ids, u.UserID)
			}
		}
		people = kept
	}
	preferences := map[string]collab.Preferences{}
	if !w.settings.NotificationPreferencesOff {
		var err error
		if preferences, err = d.Directory.UserPreferences(ctx, w.document, ids); err != nil {
			return nil, err
		}
	}
	var list []outbox.Recipient
	for _, u := range people {
		p, ok := preferences[u.UserID]
		if !ok {
			p = collab.DefaultPreferences
		}
		mine := !w.event.NotifyAll
		r := outbox.Recipient{User: u, Inbox: p.Inbox.Wants(mine) && !w.toAllAtOnce(), Mail: p.Email.Wants(mine) && d.Mailer != nil}
		if !r.Inbox && !r.Mail {
			continue
		}
		list = append(list, r)
	}
	return d.addressed(ctx, w, list)
}

// addressed returns recipients with the addresses that their mails go to: the one that the event names, else the member's, else the one
// that the thread knows; the member's alone where the account wants that. Who has none, or has unsubscribed, gets no mail.
func (d *Deliverer) addressed(ctx context.Context, w *work, list []outbox.Recipient) ([]outbox.Recipient, error) {
	only := w.settings.MailToMembersOnly
	var ask []string
	for _, r := range list {
		if r.Mail && (only || collab.Deref(r.Email) == "") {
			ask = append(ask, r.UserID)
		}
	}
	members, err := d.Directory.Members(ctx, w.document.OrganizationRef, ask)
	if err != nil {
		return nil, err
	}
	var mailed []collab.User
	for i := range list {
		r := &list[i]
		if m, ok := members[r.UserID]; ok {
			r.Email, r.Name = m.Email, cmp.Or(r.Name, m.Name)
		} else if only {
			r.Email = nil
		}
		if hint := w.hints[r.UserID]; hint != "" && !only && collab.Deref(r.Email) == "" {
			r.Email = &hint
		}
		if r.User = r.User.Short(); r.Mail && collab.Deref(r.Email) != "" {
			mailed = append(mailed, r.User)
		}
	}
	off, err := d.Directory.Unsubscribed(ctx, w.document.OrganizationRef, mailed)
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for _, r := range list {
		if r.Mail = r.Mail && collab.Deref(r.Email) != "" && !off[r.UserID]; !r.Mail {
			r.User = collab.User{UserID: r.UserID}
		}
		if r.Inbox || r.Mail {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// allowed returns those of the users who may see the event's document.
func (d *Deliverer) allowed(ctx context.Context, w *work, users []string) (map[string]bool, error) {
	p, err := d.Directory.PermissionProvider(ctx, w.Account)
	if err != nil {
		return nil, err
	}
	if p != nil {
		allowed, err := d.askProvider(ctx, p, w.document, users)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			d.Log.LogAttrs(ctx, slog.LevelWarn, "the permission provider gave no answer: those it was asked about are not notified",
				slog.String("account", w.Account), slog.String("event", w.ID), slog.Int("users", len(users)-len(allowed)), slog.Any("cause", err))
			d.Metrics.Add(metrics.DeliveryFailures, metrics.Inbox, float64(len(users)-len(allowed)))
		}
		return allowed, nil
	}
	return d.Directory.MaySee(ctx, w.document, w.settings.DefaultAccess, users)
}
