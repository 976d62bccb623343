package notifications

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

type ConfigGetRequest struct {
	OrganizationID        string   `json:"organizationId" rule:"required,id" person:"in"`
	DocumentIDs           []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"The documents, which need not exist; required unless getOrganizationConfig is true"`
	GetOrganizationConfig bool     `json:"getOrganizationConfig" person:"in" doc:"Return only the user's preferences for the organization"`
	UserID                string   `json:"userId" rule:"required,id" person:"self"`
}

// Validate requires documentIds or getOrganizationConfig.
func (r *ConfigGetRequest) Validate(m *rpc.Violations) {
	if r.DocumentIDs == nil && !r.GetOrganizationConfig {
		m.Add("documentIds", "is required unless getOrganizationConfig is true")
	}
}

// NotificationConfig is a user's notification preferences for a document, or for the organization.
type NotificationConfig struct {
	Config   Channels     `json:"config" person:"out"`
	Metadata Metadata     `json:"metadata" person:"out" doc:"Its document or organization"`
	Level    collab.Level `json:"level,omitempty" person:"out" doc:"all: the user follows the document; otherwise absent"`
	// of the organization
	EmailState collab.EmailState `json:"emailState,omitempty" person:"out" doc:"With getOrganizationConfig: why the user's address in the organization accepts no email: an email bounced, or the user complained about one"`
	*MailTimes
}

// MailTimes are the times of a user's emails in an organization.
type MailTimes struct {
	MailFrequency collab.MailFrequency `json:"mailFrequency,omitempty" person:"out" doc:"instant: as set for the account; hourly, daily or weekly: about unread content. Default: instant"`
	MailDay       collab.Weekday       `json:"mailDay,omitempty" person:"out" doc:"With weekly: the day of the week, in timeZone"`
	MailHour      *int64               `json:"mailHour,omitempty" person:"out" doc:"With daily or weekly: 0 to 23, in timeZone"`
	QuietHours    *QuietHours          `json:"quietHours,omitempty" person:"out" doc:"Times without emails, in timeZone"`
	TimeZone      string               `json:"timeZone,omitempty" person:"out" doc:"IANA time zone, such as Europe/Berlin. Default: UTC"`
}

// MailTimesOf returns nil if none are set.
func MailTimesOf(m collab.MailTimes) *MailTimes {
	if m.Frequency == "" && m.QuietHours == (collab.QuietHours{}) {
		return nil
	}
	times := &MailTimes{MailFrequency: m.Frequency, MailDay: m.Day, QuietHours: quietOf(m.QuietHours), TimeZone: m.Zone}
	if m.Frequency.Hours() {
		times.MailHour = &m.Hour
	}
	return times
}

// Channels are preferences by channel. Further channels are added to these fields.
type Channels struct {
	Inbox collab.Preference `json:"inbox" person:"out" doc:"ALL, MINE (only if the user is concerned) or NONE"`
	Email collab.Preference `json:"email" person:"out" doc:"ALL, MINE (only if the user is concerned) or NONE"`
	rpc.Open
}

// MarshalJSON adds the further channels.
func (c Channels) MarshalJSON() ([]byte, error) {
	return rpc.WithFurther(rpc.Keyed[any]{{Key: "inbox", Value: c.Inbox}, {Key: "email", Value: c.Email}}, c.Further), nil
}

func channelsOf(p collab.Preferences) Channels { return Channels{p.Inbox, p.Email, further(p)} }

// further returns the further channels, by name.
func further(p collab.Preferences) (all rpc.Open) {
	for _, name := range slices.Sorted(maps.Keys(p.Further)) {
		all.Further.Set(name, rpc.JSON(p.Further[name]))
	}
	return all
}

// Metadata locates a NotificationConfig.
type Metadata struct {
	APIKey         string `json:"apiKey" doc:"The API key of the request"`
	OrganizationID string `json:"organizationId" person:"out"`
	DocumentID     string `json:"documentId,omitempty" person:"out" doc:"The document; absent for the organization"`
	UserID         string `json:"userId"`
}

// ConfigGet is POST /v2/notifications/config/get.
func ConfigGet() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/config/get", Grants: rpc.ReadTable,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).ConfigGet), Requires: collab.NotificationPreferences, Description: `
Get notification preferences.

Returns a user's notification preferences by document and channel: the preference for the
document, else for the organization, else inbox 'ALL' and email 'MINE'. The response has the order
asked, without duplicates; documents and users need not exist. With getOrganizationConfig, it has
one item, the preference for the organization, regardless of documentIds.

'ALL' is everything. 'MINE' covers notifications that concern the user: as tagged, assigned,
participating or named, not activity of a document that the user only follows. 'NONE' is nothing. Further channels, such as 'slack', are returned if they
were set. 'level' is 'all' if the user follows the document. With getOrganizationConfig, the item
has the times of emails if they were set, and 'emailState' if the user's address bounced, or the
user complained about an email.

The request fails with NOT_FOUND if the organization does not exist, and with FAILED_PRECONDITION
if it is disabled.`}
}

// ConfigGet returns the preferences for each document in the order asked, without duplicates: those
// for the document, else for the organization, else the default.
func (s *Service) ConfigGet(ctx context.Context, call *rpc.Call, req *ConfigGetRequest) ([]NotificationConfig, error) {
	ids := rpc.Distinct(req.DocumentIDs)
	if req.GetOrganizationConfig {
		ids = nil
	}
	org, docs, err := s.Directory.Open(ctx, call.Account, req.OrganizationID, "", ids)
	if err != nil {
		return nil, err
	}
	following := collab.Later(ctx, func() ([]collab.Level, error) { return s.Threads.Following(ctx, docs, req.UserID) })
	documents, preferences := []string{""}, []collab.Preferences{{}}
	var times collab.MailTimes
	var state collab.EmailState
	if req.GetOrganizationConfig {
		preferences[0], times, err = s.Directory.OrganizationPreferences(ctx, org, req.UserID)
		if err == nil {
			state, err = s.Directory.EmailState(ctx, org, req.UserID)
		}
	} else {
		documents = ids
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

			EmailState: state,
			MailTimes:  MailTimesOf(times),
		}
	}
	call.Items = len(list)
	call.Message = rpc.Count(call.Items, "notification configuration")
	return list, nil
}
