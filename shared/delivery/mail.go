package delivery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/store/outbox"
)

// mailLease is how long a claim on mails holds: then another run may take it over. No run takes as long.
const mailLease = 2 * time.Minute

// thread is the thread of the work's event as a recipient gets mail about it.
func (w *work) thread(r outbox.Recipient) outbox.MailThread {
	return outbox.MailThread{DocumentRef: w.document, Annotation: w.event.AnnotationID, User: r.UserID}
}

// withMail returns the recipients who get a mail.
func withMail(all []outbox.Recipient) []outbox.Recipient {
	return slices.DeleteFunc(slices.Clone(all), func(r outbox.Recipient) bool { return !r.Mail })
}

// eachOf calls f for all recipients, some side by side.
func eachOf(list []outbox.Recipient, f func(outbox.Recipient) error) error {
	return each(len(list), sideBySide, func(i int) error { return f(list[i]) })
}

// exists reports whether the document of an event is there still, disabled or not, so that people may hear of it. It is asked before each
// page of recipients, and of mails.
func (d *Deliverer) exists(ctx context.Context, w *work) (bool, error) {
	doc := w.document
	is, err := d.Directory.OpenDocument(ctx, doc.Account, doc.Organization, doc.Document, collab.CreateFlags{})
	if collab.CodeOf(err) == collab.FailedPrecondition { // it is disabled, or one that was added later under its id is
		is = doc
		_, err = d.Directory.Document(ctx, doc)
	}
	if collab.CodeOf(err) == collab.NotFound {
		return false, nil
	}
	return is == doc, err
}

// documentOf reads the document of an event, once.
func (d *Deliverer) documentOf(ctx context.Context, w *work) (doc collab.Document, found bool, err error) {
	if !w.read {
		doc, err := d.Directory.Document(ctx, w.document)
		if err != nil && collab.CodeOf(err) != collab.NotFound {
			return doc, false, err
		}
		if w.read = true; err == nil {
			w.found = &doc
		}
	}
	if w.found == nil {
		return doc, false, nil
	}
	return *w.found, true, nil
}

// stillWanted divides recipients of a mail that has waited into those who get it, and those who do not: who may not see the document any
// more, do not want it, have unsubscribed.
func (d *Deliverer) stillWanted(ctx context.Context, w *work, list []outbox.Recipient) (mailed, dropped []outbox.Recipient, err error) {
	people := collab.Map(list, func(r outbox.Recipient) collab.User { return r.User })
	now, err := d.recipients(ctx, w, people)
	for _, r := range list {
		if i := slices.IndexFunc(now, func(n outbox.Recipient) bool { return n.UserID == r.UserID && n.Mail }); i >= 0 {
			mailed = append(mailed, now[i])
		} else {
			dropped = append(dropped, r)
		}
	}
	return mailed, dropped, err
}

// dropMail gives up the mail about an event to a recipient, unless it was sent: later ones do not take it along.
func (d *Deliverer) dropMail(ctx context.Context, w *work, r outbox.Recipient) error {
	thread := w.thread(r)
	claimed, err := d.Outbox.ClaimMail(ctx, thread, w.ID, true, d.Now().Add(mailLease).UnixMilli(), d.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	return d.Outbox.MailSent(ctx, thread, claimed)
}

// sendMail sends a recipient the mail about an event, unless it was sent. Unless alone is true it takes along later events on the thread
// about which no mail was sent yet.
func (d *Deliverer) sendMail(ctx context.Context, w *work, r outbox.Recipient, alone bool) error {
	if d.Mailer == nil {
		return nil // it was decided when mail was sent
	}
	thread := w.thread(r)
	claimed, err := d.Outbox.ClaimMail(ctx, thread, w.ID, alone, d.Now().Add(mailLease).UnixMilli(), d.skip(ctx))
	if err != nil || len(claimed) == 0 {
		return err
	}
	notice, err := d.notice(ctx, w, r, claimed)
	if err == nil {
		err = d.Mailer.Send(ctx, notice)
	}
	switch {
	case err == nil:
		w.mailed.Add(1)
		d.Metrics.Add(metrics.Deliveries, metrics.Email, 1)
	case errors.Is(err, mail.ErrRejected):
		d.Metrics.Add(metrics.DeliveryFailures, metrics.Email, 1)
		d.Log.LogAttrs(ctx, slog.LevelWarn, "mail rejected", slog.String("account", w.Account), slog.String("event", w.ID))
	default:
		d.Metrics.Add(metrics.DeliveryRetries, metrics.Email, 1)
		free, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return errors.Join(withoutText(err), d.Outbox.FreeMail(free, thread, claimed))
	}
	return d.Outbox.MailSent(ctx, thread, claimed)
}

// withoutText returns the code of an error of the mail service, whose text may name addresses.
func withoutText(err error) error {
	var failure interface{ ErrorCode() string }
	if errors.As(err, &failure) {
		return errors.New("mail not sent: " + failure.ErrorCode())
	}
	return err
}
