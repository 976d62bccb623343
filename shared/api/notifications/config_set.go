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
	"collabdata/shared/store"
)

// ConfigSetRequest is the data of POST /v2/notifications/config/set. Without documents it sets what holds in the whole organization.
type ConfigSetRequest struct {
	OrganizationID string       `json:"organizationId" rule:"required,id" person:"in"`
	DocumentIDs    []string     `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"The documents for which it holds, which need not exist; left out: the whole organization"`
	AnnotationIDs  []string     `json:"annotationIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"With level: the annotations of the one document for which it holds; left out: all of documentIds"`
	UserIDs        []string     `json:"userIds" rule:"required,nonempty,max=30,each=id" person:"self" doc:"The users whose preferences they are"`
	Level          collab.Level `json:"level" rule:"notnull" person:"in" doc:"With annotationIds: all: every event of the annotation, named or not; mentions: mentions alone; none: nothing, in inbox or mail; default: no level. With documentIds alone: all: every event of every annotation that the user may see; default: no level"`
	ConfigChange
}

// ConfigChange is what a user prefers, for a document or in an organization.
type ConfigChange struct {
	Config        *ChannelsChange      `json:"config" rule:"notnull,nonempty" person:"in" doc:"Which notifications the users get; left out: as it is"`
	MailFrequency collab.MailFrequency `json:"mailFrequency" rule:"notnull" person:"in" doc:"When the users get mails, without documentIds: instant, as the account's settings say; hourly, at each full hour; daily, at mailHour. Left out: as it is"`
	MailHour      *int64               `json:"mailHour" rule:"notnull,min=0,max=23" person:"in" doc:"With daily: the hour of the day, in timeZone; 8 where it is left out"`
	TimeZone      *string              `json:"timeZone" rule:"notnull" person:"in" doc:"With mailFrequency: a time zone of the IANA database, such as Europe/Berlin; by default that of the user in the organization, else UTC"`
}

// Validate checks which fields stand together.
func (r *ConfigSetRequest) Validate(m *rpc.Violations) {
	if r.Config == nil && r.MailFrequency == "" && r.AnnotationIDs == nil && r.Level == "" {
		m.Add("config", "or mailFrequency or level is required")
	}
	if r.AnnotationIDs != nil && len(r.DocumentIDs) != 1 {
		m.Add("documentIds", "must name one document beside annotationIds")
	}
	if r.AnnotationIDs != nil && r.Config != nil {
		m.Add("config", "must not stand beside annotationIds: these have a level")
	}
	switch {
	case r.Level == "" && r.AnnotationIDs != nil:
		m.Add("level", "is required with annotationIds")
	case r.Level != "" && r.DocumentIDs == nil:
		m.Add("level", "is for annotations or documents: documentIds is required with it")
	case r.AnnotationIDs == nil && (r.Level == collab.LevelMentions || r.Level == collab.LevelNone):
		m.Add("level", "must be %s or %s for documents", collab.LevelAll, collab.LevelDefault)
	}
	if r.MailFrequency != "" && r.DocumentIDs != nil {
		m.Add("mailFrequency", "must not stand beside documentIds: it holds in the whole organization")
	}
	r.ConfigChange.Validate(m)
}

// Validate checks when the users get mails.
func (c *ConfigChange) Validate(m *rpc.Violations) {
	if c.MailHour != nil && c.MailFrequency != collab.MailDaily {
		m.Add("mailHour", "must stand beside the mailFrequency daily alone")
	}
	if c.TimeZone == nil {
		return
	}
	if c.MailFrequency == "" {
		m.Add("timeZone", "must stand beside mailFrequency alone")
	} else if err := collab.CheckZone(*c.TimeZone); err != nil {
		m.Add("timeZone", "%v", err)
	}
}

// Preferences returns the preferences that the change sets. The zero value means none.
func (c *ConfigChange) Preferences() collab.Preferences {
	if c.Config == nil {
		return collab.Preferences{}
	}
	return collab.Preferences{Inbox: c.Config.Inbox.Value, Email: c.Config.Email.Value, Further: c.Config.further}
}

// MailTimes returns the times of mails that the change sets. The zero value means none.
func (c *ConfigChange) MailTimes() collab.MailTimes {
	times := collab.MailTimes{Frequency: c.MailFrequency, Zone: collab.Deref(c.TimeZone)}
	if times.Frequency == collab.MailDaily {
		if times.Hour = collab.MailHour; c.MailHour != nil {
			times.Hour = *c.MailHour
		}
	}
	return times
}

// ChannelsChange replaces a user's preferences, further channels too. A channel that is left out, or null, has none of its own: it falls
// back from the document to the organization, and from there to the default.
type ChannelsChange struct {
	Inbox rpc.Opt[collab.Preference] `json:"inbox" person:"in" doc:"ALL: everything; MINE: what concerns the user; NONE; left out or null: what holds in the organization, else ALL"`
	Email rpc.Opt[collab.Preference] `json:"email" person:"in" doc:"ALL: everything; MINE: what concerns the user; NONE; left out or null: what holds in the organization, else MINE"`
	rpc.Open

	further map[string]collab.Preference
}

const (
	maxChannels = 20  // further ones
	maxChannel  = 100 // bytes of the name of one
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

// ConfigSetResult says whose preferences were set, and for what.
type ConfigSetResult struct {
	rpc.Outcome
	UserID     string `json:"userId" person:"out"`
	DocumentID string `json:"documentId,omitempty" person:"out" doc:"Where the request names a single one"`
}

// ConfigSet is POST /v2/notifications/config/set.
func ConfigSet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/config/set", Grants: rpc.ReadTable | rpc.WriteTable | rpc.ReadProviders,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).ConfigSet), Requires: collab.NotificationPreferences, Description: `
Sets users' notification preferences. With config it replaces those of up to 30 users for up to 30 documents, or without documentIds for the
whole organization. A channel that is left out or null has no preference of its own: it falls back from the document to the organization, and
from there to the default. config names at least one channel. Beside inbox and email it may name 20 further ones, such as slack, each of at
most 100 bytes: they are kept and returned, and nothing is sent on them.

With mailFrequency a user gets one mail an hour, or a day at an hour of the user's, of what the user has not seen: the newest threads first,
at most 20 events, and the number of the others.

With annotationIds and level up to 30 users follow or mute up to 30 annotations of a document. With all, a user is notified of every event,
named or not; with mentions, of mentions alone; with none, of nothing; with default, as if the user had never set a level. It stands until
it is set anew. NOT_FOUND when the document or an annotation does not exist, or the user may not see it; RESOURCE_EXHAUSTED when more than
500 users would have set a level for an annotation.

With documentIds and level, without annotationIds, up to 30 users follow up to 30 documents. With all, a user is notified of every thread and
comment that the user may see; with default, as if the user had never followed the document. The level of an annotation comes first: who
has muted one is not notified of it. NOT_FOUND when a document does not exist, or the user may not see it; RESOURCE_EXHAUSTED when more
than 1,000 users would follow a document.

Neither other documents nor users need exist. It holds for what is delivered from then on. The response has an item for each user, with a
documentId where the request names a single one. NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`}
}

// ConfigSet sets the preferences of users for documents, which need not exist, or for the organization. A call that fails may have set some
// of them, and may be sent again.
func (s *Service) ConfigSet(ctx context.Context, call *rpc.Call, req *ConfigSetRequest) (rpc.Keyed[ConfigSetResult], error) {
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	users, documents := rpc.Distinct(req.UserIDs), rpc.Distinct(req.DocumentIDs)
	if req.Level != "" {
		err = s.setLevel(ctx, call, req, documents, users)
	}
	if err == nil && req.Config != nil {
		err = s.Directory.SetPreferences(ctx, org, users, documents, req.Preferences())
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

// setMailTimes sets when users get emails. A daily email without a time zone leaves in that which the
// user has now.
func (s *Service) setMailTimes(ctx context.Context, org collab.OrganizationRef, users []string, times collab.MailTimes) error {
	if times.Frequency != collab.MailDaily || times.Zone != "" {
		return s.Directory.SetMailTimes(ctx, org, users, times)
	}
	members, err := s.Directory.Members(ctx, org, users)
	if err != nil {
		return err
	}
	byZone := map[string][]string{}
	for _, u := range users {
		zone := members[u].TimeZone
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

// setLevel sets what users are notified of annotations of a document, or of documents. What a user may not see does not exist for the user.
func (s *Service) setLevel(ctx context.Context, call *rpc.Call, req *ConfigSetRequest, documents, users []string) error {
	docs := make([]collab.DocumentRef, len(documents))
	for i, id := range documents {
		var err error
		docs[i], err = s.Directory.OpenDocument(ctx, call.Account, req.OrganizationID, id, collab.CreateFlags{})
		if call.Person != nil && collab.CodeOf(err) == collab.FailedPrecondition {
			err = collab.NoDocument(req.OrganizationID, id)
		}
		if err != nil {
			return err
		}
	}
	viewers, err := s.Access.Viewers(ctx, call.Settings, docs, users, true)
	if err != nil {
		return err
	}
	ids := rpc.Distinct(req.AnnotationIDs)
	if ids == nil {
		return s.follow(ctx, call, docs, users, viewers, req.Level)
	}
	for _, id := range ids {
		head, err := s.Threads.Head(ctx, docs[0], id)
		for _, v := range viewers[0] {
			if err == nil && !v.Sees(head.Visibility, head.CreatorID) {
				err = collab.NoAnnotation(docs[0], id)
			}
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(s.Threads.SetLevel(ctx, call.Request, docs[0], ids, users, req.Level)...)
}

// follow sets whether users follow documents, of which viewers says what the users may see.
func (s *Service) follow(
	ctx context.Context, call *rpc.Call, docs []collab.DocumentRef, users []string, viewers [][]collab.Viewer, level collab.Level,
) error {
	for i, of := range viewers {
		for _, v := range of {
			if !v.May && (level != collab.LevelDefault || call.Person != nil) {
				return collab.NoDocument(docs[i].Organization, docs[i].Document)
			}
		}
	}
	return store.Each(ctx, len(docs), func(ctx context.Context, i int) error {
		_, err := s.Threads.Follow(ctx, call.Request, docs[i], users, level)
		return err
	})
}
