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
	"collabdata/shared/store/outbox"
)

const (
	// MailWindow is how long the first mail about a thread waits, so that several events become one mail. Options may say otherwise.
	MailWindow = 5 * time.Minute

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
		if page, err = r.Outbox.RecipientPage(ctx, w.EventRef, w.Cursor); err != nil || page == nil {
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
	mailed, dropped, err := r.stillWanted(ctx, withMail(page.Recipients), decided)
	if err != nil {
		return w, err
	}
	if err := eachOf(dropped, func(p outbox.Recipient) error { return r.dropMail(ctx, p) }); err != nil {
		return w, err
	}
	alone := page.MailMode != outbox.MailWaits
	err = eachOf(mailed, func(p outbox.Recipient) error {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < mailTime {
			return errNoTime
		}
		if _, enabled, err := r.enabled(ctx, w.Account, r.document.Organization); err != nil || !enabled {
			return cmp.Or(err, errDisabled)
		}
		return r.sendMail(ctx, p, alone)
	})
	switch {
	case errors.Is(err, errDisabled):
		return r.parked(w), nil
	case errors.Is(err, mail.ErrThrottled):
		w.Next, err = r.hold(ctx, "SES takes no more now", shortHold, err)
		return w, err
	case err != nil:
		return w, err
	case page.Next != "":
		w.Cursor, w.Next = page.Next, r.millis()
		return w, nil
	}
	return then(w, outbox.StageEnd), nil
}

// stillWanted divides recipients into those who get the mail and those who do not any more: the document or the notification was deleted,
// or the rules, which are asked again unless this run decided, refuse the mail by now.
func (r *eventRun) stillWanted(ctx context.Context, list []outbox.Recipient, decided bool) (mailed, dropped []outbox.Recipient, err error) {
	there, err := r.exists(ctx)
	if err == nil && there && !decided {
		var withdrawn bool
		withdrawn, err = r.Outbox.Withdrawn(ctx, r.stored.EventRef)
		there = !withdrawn
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !there:
		return nil, list, nil
	case decided:
		return list, nil, nil
	}
	decisions, err := r.decide(ctx, collab.Map(list, func(p outbox.Recipient) person { return person{User: p.User} }))
	if err != nil {
		return nil, nil, err
	}
	for i, d := range decisions {
		if d.mail == "" {
			mailed = append(mailed, outbox.Recipient{User: d.User, Mail: true})
		} else {
			dropped = append(dropped, list[i])
		}
	}
	return mailed, dropped, nil
}

// thread is the event's thread as a recipient gets mail about it.
func (r *eventRun) thread(p outbox.Recipient) outbox.MailThread {
	return outbox.MailThread{DocumentRef: r.document, Annotation: r.event.AnnotationID, User: p.UserID}
}

// withMail returns the recipients who get a mail.
func withMail(all []outbox.Recipient) []outbox.Recipient {
	return slices.DeleteFunc(slices.Clone(all), func(p outbox.Recipient) bool { return !p.Mail })
}

// eachOf calls f for all recipients, some at the same time.
func eachOf(list []outbox.Recipient, f func(outbox.Recipient) error) error {
	return each(len(list), concurrency, func(i int) error { return f(list[i]) })
}

// dropMail marks the mail to a recipient as sent, without sending it, so that no later mail includes the event.
func (r *eventRun) dropMail(ctx context.Context, p outbox.Recipient) error {
	thread := r.thread(p)
	claimed, err := r.Outbox.ClaimMail(ctx, thread, r.event.ID, true, r.Now().Add(mailLease).UnixMilli(), r.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	return r.Outbox.MailSent(ctx, thread, claimed)
}

// sendMail sends a recipient the mail about the event, unless it was sent. Unless alone is true, it includes later events on the thread that
// no mail has been sent about.
func (r *eventRun) sendMail(ctx context.Context, p outbox.Recipient, alone bool) error {
	thread := r.thread(p)
	claimed, err := r.Outbox.ClaimMail(ctx, thread, r.event.ID, alone, r.Now().Add(mailLease).UnixMilli(), r.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	notice, err := r.notice(ctx, p, claimed)
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
	default:
		r.Metrics.Add(metrics.DeliveryRetries, metrics.Email, 1)
		free, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if freed := r.Outbox.FreeMail(free, thread, claimed); freed != nil || !errors.Is(err, mail.ErrThrottled) {
			return errors.Join(withoutText(err), freed)
		}
		return fmt.Errorf("%w: %w", mail.ErrThrottled, withoutText(err))
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
