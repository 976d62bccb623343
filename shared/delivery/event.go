package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/store/outbox"
)

// MailWindow is the time within which mails about one thread become one: the first of them waits as long. Options may say otherwise.
const MailWindow = 5 * time.Minute

// work is an event whose delivery is being moved on.
type work struct {
	outbox.Work      // as it stands
	again       bool // a message was sent before
	hops        int  // of the message
	event       *collab.Event
	document    collab.DocumentRef
	settings    collab.Settings   // of the account
	hints       map[string]string // addresses of users that the event's thread knows
	mailed      atomic.Int64      // mails sent
	notices     notices

	read  bool             // the document was
	found *collab.Document // nil: it is not there
}

const (
	mostDeaths = 3                // attempts at an event that never reported an end: then it is put into the quarantine
	endTime    = 5 * time.Second  // of a run that is left when it ends whatever it waits for: it reports that
	mailTime   = 12 * time.Second // of a run that is left when it begins no further mail
)

// Event moves the delivery of an event on by one page of its recipients, from any stage.
func (d *Deliverer) Event(ctx context.Context, m queue.Event) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-endTime))
		defer cancel()
	}
	if m.Kind == collab.JobWork {
		return d.job(ctx, m)
	}
	read := d.Outbox.Pending
	if m.Again {
		read = d.Outbox.CountAttempt
	}
	at, err := read(ctx, m.EventRef, cmp.Or(m.Kind, collab.EventWork))
	if err != nil || at == nil {
		return err
	}
	err = d.event(ctx, *at, m)
	if m.Again {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime/2)
		defer cancel()
		err = errors.Join(err, d.Outbox.ReportEnd(ending, *at))
	}
	return err
}

// job carries a job on, and asks for its next run at once: behind maxHops messages, and where one is lost, the relay does. Of several runs
// side by side one alone goes on.
func (d *Deliverer) job(ctx context.Context, m queue.Event) error {
	at, err := d.Outbox.Pending(ctx, m.EventRef, m.Kind)
	if err != nil || at == nil {
		return err
	}
	if err := d.Threads.RunJob(ctx, m.Account, m.ID); err != nil {
		return err
	}
	to := *at
	to.Cursor, to.Since, to.Next = strconv.FormatInt(d.millis(), 10), d.millis(), 0
	if m.Hops >= maxHops {
		to.Next = to.Since
	}
	moved, err := d.Outbox.Advance(ctx, *at, to) // not where the job is done
	if err != nil || !moved || m.Hops >= maxHops {
		return err
	}
	return d.Events.SendEventsIn(ctx, 0, queue.Event{EventRef: m.EventRef, Kind: m.Kind, Hops: m.Hops + 1})
}

func (d *Deliverer) event(ctx context.Context, at outbox.Work, m queue.Event) error {
	if at.Deaths >= mostDeaths {
		return d.quarantine(ctx, at, "three attempts at it never reported an end")
	}
	ctx, charge := d.metered(ctx)
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
		document: ev.Document(),
	}
	account, enabled, err := d.enabled(ctx, w.Account, ev.OrganizationID)
	w.settings = account.Settings
	switch {
	case err != nil:
		return err
	case !enabled:
		return d.park(ctx, w)
	case ev.Time < account.CreatedAt:
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event of a deleted account", slog.String("account", at.Account), slog.String("event", at.ID))
		return d.Outbox.Finish(ctx, at)
	}
	defer func() { charge(w.Account, w.settings, float64(w.mailed.Load())) }()
	if w.Kind == collab.ParkedWork {
		to := w.Work
		to.Kind, to.Since, to.Next = collab.EventWork, d.millis(), 0
		if moved, err := d.advance(ctx, w, to); err != nil || !moved {
			return err
		}
	}
	if w.Stage == outbox.StageMail {
		return d.mailStep(ctx, w, nil)
	}
	return d.fanOut(ctx, w)
}

// errNoTime says that the rest of a page's mails is left to another run.
var errNoTime = errors.New("the run's time is over: the other mails of the page are sent later")

// errDisabled says that an account or organization was disabled while its mails were being sent.
var errDisabled = errors.New("disabled")

func (d *Deliverer) quarantine(ctx context.Context, at outbox.Work, reason string) error {
	d.Metrics.Add(metrics.Quarantined, "", 1)
	d.Log.LogAttrs(
		ctx, slog.LevelError, "event put into the quarantine: "+reason, slog.String("account", at.Account), slog.String("event", at.ID),
	)
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
func (d *Deliverer) advance(ctx context.Context, w *work, to outbox.Work) (bool, error) {
	moved, err := d.Outbox.Advance(ctx, w.Work, to)
	if moved {
		w.Work = to
	}
	return moved, err
}

// mailsAt is when the mails about an event are sent.
func (d *Deliverer) mailsAt(w *work, mode outbox.MailMode) collab.Millis {
	if mode == outbox.MailWaits {
		return w.event.Time + d.MailWindow.Milliseconds()
	}
	return 0
}

// fanOut serves the inboxes of one page of the recipients, and before the first the webhook endpoints and the list for all. After the
// last come the mails.
func (d *Deliverer) fanOut(ctx context.Context, w *work) error {
	if w.Stage == outbox.StageNew {
		if err := d.fanOutWebhooks(ctx, w); err != nil {
			return err
		}
	}
	page, err := d.recipientPage(ctx, w)
	if err != nil {
		return err
	}
	if told, err := d.serveInboxes(ctx, w, page); err != nil {
		return err
	} else if !told {
		return d.Outbox.Finish(ctx, w.Work)
	}
	if page.MailMode == outbox.MailWaits { // the mails about earlier events on the thread may take these along
		if err := eachOf(withMail(page.Recipients), func(r outbox.Recipient) error { return d.Outbox.AddMail(ctx, w.thread(r), w.ID) }); err != nil {
			return err
		}
	}
	if w.Stage == outbox.StageNew {
		d.Metrics.Add(metrics.Events, "", 1)
	}
	if page.Next != "" {
		return d.goOn(ctx, w, outbox.StageFanOut, page.Next, d.millis())
	}
	if page.MailMode == outbox.MailNone {
		return d.Outbox.Finish(ctx, w.Work)
	}
	if at := d.mailsAt(w, page.MailMode); at > d.millis() {
		return d.goOn(ctx, w, outbox.StageMail, "", at)
	}
	to := w.Work
	to.Stage, to.Cursor, to.Next = outbox.StageMail, "", 0
	if w.Cursor != "" {
		page = nil // the mails begin with the first
	}
	if moved, err := d.advance(ctx, w, to); err != nil || !moved {
		return err
	}
	return d.mailStep(ctx, w, page)
}

// goOn moves the delivery on to a page, and asks for it at a time by a message, unless another run has done so. Behind maxHops messages,
// and where the time is far, it is left to the relay.
func (d *Deliverer) goOn(ctx context.Context, w *work, stage outbox.Stage, cursor string, at collab.Millis) error {
	to := w.Work
	to.Stage, to.Cursor, to.Next = stage, cursor, at
	if wait := at - d.millis(); wait > 0 {
		to.Since = at
	}
	wait := max(time.UnixMilli(at).Sub(d.Now()), 0)
	send := w.hops < maxHops && wait <= queue.MaxDelay
	if send {
		to.Next += time.Minute.Milliseconds() // should the message be lost
	}
	if moved, err := d.advance(ctx, w, to); err != nil || !moved || !send {
		return err
	}
	return d.Events.SendEventsIn(ctx, wait, queue.Event{EventRef: w.EventRef, Kind: w.Kind, Hops: w.hops + 1})
}

// serveInboxes puts the notification into the inboxes of a page of recipients, and before the first page into the list for all. It reports
// false where nobody is to be told any more: the notification or its document was deleted.
func (d *Deliverer) serveInboxes(ctx context.Context, w *work, page *outbox.RecipientPage) (told bool, err error) {
	var users []string
	for _, r := range page.Recipients {
		if r.Inbox {
			users = append(users, r.UserID)
		}
	}
	toAll := w.Stage == outbox.StageNew && w.toAllAtOnce()
	if len(page.Recipients) == 0 && !toAll {
		return true, nil
	}
	if exists, err := d.exists(ctx, w); err != nil || !exists {
		return false, err
	}
	if len(users) == 0 && w.event.Notification == nil {
		return true, nil
	}
	org, n := w.document.OrganizationRef, notificationOf(w.event)
	if told, err := d.Outbox.Tell(ctx, org, n, w.ID, users...); err != nil || !told {
		return false, err
	}
	if toAll {
		if err := d.Outbox.AddToInboxOfAll(ctx, org, n); err != nil {
			return false, err
		}
		d.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
	}
	if err := d.Outbox.AddToInbox(ctx, org, n, users); err != nil {
		return false, err
	}
	d.Metrics.Add(metrics.Deliveries, metrics.Inbox, float64(len(users)))
	return true, nil
}

// mailStep sends the mails of one page of recipients, when it is time. A page of nil is that which was kept: as time has passed since, it
// is asked again who may know and wants to.
func (d *Deliverer) mailStep(ctx context.Context, w *work, page *outbox.RecipientPage) (err error) {
	later := page == nil
	if later {
		if page, err = d.Outbox.RecipientPage(ctx, w.EventRef, w.Cursor); err != nil {
			return err
		}
	}
	if page == nil {
		return d.Outbox.Finish(ctx, w.Work) // there is nobody
	}
	if d.mailsAt(w, page.MailMode) > d.millis() {
		return nil // a message that came early
	}
	if held, err := d.holdMails(ctx, w); held || err != nil {
		return err
	}
	alone := page.MailMode != outbox.MailWaits
	mailed, dropped := withMail(page.Recipients), []outbox.Recipient(nil)
	exists, err := d.exists(ctx, w)
	if err == nil && exists && later {
		var withdrawn bool
		withdrawn, err = d.Outbox.Withdrawn(ctx, w.EventRef)
		exists = !withdrawn
	}
	switch {
	case err != nil:
		return err
	case !exists:
		mailed, dropped = nil, mailed
	case later:
		if mailed, dropped, err = d.stillWanted(ctx, w, mailed); err != nil {
			return err
		}
	}
	if err := eachOf(dropped, func(r outbox.Recipient) error { return d.dropMail(ctx, w, r) }); err != nil {
		return err
	}
	err = eachOf(mailed, func(r outbox.Recipient) error {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < mailTime {
			return errNoTime
		}
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
		return d.goOn(ctx, w, outbox.StageMail, page.Next, d.millis())
	}
	return d.Outbox.Finish(ctx, w.Work)
}
