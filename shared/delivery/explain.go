package delivery

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
)

// Explained is a page of the recipients of an event.
type Explained struct {
	People []Explanation // by id
	Next   string        // cursor of the next page, or ""
	Gone   string        // the deleted subject of the event, which stops notifications; "" for none
}

// Explanation is the outcome of an event for one person.
type Explanation struct {
	collab.User
	Inbox, Mail Outcome
	Further     map[string]Outcome // by further channel that the person wants, or was notified on
}

// Outcome is the outcome of an event for a person on one channel.
type Outcome struct {
	At     collab.Millis // when it reached the person; 0 if it has not
	ReadAt collab.Millis // when they read it in the inbox; 0 if they have not
	Why    string        // why it did not reach them, or was removed; "" if it did or will
}

// Explain returns the outcome of an event for a page of its recipients, or for one user. The cursor
// is "" for the first page of at most limit people. Pending outcomes follow the current rules.
// Explain changes nothing. It returns NOT_FOUND if the event is not kept anymore.
func (d *Deliverer) Explain(ctx context.Context, ref collab.EventRef, user, cursor string, limit int) (*Explained, error) {
	e, err := d.explanation(ctx, ref)
	if err != nil || !e.event.Notify {
		return &Explained{}, err
	}
	explained := &Explained{Gone: e.gone}
	var people []person
	if user != "" {
		people, err = e.among(ctx, user)
	} else {
		if people, explained.Next, err = e.audience(ctx, cursor); len(people) > limit {
			people = people[:limit]
			explained.Next = cursorAfter(people)
		}
	}
	if err != nil {
		return nil, err
	}
	decisions, err := e.decide(ctx, people)
	if err != nil {
		return nil, err
	}
	explained.People, err = e.withFacts(ctx, decisions)
	return explained, err
}

// explainedPortion is threadPortion for Explain. Explain uses less than 900 read units for a
// thread, and about two for each member of a large group.
const explainedPortion = 8

// explanation is an event that is being explained.
type explanation struct {
	*eventRun
	notYet   string // why delivery is incomplete; "" if it is done
	gone     string // why inboxes do not show it anymore; "" if they do
	unlisted bool   // not yet in the list for all
}

func (d *Deliverer) explanation(ctx context.Context, ref collab.EventRef) (*explanation, error) {
	ev, err := d.Outbox.Event(ctx, ref.Account, ref.ID)
	if err != nil {
		return nil, err
	}
	account, err := d.Accounts.Account(ctx, ref.Account)
	if err != nil {
		return nil, err
	}
	e := &explanation{eventRun: d.about(ev, account.Settings, &thread{})}
	e.portion = explainedPortion
	return e, e.seekObstacle(ctx, ref)
}

const notYet = "not yet"

// sentWithin is the most that the clock of the email service is ahead, in milliseconds: an email
// that left so long before a bounced one, or later, is taken for bounced.
const sentWithin = 60_000

// seekObstacle finds the progress of the delivery and any obstacle to it.
func (e *explanation) seekObstacle(ctx context.Context, ref collab.EventRef) error {
	t, err := e.Outbox.Task(ctx, outbox.EventTask(ref.Account, ref.ID))
	if err != nil {
		return err
	}
	if t != nil && t.Due != 0 {
		e.unlisted = t.State == ""
		_, enabled, err := e.enabled(ctx, ref.Account, e.document.Organization)
		switch {
		case err != nil:
			return err
		case t.Failed:
			e.notYet = "failed: " + t.Failure
		case !enabled:
			e.notYet = "not yet: the account or the organization is disabled"
		default:
			e.notYet = notYet
		}
	}
	e.gone, err = e.deleted(ctx)
	return err
}

// deleted returns the deleted subject of the event, or "".
func (e *explanation) deleted(ctx context.Context) (string, error) {
	exists, err := e.exists(ctx)
	if err != nil || !exists {
		return "the document was deleted", err
	}
	deleted, err := e.Inbox.Deleted(ctx, e.event)
	if err != nil || deleted {
		return "the notification was deleted", err
	}
	err = e.readThread(ctx)
	switch {
	case err != nil || e.event.AnnotationID == "":
	case e.head == nil:
		return "the thread was deleted", nil
	case !e.hasContent():
		return "the comments were deleted", nil
	}
	return "", err
}

// withFacts adds to decisions the times when the event reached people. An event in the list for all
// reaches people if their preferences allow it.
func (e *explanation) withFacts(ctx context.Context, list []*decision) ([]Explanation, error) {
	listed := collab.Map(list, func(d *decision) *decision { return &decision{person: d.person} })
	if e.listed() {
		decide, err := e.byPreference(ctx, listed)
		if err != nil {
			return nil, err
		}
		decide()
	}
	users := collab.Map(list, func(d *decision) string { return d.UserID })
	reached, err := e.Inbox.Reached(ctx, e.document.OrganizationRef, e.event.Time, cmp.Or(e.event.NotificationID, e.event.ID), users)
	if err != nil {
		return nil, err
	}
	waits := notYet
	if e.ledger.Account(ctx, e.event.Account, e.settings).Admit(quota.Mails) != nil {
		waits += ": the account has used up its quota of emails"
	}
	explained := make([]Explanation, len(list))
	for i, d := range list {
		x := Explanation{d.User, Outcome{Why: string(d.inbox)}, Outcome{Why: string(d.mail)}, map[string]Outcome{}}
		reach := reached[d.UserID]
		shown := d.inbox == inList && listed[i].inbox == "" && !e.unlisted
		if d.inbox == inList {
			x.Inbox.Why = string(listed[i].inbox)
		}
		switch {
		case reach.InInbox || shown:
			x.Inbox = Outcome{At: e.event.Time, ReadAt: reach.ReadAt, Why: e.gone}
			if reach.DeletedAt != 0 {
				x.Inbox.Why = inbox.OutOfInbox
			}
		case reach.DeletedAt != 0:
			x.Inbox = Outcome{ReadAt: reach.ReadAt, Why: inbox.OutOfInbox}
		case x.Inbox.Why == "":
			x.Inbox.Why = e.notYet
		}
		switch {
		case reach.Why != "":
			x.Mail.Why = reach.Why
		case reach.EndedAt != 0:
			if x.Mail = (Outcome{At: reach.EndedAt}); d.undelivered != 0 && reach.EndedAt >= d.undelivered-sentWithin {
				x.Mail.Why = string(d.mail)
			}
		case reach.Email:
			x.Mail.Why = waits
		case x.Mail.Why == "" && reach.DeletedAt != 0:
			x.Mail.Why = inbox.OutOfInbox
		case x.Mail.Why == "":
			x.Mail.Why = e.notYet
		}
		for _, channel := range d.wanted {
			why := d.further
			if why == "" && !slices.Contains(d.channels, channel) {
				why = noEndpoint
			}
			x.Further[channel] = Outcome{Why: cmp.Or(string(why), e.notYet)}
		}
		for channel, by := range reach.Further {
			if x.Further[channel] = (Outcome{At: by.EndedAt, Why: by.Why}); by.Waits {
				x.Further[channel] = Outcome{Why: waits}
			}
		}
		explained[i] = x
	}
	return explained, nil
}
