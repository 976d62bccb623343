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
	"collabdata/shared/words"
)

const (
	mailLease = 2 * time.Minute // of a claim on a mail: then another run may claim it. No run takes as long.

	mailUnits    = 60 // read units of a mail at most, where no comment is larger than 4 KB
	mailPortion  = 3  // events that are looked at at once
	portionUnits = 21 // of one more portion, and what follows the last
)

// addMails adds the event to the mails that people get next, and sends messages for those that are new.
func (r *eventRun) addMails(ctx context.Context, list []*decision) error {
	var mu sync.Mutex
	messages := map[time.Duration][]queue.Event{} // by delay
	err := each(len(list), concurrency, func(i int) error {
		m, due := r.mailFor(list[i])
		wait := max(time.UnixMilli(due).Sub(r.Now()), 0)
		send := wait <= queue.MaxDelay && r.hops < maxHops
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

// mailFor returns the mail to a person that tells of the event, and when it is due.
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
	threads   []*mailThread // the one with the newest event first
	documents map[collab.DocumentRef]*collab.Document
	counted   int              // events that the mail only counts
	left      bool             // events stay for another mail
	times     collab.MailTimes // of the recipient
	words     words.Words      // for the recipient
	sent      bool
}

// mail sends a mail that is due. It decides again about each of its events: what the mail says, and who may know it, is as it is now.
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

// run sends the mail, or returns when it is due anew.
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
	threads, decided, err := r.decide(ctx)
	if err != nil {
		return 0, err
	}
	if len(threads) > 0 {
		notice, err := r.notice(ctx, threads)
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
			return r.hold(ctx, "SES takes no more now", shortHold, withoutText(err))
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

// mailThread is a thread, or a notification, that a mail tells of.
type mailThread struct {
	*thread
	runs      []*eventRun      // of its events, oldest first
	readUntil collab.Millis    // events before are seen
	to        collab.User      // the recipient
	latest    []collab.Comment // its last comments
}

// decide returns the threads that the mail tells of, the one with the newest event first, and by event why the mail does not tell of it, ""
// where it does. It looks at events, the newest first, until mailUnits are used, and counts the others. Where none is left of those it looked
// at, the others stay for another mail.
func (r *mailRun) decide(ctx context.Context) (told []*mailThread, decided map[string]reason, err error) {
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
	if err := r.decideAddressed(ctx, list); err != nil {
		return nil, nil, err
	}
	for _, of := range list {
		decided[of.of.event.ID] = of.mail
	}
	for _, t := range r.threads {
		t.runs = slices.DeleteFunc(t.runs, func(run *eventRun) bool { return decided[run.event.ID] != "" })
		for _, of := range list {
			if of.mail == "" && of.of.thread == t.thread {
				t.to, r.times = of.User, of.times
			}
		}
		if len(t.runs) > 0 {
			told = append(told, t)
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

// look reads events with their threads, adds them to these, and returns those that are to be decided about; the reasons of the others are in
// decided.
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
		run, t := r.threadOf(ev)
		doc, err := r.document(ctx, run.document)
		if err == nil && doc != nil {
			err = r.readThread(ctx, t, run)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case doc == nil, ev.AnnotationID != "" && (t.head == nil || !run.said(ev)), ev.NotificationID != "" && run.custom == nil:
		case ev.Time < t.readUntil:
			decided[ev.ID] = seen
		default:
			p, err := run.recipient(ctx, r.For.User)
			if err != nil {
				return nil, err
			}
			t.runs = slices.Insert(t.runs, 0, run)
			list = append(list, &decision{person: p, of: run})
		}
	}
	return list, nil
}

// threadOf returns the run of an event, and its thread, which it adds where it is new.
func (r *mailRun) threadOf(ev *collab.Event) (*eventRun, *mailThread) {
	run := r.about(ev, r.account.Settings, nil)
	at := slices.IndexFunc(r.threads, func(t *mailThread) bool {
		return ev.AnnotationID != "" && t.document == run.document && t.annotation == ev.AnnotationID
	})
	if at < 0 {
		at = len(r.threads)
		r.threads = append(r.threads, &mailThread{thread: &thread{document: run.document, annotation: ev.AnnotationID}})
	}
	run.thread = r.threads[at].thread
	return run, r.threads[at]
}

// document reads a document once; nil where it is gone.
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

// recipient returns the recipient of the mail with the address that the event names, and the one that the comments have that were read.
func (r *eventRun) recipient(ctx context.Context, user string) (person, error) {
	one := roster{at: map[string]int{}, most: 1}
	add := func(p person) {
		if p.UserID == user {
			one.add(p)
		}
	}
	add(person{User: collab.User{UserID: user}})
	if r.custom != nil {
		users, known := r.sentTo.Get(r.event.ID, r.Now())
		if !known {
			var err error
			if users, err = r.Inbox.Recipients(ctx, r.event); err != nil {
				return person{}, err
			}
			r.sentTo.Put(r.event.ID, users, r.Now().Add(namedTTL))
		}
		for _, u := range users {
			add(person{User: u.Short()})
		}
		return one.list[0], nil
	}
	add(person{User: r.assignee()})
	for id, c := range r.comments {
		if c == nil {
			continue
		}
		for _, u := range c.tagged {
			if p := (person{User: u}); slices.Contains(r.event.NotifyingIDs(), id) {
				add(p)
			} else {
				add(person{collab.User{UserID: u.UserID, Name: u.Name}, collab.Deref(u.Email)})
			}
		}
		add(person{collab.User{UserID: c.from.UserID, Name: c.from.Name}, collab.Deref(c.from.Email)})
	}
	return one.list[0], nil
}

// decideAddressed is decideAll. Who has no address by the comments that were read may have one in the rest of the thread.
func (r *mailRun) decideAddressed(ctx context.Context, list []*decision) error {
	if err := r.decideAll(ctx, r.For.OrganizationRef, r.account.Settings, list); err != nil {
		return err
	}
	var again []*decision
	for _, of := range list {
		if of.mail != noAddress || of.of.event.AnnotationID == "" || r.account.Settings.MailToMembersOnly {
			continue
		}
		people, err := of.of.among(ctx, r.For.User)
		if err != nil {
			return err
		}
		if len(people) > 0 && cmp.Or(people[0].hint, collab.Deref(people[0].Email)) != "" {
			of.person, of.mail = people[0], ""
			again = append(again, of)
		}
	}
	if again == nil {
		return nil
	}
	return r.decideAll(ctx, r.For.OrganizationRef, r.account.Settings, again)
}

// hold tells the operator that the mail waits, for that time and up to another shortHold, and returns until when.
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
