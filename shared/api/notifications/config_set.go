package notifications

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
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
	MailFrequency collab.MailFrequency `json:"mailFrequency" rule:"notnull" person:"in" doc:"Frequency of emails: instant, hourly, or daily at mailHour; not with documentIds. Default: unchanged"`
	MailHour      *int64               `json:"mailHour" rule:"notnull,min=0,max=23" person:"in" doc:"With daily: the hour of the day in timeZone. Default: 8"`
	TimeZone      *string              `json:"timeZone" rule:"notnull" person:"in" doc:"With mailFrequency: an IANA time zone, such as Europe/Berlin. Default: the user's, else UTC"`
}

// Validate checks the combination of fields.
func (r *ConfigSetRequest) Validate(m *rpc.Violations) {
	if r.Config == nil && r.MailFrequency == "" && r.AnnotationIDs == nil && r.Level == "" {
		m.Add("config", "is required without mailFrequency and level")
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
	if r.MailFrequency != "" && r.DocumentIDs != nil {
		m.Add("mailFrequency", "cannot be combined with documentIds: it applies to the whole organization")
	}
	r.ConfigChange.Validate(m)
}

// Validate checks the times of emails.
func (c *ConfigChange) Validate(m *rpc.Violations) {
	if c.MailHour != nil && c.MailFrequency != collab.MailDaily {
		m.Add("mailHour", "requires the mailFrequency daily")
	}
	if c.TimeZone == nil {
		return
	}
	if c.MailFrequency == "" {
		m.Add("timeZone", "requires mailFrequency")
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

// MailTimes returns the times of emails to set. The zero value means none.
func (c *ConfigChange) MailTimes() collab.MailTimes {
	times := collab.MailTimes{Frequency: c.MailFrequency, Zone: collab.Deref(c.TimeZone)}
	if times.Frequency == collab.MailDaily {
		if times.Hour = collab.MailHour; c.MailHour != nil {
			times.Hour = *c.MailHour
		}
	}
	return times
}

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
		field := rpc.PathOf("", channel.Key)
		var p collab.Preference
		switch {
		case collab.CheckID(channel.Key, maxChannel) != nil:
			m.Add(field, "is not the name of a channel: one has 1 to %d bytes and no control characters", maxChannel)
		case string(channel.Value) == "null":
		case json.Unmarshal(channel.Value, &p) != nil || !slices.Contains(p.Values(), string(p)):
			m.Add(field, "must be one of %s", strings.Join(p.Values(), ", "))
		default:
			c.further[channel.Key] = p
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

With mailFrequency, a user gets one email an hour, or one a day at a given hour, about unread
content: the newest threads first, at most 20 events, and the number of the others.

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
	if err == nil && req.MailFrequency != "" {
		err = s.setMailTimes(ctx, org, users, req.MailTimes())
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

// setMailTimes sets the times of emails. A daily email without a time zone takes the user's current
// one.
func (s *Service) setMailTimes(ctx context.Context, org collab.OrganizationRef, users []string, times collab.MailTimes) error {
	if times.Frequency != collab.MailDaily || times.Zone != "" {
		return s.Directory.SetMailTimes(ctx, org, users, times)
	}
	zones, err := s.Directory.TimeZones(ctx, org, users)
	if err != nil {
		return err
	}
	byZone := map[string][]string{}
	for _, u := range users {
		zone := zones[u]
		byZone[zone] = append(byZone[zone], u)
	}
	for zone, users := range byZone {
		times.Zone = zone
		if err := s.Directory.SetMailTimes(ctx, org, users, times); err != nil {
			return err
		}
	}
	return nil
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
	for i, of := range viewers {
		for _, v := range of {
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
