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
	collab.Work      // as it stands
	again       bool // a message was sent before
	hops        int  // of the message
	event       *collab.Event
	document    collab.DocumentRef
	settings    collab.Settings   // of the account
	hints       map[string]string // addresses of users that the event's thread knows
	paid        quota.Paid        // as it was before mails were sent
	mailed      atomic.Int64      // mails sent and not charged
	notices     notices
}

// mostDeaths is how often the handling of an event may end with its process: then it is put into the quarantine.
const mostDeaths = 3

// Event moves the delivery of an event on by one page of its recipients, from any stage.
func (d *Deliverer) Event(ctx context.Context, m queue.Event) error {
	read := d.Outbox.Pending
	if m.Again {
		read = d.Outbox.CountDeath
	}
	at, err := read(ctx, m.EventRef, cmp.Or(m.Kind, collab.EventWork))
	if err != nil || at == nil {
		return err
	}
	err = d.event(ctx, *at, m)
	if m.Again {
		err = errors.Join(err, d.Outbox.Survived(ctx, *at))
	}
	return err
}

func (d *Deliverer) event(ctx context.Context, at collab.Work, m queue.Event) error {
	if at.Deaths >= mostDeaths {
		return d.quarantine(ctx, at, "its handling ended three times with the process")
	}
	ev, err := d.Outbox.Event(ctx, at.Account, at.ID)
	switch {
	case collab.CodeOf(err) == collab.NotFound:
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not there any more", slog.String("account", at.Account), slog.String("event", at.ID))
		return d.Outbox.Finish(ctx, at)
	case errors.Is(err, collab.ErrUnreadable):
		d.skip(ctx)(err)
		return d.quarantine(ctx, at, "it can't be read")
	case err != nil:
		return err
	}
	w := &work{
		Work: at, again: m.Again, hops: m.Hops, event: ev,
		document: collab.OrganizationRef{Account: ev.Account, Organization: ev.OrganizationID}.Document(ev.DocumentID),
	}
	account, enabled, err := d.enabled(ctx, w.Account, ev.OrganizationID)
	w.settings = account.Settings
	switch {
	case err != nil:
		return err
	case !enabled:
		return d.park(ctx, w)
	case w.Stage == collab.StageMail:
		return d.mailStep(ctx, w, nil)
	}
	return d.fanOut(ctx, w)
}

// errDisabled says that an account or organization was disabled while its mails were being sent.
var errDisabled = errors.New("disabled")

func (d *Deliverer) quarantine(ctx context.Context, at collab.Work, reason string) error {
	d.Metrics.Add(metrics.Quarantined, "", 1)
	d.Log.LogAttrs(ctx, slog.LevelError, "event put into the quarantine: "+reason, slog.String("account", at.Account), slog.String("event", at.ID))
	return d.Outbox.Quarantine(ctx, at, reason)
}

// park leaves an event until its account and its organization are enabled: the relay brings it back from time to time.
func (d *Deliverer) park(ctx context.Context, w *work) error {
	if w.Kind == collab.ParkedWork {
		return nil
	}
	to := w.Work
	to.Kind, to.Next = collab.ParkedWork, d.millis()
	_, err := d.advance(ctx, w, to)
	return err
}

// advance moves the work on, and reports whether it did: else another run has.
func (d *Deliverer) advance(ctx context.Context, w *work, to collab.Work) (bool, error) {
	moved, err := d.Outbox.Advance(ctx, w.Work, to)
	if moved {
		w.Work = to
	}
	return moved, err
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
func (d *Deliverer) fanOut(ctx context.Context, w *work) error {
	if w.Stage == collab.StageNew {
		if err := d.fanOutWebhooks(ctx, w); err != nil {
			return err
		}
		if w.toAllAtOnce() {
			if err := d.Outbox.AddToInboxOfAll(ctx, w.document.OrganizationRef, *w.event.Notification); err != nil {
				return err
			}
			d.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
		}
	}
	page, err := d.recipientPage(ctx, w)
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
	if w.Stage == collab.StageNew {
		d.Metrics.Add(metrics.Events, "", 1)
	}
	if page.Next != "" {
		return d.goOn(ctx, w, collab.StageFanOut, page.Next)
	}
	if page.MailMode == collab.MailNone {
		return d.Outbox.Finish(ctx, w.Work)
	}
	to := w.Work
	to.Stage, to.Cursor, to.Next = collab.StageMail, "", 0
	if mailTime := d.mailTime(w, page.MailMode); mailTime > d.millis() {
		to.Since, to.Next, to.Kind = mailTime, mailTime, collab.MailWork
	}
	if w.Cursor != "" {
		page = nil // the mails begin with the first
	}
	if moved, err := d.advance(ctx, w, to); err != nil || !moved {
		return err
	}
	return d.mailStep(ctx, w, page)
}

// goOn moves the delivery on to the next page, and asks for it by a message, unless another run has done so. Behind maxHops messages it is left to the
// relay.
func (d *Deliverer) goOn(ctx context.Context, w *work, stage collab.Stage, cursor string) error {
	to := w.Work
	to.Stage, to.Cursor = stage, cursor
	if w.hops >= maxHops {
		to.Next = d.millis()
		_, err := d.advance(ctx, w, to)
		return err
	}
	to.Next = 0
	if moved, err := d.advance(ctx, w, to); err != nil || !moved {
		return err
	}
	return d.Events.SendEvents(ctx, queue.Event{EventRef: w.EventRef, Kind: w.Kind, Hops: w.hops + 1})
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

// mailStep sends the mails of one page of recipients, when it is time. A page of nil is that which was kept: as time has passed since, it is
// asked again who may know and wants to.
func (d *Deliverer) mailStep(ctx context.Context, w *work, page *collab.RecipientPage) (err error) {
	later := page == nil
	if later {
		if page, err = d.Outbox.RecipientPage(ctx, w.EventRef, w.Cursor); err != nil {
			return err
		}
	}
	if page == nil {
		return d.Outbox.Finish(ctx, w.Work) // there is nobody
	}
	if d.mailTime(w, page.MailMode) > d.millis() {
		return nil // the relay brings it back
	}
	if held, err := d.holdMails(ctx, w); held || err != nil {
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
		if _, enabled, err := d.enabled(ctx, w.Account, w.document.Organization); err != nil || !enabled {
			return cmp.Or(err, errDisabled)
		}
		return d.sendMail(ctx, w, r, alone)
	})
	if errors.Is(err, errDisabled) {
		return d.park(ctx, w)
	}
	if err != nil {
		return err
	}
	if page.Next != "" {
		return d.goOn(ctx, w, collab.StageMail, page.Next)
	}
	return d.Outbox.Finish(ctx, w.Work)
}
