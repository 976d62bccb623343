package collab

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Settings are an operator's settings for an account. The zero value of each field is its default.
type Settings struct {
	AdvancedQueriesOff         bool          `json:"advancedQueriesOff" rule:"notnull" doc:"Refuse operations that require advanced queries"`
	NotificationPreferencesOff bool          `json:"notificationPreferencesOff" rule:"notnull" doc:"Refuse the operations on notification preferences"`
	DefaultAccess              DefaultAccess `json:"defaultAccess" rule:"notnull" doc:"The access type of documents that neither have nor inherit one"`
	AllEvents                  bool          `json:"allEvents" rule:"notnull" doc:"Post every change to webhooks, not only requests with triggerNotification"`
	MailDelaySeconds           int64         `json:"mailDelaySeconds" rule:"notnull,min=10,max=15552000" doc:"Delay of an email after its first event; content seen meanwhile is left out"`
	MailBatch                  MailBatch     `json:"mailBatch" rule:"notnull" doc:"Events in one email: event: one, at once; thread: those of a thread; person: all"`
	MailChannel                MailChannel   `json:"mailChannel" rule:"notnull" doc:"email: the service sends emails; webhook: it posts notification.due with the channel email instead"`
	MailToMembersOnly          bool          `json:"mailToMembersOnly" rule:"notnull" doc:"Send emails only to addresses of members"`
	MailLook                                 // empty fields are the deployment's
	WriteUnitsPerSecond        int64         `json:"writeUnitsPerSecond" rule:"notnull,min=-1,max=1000000000" doc:"Write units of the table, averaged over 10 s"`
	ReadUnitsPerSecond         int64         `json:"readUnitsPerSecond" rule:"notnull,min=-1,max=1000000000" doc:"Read units of the table, averaged over 10 s"`
	EventsPerMinute            int64         `json:"eventsPerMinute" rule:"notnull,min=-1,max=1000000000" doc:"Events that requests record"`
	MailsPerDay                int64         `json:"mailsPerDay" rule:"notnull,min=-1,max=1000000000" doc:"Emails and notification.due events; further ones wait"`
	WebhookEndpoints           int64         `json:"webhookEndpoints" rule:"notnull,min=0" doc:"Webhook endpoints"`
	LiveConnections            int64         `json:"liveConnections" rule:"notnull,min=-1,max=1000000000" doc:"Pages connected at the same time"`
	DocumentConnections        int64         `json:"documentConnections" rule:"notnull,min=1,max=5000" doc:"Connected pages of one document"`
	UnknownFields              UnknownFields `json:"unknownFields" rule:"notnull" doc:"Refuse or drop unknown fields in stored objects; the header x-dropped-fields lists dropped ones"`
	AllowedOrigins             []string      `json:"allowedOrigins" rule:"notnull,max=20" doc:"Origins whose pages can call with a person's token, such as https://app.example.com; empty: none"`

	// A permission provider is set: see accounts.Store.SetPermissionProvider.
	PermissionProvider bool `json:"-"`
}

// OrDefaults returns the settings with the defaults of the service in empty fields, except for
// MailLook. Quotas are for a product of 100,000 users.
func (s Settings) OrDefaults() Settings {
	s.DefaultAccess = cmp.Or(s.DefaultAccess, DefaultAccess(AccessOrganizationPrivate))
	s.MailDelaySeconds = cmp.Or(s.MailDelaySeconds, MailDelay)
	s.MailBatch = cmp.Or(s.MailBatch, BatchThread)
	s.MailChannel = cmp.Or(s.MailChannel, MailByEmail)
	s.WriteUnitsPerSecond = cmp.Or(s.WriteUnitsPerSecond, 1_000)
	s.ReadUnitsPerSecond = cmp.Or(s.ReadUnitsPerSecond, 4_000)
	s.EventsPerMinute = cmp.Or(s.EventsPerMinute, 6_000)
	s.MailsPerDay = cmp.Or(s.MailsPerDay, 20_000)
	s.WebhookEndpoints = cmp.Or(s.WebhookEndpoints, 10)
	s.LiveConnections = cmp.Or(s.LiveConnections, 5_000)
	s.DocumentConnections = cmp.Or(s.DocumentConnections, 1_000)
	s.UnknownFields = cmp.Or(s.UnknownFields, RefuseUnknown)
	return s
}

// Unlimited is the value of a quota that limits nothing.
const Unlimited = -1

// UnknownFields is the treatment of requests with fields to store that their operation does not
// define.
type UnknownFields string

// Refuse the request, or drop the field and name it in a response header.
const (
	RefuseUnknown UnknownFields = "refuse"
	DropUnknown   UnknownFields = "drop"
)

func (UnknownFields) Values() []string { return texts(RefuseUnknown, DropUnknown) }

// Feature is a part of the API that an operator can switch off for an account.
type Feature string

// The features, by the names of their settings.
const (
	AdvancedQueries         Feature = "advanced queries"
	NotificationPreferences Feature = "notification preferences"
)

// Off reports whether the feature is switched off; false for "".
func (s Settings) Off(f Feature) bool {
	return f == AdvancedQueries && s.AdvancedQueriesOff || f == NotificationPreferences && s.NotificationPreferencesOff
}

// DefaultAccess is the access type of folders and documents that neither have nor inherit one.
type DefaultAccess Access

func (DefaultAccess) Values() []string { return texts(AccessOrganizationPrivate, AccessPublic) }

// AccessByDefault returns the access of things without an access type.
func (s Settings) AccessByDefault() Access { return Access(s.OrDefaults().DefaultAccess) }

// loopback are the allowed origins of pages on the user's own machine, at any port.
var loopback = []string{"http://localhost:*", "http://127.0.0.1:*"}

// LoopbackOrigins returns the allowed origins of pages on the user's own machine, at any port.
func LoopbackOrigins() []string { return slices.Clone(loopback) }

// AllowsOrigin reports whether pages of an origin can call with a person's token.
func (s Settings) AllowsOrigin(origin string) bool {
	if slices.Contains(s.AllowedOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Port() == "" || CheckOrigin(origin) != nil {
		return false
	}
	anyPort := u.Scheme + "://" + u.Hostname() + ":*"
	return slices.Contains(loopback, anyPort) && slices.Contains(s.AllowedOrigins, anyPort)
}

// CheckOrigin returns an error unless a text is a page's origin as browsers send it, or one of
// LoopbackOrigins. An origin is a scheme, a host in lower case, and a port unless it is the
// scheme's default.
func CheckOrigin(origin string) error {
	if slices.Contains(loopback, origin) {
		return nil
	}
	u, err := url.Parse(origin)
	if err == nil {
		port, ok := map[string]string{"https": "443", "http": "80"}[u.Scheme]
		if ok && u.Host != "" && u.Port() != port && origin == strings.ToLower(u.Scheme+"://"+u.Host) && !strings.Contains(origin, "*") {
			return nil
		}
	}
	return errors.New("must be an exact origin such as https://app.example.com")
}
