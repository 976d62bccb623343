package operator

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/words"
)

// Settings are the settings of an account, including defaults.
type Settings struct {
	collab.Settings
	PermissionProviderURL string `json:"permissionProviderUrl"`
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
	shown := Settings{Settings: a.Settings.OrDefaults()}
	shown.Locale = cmp.Or(shown.Locale, words.Default)
	if shown.Texts == nil {
		shown.Texts = collab.Texts{}
	}
	shown.AllowedOrigins = append([]string{}, shown.AllowedOrigins...)
	if p != nil {
		shown.PermissionProviderURL = p.URL
	}
	return shown, err
}

// SettingsUpdateRequest changes the given settings of an account. Numbers are quotas: 0 is the
// default, -1 is unlimited.
type SettingsUpdateRequest struct {
	ofAccount
	collab.Settings
	PermissionProviderURL    *string `json:"permissionProviderUrl" rule:"notnull" doc:"The URL of your service that decides about access to documents; empty: none"`
	PermissionProviderSecret *string `json:"permissionProviderSecret" rule:"notnull,nonempty,max=1000" doc:"The bearer token for this service; required with permissionProviderUrl"`
}

// Validate checks combinations and formats that rules cannot express.
func (r *SettingsUpdateRequest) Validate(m *rpc.Violations) {
	check := func(field, value string, rule func(string) error) {
		if err := rule(value); err != nil {
			m.Add(field, "%v", err)
		}
	}
	check("mailFromName", r.FromName, collab.CheckMailName)
	check("mailProduct", r.Product, collab.CheckMailName)
	check("mailLink", r.Link, collab.CheckMailLink)
	check("mailLogo", r.Logo, collab.CheckMailLogo)
	check("mailColor", r.Color, collab.CheckMailColor)
	check("mailFooter", r.Footer, collab.CheckMailFooter)
	if field, err := words.Check(r.Texts); err != nil {
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
	if r.WebhookEndpoints > collab.MaxWebhooks {
		m.Add("webhookEndpoints", "must be at most %d", collab.MaxWebhooks)
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
		changed := SettingsUpdateRequest{Settings: a.Settings}
		rpc.DecodeOver(call, &changed)
		a.Settings = changed.Settings
		a.Settings.AllowedOrigins = rpc.Distinct(a.Settings.AllowedOrigins)
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
