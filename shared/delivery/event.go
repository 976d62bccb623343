package delivery

import (
	"context"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
)

// MailWindow is the time within which mails about one thread become one: the first of them waits as long.
const MailWindow = 5 * time.Minute

// work is an event whose delivery is being moved on.
type work struct {
	collab.EventRef
	event    *collab.Event
	settings collab.Settings
	document collab.DocumentRef
	docName  string // "" until it was asked for
}

// Event moves the delivery of an event on by one part of its recipients, wherever it stands: the message's cursor is but a hint for people.
func (d *Deliverer) Event(ctx context.Context, m queue.Event) error {
	for {
		again, err := d.step(ctx, m.EventRef)
		if err != nil || !again {
			return err
		}
	}
}

// step serves the part at which the delivery of an event stands. again reports that the next one can be served at once.
func (d *Deliverer) step(ctx context.Context, ref collab.EventRef) (again bool, err error) {
	ev, at, err := d.Store.Pending(ctx, ref)
	if collab.CodeOf(err) == collab.NotFound {
		d.Log.LogAttrs(ctx, slog.LevelWarn, "event not there any more", slog.String("account", ref.Account), slog.String("event", ref.ID))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if at.Stage == collab.StageDone {
		return false, d.Store.Finish(ctx, ref, at)
	}
	account, err := d.Store.Account(ctx, ref.Account)
	if err != nil {
		return false, err
	}
	w := &work{
		EventRef: ref, event: ev, settings: account.Settings,
		document: collab.OrganizationRef{Account: ev.Account, Organization: ev.OrganizationID}.Document(ev.DocumentID),
	}
	if at.Stage == collab.StageMail {
		if d.millis() < w.mailTime() {
			return false, nil // the relay brings it back
		}
		return false, d.mailStep(ctx, w, at)
	}
	return d.spreadStep(ctx, w, at)
}

// mailTime is when the mails about an event that wait for others are sent.
func (w *work) mailTime() collab.Millis { return w.event.Time + MailWindow.Milliseconds() }

// spreadStep serves one part of the recipients, and before the first the webhook endpoints and the list for all.
func (d *Deliverer) spreadStep(ctx context.Context, w *work, at collab.Progress) (again bool, err error) {
	if at.Stage == collab.StageNew {
		if err := d.spreadWebhooks(ctx, w); err != nil {
			return false, err
		}
		if w.toAllAtOnce() {
			if err := d.Store.AddToInboxOfAll(ctx, w.document.OrganizationRef, *w.event.Notification); err != nil {
				return false, err
			}
			d.Metrics.Add(metrics.Deliveries, metrics.Inbox, 1)
		}
	}
	circle, err := d.circle(ctx, w, at.Cursor)
	if err != nil {
		return false, err
	}
	if err := d.serve(ctx, w, circle); err != nil {
		return false, err
	}
	if at.Stage == collab.StageNew {
		d.Metrics.Add(metrics.Events, "", 1)
	}
	switch {
	case circle.Next != "":
		return false, d.goOn(ctx, w, at, collab.StageSpread, circle.Next)
	case circle.MailWaits:
		to := collab.Progress{Stage: collab.StageMail, Due: max(w.mailTime(), d.millis())}
		moved, err := d.Store.Advance(ctx, w.EventRef, at, to)
		return moved && to.Due <= d.millis(), err
	}
	return false, d.Store.Finish(ctx, w.EventRef, at)
}

// goOn moves the delivery on to the next part, and asks for it by a message, unless another run has done so.
func (d *Deliverer) goOn(ctx context.Context, w *work, at collab.Progress, stage collab.Stage, cursor string) error {
	moved, err := d.Store.Advance(ctx, w.EventRef, at, collab.Progress{Stage: stage, Cursor: cursor, Due: at.Due})
	if err != nil || !moved {
		return err
	}
	return d.Events.SendEvents(ctx, queue.Event{EventRef: w.EventRef, Cursor: cursor})
}

// serve puts the notification into the inboxes of a part of the recipients, and sends their mails unless those wait.
func (d *Deliverer) serve(ctx context.Context, w *work, circle *collab.Circle) error {
	var users []string
	for _, r := range circle.Recipients {
		if r.Inbox {
			users = append(users, r.UserID)
		}
	}
	if len(users) > 0 {
		n := notificationOf(w.event)
		if w.event.Notification == nil {
			if err := d.Store.MakeNotification(ctx, w.document.OrganizationRef, n); err != nil {
				return err
			}
		}
		if err := d.Store.AddToInbox(ctx, w.document.OrganizationRef, n, users); err != nil {
			return err
		}
		d.Metrics.Add(metrics.Deliveries, metrics.Inbox, float64(len(users)))
	}
	if circle.MailWaits {
		return d.eachMail(circle, func(r collab.Recipient) error {
			return d.Store.AddMail(ctx, w.thread(r), w.ID)
		})
	}
	return d.eachMail(circle, func(r collab.Recipient) error { return d.sendMail(ctx, w, r, true) })
}

// mailStep sends the mails of one part of the recipients that have waited.
func (d *Deliverer) mailStep(ctx context.Context, w *work, at collab.Progress) error {
	circle, err := d.Store.Circle(ctx, w.EventRef, at.Cursor)
	if err != nil {
		return err
	}
	if circle == nil {
		circle = &collab.Circle{} // it has nobody
	}
	if err := d.eachMail(circle, func(r collab.Recipient) error { return d.sendMail(ctx, w, r, false) }); err != nil {
		return err
	}
	if circle.Next != "" {
		return d.goOn(ctx, w, at, collab.StageMail, circle.Next)
	}
	return d.Store.Finish(ctx, w.EventRef, at)
}
