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

	mailPortion = 25 // people for whom what a mail says, and who may know it, is read at once

	mailLease = 2 * time.Minute // of a claim on mails: then another run may claim them. No run takes as long.
)

// Errors that end the mails of a page early.
var (
	errNoTime   = errors.New("the run's time is over: the other mails of the page are sent later")
	errDisabled = errors.New("the account or organization was disabled while its mails were sent")
	errGone     = errors.New("what the mails are about was deleted")
)

// deletedWhy is why a mail leaves an event out whose comments were deleted.
const deletedWhy = "deleted"

// mails sends the mails to one page of the audience.
func (r *eventRun) mails(ctx context.Context, w outbox.Work) (outbox.Work, error) {
	if at := r.mailsAt(); at > r.millis() {
		w.Next = max(w.Next, at)
		return w, nil
	}
	if until, err := r.heldUntil(ctx); err != nil || until != 0 {
		w.Next = until
		return w, err
	}
	decided, next := r.decided, ""
	if r.decided = nil; decided == nil {
		people, further, err := r.audience(ctx, w.Cursor)
		if err == nil {
			decided, err = r.decideAgain(ctx, people)
		}
		if errors.Is(err, errGone) {
			return then(w, outbox.StageEnd), nil
		}
		if err != nil {
			return w, err
		}
		next = further
	}
	first := true
	for portion := range slices.Chunk(withMail(decided), mailPortion) {
		switch err := r.mailPortion(ctx, portion, first); {
		case errors.Is(err, errGone):
			return then(w, outbox.StageEnd), nil
		case errors.Is(err, errDisabled):
			return r.parked(w), nil
		case errors.Is(err, mail.ErrThrottled):
			w.Next, err = r.hold(ctx, "SES takes no more now", shortHold, err)
			return w, err
		case err != nil:
			return w, err
		}
		first = false
	}
	if next != "" {
		w.Cursor, w.Next = next, r.millis()
		return w, nil
	}
	return then(w, outbox.StageEnd), nil
}

// decideAgain decides about people whose inboxes were served earlier. It drops the pending mails of those who get none by now. It fails with
// errGone where the document, the thread, the event's comments or its notification were deleted.
func (r *eventRun) decideAgain(ctx context.Context, people []person) ([]*decision, error) {
	there, err := r.there(ctx)
	if err == nil && there && r.event.AnnotationID != "" {
		err = r.readThread(ctx, r.event)
		there = r.head != nil && r.said(r.event)
	}
	if err == nil && !there {
		err = errGone
	}
	if err != nil {
		return nil, err
	}
	list, err := r.decide(ctx, people)
	if err != nil || !r.waits() {
		return list, err
	}
	refused := slices.DeleteFunc(slices.Clone(list), func(d *decision) bool { return d.mail == "" || d.mail == ownAction })
	ends, err := r.Outbox.MailEnds(ctx, r.thread(""), r.event.ID, collab.Map(refused, func(d *decision) string { return d.UserID }))
	if err != nil {
		return nil, err
	}
	return list, eachOf(refused, func(d *decision) error {
		if !ends[d.UserID].Pending {
			return nil
		}
		return r.dropMail(ctx, d)
	})
}

// mailPortion sends people the mail about the event. But for the first portion, which was decided about a moment ago, it decides again: what
// a mail says, and who may know it, is as it is now.
func (r *eventRun) mailPortion(ctx context.Context, list []*decision, first bool) error {
	if !first {
		r.notices = notices{}
		var err error
		if list, err = r.decideAgain(ctx, collab.Map(list, func(d *decision) person { return d.person })); err != nil {
			return err
		}
	}
	return eachOf(withMail(list), func(d *decision) error {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < mailTime {
			return errNoTime
		}
		if _, enabled, err := r.enabled(ctx, r.event.Account, r.document.Organization); err != nil || !enabled {
			return cmp.Or(err, errDisabled)
		}
		return r.sendMail(ctx, d.User)
	})
}

// thread is the event's thread as a user gets mail about it.
func (r *eventRun) thread(user string) outbox.MailThread {
	return outbox.MailThread{DocumentRef: r.document, Annotation: r.event.AnnotationID, User: user}
}

// withMail returns the decisions for those whom mail reaches.
func withMail(all []*decision) []*decision {
	return slices.DeleteFunc(slices.Clone(all), func(d *decision) bool { return d.mail != "" })
}

// eachOf calls f for all decisions, some at the same time.
func eachOf(list []*decision, f func(*decision) error) error {
	return each(len(list), concurrency, func(i int) error { return f(list[i]) })
}

// dropMail records why there is no mail to a person, so that no later mail includes the event.
func (r *eventRun) dropMail(ctx context.Context, d *decision) error {
	thread := r.thread(d.UserID)
	claimed, err := r.Outbox.ClaimMail(ctx, thread, r.event.ID, true, r.Now().Add(mailLease).UnixMilli(), r.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	return r.Outbox.MailDropped(ctx, thread, claimed, string(d.mail))
}

// sendMail sends a user the mail about the event, unless it was sent. Where mails wait, it includes other events on the thread whose mail is
// pending.
func (r *eventRun) sendMail(ctx context.Context, to collab.User) error {
	thread := r.thread(to.UserID)
	claimed, err := r.Outbox.ClaimMail(ctx, thread, r.event.ID, !r.waits(), r.Now().Add(mailLease).UnixMilli(), r.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	notice, left, err := r.notice(ctx, to, claimed)
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
		if err := r.Outbox.MailDropped(ctx, thread, left, deletedWhy); err != nil {
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
