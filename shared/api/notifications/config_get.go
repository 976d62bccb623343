package notifications

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// ConfigGetRequest is the data of POST /v2/notifications/config/get.
type ConfigGetRequest struct {
	OrganizationID        string   `json:"organizationId" rule:"required,id" person:"in"`
	DocumentIDs           []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"The documents, which need not exist, in the order of the answer; required unless getOrganizationConfig is true"`
	GetOrganizationConfig bool     `json:"getOrganizationConfig" person:"in" doc:"Return what the user prefers in the organization, and that alone"`
	UserID                string   `json:"userId" rule:"required,id" person:"self"`
}

// Validate checks that the request says what it asks for.
func (r *ConfigGetRequest) Validate(m *rpc.Violations) {
	if r.DocumentIDs == nil && !r.GetOrganizationConfig {
		m.Add("documentIds", "is required unless getOrganizationConfig is true")
	}
}

// NotificationConfig is a user's notification configuration for a document, or for the organization.
type NotificationConfig struct {
	Config   Channels     `json:"config" person:"out"`
	Metadata Metadata     `json:"metadata" person:"out" doc:"The document or the location that it is of"`
	Level    collab.Level `json:"level,omitempty" person:"out" doc:"all: the user follows the document; left out if not"`
	*MailTimes
}

// MailTimes are when a user gets mails of the organization.
type MailTimes struct {
	MailFrequency collab.MailFrequency `json:"mailFrequency,omitempty" person:"out" doc:"instant: as the account's settings say; hourly: at each full hour; daily: at an hour of the day. Each tells of what the user has not seen. None is instant"`
	MailHour      *int64               `json:"mailHour,omitempty" person:"out" doc:"Of daily: 0 to 23, in timeZone"`
	TimeZone      string               `json:"timeZone,omitempty" person:"out" doc:"Of the IANA database, such as Europe/Berlin; none is UTC"`
}

// mailTimesOf returns nil where none were set.
func mailTimesOf(m collab.MailTimes) *MailTimes {
	if m.Frequency == "" {
		return nil
	}
	times := &MailTimes{MailFrequency: m.Frequency, TimeZone: m.Zone}
	if m.Frequency == collab.MailDaily {
		times.MailHour = &m.Hour
	}
	return times
}

// Channels are the preferences by channel. Further channels stand beside these fields.
type Channels struct {
	Inbox collab.Preference `json:"inbox" person:"out" doc:"ALL: everything; MINE: what concerns the user; NONE"`
	Email collab.Preference `json:"email" person:"out" doc:"ALL: everything; MINE: what concerns the user; NONE"`
	rpc.Open
}

// MarshalJSON writes the channels, the further ones by name.
func (c Channels) MarshalJSON() ([]byte, error) {
	channels := rpc.Keyed[any]{{Key: "inbox", Value: c.Inbox}, {Key: "email", Value: c.Email}}
	for _, m := range c.Further {
		channels = append(channels, rpc.Member[any]{Key: m.Key, Value: m.Value})
	}
	return channels.MarshalJSON()
}

func channelsOf(p collab.Preferences) Channels {
	c := Channels{Inbox: p.Inbox, Email: p.Email}
	for _, name := range slices.Sorted(maps.Keys(p.Further)) {
		c.Further = append(c.Further, rpc.Member[collab.JSON]{Key: name, Value: rpc.JSON(p.Further[name])})
	}
	return c
}

// Metadata says what a NotificationConfig is of.
type Metadata struct {
	APIKey         string `json:"apiKey" doc:"The API key of the request"`
	OrganizationID string `json:"organizationId" person:"out"`
	DocumentID     string `json:"documentId,omitempty" person:"out" doc:"The document; none for the organization"`
	UserID         string `json:"userId"`
}

// ConfigGet is POST /v2/notifications/config/get.
func ConfigGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/config/get", Grants: rpc.ReadTable,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).ConfigGet), Requires: collab.NotificationPreferences, Description: `
Returns a user's notification preferences. They are by document and channel: the user's preference for the document, else for the
organization, else inbox ALL and email MINE. The response is in the order asked, repeats once; neither documents nor user need exist. With
getOrganizationConfig it is the one preference for the organization, without a documentId, whatever documentIds says. ALL is everything;
MINE is what concerns the user: tagged, assigned, taking part, named; NONE is nothing. Further channels, such as slack, are as they were
set, and are left out where they were not. level is all if the user follows the document. With
getOrganizationConfig the item says when the user gets mails, where that was set. NOT_FOUND when the organization does not exist, FAILED_PRECONDITION when it is disabled.`}
}

// ConfigGet returns the configuration for each document in the order asked, repeats once: the user's preference for the document, else
// for the organization, else the default. Documents need not exist. Or it returns the one for the organization.
func (s *Service) ConfigGet(ctx context.Context, call *rpc.Call, req *ConfigGetRequest) ([]NotificationConfig, error) {
	asked := rpc.Distinct(req.DocumentIDs)
	if req.GetOrganizationConfig {
		asked = nil
	}
	org, docs, err := s.Directory.Open(ctx, call.Account, req.OrganizationID, "", asked)
	if err != nil {
		return nil, err
	}
	following := collab.Later(ctx, func() ([]collab.Level, error) { return s.Threads.Following(ctx, docs, req.UserID) })
	documents, preferences := []string{""}, []collab.Preferences{{}}
	var times collab.MailTimes
	if req.GetOrganizationConfig {
		preferences[0], times, err = s.Directory.OrganizationPreferences(ctx, org, req.UserID)
	} else {
		documents = asked
		preferences, err = s.Directory.Preferences(ctx, org, req.UserID, documents)
	}
	set, failed := following()
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	levels := map[string]collab.Level{}
	for i, doc := range docs {
		if set[i] != collab.LevelDefault {
			levels[doc.Document] = set[i]
		}
	}
	list := make([]NotificationConfig, len(documents))
	for i, d := range documents {
		list[i] = NotificationConfig{
			Config:   channelsOf(preferences[i]),
			Metadata: Metadata{APIKey: call.APIKey, OrganizationID: req.OrganizationID, DocumentID: d, UserID: req.UserID},
			Level:    levels[d],

			MailTimes: mailTimesOf(times),
		}
	}
	call.Items = len(list)
	call.Message = rpc.Count(call.Items, "notification configuration")
	return list, nil
}
