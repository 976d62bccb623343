package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/words"
)

// Settings are the settings of an account, including defaults.
type Settings struct {
	AdvancedQueriesOff         bool                 `json:"advancedQueriesOff"`
	NotificationPreferencesOff bool                 `json:"notificationPreferencesOff"`
	DefaultAccess              collab.Access        `json:"defaultAccess"`
	AllEvents                  bool                 `json:"allEvents"`
	MailDelaySeconds           int64                `json:"mailDelaySeconds"`
	MailBatch                  collab.MailBatch     `json:"mailBatch"`
	MailToMembersOnly          bool                 `json:"mailToMembersOnly"`
	MailFromName               string               `json:"mailFromName"`
	MailProduct                string               `json:"mailProduct"`
	MailLink                   string               `json:"mailLink"`
	MailLogo                   string               `json:"mailLogo"`
	MailColor                  string               `json:"mailColor"`
	MailFooter                 string               `json:"mailFooter"`
	MailLocale                 string               `json:"mailLocale"`
	MailTexts                  collab.Texts         `json:"mailTexts"`
	WriteUnitsPerSecond        int64                `json:"writeUnitsPerSecond"`
	ReadUnitsPerSecond         int64                `json:"readUnitsPerSecond"`
	EventsPerMinute            int64                `json:"eventsPerMinute"`
	MailsPerDay                int64                `json:"mailsPerDay"`
	UnknownFields              collab.UnknownFields `json:"unknownFields"`
	AllowedOrigins             []string             `json:"allowedOrigins"`
	WebhookEndpoints           int64                `json:"webhookEndpoints"`
	LiveConnections            int64                `json:"liveConnections"`
	PermissionProviderURL      string               `json:"permissionProviderUrl"`
}

func settingsOf(s collab.Settings, p *collab.PermissionProvider) Settings {
	shown := Settings{
		AdvancedQueriesOff: s.AdvancedQueriesOff, NotificationPreferencesOff: s.NotificationPreferencesOff,
		DefaultAccess: cmp.Or(s.DefaultAccess, collab.AccessOrganizationPrivate), AllEvents: s.AllEvents,
		MailDelaySeconds: cmp.Or(s.MailDelaySeconds, collab.MailDelay), MailBatch: cmp.Or(s.MailBatch, collab.BatchThread),
		MailToMembersOnly: s.MailToMembersOnly,
		MailFromName:      s.MailLook.FromName, MailProduct: s.MailLook.Product, MailLink: s.MailLook.Link,
		MailLogo: s.MailLook.Logo, MailColor: s.MailLook.Color, MailFooter: s.MailLook.Footer, MailLocale: cmp.Or(s.MailLook.Locale, words.Default),
		MailTexts:           s.MailLook.Texts,
		WriteUnitsPerSecond: cmp.Or(s.WriteUnitsPerSecond, collab.WriteUnitsPerSecond),
		ReadUnitsPerSecond:  cmp.Or(s.ReadUnitsPerSecond, collab.ReadUnitsPerSecond),
		EventsPerMinute:     cmp.Or(s.EventsPerMinute, collab.EventsPerMinute), MailsPerDay: cmp.Or(s.MailsPerDay, collab.MailsPerDay),
		UnknownFields:    cmp.Or(s.UnknownFields, collab.RefuseUnknown),
		AllowedOrigins:   append([]string{}, s.AllowedOrigins...),
		WebhookEndpoints: cmp.Or(s.WebhookEndpoints, collab.WebhookEndpoints), LiveConnections: cmp.Or(s.LiveConnections, collab.LiveConnections),
	}
	if shown.MailTexts == nil {
		shown.MailTexts = collab.Texts{}
	}
	if p != nil {
		shown.PermissionProviderURL = p.URL
	}
	return shown
}

// SettingsGet is POST /operator/settings/get.
func SettingsGet() rpc.Endpoint {
	return reading("settings/get", rpc.Method((*Service).SettingsGet), `Get the settings of an account.`)
}

// SettingsGet returns the settings of an account, without the secret of its permission provider.
func (s *Service) SettingsGet(ctx context.Context, _ *rpc.Call, req *ofAccount) (Settings, error) {
	a, err := s.Accounts.Account(ctx, req.AccountID)
	if err != nil {
		return Settings{}, err
	}
	p, err := s.Accounts.PermissionProvider(ctx, a.ID)
	return settingsOf(a.Settings, p), err
}

// SettingsUpdateRequest changes the given settings of an account. Numbers are quotas: 0 is the
// default, -1 is unlimited.
type SettingsUpdateRequest struct {
	ofAccount
	AdvancedQueriesOff         *bool                 `json:"advancedQueriesOff" rule:"notnull" doc:"Refuse operations that require advanced queries"`
	NotificationPreferencesOff *bool                 `json:"notificationPreferencesOff" rule:"notnull" doc:"Refuse the operations on notification preferences"`
	DefaultAccess              *collab.Access        `json:"defaultAccess" rule:"notnull" doc:"The access type of documents that neither have nor inherit one"`
	AllEvents                  *bool                 `json:"allEvents" rule:"notnull" doc:"Post every change to webhooks, not only requests with triggerNotification"`
	MailDelaySeconds           *int64                `json:"mailDelaySeconds" rule:"notnull,min=10,max=15552000" doc:"Delay of an email after its first event; content seen meanwhile is left out"`
	MailBatch                  *collab.MailBatch     `json:"mailBatch" rule:"notnull" doc:"Events in one email: event: one, at once; thread: those of a thread; person: all"`
	MailToMembersOnly          *bool                 `json:"mailToMembersOnly" rule:"notnull" doc:"Send emails only to addresses of members"`
	MailFromName               *string               `json:"mailFromName" rule:"notnull" doc:"Sender name of emails; empty: the deployment's, else the product's name"`
	MailProduct                *string               `json:"mailProduct" rule:"notnull" doc:"Product name in emails; empty: the deployment's"`
	MailLink                   *string               `json:"mailLink" rule:"notnull" doc:"URL in emails, with {organizationId}, {documentId} and {annotationId}; empty: the deployment's"`
	MailLogo                   *string               `json:"mailLogo" rule:"notnull" doc:"The https URL of a picture above emails; empty: none"`
	MailColor                  *string               `json:"mailColor" rule:"notnull" doc:"Button color in emails, such as #0b57d0; empty: blue"`
	MailFooter                 *string               `json:"mailFooter" rule:"notnull" doc:"A line at the end of emails; empty: none"`
	MailLocale                 *string               `json:"mailLocale" rule:"notnull" doc:"Default language of emails and headlines, a BCP 47 tag such as pt-BR"`
	MailTexts                  collab.JSON           `json:"mailTexts" rule:"notnull,object" doc:"Custom texts by language and key, such as {\"en\": {\"replied\": \"{actionUser} answered\"}}; replaced as a whole"`
	WriteUnitsPerSecond        *int64                `json:"writeUnitsPerSecond" rule:"notnull,min=-1,max=1000000000" doc:"Write units of the table, averaged over 10 s"`
	ReadUnitsPerSecond         *int64                `json:"readUnitsPerSecond" rule:"notnull,min=-1,max=1000000000" doc:"Read units of the table, averaged over 10 s"`
	EventsPerMinute            *int64                `json:"eventsPerMinute" rule:"notnull,min=-1,max=1000000000" doc:"Events that requests record"`
	MailsPerDay                *int64                `json:"mailsPerDay" rule:"notnull,min=-1,max=1000000000" doc:"Emails; further ones wait"`
	WebhookEndpoints           *int64                `json:"webhookEndpoints" rule:"notnull,min=0" doc:"Webhook endpoints"`
	LiveConnections            *int64                `json:"liveConnections" rule:"notnull,min=-1,max=1000000000" doc:"Pages connected at the same time"`
	UnknownFields              *collab.UnknownFields `json:"unknownFields" rule:"notnull" doc:"Refuse or drop unknown fields in stored objects; the header x-dropped-fields lists dropped ones"`
	AllowedOrigins             []string              `json:"allowedOrigins" rule:"notnull,max=20" doc:"Origins whose pages can call with a person's token, such as https://app.example.com; empty: none"`
	PermissionProviderURL      *string               `json:"permissionProviderUrl" rule:"notnull" doc:"The URL of your service that decides about access to documents; empty: none"`
	PermissionProviderSecret   *string               `json:"permissionProviderSecret" rule:"notnull,nonempty,max=1000" doc:"The bearer token for this service; required with permissionProviderUrl"`
}

func (r *SettingsUpdateRequest) texts() (texts collab.Texts, err error) {
	if r.MailTexts != nil {
		err = json.Unmarshal(r.MailTexts, &texts)
	}
	return texts, err
}

// Validate checks combinations and formats that rules cannot express.
func (r *SettingsUpdateRequest) Validate(m *rpc.Violations) {
	check := func(field string, value *string, rule func(string) error) {
		if value == nil {
			return
		}
		if err := rule(*value); err != nil {
			m.Add(field, "%v", err)
		}
	}
	check("mailFromName", r.MailFromName, collab.CheckMailName)
	check("mailProduct", r.MailProduct, collab.CheckMailName)
	check("mailLink", r.MailLink, collab.CheckMailLink)
	check("mailLogo", r.MailLogo, collab.CheckMailLogo)
	check("mailColor", r.MailColor, collab.CheckMailColor)
	check("mailFooter", r.MailFooter, collab.CheckMailFooter)
	check("mailLocale", r.MailLocale, words.CheckLocale)
	if texts, err := r.texts(); err != nil {
		m.Add("mailTexts", "must be an object of objects of texts: by language, by key")
	} else if field, err := words.Check(texts); err != nil {
		path := "mailTexts"
		for _, step := range strings.SplitN(field, ".", 2) {
			if step != "" {
				path = rpc.PathOf(path, step)
			}
		}
		m.Add(path, "%v", err)
	}
	for i, origin := range r.AllowedOrigins {
		if err := collab.CheckOrigin(origin); err != nil {
			m.Add(fmt.Sprintf("allowedOrigins[%d]", i), "%v", err)
		}
	}
	if n := collab.Deref(r.WebhookEndpoints); n > collab.MaxWebhooks {
		m.Add("webhookEndpoints", "must be at most %d", collab.MaxWebhooks)
	}
	if r.DefaultAccess != nil && *r.DefaultAccess == collab.AccessRestricted {
		m.Add("defaultAccess", "must be organizationPrivate or public")
	}
	switch url, secret := collab.Deref(r.PermissionProviderURL), collab.Deref(r.PermissionProviderSecret); {
	case url != "" && secret == "":
		m.Add("permissionProviderSecret", "is required with permissionProviderUrl")
	case url == "" && secret != "":
		m.Add("permissionProviderUrl", "is required with permissionProviderSecret")
	case strings.Trim(secret, wordCharacters+".~+/=") != "": // RFC 6750
		m.Add("permissionProviderSecret", "must be letters, digits and - . _ ~ + / =: it is a bearer token")
	}
}

// SettingsUpdate is POST /operator/settings/update.
func SettingsUpdate() rpc.Endpoint {
	return changing("settings/update", rpc.Method((*Service).SettingsUpdate), "", `
Update settings of an account. Other settings are unchanged. Functions follow within 60 s. Numbers
are quotas: 0 is the default, -1 is unlimited.`)
}

// SettingsUpdate changes settings, and returns all.
func (s *Service) SettingsUpdate(ctx context.Context, call *rpc.Call, req *SettingsUpdateRequest) (Settings, error) {
	if url := collab.Deref(req.PermissionProviderURL); url != "" {
		if err := s.CheckURL(url); err != nil {
			return Settings{}, collab.Errorf(collab.InvalidArgument, "data.permissionProviderUrl %v", err)
		}
	}
	_, err := s.Accounts.ChangeAccount(ctx, req.AccountID, func(a *collab.Account) error {
		to := &a.Settings
		set(&to.AdvancedQueriesOff, req.AdvancedQueriesOff)
		set(&to.NotificationPreferencesOff, req.NotificationPreferencesOff)
		set(&to.DefaultAccess, req.DefaultAccess)
		set(&to.AllEvents, req.AllEvents)
		set(&to.MailDelaySeconds, req.MailDelaySeconds)
		set(&to.MailBatch, req.MailBatch)
		set(&to.MailToMembersOnly, req.MailToMembersOnly)
		set(&to.MailLook.FromName, req.MailFromName)
		set(&to.MailLook.Product, req.MailProduct)
		set(&to.MailLook.Link, req.MailLink)
		set(&to.MailLook.Logo, req.MailLogo)
		set(&to.MailLook.Color, req.MailColor)
		set(&to.MailLook.Footer, req.MailFooter)
		set(&to.MailLook.Locale, req.MailLocale)
		if texts, err := req.texts(); err == nil && req.MailTexts != nil {
			to.MailLook.Texts = texts
		}
		set(&to.WriteUnitsPerSecond, req.WriteUnitsPerSecond)
		set(&to.ReadUnitsPerSecond, req.ReadUnitsPerSecond)
		set(&to.EventsPerMinute, req.EventsPerMinute)
		set(&to.MailsPerDay, req.MailsPerDay)
		set(&to.WebhookEndpoints, req.WebhookEndpoints)
		set(&to.LiveConnections, req.LiveConnections)
		set(&to.UnknownFields, req.UnknownFields)
		if req.AllowedOrigins != nil {
			to.AllowedOrigins = rpc.Distinct(req.AllowedOrigins)
		}
		return nil
	})
	if err == nil && req.PermissionProviderURL != nil {
		var p *collab.PermissionProvider
		if *req.PermissionProviderURL != "" {
			p = &collab.PermissionProvider{URL: *req.PermissionProviderURL, Secret: *req.PermissionProviderSecret}
		}
		err = s.Accounts.SetPermissionProvider(ctx, req.AccountID, p)
	}
	if err != nil {
		return Settings{}, err
	}
	call.Message = fmt.Sprintf("the settings of account %q were updated: functions follow within 60 s", req.AccountID)
	return s.SettingsGet(ctx, call, &req.ofAccount)
}
