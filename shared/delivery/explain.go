package delivery

import (
	"context"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/quota"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
)

// Explained is what became of an event for a page of the people whom it concerns.
type Explained struct {
	People []Explanation // whoever caused the event first, then by id
	Next   string        // the cursor of the next page, "" for none
	Kept   bool          // it is what was decided when the event was delivered; else what would be decided now
}

// Explanation is what became of an event for one person.
type Explanation struct {
	collab.User
	Inbox, Mail Outcome
}

// Outcome is what became of an event for a person by one channel.
type Outcome struct {
	At     collab.Millis // when it reached the person; 0 where it did not, or has not yet
	ReadAt collab.Millis // of an inbox: 0 for never
	Why    string        // why it did not, or is not there any more; "" where it did, or would now
}

// Explain says for a page of the people whom an event concerns, from a cursor ("" for the first), what became of it by each channel and why.
// What was decided when it was delivered is kept for as long as the event, but where one person alone was left out and nobody reached; else
// it is decided now. It changes nothing. NOT_FOUND where the event is not kept any more.
func (d *Deliverer) Explain(ctx context.Context, ref collab.EventRef, cursor string) (*Explained, error) {
	e, err := d.explanation(ctx, ref)
	if err != nil || !e.event.Notify {
		return &Explained{}, err
	}
	page, err := d.Inbox.RecipientPage(ctx, ref, cursor)
	if err != nil {
		return nil, err
	}
	if page != nil {
		list, err := e.kept(ctx, page, cursor == "")
		return &Explained{list, page.Next, true}, err
	}
	people, next, err := e.audience(ctx, cursor)
	if err != nil {
		return nil, err
	}
	list, err := e.now(ctx, people)
	return &Explained{list, next, false}, err
}

// ExplainTo is Explain for one user: what was decided when the event was delivered, nil where that is not kept or the user was not
// concerned, and what would be decided now, nil where the user is not concerned.
func (d *Deliverer) ExplainTo(ctx context.Context, ref collab.EventRef, user string) (then, now *Explanation, err error) {
	e, err := d.explanation(ctx, ref)
	if err != nil || !e.event.Notify {
		return nil, nil, err
	}
	page, err := d.Inbox.RecipientPage(ctx, ref, "")
	for err == nil && page != nil && page.Next != "" && user > strings.TrimPrefix(page.Next, "@") {
		page, err = d.Inbox.RecipientPage(ctx, ref, page.Next)
	}
	if err == nil && page != nil {
		then, err = e.keptOf(ctx, page, user)
	}
	if err != nil {
		return nil, nil, err
	}
	people, err := e.among(ctx, user)
	if err != nil || len(people) == 0 {
		return then, nil, err
	}
	list, err := e.now(ctx, people)
	if err != nil {
		return then, nil, err
	}
	return then, &list[0], nil
}

// explainedPortion is threadPortion where an event is explained. However large head and comments are, that takes fewer than 900 read units.
const explainedPortion = 8

// explanation is an event whose outcome is being explained.
type explanation struct {
	*eventRun
	notYet   string // why what was decided has not happened
	gone     string // why an inbox does not show it any more, "" where it does
	unlisted bool   // it is not in the list for all yet
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
	e := &explanation{eventRun: &eventRun{
		Deliverer: d, event: ev, document: ev.Document(), settings: account.Settings, portion: explainedPortion,
	}}
	return e, e.seekObstacle(ctx, ref)
}

// seekObstacle finds out how far the delivery is, and what is in its way.
func (e *explanation) seekObstacle(ctx context.Context, ref collab.EventRef) error {
	q, err := e.Outbox.QuarantinedEvent(ctx, ref)
	if err != nil {
		return err
	}
	stage := outbox.StageDone
	e.notYet = string(deleted)
	for kind, why := range map[collab.WorkKind]string{
		collab.EventWork: "not yet", collab.ParkedWork: "not yet: the account or the organization is disabled",
	} {
		w, err := e.Outbox.Pending(ctx, ref, kind)
		if err != nil {
			return err
		}
		if w != nil {
			stage, e.notYet = w.Stage, why
		}
	}
	if stage == outbox.StageMail && e.ledger.Account(ctx, ref.Account, e.settings).Admit(quota.Mails) != nil {
		e.notYet = "not yet: the account has used up its quota of mails"
	}
	if q != nil {
		stage, e.notYet = q.Stage, "in the quarantine: "+q.Reason
	}
	e.unlisted = stage == outbox.StageNew || stage == outbox.StageList
	if e.gone, err = e.deleted(ctx, ref); e.gone != "" {
		e.notYet = e.gone
	}
	return err
}

// deleted says what was deleted of what the event is about, "" for nothing.
func (e *explanation) deleted(ctx context.Context, ref collab.EventRef) (string, error) {
	there, err := e.exists(ctx)
	if err != nil || !there {
		return "the document was deleted", err
	}
	withdrawn, err := e.Inbox.Withdrawn(ctx, ref)
	if err != nil || withdrawn {
		return "the notification was deleted", err
	}
	if e.event.AnnotationID == "" {
		return "", nil
	}
	first := *e.event // it alone is read: an event may have 3.5 MB of them
	first.Comments = first.Comments[:min(len(first.Comments), 1)]
	err = e.readThread(ctx, &first)
	switch {
	case err == nil && e.head == nil:
		return "the thread was deleted", nil
	case err == nil && len(e.event.Comments) == 1 && !e.said(&first):
		return "the comment was deleted", nil
	}
	return "", err
}

// kept explains a page that was decided when the event was delivered.
func (e *explanation) kept(ctx context.Context, page *inbox.RecipientPage, first bool) ([]Explanation, error) {
	var list []*decision
	at := map[string]*decision{}
	add := func(u collab.User) *decision {
		d, known := at[u.UserID]
		if !known {
			d = &decision{person: person{User: u}, inbox: notKept, mail: notKept}
			at[u.UserID], list = d, append(list, d)
		}
		return d
	}
	why := func(place int) reason {
		if place < 1 || place > len(page.Reasons) {
			return notKept
		}
		return reason(page.Reasons[place-1])
	}
	for _, p := range page.Recipients {
		d := add(p.User)
		if p.Inbox {
			d.inbox = ""
		}
		if p.Mail {
			d.mail = ""
		}
	}
	for _, l := range page.Left {
		d := add(collab.User{UserID: l.UserID})
		if d.inbox != "" {
			d.inbox = why(l.Inbox)
		}
		if d.mail != "" {
			d.mail = why(l.Mail)
		}
	}
	for _, d := range list {
		if d.inbox == notKept && e.listed() {
			d.inbox = inList
		}
		if d.mail == notKept {
			d.mail = mailOff
		}
	}
	slices.SortFunc(list, func(a, b *decision) int { return strings.Compare(a.UserID, b.UserID) })
	if actor := e.event.Actor; first && actor != nil && at[actor.UserID] == nil {
		list = slices.Insert(list, 0, &decision{person: person{User: *actor}, inbox: ownAction, mail: ownAction})
	}
	return e.asDecided(ctx, list)
}

// notKept stands for a reason that was not kept, as it is understood: see reason.understood.
const notKept reason = "not kept"

// keptOf is kept for a user of the page, nil where the user is not in it.
func (e *explanation) keptOf(ctx context.Context, page *inbox.RecipientPage, user string) (*Explanation, error) {
	of := *page
	of.Recipients = slices.DeleteFunc(slices.Clone(page.Recipients), func(p inbox.Recipient) bool { return p.UserID != user })
	of.Left = slices.DeleteFunc(slices.Clone(page.Left), func(l inbox.LeftOut) bool { return l.UserID != user })
	list, err := e.kept(ctx, &of, e.event.Actor != nil && e.event.Actor.UserID == user)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// now explains what would be decided now.
func (e *explanation) now(ctx context.Context, people []person) ([]Explanation, error) {
	list, err := e.decide(ctx, people)
	if err != nil {
		return nil, err
	}
	return e.asListed(ctx, list)
}

// asDecided joins what was decided when the event was delivered with what is kept of how it reached the people.
func (e *explanation) asDecided(ctx context.Context, list []*decision) ([]Explanation, error) {
	n := notificationOf(e.event)
	users := collab.Map(list, func(d *decision) string { return d.UserID })
	reached, err := e.Inbox.Reached(ctx, e.document.OrganizationRef, n, users)
	if err != nil {
		return nil, err
	}
	mails, err := e.Outbox.MailEnds(ctx, outbox.MailThread{DocumentRef: e.document, Annotation: n.AnnotationID}, e.event.ID, users)
	if err != nil {
		return nil, err
	}
	explained, err := e.asListed(ctx, list)
	for i := range explained {
		x, of, sent := &explained[i], reached[users[i]], mails[users[i]]
		switch {
		case of.InInbox || x.Inbox.At != 0:
			x.Inbox = Outcome{At: n.CreatedAt, ReadAt: of.ReadAt, Why: e.gone}
			if of.DeletedAt != 0 {
				x.Inbox.Why = "deleted out of the inbox"
			}
		case x.Inbox.Why == "":
			x.Inbox.Why = e.notYet
		}
		switch {
		case sent.At != 0:
			x.Mail = Outcome{At: sent.At, Why: sent.Why}
			if sent.Why != "" {
				x.Mail.At = 0
			}
		case x.Mail.Why == "":
			x.Mail.Why = e.notYet
		}
	}
	return explained, err
}

// asListed explains decisions. Whom the list for all reaches is said by the list, which is read with preferences.
func (e *explanation) asListed(ctx context.Context, list []*decision) ([]Explanation, error) {
	listed := collab.Map(list, func(d *decision) *decision { return &decision{person: d.person} })
	if e.listed() {
		if err := e.byPreference(ctx, listed); err != nil {
			return nil, err
		}
	}
	explained := make([]Explanation, len(list))
	for i, d := range list {
		explained[i] = Explanation{d.User, Outcome{Why: string(d.inbox)}, Outcome{Why: string(d.mail)}}
		if d.inbox != inList {
			continue
		}
		explained[i].Inbox.Why = string(listed[i].inbox)
		if listed[i].inbox == "" && !e.unlisted {
			explained[i].Inbox.At = e.event.Time
		}
	}
	return explained, nil
}
