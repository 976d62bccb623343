package delivery

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
)

// listed reports whether one entry in the organization's list for all serves every inbox: who does not get it is decided when it is read.
func (r *eventRun) listed() bool { return r.event.NotifyAll && !r.event.VerifyAccess }

// listForAll puts a notification to everyone into the organization's list for all.
func (r *eventRun) listForAll(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	if !r.listed() {
		return then(w, outbox.StageRecipients), nil
	}
	if there, err := r.notify(ctx); err != nil || !there {
		return then(w, outbox.StageEnd), err
	}
	if err := r.Inbox.AddToInboxOfAll(ctx, r.document.OrganizationRef, notificationOf(r.event)); err != nil {
		return w, err
	}
	r.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
	return then(w, outbox.StageRecipients), nil
}

// inboxes decides one page of the recipients, and puts the notification into their inboxes. Mails follow the last page.
func (r *eventRun) inboxes(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	page, err := r.page(ctx, w.Cursor)
	if err != nil {
		return w, err
	}
	if len(page.Recipients) > 0 {
		if there, err := r.serve(ctx, page.Recipients); err != nil || !there {
			return then(w, outbox.StageEnd), err
		}
	}
	if page.MailMode == inbox.MailWaits { // mails about earlier events on the thread may include these
		err := eachOf(withMail(page.Recipients), func(p inbox.Recipient) error { return r.Outbox.AddMail(ctx, r.thread(p), w.ID) })
		if err != nil {
			return w, err
		}
	}
	if r.stored.Stage == outbox.StageNew {
		r.Metrics.Add(metrics.Events, "", 1)
	}
	switch {
	case page.Next != "":
		w.Cursor, w.Next = page.Next, r.millis()
		return w, nil
	case page.MailMode == inbox.MailNone:
		return then(w, outbox.StageEnd), nil
	}
	w = then(w, outbox.StageMail)
	if at := r.mailsAt(page.MailMode); at > r.millis() {
		w.Next = at
	}
	return w, nil
}

// serve puts the notification into the inboxes of recipients. It reports false, and puts it into none, where the document or the
// notification was deleted.
func (r *eventRun) serve(ctx context.Context, list []inbox.Recipient) (there bool, err error) {
	var users []string
	for _, p := range list {
		if p.Inbox {
			users = append(users, p.UserID)
		}
	}
	if len(users) == 0 && r.event.Notification == nil {
		return r.exists(ctx)
	}
	if there, err := r.notify(ctx, users...); err != nil || !there {
		return false, err
	}
	if err := r.Inbox.AddToInbox(ctx, r.document.OrganizationRef, notificationOf(r.event), users, mentionedBy(r.event)...); err != nil {
		return false, err
	}
	r.Metrics.Add(metrics.Deliveries, metrics.Inbox, float64(len(users)))
	return true, nil
}

// notify stores the event's notification and that it is for users. It reports false where the document or the notification was deleted.
func (r *eventRun) notify(ctx context.Context, users ...string) (there bool, err error) {
	if there, err := r.exists(ctx); err != nil || !there {
		return false, err
	}
	return r.Inbox.AddAudience(ctx, r.document.OrganizationRef, notificationOf(r.event), r.event.ID, users...)
}

// page returns the page of recipients that begins at a cursor: the one that was stored, or else it decides it and stores that, so that every
// run reaches the same people.
func (r *eventRun) page(ctx context.Context, cursor string) (*inbox.RecipientPage, error) {
	if !r.event.Notify || r.listed() && r.Mailer == nil {
		return &inbox.RecipientPage{}, nil
	}
	if r.repeated { // a first message finds none, or finds it when it stores its own
		page, err := r.Inbox.RecipientPage(ctx, r.stored.EventRef, cursor)
		if err != nil || page != nil {
			return page, err
		}
	}
	people, next, err := r.audience(ctx, cursor)
	if err != nil {
		return nil, err
	}
	decisions, err := r.decide(ctx, people)
	if err != nil {
		return nil, err
	}
	page := &inbox.RecipientPage{Next: next, Recipients: recipients(decisions)}
	page.Left, page.Reasons = leftOut(decisions)
	if page.MailMode, err = r.mailMode(ctx, cursor, page); err != nil {
		return nil, err
	}
	if cursor != "" || next != "" || len(page.Recipients) > 0 || len(page.Left) >= worthKeeping {
		page, err = r.Inbox.KeepRecipientPage(ctx, r.stored.EventRef, cursor, page)
	}
	if cursor == "" {
		r.decided = page
	}
	return page, err
}

// worthKeeping is how many people who are left out are kept where nobody is reached: the page takes a write unit, which is half of one for
// each then.
const worthKeeping = 2

// mailMode decides with the first page when the mails about an event are sent. Later pages follow it.
func (r *eventRun) mailMode(ctx context.Context, cursor string, page *inbox.RecipientPage) (inbox.MailMode, error) {
	if cursor != "" {
		first, err := r.Inbox.RecipientPage(ctx, r.stored.EventRef, "")
		if err != nil || first == nil {
			return inbox.MailNone, err
		}
		return first.MailMode, nil
	}
	some := slices.ContainsFunc(page.Recipients, func(p inbox.Recipient) bool { return p.Mail })
	switch {
	case r.Mailer == nil || !some && page.Next == "":
		return inbox.MailNone, nil
	case r.event.AnnotationID == "" || r.settings.MailGroupingOff:
		return inbox.MailNow, nil
	}
	return inbox.MailWaits, nil
}

// mailsAt is when the mails about the event are sent, 0 for at once.
func (r *eventRun) mailsAt(mode inbox.MailMode) collab.Millis {
	if mode == inbox.MailWaits {
		return r.event.Time + r.MailWindow.Milliseconds()
	}
	return 0
}
