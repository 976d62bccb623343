package delivery

import (
	"cmp"
	"context"
	"errors"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/metrics"
)

// decision is what an event means for one person: each channel reaches the person, or has the first reason why not.
type decision struct {
	person
	inbox, mail reason
}

// reason is why a channel does not reach a person; "" where it does.
type reason string

const (
	ownAction    reason = "own action"
	inList       reason = "in the list for all"
	mailOff      reason = "no mail is sent"
	noAccess     reason = "no access"
	notVisible   reason = "visibility"
	noAddress    reason = "no address"
	unsubscribed reason = "unsubscribed"
	rejected     reason = "the mail service rejected it"

	preferenceOfDocument     reason = "preference for the document"
	preferenceOfOrganization reason = "preference for the organization"
	preferenceOfNobody       reason = "preference: the default, as none is set"
)

// refuse gives a reason to the channels that have none yet.
func (d *decision) refuse(why reason) {
	d.inbox, d.mail = cmp.Or(d.inbox, why), cmp.Or(d.mail, why)
}

// rules decide in this order. Each looks only at the channels that have no reason yet, and reads at once what it needs for all of them.
var rules = []func(*eventRun, context.Context, []*decision) error{
	(*eventRun).byAccess,
	(*eventRun).byPreference,
	(*eventRun).byAddress,
	(*eventRun).bySubscription,
}

// decide returns what the event means for each of the people, now.
func (r *eventRun) decide(ctx context.Context, people []person) ([]*decision, error) {
	list := make([]*decision, len(people))
	for i, p := range people {
		d := &decision{person: p}
		if r.event.Actor != nil && r.event.Actor.UserID == p.UserID {
			d.refuse(ownAction)
		}
		if r.listed() {
			d.inbox = cmp.Or(d.inbox, inList)
		}
		if r.Mailer == nil {
			d.mail = cmp.Or(d.mail, mailOff)
		}
		list[i] = d
	}
	for _, rule := range rules {
		if err := rule(r, ctx, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// idsWhere returns the ids of the users whom a condition holds for.
func idsWhere(list []*decision, holds func(*decision) bool) []string {
	var ids []string
	for _, d := range list {
		if holds(d) {
			ids = append(ids, d.UserID)
		}
	}
	return ids
}

func reached(d *decision) bool { return d.inbox == "" || d.mail == "" }

// byAccess leaves those who may see the event's thread. A notification of somebody's own names its people itself: of these it leaves those
// who may see the document, where it asks for that.
func (r *eventRun) byAccess(ctx context.Context, list []*decision) error {
	ids := idsWhere(list, reached)
	switch {
	case len(ids) == 0:
		return nil
	case r.event.AnnotationID != "":
		return r.bySight(ctx, list, ids)
	case !r.event.VerifyAccess:
		return nil
	}
	allowed, err := r.allowed(ctx, ids)
	if err != nil {
		return err
	}
	for _, d := range list {
		if !allowed[d.UserID] {
			d.refuse(noAccess)
		}
	}
	return nil
}

// bySight leaves those who may see the event's thread.
func (r *eventRun) bySight(ctx context.Context, list []*decision, ids []string) error {
	viewers, err := r.access.Viewers(ctx, r.settings, []collab.DocumentRef{r.document}, ids, r.head.Visibility != nil)
	if err = r.answered(err); err != nil {
		return err
	}
	why := make(map[string]reason, len(ids))
	for _, v := range viewers[0] {
		switch {
		case !v.May:
			why[v.User] = reason(v.Why)
		case !v.Sees(r.head.Visibility, r.head.CreatorID):
			why[v.User] = notVisible
		}
	}
	for _, d := range list {
		d.refuse(why[d.UserID])
	}
	return nil
}

// allowed returns those of the users who may see the event's document.
func (r *eventRun) allowed(ctx context.Context, users []string) (map[string]bool, error) {
	allowed, err := r.access.MaySee(ctx, r.settings, r.document, users)
	return allowed, r.answered(err)
}

// answered counts those about whom the permission provider gave no answer, and drops that error: they are not told.
func (r *eventRun) answered(err error) error {
	if noAnswer, ok := errors.AsType[*access.NoAnswer](err); ok {
		r.Metrics.Add(metrics.DeliveryFailures, metrics.Inbox, float64(noAnswer.Users))
		return nil
	}
	return err
}

// byPreference leaves the channels that the users prefer for the document.
func (r *eventRun) byPreference(ctx context.Context, list []*decision) error {
	ids := idsWhere(list, reached)
	if len(ids) == 0 {
		return nil
	}
	preferences := map[string]collab.PreferencesSet{}
	if !r.settings.NotificationPreferencesOff {
		var err error
		if preferences, err = r.Directory.UserPreferences(ctx, r.document, ids); err != nil {
			return err
		}
	}
	mine := !r.event.NotifyAll
	for _, d := range list {
		set := preferences[d.UserID]
		p := set.Effective()
		if !p.Inbox.Wants(mine) {
			d.inbox = cmp.Or(d.inbox, notPreferred(set.Document.Inbox, set.Organization.Inbox))
		}
		if !p.Email.Wants(mine) {
			d.mail = cmp.Or(d.mail, notPreferred(set.Document.Email, set.Organization.Email))
		}
	}
	return nil
}

// notPreferred says which preference holds.
func notPreferred(document, organization collab.Preference) reason {
	switch {
	case document != "":
		return preferenceOfDocument
	case organization != "":
		return preferenceOfOrganization
	}
	return preferenceOfNobody
}

// byAddress gives those who get mail the address that it goes to: the one that the event names, else the member's, else the one that the
// thread knows; the member's alone where the account wants that.
func (r *eventRun) byAddress(ctx context.Context, list []*decision) error {
	only := r.settings.MailToMembersOnly
	ask := idsWhere(list, func(d *decision) bool { return d.mail == "" && (only || collab.Deref(d.Email) == "") })
	members, err := r.Directory.Members(ctx, r.document.OrganizationRef, ask)
	if err != nil {
		return err
	}
	for _, d := range list {
		if m, ok := members[d.UserID]; ok {
			d.Email, d.Name = m.Email, cmp.Or(d.Name, m.Name)
		} else if only {
			d.Email = nil
		}
		if !only && d.hint != "" && collab.Deref(d.Email) == "" {
			d.Email = &d.hint
		}
		if d.User = d.User.Short(); collab.Deref(d.Email) == "" {
			d.mail = cmp.Or(d.mail, noAddress)
		}
	}
	return nil
}

// bySubscription leaves those whose address has not unsubscribed.
func (r *eventRun) bySubscription(ctx context.Context, list []*decision) error {
	var mailed []collab.User
	for _, d := range list {
		if d.mail == "" {
			mailed = append(mailed, d.User)
		}
	}
	off, err := r.Accounts.Unsubscribed(ctx, r.document.OrganizationRef, mailed)
	for _, d := range list {
		if off[d.UserID] {
			d.mail = cmp.Or(d.mail, unsubscribed)
		}
	}
	return err
}
