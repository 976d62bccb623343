package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
)

const (
	// MailWindow is how long the first mail about a thread waits, so that several events become one mail. Options may say otherwise.
	MailWindow = 5 * time.Minute

	mailPortion = 25 // recipients for whom what a mail says, and who may know it, is read at once

	mailLease = 2 * time.Minute // of a claim on mails: then another run may claim them. No run takes as long.
)

// What ends the mails of a page early.
var (
	errNoTime   = errors.New("the run's time is over: the other mails of the page are sent later")
	errDisabled = errors.New("the account or organization was disabled while its mails were sent")
)

// mails sends the mails of one page of recipients.
func (r *eventRun) mails(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	page := r.decided
	decided := page != nil && w.Cursor == ""
	if !decided {
		var err error
		if page, err = r.Inbox.RecipientPage(ctx, w.EventRef, w.Cursor); err != nil || page == nil {
			return then(w, outbox.StageEnd), err
		}
	}
	if at := r.mailsAt(page.MailMode); at > r.millis() {
		w.Next = max(w.Next, at)
		return w, nil
	}
	if until, err := r.heldUntil(ctx); err != nil || until != 0 {
		w.Next = until
		return w, err
	}
	for portion := range slices.Chunk(withMail(page.Recipients), mailPortion) {
		switch err := r.mailPortion(ctx, portion, decided, page.MailMode != inbox.MailWaits); {
		case errors.Is(err, errDisabled):
			return r.parked(w), nil
		case errors.Is(err, mail.ErrThrottled):
			w.Next, err = r.hold(ctx, "SES takes no more now", shortHold, err)
			return w, err
		case err != nil:
			return w, err
		}
		decided = false
	}
	if page.Next != "" {
		w.Cursor, w.Next = page.Next, r.millis()
		return w, nil
	}
	return then(w, outbox.StageEnd), nil
}

// mailPortion sends recipients the mail about the event: what it says, and who may know it, is as they are now. decided: this run has just
// decided about the recipients.
func (r *eventRun) mailPortion(ctx context.Context, list []inbox.Recipient, decided, alone bool) error {
	r.notices = notices{}
	mailed, dropped, err := r.stillWanted(ctx, list, decided)
	if err != nil {
		return err
	}
	if err := each(len(dropped), concurrency, func(i int) error { return r.dropMail(ctx, dropped[i]) }); err != nil {
		return err
	}
	return eachOf(mailed, func(p inbox.Recipient) error {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < mailTime {
			return errNoTime
		}
		if _, enabled, err := r.enabled(ctx, r.event.Account, r.document.Organization); err != nil || !enabled {
			return cmp.Or(err, errDisabled)
		}
		return r.sendMail(ctx, p, alone)
	})
}

// stillWanted divides recipients into those who get the mail and those who do not any more: the document, the thread, the event's comments
// or its notification were deleted, or the rules, which are asked again unless this run decided, refuse the mail by now.
func (r *eventRun) stillWanted(
	ctx context.Context, list []inbox.Recipient, decided bool,
) (mailed []inbox.Recipient, dropped []*decision, err error) {
	there, err := r.exists(ctx)
	if err == nil && there && r.event.AnnotationID != "" {
		err = r.readThread(ctx, r.event)
		there = r.head != nil && r.said(r.event)
	}
	if err == nil && there && !decided {
		var withdrawn bool
		withdrawn, err = r.Inbox.Withdrawn(ctx, r.stored.EventRef)
		there = !withdrawn
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !there:
		return nil, collab.Map(list, func(p inbox.Recipient) *decision { return &decision{person: person{User: p.User}, mail: deleted} }), nil
	case decided:
		return list, nil, nil
	}
	decisions, err := r.decide(ctx, collab.Map(list, func(p inbox.Recipient) person { return person{User: p.User} }))
	if err != nil {
		return nil, nil, err
	}
	for _, d := range decisions {
		if d.mail == "" {
			mailed = append(mailed, inbox.Recipient{User: d.User, Mail: true})
		} else {
			dropped = append(dropped, d)
		}
	}
	return mailed, dropped, nil
}

// thread is the event's thread as a recipient gets mail about it.
func (r *eventRun) thread(p inbox.Recipient) outbox.MailThread {
	return outbox.MailThread{DocumentRef: r.document, Annotation: r.event.AnnotationID, User: p.UserID}
}

// withMail returns the recipients who get a mail.
func withMail(all []inbox.Recipient) []inbox.Recipient {
	return slices.DeleteFunc(slices.Clone(all), func(p inbox.Recipient) bool { return !p.Mail })
}

// eachOf calls f for all recipients, some at the same time.
func eachOf(list []inbox.Recipient, f func(inbox.Recipient) error) error {
	return each(len(list), concurrency, func(i int) error { return f(list[i]) })
}

// dropMail records why there is no mail to a person, so that no later mail includes the event.
func (r *eventRun) dropMail(ctx context.Context, d *decision) error {
	thread := r.thread(inbox.Recipient{User: d.User})
	claimed, err := r.Outbox.ClaimMail(ctx, thread, r.event.ID, true, r.Now().Add(mailLease).UnixMilli(), r.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	return r.Outbox.MailDropped(ctx, thread, claimed, string(d.mail))
}

// sendMail sends a recipient the mail about the event, unless it was sent. Unless alone is true, it includes later events on the thread that
// no mail has been sent about.
func (r *eventRun) sendMail(ctx context.Context, p inbox.Recipient, alone bool) error {
	thread := r.thread(p)
	claimed, err := r.Outbox.ClaimMail(ctx, thread, r.event.ID, alone, r.Now().Add(mailLease).UnixMilli(), r.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	notice, left, err := r.notice(ctx, p, claimed)
	if err == nil {
		err = r.Mailer.Send(ctx, notice)
	}
	switch {
	case err == nil:
		r.mailed.Add(1)
		r.Metrics.Add(metrics.Deliveries, metrics.Email, 1)
	case errors.Is(err, mail.ErrRejected):
		r.Metrics.Add(metrics.DeliveryFailures, metrics.Email, 1)
		r.Log.LogAttrs(ctx, slog.LevelWarn, "mail rejected", slog.String("account", r.event.Account), slog.String("event", r.event.ID))
		return r.Outbox.MailDropped(ctx, thread, claimed, string(rejected))
	default:
		r.Metrics.Add(metrics.DeliveryRetries, metrics.Email, 1)
		free, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if freed := r.Outbox.FreeMail(free, thread, claimed); freed != nil || !errors.Is(err, mail.ErrThrottled) {
			return errors.Join(withoutText(err), freed)
		}
		return fmt.Errorf("%w: %w", mail.ErrThrottled, withoutText(err))
	}
	if len(left) > 0 {
		if err := r.Outbox.MailDropped(ctx, thread, left, string(deleted)); err != nil {
			return err
		}
		claimed = slices.DeleteFunc(claimed, func(id string) bool { return slices.Contains(left, id) })
	}
	return r.Outbox.MailSent(ctx, thread, claimed)
}

// withoutText returns the code of an error of the mail service without its text, which may hold addresses.
func withoutText(err error) error {
	var failure interface{ ErrorCode() string }
	if errors.As(err, &failure) {
		return errors.New("mail not sent: " + failure.ErrorCode())
	}
	return err
}
