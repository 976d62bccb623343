package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/queue"
	"collabdata/shared/quota"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
)

const (
	mailLease = 2 * time.Minute // of a claim on a mail: then another run may claim it. No run takes as long.

	mailUnits    = 60 // read units of a mail at most, where no comment is larger than 4 KB
	mailPortion  = 3  // events that are looked at at once
	portionUnits = 21 // of one more portion, and what follows the last
)

// addMails adds the event to the next mail of each person, and sends messages for new mails.
func (r *eventRun) addMails(ctx context.Context, list []*decision) error {
	var mu sync.Mutex
	messages := map[time.Duration][]queue.Event{} // by delay
	err := each(len(list), concurrency, func(i int) error {
		m, due := r.mailFor(list[i])
		wait := max(time.UnixMilli(due).Sub(r.Now()), 0)
		send := mayFollow(r.hops, wait)
		next := due
		if send {
			next = r.Now().Add(wait + time.Minute).UnixMilli() // should the message be lost
		}
		created, err := r.Outbox.AddMail(ctx, m, r.event.ID, due, next)
		if err == nil && created && send {
			mu.Lock()
			defer mu.Unlock()
			messages[wait] = append(messages[wait], queue.Event{EventRef: m.EventRef(), Kind: m.Kind, Hops: r.hops + 1})
		}
		return err
	})
	for wait, events := range messages {
		err = errors.Join(err, r.Events.SendEventsIn(ctx, wait, events...))
	}
	return err
}

// mailFor returns the mail to a person that the event belongs to, and when it is due.
func (r *eventRun) mailFor(of *decision) (outbox.MailRef, collab.Millis) {
	m := outbox.MailRef{Recipient: outbox.Recipient{OrganizationRef: r.document.OrganizationRef, User: of.UserID}, Kind: collab.LateMailWork}
	if next := of.times.Next(r.Now()); !next.IsZero() {
		return m, next.UnixMilli()
	}
	delay := r.mailDelay(r.settings)
	switch {
	case r.settings.MailBatch == collab.BatchPerson:
	case r.settings.MailBatch == collab.BatchEvent || r.event.AnnotationID == "":
		m.Of, delay = r.event.ID, 0
	default:
		m.Of = outbox.ThreadMail(r.document, r.event.AnnotationID)
	}
	if delay <= queue.MaxDelay {
		m.Kind = collab.MailWork
	}
	return m, r.event.Time + delay.Milliseconds()
}

// mailDelay is how long the mails of an account wait.
func (d *Deliverer) mailDelay(s collab.Settings) time.Duration {
	return cmp.Or(time.Duration(s.MailDelaySeconds)*time.Second, d.MailDelay)
}

// mailRun is what one message does for a mail.
type mailRun struct {
	*Deliverer
	*outbox.Mail
	account   collab.Account
	threads   []*thread // that were read
	documents map[collab.DocumentRef]*collab.Document
	counted   int  // events that the mail only counts
	left      bool // events stay for another mail
	sent      bool
}

// mail sends a mail that is due. It decides again about each of its events, by the rights and texts of this moment.
func (d *Deliverer) mail(ctx context.Context, m queue.Event) error {
	var counted *outbox.Work
	if m.Again {
		var err error
		if counted, err = d.Outbox.CountAttempt(ctx, m.EventRef, m.Kind); err != nil || counted == nil {
			return err
		}
	}
	claimed, err := d.Outbox.ClaimMail(ctx, m.EventRef, m.Kind, d.Now().Add(mailLease).UnixMilli())
	if err == nil && claimed == nil && m.Again {
		err = d.Outbox.ReportEnd(ctx, *counted)
	}
	if err != nil || claimed == nil {
		return err
	}
	r := &mailRun{Deliverer: d, Mail: claimed}
	if claimed.Deaths >= mostDeaths {
		return r.fail(ctx, "three attempts at its mail never reported an end")
	}
	ctx, charge := d.metered(ctx)
	due, err := r.run(ctx)
	charge(r.Account, r.account.Settings, map[bool]float64{true: 1}[r.sent])
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime/2)
	defer cancel()
	switch {
	case err != nil && m.Again && claimed.Postponed >= mostTries:
		return errors.Join(err, r.fail(ending, err.Error()))
	case err != nil:
		err = errors.Join(err, d.Outbox.FreeMail(ending, claimed, 0))
	case due != 0:
		err = d.Outbox.FreeMail(ending, claimed, due)
		// The relay alone would find late mails at once, and SES would refuse most of them again.
		if wait := time.UnixMilli(due).Sub(d.Now()); err == nil && mayFollow(m.Hops, wait) {
			err = d.Events.SendEventsIn(ending, max(wait, 0), queue.Event{EventRef: m.EventRef, Kind: m.Kind, Hops: m.Hops + 1})
		}
	}
	if m.Again {
		err = errors.Join(err, d.Outbox.ReportEnd(ending, claimed.Work))
	}
	return err
}

// fail parks the events of the mail until an operator retries them.
func (r *mailRun) fail(ctx context.Context, failure string) error {
	r.Metrics.Add(metrics.EventsFailed, "", 1)
	r.Log.LogAttrs(ctx, slog.LevelError, "mail failed: "+failure, slog.String("account", r.Account), slog.String("mail", r.ID))
	return r.Outbox.FailMail(ctx, r.Mail, failure)
}

// run sends the mail, or returns when it is due again.
func (r *mailRun) run(ctx context.Context) (due collab.Millis, err error) {
	account, enabled, err := r.enabled(ctx, r.Account, r.For.Organization)
	if err != nil {
		return 0, err
	}
	r.account = account
	if !enabled {
		return r.Now().Add(shortHold).UnixMilli(), nil
	}
	if refused, used := errors.AsType[*collab.Error](r.ledger.Account(ctx, r.Account, account.Settings).Admit(quota.Mails)); used {
		return r.hold(ctx, "the account has used up its quota", min(max(refused.RetryAfter, shortHold), longHold), refused)
	}
	told, decided, err := r.decide(ctx)
	if err != nil {
		return 0, err
	}
	if len(told) > 0 {
		notice, err := r.notice(ctx, told)
		if err == nil {
			err = r.Mailer.Send(ctx, notice)
		}
		switch {
		case err == nil:
			r.sent = true
			r.Metrics.Add(metrics.Deliveries, metrics.Email, 1)
		case errors.Is(err, mail.ErrRejected):
			r.Metrics.Add(metrics.DeliveryFailures, metrics.Email, 1)
			r.Log.LogAttrs(ctx, slog.LevelWarn, "mail rejected", slog.String("account", r.Account), slog.String("mail", r.ID))
			for id, why := range decided {
				decided[id] = cmp.Or(why, rejected)
			}
		case errors.Is(err, mail.ErrThrottled):
			return r.hold(ctx, "SES takes no more now", queue.MaxDelay-shortHold, withoutText(err))
		default:
			r.Metrics.Add(metrics.DeliveryRetries, metrics.Email, 1)
			return 0, withoutText(err)
		}
	}
	by := map[reason][]string{}
	for id, why := range decided {
		by[why] = append(by[why], id)
	}
	for why, events := range by {
		if err := r.Outbox.EndMail(ctx, r.For.OrganizationRef, r.For.User, string(why), events...); err != nil {
			return 0, err
		}
	}
	due = r.Now().Add(r.mailDelay(account.Settings)).UnixMilli()
	if r.left {
		due = r.millis()
	}
	return 0, r.Outbox.FinishMail(ctx, r.Mail, due)
}

// decide returns the events that the mail tells of, the newest first, and for each event why the mail does not tell of it, "" if it does.
// It looks at events, the newest first, until mailUnits are used, and counts the others. If it tells of none of those it looked at, the
// others stay for another mail.
func (r *mailRun) decide(ctx context.Context) (told []*decision, decided map[string]reason, err error) {
	begin, _, _ := collab.UsageOf(ctx).Total()
	ended, err := r.Outbox.MailsEnded(ctx, r.For.OrganizationRef, r.For.User, r.Events)
	if err != nil {
		return nil, nil, err
	}
	ids := slices.DeleteFunc(slices.Sorted(slices.Values(r.Events)), func(id string) bool { _, is := ended[id]; return is })
	decided, r.documents = map[string]reason{}, map[collab.DocumentRef]*collab.Document{}
	var list []*decision
	for read := begin; len(ids) > 0 && len(decided) < outbox.MaxMailEvents && read-begin <= mailUnits-portionUnits; read, _, _ = collab.UsageOf(ctx).Total() {
		portion := ids[max(0, len(ids)-mailPortion):]
		ids = ids[:len(ids)-len(portion)]
		more, err := r.look(ctx, portion, decided)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, more...)
	}
	if err := r.decideAll(ctx, r.For.OrganizationRef, r.account.Settings, list); err != nil {
		return nil, nil, err
	}
	for _, of := range list {
		if decided[of.run.event.ID] = of.mail; of.mail == "" {
			told = append(told, of)
		}
	}
	r.counted = int(r.More) + len(ids)
	for _, id := range ids {
		if decided[id] = outbox.CountedAlone; told == nil {
			delete(decided, id)
			r.left = true
			r.Events = slices.DeleteFunc(r.Events, func(event string) bool { return event == id })
		}
	}
	return told, decided, nil
}

// look reads events with their threads, and returns those to decide about, the newest first. It adds the reasons of the others to decided.
func (r *mailRun) look(ctx context.Context, ids []string, decided map[string]reason) (list []*decision, err error) {
	for _, id := range ids {
		decided[id] = deleted
	}
	events, err := r.Outbox.Events(ctx, r.Account, ids)
	if err != nil {
		return nil, err
	}
	told, err := r.Inbox.Told(ctx, r.For.OrganizationRef, r.For.User, events)
	if err != nil {
		return nil, err
	}
	for i, ev := range slices.Backward(events) {
		switch {
		case ev.Time < r.account.CreatedAt || told[i].Gone:
			continue
		case told[i].DeletedAt != 0:
			decided[ev.ID] = inbox.OutOfInbox
			continue
		case told[i].ReadAt != 0:
			decided[ev.ID] = seen
			continue
		}
		run := r.about(ev, r.account.Settings, r.threadOf(ev))
		run.brief, run.recipient = true, r.For.User
		doc, err := r.document(ctx, run.document)
		if err == nil && doc != nil {
			err = r.readThread(ctx, run)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case doc == nil, ev.AnnotationID != "" && (run.head == nil || !run.said(ev)), ev.NotificationID != "" && run.custom == nil:
		case ev.Time < run.readUntil:
			decided[ev.ID] = seen
		default:
			p := person{User: collab.User{UserID: r.For.User}}
			if !ev.NotifyAll {
				named, err := run.among(ctx, r.For.User)
				if err != nil {
					return nil, err
				}
				p = append(named, p)[0]
			}
			list = append(list, &decision{person: p, run: run})
		}
	}
	return list, nil
}

// threadOf returns the thread of an event, the same for all events on it.
func (r *mailRun) threadOf(ev *collab.Event) *thread {
	t := &thread{document: ev.Document(), annotation: ev.AnnotationID}
	if at := slices.IndexFunc(r.threads, func(o *thread) bool { return o.document == t.document && o.annotation == t.annotation }); at >= 0 && t.annotation != "" {
		return r.threads[at]
	}
	r.threads = append(r.threads, t)
	return t
}

// document reads a document once; nil for a deleted one.
func (r *mailRun) document(ctx context.Context, of collab.DocumentRef) (*collab.Document, error) {
	if doc, known := r.documents[of]; known {
		return doc, nil
	}
	doc, err := r.Directory.Document(ctx, of)
	if r.documents[of] = &doc; collab.CodeOf(err) == collab.NotFound {
		r.documents[of], err = nil, nil
	}
	return r.documents[of], err
}

// hold tells the operator that the mail waits, and returns until when: for the time and up to another shortHold.
func (r *mailRun) hold(ctx context.Context, why string, wait time.Duration, cause error) (collab.Millis, error) {
	part, err := r.random()
	if err != nil {
		return 0, err
	}
	r.Metrics.Add(metrics.MailsHeld, "", 1)
	r.Log.LogAttrs(ctx, slog.LevelWarn, "mails wait: "+why,
		slog.String("account", r.Account), slog.String("mail", r.ID), slog.String("cause", cause.Error()))
	return r.Now().Add(wait + time.Duration(part*float64(shortHold))).UnixMilli(), nil
}

// withoutText returns the code of an error of the mail service without its text, which may hold addresses.
func withoutText(err error) error {
	var failure interface{ ErrorCode() string }
	if errors.As(err, &failure) {
		return errors.New("mail not sent: " + failure.ErrorCode())
	}
	return err
}
