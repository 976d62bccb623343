package delivery

import (
	"cmp"
	"context"
	"errors"
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

// Progress is what moving the delivery of an event on needs of the table.
type Progress interface {
	Pending(ctx context.Context, ref collab.EventRef) (*collab.Event, collab.Progress, error)
	Advance(ctx context.Context, ref collab.EventRef, from, to collab.Progress) (bool, error)
	Finish(ctx context.Context, ref collab.EventRef, p collab.Progress) error
	CountDeath(ctx context.Context, ref collab.EventRef) (int64, error)
	Survived(ctx context.Context, ref collab.EventRef) error
	Quarantine(ctx context.Context, ref collab.EventRef, at collab.Progress, reason string) error
	RecipientPage(ctx context.Context, ref collab.EventRef, cursor string) (*collab.RecipientPage, error)
	KeepRecipientPage(ctx context.Context, ref collab.EventRef, cursor string, c *collab.RecipientPage) (*collab.RecipientPage, error)
}

// Inboxes are what putting notifications into inboxes needs of the table.
type Inboxes interface {
	Notification(ctx context.Context, org collab.OrganizationRef, id string) (collab.Notification, error)
	MakeNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error
	AddToInbox(ctx context.Context, org collab.OrganizationRef, n collab.Notification, users []string) error
	AddToInboxOfAll(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error
}

// mostDeaths is how often the handling of an event may end with its process: then it is put into the quarantine.
const mostDeaths = 3

// Event moves the delivery of an event on by one page of its recipients, from any stage.
func (d *Deliverer) Event(ctx context.Context, m queue.Event) error {
	if !m.Again {
		return d.event(ctx, m.EventRef, false)
	}
	deaths, err := d.Outbox.CountDeath(ctx, m.EventRef)
	if err != nil {
		return err
	}
	err = d.event(ctx, m.EventRef, deaths >= mostDeaths)
	return errors.Join(err, d.Outbox.Survived(ctx, m.EventRef))
}

func (d *Deliverer) event(ctx context.Context, ref collab.EventRef, deadly bool) error {
	ev, at, err := d.Outbox.Pending(ctx, ref)
	switch {
	case collab.CodeOf(err) == collab.NotFound:
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not there any more", slog.String("account", ref.Account), slog.String("event", ref.ID))
		return nil
	case errors.Is(err, collab.ErrUnreadable) && at.Stage != collab.StageQuarantine:
		d.skip(ctx)(err)
		return d.quarantine(ctx, ref, at, "it can't be read")
	case err != nil && at.Stage != collab.StageQuarantine:
		return err
	case at.Stage == collab.StageQuarantine:
		return nil
	case at.Stage == collab.StageDone:
		return d.Outbox.Finish(ctx, ref, at)
	case deadly:
		return d.quarantine(ctx, ref, at, "its handling ended three times with the process")
	}
	w := &work{
		EventRef: ref, event: ev,
		document: collab.OrganizationRef{Account: ev.Account, Organization: ev.OrganizationID}.Document(ev.DocumentID),
	}
	switch enabled, err := d.enabled(ctx, ref.Account, ev.OrganizationID); {
	case err != nil:
		return err
	case !enabled:
		return d.park(ctx, w, at)
	}
	account, err := d.account(ctx, ref.Account)
	if err != nil {
		return err
	}
	w.settings = account.Settings
	if at.Stage == collab.StageMail {
		return d.mailStep(ctx, w, at, true)
	}
	return d.fanOut(ctx, w, at)
}

// errDisabled says that an account or organization was disabled while its mails were being sent.
var errDisabled = errors.New("disabled")

func (d *Deliverer) quarantine(ctx context.Context, ref collab.EventRef, at collab.Progress, reason string) error {
	d.Metrics.Add(metrics.Quarantined, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelError, "event put into the quarantine: "+reason, slog.String("account", ref.Account), slog.String("event", ref.ID))
	return d.Outbox.Quarantine(ctx, ref, at, reason)
}

// park leaves an event until its account and its organization are enabled: the relay brings it back from time to time.
func (d *Deliverer) park(ctx context.Context, w *work, at collab.Progress) error {
	if at.Work == collab.ParkedWork {
		return nil
	}
	to := at
	to.Work = collab.ParkedWork
	_, err := d.Outbox.Advance(ctx, w.EventRef, at, to)
	return err
}

// mailTime is when the mails about an event are sent.
func (d *Deliverer) mailTime(w *work, mode collab.MailMode) collab.Millis {
	if mode == collab.MailWaits {
		return w.event.Time + d.MailWindow.Milliseconds()
	}
	return 0
}

// fanOut serves the inboxes of one page of the recipients, and before the first the webhook endpoints and the list for all. After the
// last come the mails.
func (d *Deliverer) fanOut(ctx context.Context, w *work, at collab.Progress) error {
	if at.Stage == collab.StageNew {
		if err := d.fanOutWebhooks(ctx, w.EventRef, w.event.Type); err != nil {
			return err
		}
		if w.toAllAtOnce() {
			if err := d.Outbox.AddToInboxOfAll(ctx, w.document.OrganizationRef, *w.event.Notification); err != nil {
				return err
			}
			d.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
		}
	}
	page, err := d.recipientPage(ctx, w, at.Cursor)
	if err != nil {
		return err
	}
	if err := d.serveInboxes(ctx, w, page); err != nil {
		return err
	}
	if page.MailMode == collab.MailWaits { // the mails about earlier events on the thread may take these along
		if err := eachOf(withMail(page.Recipients), func(r collab.Recipient) error { return d.Outbox.AddMail(ctx, w.thread(r), w.ID) }); err != nil {
			return err
		}
	}
	if at.Stage == collab.StageNew {
		d.Metrics.Add(metrics.Events, "", 1)
	}
	if page.Next != "" {
		return d.goOn(ctx, w, at, collab.StageFanOut, page.Next)
	}
	if page.MailMode == collab.MailNone {
		return d.Outbox.Finish(ctx, w.EventRef, at)
	}
	to := collab.Progress{Stage: collab.StageMail, Due: at.Due, Work: at.Work}
	if mailTime := d.mailTime(w, page.MailMode); mailTime > d.millis() {
		to.Due, to.Work = mailTime, collab.MailWork
	}
	moved, err := d.Outbox.Advance(ctx, w.EventRef, at, to)
	if err != nil || !moved {
		return err
	}
	return d.mailStep(ctx, w, to, false)
}

// goOn moves the delivery on to the next page, and asks for it by a message, unless another run has done so.
func (d *Deliverer) goOn(ctx context.Context, w *work, at collab.Progress, stage collab.Stage, cursor string) error {
	moved, err := d.Outbox.Advance(ctx, w.EventRef, at, collab.Progress{Stage: stage, Cursor: cursor, Due: at.Due, Work: at.Work})
	if err != nil || !moved {
		return err
	}
	return d.Events.SendEvents(ctx, queue.Event{EventRef: w.EventRef})
}

// serveInboxes puts the notification into the inboxes of a page of recipients.
func (d *Deliverer) serveInboxes(ctx context.Context, w *work, page *collab.RecipientPage) error {
	var users []string
	for _, r := range page.Recipients {
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

// mailStep sends the mails of one page of recipients, when it is time; later says that time has passed since they were worked out, so that
// it is asked again who may know and wants to.
func (d *Deliverer) mailStep(ctx context.Context, w *work, at collab.Progress, later bool) error {
	page, err := d.Outbox.RecipientPage(ctx, w.EventRef, at.Cursor)
	if err != nil {
		return err
	}
	if page == nil {
		return d.Outbox.Finish(ctx, w.EventRef, at) // there is nobody
	}
	if d.mailTime(w, page.MailMode) > d.millis() {
		return nil // the relay brings it back
	}
	if held, err := d.holdMails(ctx, w, at); held || err != nil {
		return err
	}
	defer d.chargeMails(ctx, w)
	alone := page.MailMode != collab.MailWaits
	mailed, dropped := withMail(page.Recipients), []collab.Recipient(nil)
	if later {
		if mailed, dropped, err = d.stillWanted(ctx, w, mailed); err != nil {
			return err
		}
	}
	if err := eachOf(dropped, func(r collab.Recipient) error { return d.dropMail(ctx, w, r) }); err != nil {
		return err
	}
	err = eachOf(mailed, func(r collab.Recipient) error {
		if enabled, err := d.enabled(ctx, w.Account, w.document.Organization); err != nil || !enabled {
			return cmp.Or(err, errDisabled)
		}
		return d.sendMail(ctx, w, r, alone)
	})
	if errors.Is(err, errDisabled) {
		return d.park(ctx, w, at)
	}
	if err != nil {
		return err
	}
	if page.Next != "" {
		return d.goOn(ctx, w, at, collab.StageMail, page.Next)
	}
	return d.Outbox.Finish(ctx, w.EventRef, at)
}
