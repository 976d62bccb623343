package delivery

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
)

// decision holds, for each channel, why an event does not reach a person; "" if it does.
type decision struct {
	person
	inbox, mail reason
	further     reason   // of all channels of the application
	wanted      []string // channels of the application, by the person's preferences
	channels    []string // those with an endpoint

	times       collab.MailTimes // the person's schedule for emails
	external    bool             // the address is not the stored user's own
	undelivered collab.Millis    // time of the email that bounced or was complained about; 0 for none
}

// reason is the reason why a channel does not reach a person, or "".
type reason string

const (
	ownAction    reason = "own action"
	inList       reason = "in the list for all"
	mailOff      reason = "no email is sent"
	noAccess     reason = "no access"
	notVisible   reason = "visibility"
	noAddress    reason = "no address"
	badAddress   reason = "no email can reach the address"
	unsubscribed reason = "unsubscribed"
	bounced      reason = "the address bounced"
	complained   reason = "the person reported an email as spam"
	muted        reason = "muted"
	noReactions  reason = "reactions send no email"
	noEndpoint   reason = "no webhook endpoint receives notification.due of the channel"
	seen         reason = "seen"
	rejected     reason = "the email service rejected it"
	unconfirmed  reason = "sent, not confirmed: the email service did not answer in time"
	whyDisabled  reason = "the organization was disabled"

	preferenceOfDocument     reason = "preference for the document"
	preferenceOfOrganization reason = "preference for the organization"
	preferenceOfNobody       reason = "preference: the default, as none is set"
)

// refuse sets the reason of channels that have none yet.
func (d *decision) refuse(why reason) {
	d.inbox, d.mail, d.further = cmp.Or(d.inbox, why), cmp.Or(d.mail, why), cmp.Or(d.further, why)
}

// rules decide in this order. Each rule reads in one batch for all people of an event, and returns
// a function that decides about channels without a reason. The rules of a row read concurrently.
var rules = [][]func(*eventRun, context.Context, []*decision) (decide func(), err error){
	{(*eventRun).byLevel},
	{(*eventRun).byAccess, (*eventRun).byPreference, (*eventRun).byAddress},
	{(*eventRun).bySubscription, (*eventRun).byEndpoint},
}

// decide applies the rules to each of the people.
func (r *eventRun) decide(ctx context.Context, people []person) ([]*decision, error) {
	list := collab.Map(people, func(p person) *decision { return &decision{person: p} })
	for _, d := range list {
		if r.caused(d.UserID) {
			d.refuse(ownAction)
		}
		if r.listed() {
			d.inbox = cmp.Or(d.inbox, inList)
		}
		if r.Mailer == nil && !byWebhook(r.settings, collab.EmailChannel) {
			d.mail = cmp.Or(d.mail, mailOff)
		}
		if r.event.Type == collab.ReactionAdded {
			d.mail, d.further = cmp.Or(d.mail, noReactions), cmp.Or(d.further, noReactions)
		}
	}
	for _, row := range rules {
		open := collab.Where(list, reached)
		decide := make([]func(), len(row))
		err := each(len(row), func(i int) (err error) {
			decide[i], err = row[i](r, ctx, open)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, decide := range decide {
			decide()
		}
	}
	return list, nil
}

func (r *eventRun) caused(user string) bool {
	return r.event.Actor != nil && r.event.Actor.UserID == user
}

// idsWhere returns the ids of users that satisfy a condition.
func idsWhere(list []*decision, holds func(*decision) bool) []string {
	var ids []string
	for _, d := range list {
		if holds(d) {
			ids = append(ids, d.UserID)
		}
	}
	return ids
}

// notices returns the channels, besides the inbox, that reach the person.
func (d *decision) notices() []string {
	var channels []string
	if d.mail == "" {
		channels = append(channels, collab.EmailChannel)
	}
	if d.further == "" {
		channels = append(channels, d.channels...)
	}
	return channels
}

func reached(d *decision) bool { return d.inbox == "" || d.mail == "" || d.further == "" }

// byLevel refuses people who muted the event's thread, or muted it except for mentions.
func (r *eventRun) byLevel(ctx context.Context, list []*decision) (func(), error) {
	if r.head == nil {
		return func() {}, nil
	}
	addressed, err := r.addressed(ctx)
	return func() {
		for _, d := range list {
			level := r.head.Follows.Of(d.UserID)
			if level == collab.LevelNone || level == collab.LevelMentions && !slices.Contains(addressed, d.UserID) {
				d.refuse(muted)
			}
		}
	}, err
}

// byAccess refuses people who cannot see the event's thread. For a notification, it only applies if
// verifyUserPermissions is set, and then checks access to the document.
func (r *eventRun) byAccess(ctx context.Context, list []*decision) (func(), error) {
	users := collab.Map(list, func(d *decision) string { return d.UserID })
	switch {
	case r.event.AnnotationID != "" && len(users) > 0:
		viewers, err := r.access.Viewers(ctx, r.settings, []collab.DocumentRef{r.document}, users, r.head.Visibility != nil)
		return func() {
			byUser := map[string]collab.Viewer{}
			for _, v := range slices.Concat(viewers...) {
				byUser[v.User] = v
			}
			for _, d := range list {
				switch v := byUser[d.UserID]; {
				case !v.May:
					d.refuse(cmp.Or(reason(v.Why), noAccess))
				case !v.Sees(r.head.Visibility, r.head.CreatorID):
					d.refuse(notVisible)
				}
			}
		}, r.answered(err, r.event.Time)
	case r.event.VerifyAccess:
		allowed, err := r.access.MaySee(ctx, r.settings, r.document, users)
		return func() {
			for _, d := range list {
				if !allowed[d.UserID] {
					d.refuse(noAccess)
				}
			}
		}, r.answered(err, r.event.Time)
	}
	return func() {}, nil
}

// byPreference refuses channels that people turned off for the document or the organization, and
// reads their schedule for emails.
func (r *eventRun) byPreference(ctx context.Context, list []*decision) (func(), error) {
	preferences := make([]collab.PreferencesSet, len(list))
	var err error
	if !r.settings.NotificationPreferencesOff && len(list) > 0 {
		preferences, err = r.Directory.PreferencesOf(ctx, len(list), func(i int) (string, collab.DocumentRef) {
			return list[i].UserID, r.document
		})
	}
	return func() {
		for i, d := range list {
			mine, set := !r.event.NotifyAll && !d.follower, preferences[i]
			p := set.Effective()
			d.times = set.Mail
			if !p.Inbox.Wants(mine) {
				d.inbox = cmp.Or(d.inbox, notPreferred(set.Document.Inbox, set.Organization.Inbox))
			}
			if !p.Email.Wants(mine) {
				d.mail = cmp.Or(d.mail, notPreferred(set.Document.Email, set.Organization.Email))
			}
			for channel, preference := range p.Further {
				if preference.Wants(mine) {
					d.wanted = append(d.wanted, channel)
				}
			}
			if d.channels = d.wanted; len(d.wanted) == 0 {
				d.further = cmp.Or(d.further, preferenceOfNobody)
			}
		}
	}, err
}

// notPreferred returns the preference that applies, as a reason.
func notPreferred(document, organization collab.Preference) reason {
	switch {
	case document != "":
		return preferenceOfDocument
	case organization != "":
		return preferenceOfOrganization
	}
	return preferenceOfNobody
}

// byEndpoint refuses channels that webhooks serve, if no endpoint receives their events.
func (r *eventRun) byEndpoint(ctx context.Context, list []*decision) (func(), error) {
	mails := byWebhook(r.settings, collab.EmailChannel)
	if !slices.ContainsFunc(list, func(d *decision) bool { return d.further == "" || mails && d.mail == "" }) {
		return func() {}, nil
	}
	endpoints, err := r.webhookEndpoints(ctx)
	serves := func(channel string) bool {
		return slices.ContainsFunc(endpoints, func(h collab.Webhook) bool { return h.Serves(channel) })
	}
	return func() {
		for _, d := range list {
			if d.channels = collab.Where(d.channels, serves); len(d.channels) == 0 {
				d.further = cmp.Or(d.further, noEndpoint)
			}
			if mails && !serves(collab.EmailChannel) {
				d.mail = cmp.Or(d.mail, noEndpoint)
			}
		}
	}, err
}

// byWebhook reports whether webhooks serve a channel.
func byWebhook(s collab.Settings, channel string) bool {
	return channel != collab.EmailChannel || s.MailChannel == collab.MailByWebhook
}

// byAddress selects the address: the event's, else the stored user's, else the thread's. If
// MailToMembersOnly is set, it only takes the stored user's. It refuses email to people without a
// usable address, unless webhooks serve emails.
func (r *eventRun) byAddress(ctx context.Context, list []*decision) (func(), error) {
	only := r.settings.MailToMembersOnly
	addressed := func(d *decision) bool { return !only && collab.Deref(d.Email) != "" }
	refuse := func(d *decision, why reason) {
		if !byWebhook(r.settings, collab.EmailChannel) {
			d.mail = cmp.Or(d.mail, why)
		}
	}
	in := r.document.Resource()
	profiles, err := r.Directory.PresentProfiles(ctx, collab.UsersAt(in, idsWhere(list, func(d *decision) bool {
		return d.mail == "" && !addressed(d)
	})))
	return func() {
		for _, d := range list {
			p, ok := profiles[in][d.UserID]
			switch {
			case addressed(d):
				d.external = true
			case ok:
				d.Email, d.Name = p.Email, cmp.Or(p.Name, d.Name)
			case only:
				d.Email = nil
			}
			if !only && collab.Deref(d.Email) == "" && d.hint != "" {
				d.Email, d.external = &d.hint, true
			}
			if d.User = d.User.Short(); collab.Deref(d.Email) == "" {
				refuse(d, noAddress)
				continue
			}
			address, err := collab.MailAddress(*d.Email)
			if err != nil {
				refuse(d, badAddress)
				continue
			}
			d.Email = &address // canonical form, so that bySubscription finds it
		}
	}, err
}

// bySubscription refuses email to addresses that get none: see unusable.
func (r *eventRun) bySubscription(ctx context.Context, list []*decision) (func(), error) {
	mailed := collab.Where(list, func(d *decision) bool { return d.mail == "" })
	off, err := r.unusable(ctx, r.document.OrganizationRef, collab.Map(mailed, func(d *decision) collab.User { return d.User }))
	return func() {
		for _, d := range mailed {
			d.mail, d.undelivered = off[d.UserID].why, off[d.UserID].sent
		}
	}, err
}

// noMail is why a person gets no email.
type noMail struct {
	why  reason
	sent collab.Millis // time of the email that bounced or was complained about; 0 for none
}

// unusable returns, by user id, why no email is sent to a person's address: the person or the
// address unsubscribed, or the address accepts no email. Every decision about emails asks it.
func (d *Deliverer) unusable(ctx context.Context, org collab.OrganizationRef, users []collab.User) (map[string]noMail, error) {
	var off map[string]bool
	var marks map[string]collab.Undeliverable
	err := both(func() (err error) {
		off, err = d.Accounts.Unsubscribed(ctx, org, users)
		return err
	}, func() (err error) {
		marks, err = d.Directory.Undeliverable(ctx, org, users)
		return err
	})
	all := map[string]noMail{}
	for user, m := range marks {
		all[user] = noMail{map[collab.EmailState]reason{collab.EmailBounced: bounced, collab.EmailComplained: complained}[m.Reason], m.Sent}
	}
	for user := range off {
		all[user] = noMail{why: unsubscribed}
	}
	return all, err
}
