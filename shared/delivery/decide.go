package delivery

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/metrics"
)

// decision says for one event and one person whether each channel reaches them, or the first reason why not.
type decision struct {
	person
	run         *eventRun
	inbox, mail reason
	times       collab.MailTimes // of the person, where mail reaches them
	external    bool             // the address is not that of the member
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
	badAddress   reason = "no email can reach the address"
	unsubscribed reason = "unsubscribed"
	muted        reason = "muted"
	seen         reason = "seen"
	rejected     reason = "the mail service rejected it"
	whyDisabled  reason = "the organization was disabled"

	preferenceOfDocument     reason = "preference for the document"
	preferenceOfOrganization reason = "preference for the organization"
	preferenceOfNobody       reason = "preference: the default, as none is set"
)

// refuse gives a reason to the channels that have none yet.
func (d *decision) refuse(why reason) {
	d.inbox, d.mail = cmp.Or(d.inbox, why), cmp.Or(d.mail, why)
}

// rules decide in this order. Each looks only at channels without a reason, and reads in one batch for the whole list: the decisions of one
// event, or of one person, in one organization.
var rules = []func(*Deliverer, context.Context, collab.OrganizationRef, collab.Settings, []*decision) error{
	(*Deliverer).byLevel,
	(*Deliverer).byAccess,
	(*Deliverer).byPreference,
	(*Deliverer).byAddress,
	(*Deliverer).bySubscription,
}

// decide decides about the event for each of the people.
func (r *eventRun) decide(ctx context.Context, people []person) ([]*decision, error) {
	list := collab.Map(people, func(p person) *decision { return &decision{person: p, run: r} })
	return list, r.decideAll(ctx, r.document.OrganizationRef, r.settings, list)
}

// decideAll applies the rules to decisions.
func (d *Deliverer) decideAll(ctx context.Context, org collab.OrganizationRef, s collab.Settings, list []*decision) error {
	for _, of := range list {
		if ev := of.run.event; ev.Actor != nil && ev.Actor.UserID == of.UserID {
			of.refuse(ownAction)
		}
		if of.run.listed() {
			of.inbox = cmp.Or(of.inbox, inList)
		}
		if d.Mailer == nil {
			of.mail = cmp.Or(of.mail, mailOff)
		}
	}
	for _, rule := range rules {
		if err := rule(d, ctx, org, s, list); err != nil {
			return err
		}
	}
	return nil
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

// byLevel refuses people who have muted the event's thread, or all of it except mentions.
func (d *Deliverer) byLevel(ctx context.Context, _ collab.OrganizationRef, _ collab.Settings, list []*decision) error {
	for _, of := range list {
		if of.run.head == nil || !reached(of) {
			continue
		}
		switch of.run.head.Follows.Of(of.UserID) {
		case collab.LevelNone:
			of.refuse(muted)
		case collab.LevelMentions:
			addressed, err := of.run.addressed(ctx)
			if err != nil {
				return err
			}
			if !slices.Contains(addressed, of.UserID) {
				of.refuse(muted)
			}
		}
	}
	return nil
}

// byAccess refuses people who may not see the event's thread. A notification names its recipients itself: with verifyUserPermissions
// byAccess refuses those who may not see the document.
func (d *Deliverer) byAccess(ctx context.Context, _ collab.OrganizationRef, s collab.Settings, list []*decision) error {
	list = slices.DeleteFunc(slices.Clone(list), func(of *decision) bool { return !reached(of) })
	var docs []collab.DocumentRef // of threads
	var users []string
	members := false
	named := map[collab.DocumentRef][]*decision{} // by notifications that ask for access
	for _, of := range list {
		switch doc := of.run.document; {
		case of.run.event.AnnotationID != "":
			if !slices.Contains(docs, doc) {
				docs = append(docs, doc)
			}
			users = append(users, of.UserID)
			members = members || of.run.head.Visibility != nil
		case of.run.event.VerifyAccess:
			named[doc] = append(named[doc], of)
		}
	}
	for doc, list := range named {
		allowed, err := d.access.MaySee(ctx, s, doc, collab.Map(list, func(of *decision) string { return of.UserID }))
		if err = d.answered(err); err != nil {
			return err
		}
		for _, of := range list {
			if !allowed[of.UserID] {
				of.refuse(noAccess)
			}
		}
	}
	if docs == nil {
		return nil
	}
	slices.Sort(users)
	users = slices.Compact(users)
	viewers, err := d.access.Viewers(ctx, s, docs, users, members)
	if err = d.answered(err); err != nil {
		return err
	}
	for _, of := range list {
		if of.run.event.AnnotationID == "" {
			continue
		}
		for _, v := range viewers[slices.Index(docs, of.run.document)] {
			switch {
			case v.User != of.UserID:
			case !v.May:
				of.refuse(reason(v.Why))
			case !v.Sees(of.run.head.Visibility, of.run.head.CreatorID):
				of.refuse(notVisible)
			}
		}
	}
	return nil
}

// answered counts people about whom the permission provider did not answer, and drops that error: they are refused.
func (d *Deliverer) answered(err error) error {
	if noAnswer, ok := errors.AsType[*access.NoAnswer](err); ok {
		d.Metrics.Add(metrics.DeliveryFailures, metrics.Inbox, float64(noAnswer.Users))
		return nil
	}
	return err
}

// byPreference refuses channels that people have turned off for the document or the organization, and finds when they get mail.
func (d *Deliverer) byPreference(ctx context.Context, _ collab.OrganizationRef, s collab.Settings, list []*decision) error {
	list = slices.DeleteFunc(slices.Clone(list), func(of *decision) bool { return !reached(of) })
	preferences := make([]collab.PreferencesSet, len(list))
	if !s.NotificationPreferencesOff && len(list) > 0 {
		var err error
		preferences, err = d.Directory.PreferencesOf(ctx, len(list), func(i int) (string, collab.DocumentRef) {
			return list[i].UserID, list[i].run.document
		})
		if err != nil {
			return err
		}
	}
	for i, of := range list {
		mine, set := !of.run.event.NotifyAll, preferences[i]
		p := set.Effective()
		of.times = set.Mail
		if !p.Inbox.Wants(mine) {
			of.inbox = cmp.Or(of.inbox, notPreferred(set.Document.Inbox, set.Organization.Inbox))
		}
		if !p.Email.Wants(mine) {
			of.mail = cmp.Or(of.mail, notPreferred(set.Document.Email, set.Organization.Email))
		}
	}
	return nil
}

// notPreferred returns the preference that holds, as a reason.
func notPreferred(document, organization collab.Preference) reason {
	switch {
	case document != "":
		return preferenceOfDocument
	case organization != "":
		return preferenceOfOrganization
	}
	return preferenceOfNobody
}

// byAddress finds the address for mail: the event's, else the member's, else the thread's; with MailToMembersOnly only the member's. It
// refuses mail to people without one that email can reach.
func (d *Deliverer) byAddress(ctx context.Context, org collab.OrganizationRef, s collab.Settings, list []*decision) error {
	only := s.MailToMembersOnly
	addressed := func(of *decision) bool { return !only && collab.Deref(of.Email) != "" }
	members, err := d.Directory.Members(ctx, org, idsWhere(list, func(of *decision) bool {
		return of.mail == "" && !addressed(of)
	}))
	if err != nil {
		return err
	}
	for _, of := range list {
		m, is := members[of.UserID]
		switch {
		case addressed(of):
			of.external = true
		case is:
			of.Email, of.Name = m.Email, cmp.Or(of.Name, m.Name)
		case only:
			of.Email = nil
		}
		if !only && collab.Deref(of.Email) == "" && of.hint != "" {
			of.Email, of.external = &of.hint, true
		}
		if of.User = of.User.Short(); collab.Deref(of.Email) == "" {
			of.mail = cmp.Or(of.mail, noAddress)
			continue
		}
		address, err := collab.MailAddress(*of.Email)
		if err != nil {
			of.mail = cmp.Or(of.mail, badAddress)
			continue
		}
		of.Email = &address // so that one who unsubscribed is known by each form of it
	}
	return nil
}

// bySubscription refuses mail to addresses that have unsubscribed.
func (d *Deliverer) bySubscription(ctx context.Context, org collab.OrganizationRef, _ collab.Settings, list []*decision) error {
	var mailed []collab.User
	for _, of := range list {
		if of.mail == "" && !slices.ContainsFunc(mailed, func(u collab.User) bool {
			return u.UserID == of.UserID && collab.Deref(u.Email) == collab.Deref(of.Email)
		}) {
			mailed = append(mailed, of.User)
		}
	}
	off, err := d.Accounts.Unsubscribed(ctx, org, mailed)
	for _, of := range list {
		if off[of.UserID] {
			of.mail = cmp.Or(of.mail, unsubscribed)
		}
	}
	return err
}
