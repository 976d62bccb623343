package delivery

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/quota"
)

// MailWindow is the time within which mails about one thread become one: the first of them waits as long. Options may say otherwise.
const MailWindow = 5 * time.Minute

// work is an event whose delivery is being moved on.
type work struct {
	collab.EventRef
	event    *collab.Event
	document collab.DocumentRef
	settings collab.Settings   // of the account
	hints    map[string]string // addresses of users that the event's thread knows
	paid     quota.Paid        // as it was before mails were sent
	mailed   atomic.Int64      // mails sent and not charged
	notices  notices
}

// Event moves the delivery of an event on by one part of its recipients, wherever it stands: the message's cursor is but a hint for people.
func (d *Deliverer) Event(ctx context.Context, m queue.Event) error {
	ev, at, err := d.Outbox.Pending(ctx, m.EventRef)
	if collab.CodeOf(err) == collab.NotFound {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not there any more", slog.String("account", m.Account), slog.String("event", m.ID))
		return nil
	}
	if err != nil {
		return err
	}
	if at.Stage == collab.StageDone {
		return d.Outbox.Finish(ctx, m.EventRef, at)
	}
	w := &work{
		EventRef: m.EventRef, event: ev,
		document: collab.OrganizationRef{Account: ev.Account, Organization: ev.OrganizationID}.Document(ev.DocumentID),
	}
	account, err := d.Directory.Account(ctx, m.Account)
	if err != nil {
		return err
	}
	w.settings = account.Settings
	if at.Stage == collab.StageMail {
		return d.mailStep(ctx, w, at, true)
	}
	return d.spreadStep(ctx, w, at)
}

// mailTime is when the mails about an event are sent.
func (d *Deliverer) mailTime(w *work, mode collab.MailMode) collab.Millis {
	if mode == collab.MailWaits {
		return w.event.Time + d.MailWindow.Milliseconds()
	}
	return 0
}

// spreadStep serves the inboxes of one part of the recipients, and before the first the webhook endpoints and the list for all. After the
// last come the mails.
func (d *Deliverer) spreadStep(ctx context.Context, w *work, at collab.Progress) error {
	if at.Stage == collab.StageNew {
		if err := d.spreadWebhooks(ctx, w); err != nil {
			return err
		}
		if w.toAllAtOnce() {
			if err := d.Outbox.AddToInboxOfAll(ctx, w.document.OrganizationRef, *w.event.Notification); err != nil {
				return err
			}
			d.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
		}
	}
	circle, err := d.circle(ctx, w, at.Cursor)
	if err != nil {
		return err
	}
	if err := d.serveInboxes(ctx, w, circle); err != nil {
		return err
	}
	if circle.MailMode == collab.MailWaits { // the mails about earlier events on the thread may take these along
		if err := eachOf(withMail(circle.Recipients), func(r collab.Recipient) error { return d.Outbox.AddMail(ctx, w.thread(r), w.ID) }); err != nil {
			return err
		}
	}
	if at.Stage == collab.StageNew {
		d.Metrics.Add(metrics.Events, "", 1)
	}
	if circle.Next != "" {
		return d.goOn(ctx, w, at, collab.StageSpread, circle.Next)
	}
	if circle.MailMode == collab.MailNone {
		return d.Outbox.Finish(ctx, w.EventRef, at)
	}
	to := collab.Progress{Stage: collab.StageMail, Due: at.Due}
	if mailTime := d.mailTime(w, circle.MailMode); mailTime > d.millis() {
		to.Due = mailTime
	}
	moved, err := d.Outbox.Advance(ctx, w.EventRef, at, to)
	if err != nil || !moved {
		return err
	}
	return d.mailStep(ctx, w, to, false)
}

// goOn moves the delivery on to the next part, and asks for it by a message, unless another run has done so.
func (d *Deliverer) goOn(ctx context.Context, w *work, at collab.Progress, stage collab.Stage, cursor string) error {
	moved, err := d.Outbox.Advance(ctx, w.EventRef, at, collab.Progress{Stage: stage, Cursor: cursor, Due: at.Due})
	if err != nil || !moved {
		return err
	}
	return d.Events.SendEvents(ctx, queue.Event{EventRef: w.EventRef, Cursor: cursor})
}

// serveInboxes puts the notification into the inboxes of a part of the recipients.
func (d *Deliverer) serveInboxes(ctx context.Context, w *work, circle *collab.Circle) error {
	var users []string
	for _, r := range circle.Recipients {
		if r.Inbox {
			users = append(users, r.UserID)
		}
	}
	if len(users) == 0 {
		return nil
	}
	n := notificationOf(w.event)
	if w.event.Notification == nil {
		if err := d.Outbox.MakeNotification(ctx, w.document.OrganizationRef, n); err != nil {
			return err
		}
	}
	if err := d.Outbox.AddToInbox(ctx, w.document.OrganizationRef, n, users); err != nil {
		return err
	}
	d.Metrics.Add(metrics.Deliveries, metrics.Inbox, float64(len(users)))
	return nil
}

// mailStep sends the mails of one part of the recipients, when it is time; later says that time has passed since they were worked out, so that
// it is asked again who may know and wants to.
func (d *Deliverer) mailStep(ctx context.Context, w *work, at collab.Progress, later bool) error {
	circle, err := d.Outbox.Circle(ctx, w.EventRef, at.Cursor)
	if err != nil {
		return err
	}
	if circle == nil {
		return d.Outbox.Finish(ctx, w.EventRef, at) // there is nobody
	}
	if d.mailTime(w, circle.MailMode) > d.millis() {
		return nil // the relay brings it back
	}
	if held, err := d.holdMails(ctx, w, at); held || err != nil {
		return err
	}
	defer d.chargeMails(ctx, w)
	alone := circle.MailMode != collab.MailWaits
	mailed, dropped := withMail(circle.Recipients), []collab.Recipient(nil)
	if later {
		if mailed, dropped, err = d.stillWanted(ctx, w, mailed); err != nil {
			return err
		}
	}
	if err := eachOf(dropped, func(r collab.Recipient) error { return d.dropMail(ctx, w, r) }); err != nil {
		return err
	}
	if err := eachOf(mailed, func(r collab.Recipient) error { return d.sendMail(ctx, w, r, alone) }); err != nil {
		return err
	}
	if circle.Next != "" {
		return d.goOn(ctx, w, at, collab.StageMail, circle.Next)
	}
	return d.Outbox.Finish(ctx, w.EventRef, at)
}
