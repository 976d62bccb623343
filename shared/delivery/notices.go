package delivery

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/inboxview"
	"collabdata/shared/mail"
	"collabdata/shared/metrics"
	"collabdata/shared/quota"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/task"
)

const (
	noticeLease = 2 * time.Minute // then another run may claim the email; no run takes as long

	// waiting time of an email of a disabled organization or account
	longestDisabled = 24 * time.Hour

	mostEntries  = 20 // entries in an email; it counts the others
	entryPortion = 10 // further entries read at once
)

// addToNotices adds the entries at placements to the notices of people, and sends messages for
// the ones that are due soon.
func (r *eventRun) addToNotices(ctx context.Context, n collab.Notification, list []*decision, placements []collab.Placement) error {
	var mu sync.Mutex
	messages := map[time.Duration][]collab.TaskRef{} // by delay
	err := each(len(list), func(i int) error {
		for channel, id := range placements[i].Notices {
			notice, due := r.noticeFor(n.ID, channel, list[i])
			notice.ID = id // an existing entry keeps its notice
			expires := outbox.Expiry(max(due, r.millis()))
			soon, err := r.Outbox.Touch(ctx, notice.Task(), due, task.Addition{Body: notice.Body(), From: inbox.Position(n)}, expires)
			if err != nil {
				return err
			}
			if wait := max(time.UnixMilli(due).Sub(r.Now()), 0); soon {
				mu.Lock()
				messages[wait] = append(messages[wait], notice.Task())
				mu.Unlock()
			}
		}
		return nil
	})
	for wait, tasks := range messages {
		err = errors.Join(err, r.Queue.SendIn(ctx, wait, tasks...))
	}
	return err
}

// noticeFor returns the notice to a person on a channel that includes a notification, and when it
// is due: at the same time on all channels.
func (r *eventRun) noticeFor(id, channel string, d *decision) (outbox.Notice, collab.Millis) {
	to := outbox.Recipient{OrganizationRef: r.document.OrganizationRef, User: d.UserID}
	event := time.UnixMilli(r.event.Time)
	due := d.times.Due(r.Now(), event.Add(mailDelay(r.settings))).UnixMilli()
	switch {
	case d.times.Frequency != "" && d.times.Frequency != collab.MailInstant, r.settings.MailBatch == collab.BatchPerson:
		return outbox.NoticeAbout(to, channel), due
	case r.settings.MailBatch == collab.BatchEvent || r.event.AnnotationID == "":
		return outbox.NoticeAbout(to, channel, id), d.times.Awake(event).UnixMilli()
	}
	return outbox.NoticeAbout(to, channel, r.document.Document, r.event.AnnotationID), due
}

// mailDelay returns the delay of emails of an account.
func mailDelay(s collab.Settings) time.Duration {
	return time.Duration(s.OrDefaults().MailDelaySeconds) * time.Second
}

// notice sends a notice. If an entry was added meanwhile, the next notice is due by the recipient's
// preferences.
func (d *Deliverer) notice(ctx context.Context, t *task.Task) (o task.Outcome, err error) {
	n, err := outbox.NoticeOf(t)
	if err != nil {
		return o, err
	}
	r := &noticeRun{Deliverer: d, Notice: n, task: t, org: n.For.OrganizationRef}
	o.Due, err = r.run(ctx, &o)
	if collab.CodeOf(err) == collab.NotFound { // the organization was deleted
		o.Due, err = 0, nil
	}
	if o.Added = o.Due; o.Added == 0 && err == nil {
		o.Added, err = r.next(ctx)
	}
	return o, err
}

// since returns the time since which the notice waits for its organization or permission provider:
// the state of its task, now if there is none.
func (r *noticeRun) since() collab.Millis {
	since, _ := strconv.ParseInt(r.task.State, 10, 64)
	return cmp.Or(since, r.millis())
}

// next returns the time when a later notice to the recipient is due.
func (r *noticeRun) next(ctx context.Context) (collab.Millis, error) {
	if r.times == nil && !r.account.Settings.NotificationPreferencesOff {
		list, err := r.Directory.PreferencesOf(ctx, 1, func(int) (string, collab.DocumentRef) {
			return r.For.User, collab.DocumentRef{OrganizationRef: r.org}
		})
		if err != nil {
			return 0, err
		}
		r.times = &list[0].Mail
	}
	return collab.Deref(r.times).Due(r.Now(), r.Now().Add(mailDelay(r.account.Settings))).UnixMilli(), nil
}

// run sends the notice, or returns the time of the next attempt.
func (r *noticeRun) run(ctx context.Context, o *task.Outcome) (due collab.Millis, err error) {
	enabled := false
	var usedUp *collab.Error
	err = both(func() (err error) {
		if r.account, enabled, err = r.enabled(ctx, r.For.Account, r.For.Organization); enabled {
			usedUp, _ = errors.AsType[*collab.Error](r.ledger.Account(ctx, r.For.Account, r.account.Settings).Admit(quota.Mails))
		}
		return err
	}, func() (err error) {
		r.list, err = r.Inbox.Reader(r.org, r.For.User).ToNotify(ctx, r.task.From, r.Channel, r.ID)
		return err
	})
	if err != nil {
		return 0, err
	}
	if !enabled {
		if r.Now().Sub(time.UnixMilli(r.since())) > longestDisabled {
			r.list.EndLeft(string(whyDisabled))
			return 0, r.list.Finish(ctx)
		}
		o.State = strconv.FormatInt(r.since(), 10)
		return r.Now().Add(shortHold).UnixMilli(), nil
	}
	if usedUp != nil {
		return r.hold(ctx, "the account has used up its quota", min(max(usedUp.RetryAfter, shortHold), longHold), usedUp)
	}
	if r.byEmail() && r.Mailer == nil {
		r.list.EndLeft(string(mailOff))
		return 0, r.list.Finish(ctx)
	}
	choice, err := r.choose(ctx)
	switch {
	case err == errSilent:
		o.State = strconv.FormatInt(r.since(), 10)
		return r.Now().Add(access.SilentPause).UnixMilli(), nil
	case err != nil:
		return 0, err
	case len(choice.entries) > 0 && r.awake().After(r.Now()):
		return r.awake().UnixMilli(), nil
	case len(choice.entries) > 0 && r.byEmail():
		due, err = r.send(ctx, choice)
	case len(choice.entries) > 0:
		err = r.post(ctx, choice)
	}
	if err != nil || due != 0 {
		return due, err
	}
	return 0, r.list.Finish(ctx)
}

// awake returns the end of the recipient's quiet hours, now outside of them.
func (r *noticeRun) awake() time.Time { return collab.Deref(r.times).Awake(r.Now()) }

// spent charges the account for an email or a notification.due event.
func (r *noticeRun) spent(ctx context.Context) {
	r.ledger.Spend(ctx, r.For.Account, r.account.Settings, quota.Amounts{quota.Mails: 1})
}

// byEmail reports whether the service sends the notice as an email.
func (r *noticeRun) byEmail() bool { return !byWebhook(r.account.Settings, r.Channel) }

// post records a notification.due event about the selected entries, which counts the remaining
// ones. It returns an error, and records nothing, if an entry was deleted meanwhile.
func (r *noticeRun) post(ctx context.Context, t *told) error {
	id, err := r.newID()
	if err != nil {
		return err
	}
	ev := t.common(r.org)
	ev.ID, ev.Type, ev.Time = id, collab.NotificationDue, r.millis()
	ev.Due = &collab.EventDue{
		UserID: r.For.User, Channel: r.Channel, More: r.list.Left(),
		Positions: collab.Map(t.entries, func(e inboxview.Entry) string { return e.Position }),
		Mentioned: slices.ContainsFunc(t.entries, func(e inboxview.Entry) bool { return e.Mentioned }),
	}
	switch state, err := r.list.Tell(ctx, &ev, ev.Due.Positions); {
	case err != nil:
		return err
	case !state:
		return errors.New("an entry of the notice was deleted")
	}
	r.spent(ctx)
	r.list.EndLeft(countedAlone)
	r.announce(ctx, &ev)
	return nil
}

// common returns an event of the entries' organization, and of their document and thread if they
// share one.
func (t *told) common(org collab.OrganizationRef) collab.Event {
	ref := threadOf(org, &t.entries[0].InboxEntry)
	for _, e := range t.entries {
		other := threadOf(org, &e.InboxEntry)
		if other.document != ref.document {
			ref.document = collab.DocumentRef{OrganizationRef: org}
		}
		if other != ref {
			ref.annotation = ""
		}
	}
	ev := collab.In(ref.document)
	ev.AnnotationID = ref.annotation
	return ev
}

// send sends the email about the selected entries, and counts the remaining ones.
func (r *noticeRun) send(ctx context.Context, t *told) (due collab.Millis, err error) {
	email, err := r.email(ctx, t, r.list.Left())
	if err == nil {
		err = r.Mailer.Send(ctx, email)
	}
	why := ""
	switch {
	case err == nil:
		r.spent(ctx)
		r.Metrics.Add(metrics.Deliveries, metrics.Email, 1)
	case errors.Is(err, mail.ErrRejected):
		r.Metrics.Add(metrics.DeliveryFailures, metrics.Email, 1)
		r.Log.LogAttrs(ctx, slog.LevelWarn, "email rejected", slog.String("account", r.For.Account), slog.String("email", r.ID))
		why = string(rejected)
	case errors.Is(err, mail.ErrUnconfirmed):
		r.spent(ctx)
		r.Metrics.Add(metrics.DeliveryFailures, metrics.Email, 1)
		r.Log.LogAttrs(ctx, slog.LevelWarn, "email not confirmed", slog.String("account", r.For.Account), slog.String("email", r.ID))
		why = string(unconfirmed)
	case errors.Is(err, mail.ErrThrottled):
		return r.hold(ctx, "SES takes no more now", task.MessageWithin-shortHold, withoutText(err))
	default:
		r.Metrics.Add(metrics.DeliveryRetries, metrics.Email, 1)
		return 0, withoutText(err)
	}
	r.endTold(t, why)
	r.list.EndLeft(cmp.Or(why, countedAlone))
	return 0, nil
}

// countedAlone is the reason of an entry that an email only counts.
const countedAlone = "only counted: the email shows newer ones"

// choose selects the entries that the notice shows, by current rights, preferences, read states and
// texts. It ends entries that it rejects, and leaves entries that the notice only counts.
func (r *noticeRun) choose(ctx context.Context) (*told, error) {
	t := &told{
		latest: map[threadRef][]collab.Comment{}, seen: map[threadRef]collab.Millis{},
		preferences: map[collab.DocumentRef]collab.PreferencesSet{},
	}
	view := &inboxview.View{Directory: r.Directory, Threads: r.Threads, Access: r.access}
	for more := true; more && len(t.entries) < mostEntries; {
		var entries []collab.InboxEntry
		var err error
		if entries, more, err = r.list.Next(ctx, min(entryPortion, mostEntries-len(t.entries))); err != nil {
			return nil, err
		}
		var shown *inboxview.Shown
		err = both(func() (err error) {
			shown, err = view.Show(ctx, inboxview.Reader{
				Settings: r.account.Settings, Org: r.org, User: r.For.User, Strong: true,
			}, entries)
			return r.answered(err, r.since())
		}, func() error { return r.look(ctx, t, entries) })
		if err != nil {
			return nil, err
		}
		for position, why := range shown.Hidden {
			r.list.End(why, position)
		}
		if shown.Reader.UserID != "" {
			t.reader = t.reader.Or(shown.Reader)
		}
		for _, e := range shown.Entries {
			if why := r.unwanted(t, &e); why != "" {
				r.list.End(string(why), e.Position)
				continue
			}
			t.entries = append(t.entries, e)
		}
	}
	if len(t.entries) == 0 {
		return t, nil
	}
	why, err := r.address(ctx, t)
	if err != nil || why == "" {
		return t, err
	}
	r.endTold(t, string(why))
	r.list.EndLeft(string(why))
	t.entries = nil
	return t, nil
}

// endTold ends the selected entries; why is "" if the notice shows them.
func (r *noticeRun) endTold(t *told, why string) {
	for _, e := range t.entries {
		r.list.End(why, e.Position)
	}
}

// look reads the last comments of the entries' threads, the recipient's read states, and their
// preferences for the documents.
func (r *noticeRun) look(ctx context.Context, t *told, entries []collab.InboxEntry) error {
	var threads []threadRef
	var documents []collab.DocumentRef
	for i := range entries {
		ref := threadOf(r.org, &entries[i])
		if _, ok := t.latest[ref]; !ok && ref.annotation != "" && !slices.Contains(threads, ref) {
			threads = append(threads, ref)
		}
		if _, ok := t.preferences[ref.document]; !ok && !slices.Contains(documents, ref.document) {
			documents = append(documents, ref.document)
		}
	}
	latest, until := make([][]collab.Comment, len(threads)), make([]collab.Millis, len(threads))
	err := each(len(threads)+1, func(i int) (err error) {
		switch {
		case i < len(threads):
			part := collab.ThreadPart{Document: threads[i].document, Annotation: threads[i].annotation, At: r.millis()}
			thread, at, err := r.Threads.Latest(ctx, part, r.For.User, latestComments)
			if thread != nil {
				latest[i], until[i] = thread.Comments, at
			}
			return err
		case r.account.Settings.NotificationPreferencesOff || len(documents) == 0:
			return nil
		}
		list, err := r.Directory.PreferencesOf(ctx, len(documents), func(i int) (string, collab.DocumentRef) { return r.For.User, documents[i] })
		for i, set := range list {
			t.preferences[documents[i]] = set
			r.times = &set.Mail
		}
		return err
	})
	for i, ref := range threads {
		t.latest[ref], t.seen[ref] = latest[i], until[i]
	}
	return err
}

// unwanted returns the reason why the notice omits a visible entry, or "".
func (r *noticeRun) unwanted(t *told, e *inboxview.Entry) reason {
	set := t.preferences[e.Document(r.org)]
	if e.Thread != nil {
		switch level := e.Thread.Follows.Of(r.For.User); {
		case level == collab.LevelNone, level == collab.LevelMentions && !e.Mentioned && !slices.Contains(e.SharedWith, r.For.User):
			return muted
		case e.CreatedAt < t.seen[threadOf(r.org, &e.InboxEntry)]:
			return seen
		}
	}
	if !set.Effective().Of(r.Channel).Wants(!e.ToAll && !e.Following) {
		return notPreferred(set.Document.Of(r.Channel), set.Organization.Of(r.Channel))
	}
	return ""
}

// address selects the recipient's address for an email: that of the newest entry with one, else the
// member's. It returns a reason if the service sends the email and there is no usable address, or
// that of unusable.
func (r *noticeRun) address(ctx context.Context, t *told) (reason, error) {
	t.to = recipient(t.reader.User, t.entries, r.account.Settings)
	t.to.UserID = r.For.User
	if r.Channel != collab.EmailChannel {
		return "", nil
	}
	missing := noAddress
	if text := collab.Deref(t.to.Email); text != "" {
		missing = badAddress
		if address, err := collab.MailAddress(text); err == nil {
			missing, t.to.Email = "", &address // canonical form, so that an unsubscription is found
		}
	}
	if missing != "" && r.byEmail() {
		return missing, nil
	}
	off, err := r.unusable(ctx, r.org, []collab.User{t.to})
	return off[r.For.User].why, err
}

// hold logs that the email waits, and returns the time of the next attempt: after wait and up to
// another shortHold.
func (r *noticeRun) hold(ctx context.Context, why string, wait time.Duration, cause error) (collab.Millis, error) {
	part, err := r.random()
	if err != nil {
		return 0, err
	}
	r.Metrics.Add(metrics.MailsHeld, "", 1)
	r.Log.LogAttrs(ctx, slog.LevelWarn, "emails wait: "+why,
		slog.String("account", r.For.Account), slog.String("email", r.ID), slog.String("cause", cause.Error()))
	return r.Now().Add(wait + time.Duration(part*float64(shortHold))).UnixMilli(), nil
}

// withoutText returns only the code of an SES error, because its text may contain addresses.
func withoutText(err error) error {
	var failure interface{ ErrorCode() string }
	if errors.As(err, &failure) {
		return errors.New("email not sent: " + failure.ErrorCode())
	}
	return err
}
