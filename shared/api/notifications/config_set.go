package notifications

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // Lambda has none

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ConfigSetRequest is the data of POST /v2/notifications/config/set. Without documents it covers
// the whole organization.
type ConfigSetRequest struct {
	OrganizationID string       `json:"organizationId" rule:"required,id" person:"in"`
	DocumentIDs    []string     `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"The documents. Default: the whole organization"`
	AnnotationIDs  []string     `json:"annotationIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"With level: annotations of the one document"`
	UserIDs        []string     `json:"userIds" rule:"required,nonempty,max=30,each=id" person:"self" doc:"The users"`
	Level          collab.Level `json:"level" rule:"notnull" person:"in" doc:"For annotations: all, mentions (only mentions), none, default. For documents: all or default"`
	ConfigChange
}

// ConfigChange is a change of a user's preferences, for a document or an organization.
type ConfigChange struct {
	Config        *ChannelsChange      `json:"config" rule:"notnull,nonempty" person:"in" doc:"The preferences by channel. Default: unchanged"`
	MailFrequency collab.MailFrequency `json:"mailFrequency" rule:"notnull" person:"in" doc:"Frequency of emails: instant, hourly, daily at mailHour, or weekly on mailDay at mailHour; not with documentIds. Default: unchanged"`
	MailDay       collab.Weekday       `json:"mailDay" rule:"notnull" person:"in" doc:"With weekly: the day of the week in timeZone. Default: monday"`
	MailHour      *int64               `json:"mailHour" rule:"notnull,min=0,max=23" person:"in" doc:"With daily or weekly: the hour of the day in timeZone. Default: 8"`
	QuietHours    rpc.Opt[QuietHours]  `json:"quietHours" person:"in" doc:"Times without emails, in timeZone; null for none. Not with documentIds. Default: unchanged"`
	TimeZone      *string              `json:"timeZone" rule:"notnull" person:"in" doc:"With mailFrequency or quietHours: an IANA time zone, such as Europe/Berlin. Default: the user's, else UTC"`
}

// QuietHours are times without emails: hours of each day, whole days, or both.
type QuietHours struct {
	From *string          `json:"from,omitempty" rule:"notnull" person:"in,out" doc:"Beginning of the quiet hours of each day, as HH:MM; requires to"`
	To   *string          `json:"to,omitempty" rule:"notnull" person:"in,out" doc:"Their end, as HH:MM, on the next day if it is before from; requires from"`
	Days []collab.Weekday `json:"days,omitempty" rule:"notnull,nonempty,max=6" person:"in,out" doc:"Quiet days of the week, each once"`
}

// Validate checks the times and days.
func (q *QuietHours) Validate(m *rpc.Violations) {
	if q.From == nil && q.To == nil && q.Days == nil {
		m.Add("", "requires from and to, or days")
	}
	checkClock(m, "from", q.From, q.To)
	checkClock(m, "to", q.To, q.From)
	if q.From != nil && q.To != nil && *q.From == *q.To {
		m.Add("to", "must differ from the other end")
	}
	rpc.Unique(m, "days[%d]", q.Days, func(d *collab.Weekday) *collab.Weekday { return d })
}

// checkClock checks one end of quiet hours.
func checkClock(m *rpc.Violations, field string, text, other *string) {
	const form = "15:04"
	switch _, err := time.Parse(form, collab.Deref(text)); {
	case text == nil && other != nil:
		m.Add(field, "is required with the other end")
	case text != nil && (err != nil || len(*text) != len(form)):
		m.Add(field, "must be a time of the day as HH:MM, such as 20:00")
	}
}

func (q QuietHours) hours() collab.QuietHours {
	return collab.Quiet(minuteOf(q.From), minuteOf(q.To), q.Days)
}

// minuteOf returns the minute of the day of a valid time, 0 for none.
func minuteOf(text *string) int64 {
	at, _ := time.Parse("15:04", collab.Deref(text))
	return int64(60*at.Hour() + at.Minute())
}

// quietOf returns nil if there are none.
func quietOf(q collab.QuietHours) *QuietHours {
	if q == (collab.QuietHours{}) {
		return nil
	}
	quiet := &QuietHours{Days: q.Weekdays()}
	if q.From != q.To {
		text := func(minute int64) *string { return new(fmt.Sprintf("%02d:%02d", minute/60, minute%60)) }
		quiet.From, quiet.To = text(q.From), text(q.To)
	}
	return quiet
}

// Validate checks the combination of fields.
func (r *ConfigSetRequest) Validate(m *rpc.Violations) {
	if r.Config == nil && !r.Times() && r.AnnotationIDs == nil && r.Level == "" {
		m.Add("config", "is required without mailFrequency, quietHours and level")
	}
	if r.AnnotationIDs != nil && len(r.DocumentIDs) != 1 {
		m.Add("documentIds", "must have one document if annotationIds is set")
	}
	if r.AnnotationIDs != nil && r.Config != nil {
		m.Add("config", "cannot be combined with annotationIds: use level")
	}
	switch {
	case r.Level == "" && r.AnnotationIDs != nil:
		m.Add("level", "is required with annotationIds")
	case r.Level != "" && r.DocumentIDs == nil:
		m.Add("level", "requires documentIds")
	case r.AnnotationIDs == nil && (r.Level == collab.LevelMentions || r.Level == collab.LevelNone):
		m.Add("level", "must be %s or %s for documents", collab.LevelAll, collab.LevelDefault)
	}
	const whole = "cannot be combined with documentIds: it applies to the whole organization"
	if r.MailFrequency != "" && r.DocumentIDs != nil {
		m.Add("mailFrequency", whole)
	}
	if r.QuietHours.Raw != nil && r.DocumentIDs != nil {
		m.Add("quietHours", whole)
	}
	r.ConfigChange.Validate(m)
}

// Validate checks the times of emails.
func (c *ConfigChange) Validate(m *rpc.Violations) {
	if c.MailHour != nil && !c.MailFrequency.Hours() {
		m.Add("mailHour", "requires the mailFrequency daily or weekly")
	}
	if c.MailDay != "" && c.MailFrequency != collab.MailWeekly {
		m.Add("mailDay", "requires the mailFrequency weekly")
	}
	if c.TimeZone == nil {
		return
	}
	if !c.Times() {
		m.Add("timeZone", "requires mailFrequency or quietHours")
	} else if err := collab.CheckZone(*c.TimeZone); err != nil {
		m.Add("timeZone", "%v", err)
	}
}

// Preferences returns the preferences to set. The zero value means none.
func (c *ConfigChange) Preferences() collab.Preferences {
	if c.Config == nil {
		return collab.Preferences{}
	}
	return collab.Preferences{Inbox: c.Config.Inbox.Value, Email: c.Config.Email.Value, Further: c.Config.further}
}

// Times reports whether it changes times of emails.
func (c *ConfigChange) Times() bool { return c.MailFrequency != "" || c.QuietHours.Raw != nil }

// Change returns other times of emails with the ones to set. Without a time zone, it keeps the
// other one.
func (c *ConfigChange) Change(times collab.MailTimes) collab.MailTimes {
	if c.MailFrequency != "" {
		times.Frequency, times.Day, times.Hour = c.MailFrequency, "", 0
		if times.Frequency == collab.MailWeekly {
			times.Day = cmp.Or(c.MailDay, collab.Monday)
		}
		if times.Frequency.Hours() {
			if times.Hour = collab.MailHour; c.MailHour != nil {
				times.Hour = *c.MailHour
			}
		}
	}
	if c.QuietHours.Raw != nil {
		times.QuietHours = c.QuietHours.Value.hours()
	}
	times.Zone = cmp.Or(collab.Deref(c.TimeZone), times.Zone)
	return times
}

// MailTimes returns the times of emails to set. The zero value means none.
func (c *ConfigChange) MailTimes() collab.MailTimes { return c.Change(collab.MailTimes{}) }

// ChannelsChange replaces a user's preferences, including further channels. An absent or null
// channel falls back from the document to the organization, and then to the default.
type ChannelsChange struct {
	Inbox rpc.Opt[collab.Preference] `json:"inbox" person:"in" doc:"ALL, MINE (only if the user is concerned) or NONE. Absent or null: the organization's, else ALL"`
	Email rpc.Opt[collab.Preference] `json:"email" person:"in" doc:"ALL, MINE (only if the user is concerned) or NONE. Absent or null: the organization's, else MINE"`
	rpc.Open

	further map[string]collab.Preference
}

const (
	maxChannels = 20  // further ones
	maxChannel  = 100 // bytes of a name
)

// Validate reads the further channels.
func (c *ChannelsChange) Validate(m *rpc.Violations) {
	if len(c.Further) > maxChannels {
		m.Add("", "must have at most %d further channels, not %d", maxChannels, len(c.Further))
		return
	}
	c.further = make(map[string]collab.Preference, len(c.Further))
	for _, channel := range c.Further {
		field := rpc.PathOf("", channel.Name)
		var p collab.Preference
		switch {
		case collab.CheckID(channel.Name, maxChannel) != nil:
			m.Add(field, "is not the name of a channel: one has 1 to %d bytes and no control characters", maxChannel)
		case string(channel.Value) == "null":
		case json.Unmarshal(channel.Value, &p) != nil || !slices.Contains(p.Values(), string(p)):
			m.Add(field, "must be one of %s", strings.Join(p.Values(), ", "))
		default:
			c.further[channel.Name] = p
		}
	}
}

// ConfigSetResult is the result for one user.
type ConfigSetResult struct {
	rpc.Outcome
	UserID     string `json:"userId" person:"out"`
	DocumentID string `json:"documentId,omitempty" person:"out" doc:"If the request has a single document"`
}

// ConfigSet is POST /v2/notifications/config/set.
func ConfigSet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/config/set", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).ConfigSet), Requires: collab.NotificationPreferences, Description: `
Set notification preferences.

Sets the notification preferences of users. With 'config', it replaces the preferences of up to 30
users for up to 30 documents, or without documentIds for the whole organization. An absent or
'null' channel falls back from the document to the organization, and then to the default. 'config'
requires at least one channel. Besides 'inbox' and 'email' it can have 20 further channels, such
as 'slack', with names of at most 100 bytes: when an email would leave, webhooks get the event
notification.due for each of them. A person replaces 'inbox' and 'email' alone.

With mailFrequency, a user gets one email an hour, one a day at a given hour, or one a week, about
unread content: the newest threads first, at most 20 events, and the number of the others. With
quietHours, an email or a notification.due that would be due in the hours or on the days waits until
they end, with every frequency; inboxes do not wait.

With annotationIds and 'level', up to 30 users follow or mute up to 30 annotations of a document.
With 'all', a user is notified of every event; with 'mentions', only of mentions; with 'none', of
nothing; 'default' removes the level. An annotation with 'mentions' or 'none' counts as read for the
user, and the user's notifications about it are marked as read, except mentions with 'mentions', if
they are among the latest 100. The request fails with NOT_FOUND if the document or an
annotation does not exist or the user cannot see it, and with RESOURCE_EXHAUSTED if an annotation
would have levels of more than 500 users, or of users with ids of more than 32,000 bytes in all if a
person adds one.

With documentIds and 'level', without annotationIds, up to 30 users follow up to 30 documents.
With 'all', a user is notified of every thread and comment that the user can see, by the channels
with the preference 'ALL' if it does not concern the user otherwise; 'default' ends this. The level of an annotation takes precedence: a user who muted an annotation is not notified
of it. The request fails with NOT_FOUND if a document does not exist or the user cannot see it,
and with RESOURCE_EXHAUSTED if a document would have more than 1,000 followers, or, if a person adds
one, followers with ids of more than 64,000 bytes in all.

If the annotations or documents are too large for one request of a person, the request fails with
FAILED_PRECONDITION, and changes nothing: send fewer ids.

For a back end, documents and users need not exist otherwise; a person sets preferences for documents
that the person can see. Preferences apply to later deliveries. The response
has an item for each user, with a documentId if the request has a single one. The request fails
with NOT_FOUND if the organization does not exist, and with FAILED_PRECONDITION if it is disabled.`}
}

// ConfigSet sets the preferences of users for documents, which need not exist, or for the
// organization.
func (s *Service) ConfigSet(ctx context.Context, call *rpc.Call, req *ConfigSetRequest) (rpc.Keyed[ConfigSetResult], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	users, documents := rpc.Distinct(req.UserIDs), rpc.Distinct(req.DocumentIDs)
	var docs []collab.DocumentRef
	var viewers [][]collab.Viewer
	if documents != nil && (req.Level != "" || call.Person != nil) {
		if docs, viewers, err = s.visible(ctx, call, req, documents, users); err != nil {
			return nil, err
		}
	}
	if req.Level != "" {
		err = s.setLevel(ctx, call, req, docs, viewers, users)
	}
	if err == nil && req.Config != nil {
		preferences := req.Preferences()
		if call.Person != nil {
			preferences.Further = nil // a person can neither send nor see them
		}
		err = s.Directory.SetPreferences(ctx, org, users, documents, preferences)
	}
	if err == nil && req.Times() {
		err = s.setMailTimes(ctx, org, users, req)
	}
	if err != nil {
		return nil, err
	}
	call.Message = "User config set successfully."
	var results rpc.Keyed[ConfigSetResult]
	for _, u := range users {
		result := ConfigSetResult{Outcome: call.Outcome(nil, call.Message), UserID: u}
		if len(documents) == 1 {
			result.DocumentID = documents[0]
		}
		results = append(results, rpc.Member[ConfigSetResult]{Key: u, Value: result})
	}
	return results, nil
}

// setMailTimes sets the times of emails. If they need a time zone and have none, they take the
// user's current one.
func (s *Service) setMailTimes(ctx context.Context, org collab.OrganizationRef, users []string, req *ConfigSetRequest) error {
	var zones map[string]string
	var err error
	if req.TimeZone == nil {
		if zones, err = s.Directory.TimeZones(ctx, org, users); err != nil {
			return err
		}
	}
	return s.Directory.ChangeMailTimes(ctx, org, users, func(user string, times collab.MailTimes) collab.MailTimes {
		if times = req.Change(times); req.TimeZone == nil && (req.MailFrequency.Hours() || times.Zone == "") {
			times.Zone = zones[user]
		}
		if !times.Frequency.Hours() && times.QuietHours == (collab.QuietHours{}) && req.TimeZone == nil {
			times.Zone = ""
		}
		return times
	})
}

// visible opens documents, with the users as their viewers. It returns NOT_FOUND if a document does
// not exist, or the call's person or, with a level for documents, a user cannot see it.
func (s *Service) visible(
	ctx context.Context, call *rpc.Call, req *ConfigSetRequest, documents, users []string,
) (docs []collab.DocumentRef, viewers [][]collab.Viewer, err error) {
	docs = make([]collab.DocumentRef, len(documents))
	for i, id := range documents {
		docs[i], err = s.Directory.OpenDocument(ctx, call.Account, req.OrganizationID, id, collab.CreateFlags{})
		if call.Person != nil && collab.CodeOf(err) == collab.FailedPrecondition {
			err = collab.NoDocument(req.OrganizationID, id)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if viewers, err = s.Access.Viewers(ctx, call.Settings, docs, users, true); err != nil {
		return nil, nil, err
	}
	for i, list := range viewers {
		for _, v := range list {
			if !v.May && (call.Person != nil || req.AnnotationIDs == nil && req.Level != collab.LevelDefault) {
				return nil, nil, collab.NoDocument(docs[i].Organization, docs[i].Document)
			}
		}
	}
	return docs, viewers, nil
}

// setLevel sets the users' levels for annotations or documents. It returns NOT_FOUND if a user
// cannot see an annotation.
func (s *Service) setLevel(
	ctx context.Context, call *rpc.Call, req *ConfigSetRequest, docs []collab.DocumentRef, viewers [][]collab.Viewer, users []string,
) error {
	ids := rpc.Distinct(req.AnnotationIDs)
	if ids == nil {
		return s.Threads.FollowAll(ctx, call.Request, docs, users, req.Level)
	}
	err := errors.Join(s.Threads.SetLevel(ctx, call.Request, docs[0], ids, users, req.Level, func(a *collab.Annotation) error {
		for _, v := range viewers[0] {
			if !v.Sees(a.Visibility, a.CreatorID) {
				return collab.NoAnnotation(docs[0], a.ID)
			}
		}
		return nil
	})...)
	if err != nil || req.Level != collab.LevelNone && req.Level != collab.LevelMentions {
		return err
	}
	for _, u := range users {
		err = errors.Join(err, s.Inbox.ReadThreads(ctx, docs[0], u, ids, req.Level == collab.LevelNone))
	}
	return err
}
