// Package operator does what the operator alone may: settings and keys of accounts, and dead letters.
package operator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

// Settings are those of an account, as the operator sees them.
type Settings struct {
	collab.Settings
	Provider *collab.PermissionProvider // nil for none
}

// ReadSettings reads the settings of an account; NOT_FOUND when it does not exist.
func ReadSettings(ctx context.Context, d *directory.Store, account string) (s Settings, err error) {
	a, err := d.Account(ctx, account)
	if err == nil {
		s.Settings = a.Settings
		s.Provider, err = d.PermissionProvider(ctx, account)
	}
	return s, err
}

// ChangeSettings changes the settings of an account, and returns them as they are then; NOT_FOUND when it does not exist. change may be
// called again; its error leaves them as they are. The permission provider, which lies apart from the others, is written last.
func ChangeSettings(ctx context.Context, d *directory.Store, account string, change func(*Settings) error) (after Settings, err error) {
	before, err := d.PermissionProvider(ctx, account)
	if err != nil {
		return after, err
	}
	_, err = d.ChangeAccount(ctx, account, func(a *collab.Account) error {
		after = Settings{a.Settings, before}
		err := change(&after)
		a.Settings = after.Settings
		return err
	})
	if err == nil && after.Provider != before {
		err = d.SetPermissionProvider(ctx, account, after.Provider)
	}
	return after, err
}

// Setting is one line of an account's settings.
type Setting struct {
	Name   string
	Values []string // those that it may have; nil where there are more than a few
	get    func(Settings) string
	set    func(*Settings, string) error
}

// Get returns the setting's value. Of the permission provider it is the URL: its secret is not shown.
func (s Setting) Get(of Settings) string { return s.get(of) }

// toggle is a setting of two values; the second one sets the flag.
func toggle(name, unset, set string, flag func(*Settings) *bool) Setting {
	return Setting{
		Name: name, Values: []string{unset, set},
		get: func(s Settings) string {
			if *flag(&s) {
				return set
			}
			return unset
		},
		set: func(s *Settings, value string) error {
			if value != set && value != unset {
				return fmt.Errorf("%s must be %s or %s, not %q", name, unset, set, value)
			}
			*flag(s) = value == set
			return nil
		},
	}
}

// text is a setting that is a text; none, or nothing, is as the deployment has it.
func text(name string, check func(string) error, field func(*Settings) *string) Setting {
	return Setting{
		Name: name,
		get: func(s Settings) string {
			return cmp.Or(*field(&s), none)
		},
		set: func(s *Settings, value string) error {
			if value == none {
				value = ""
			}
			if err := check(value); err != nil {
				return fmt.Errorf("%s %w", name, err)
			}
			*field(s) = value
			return nil
		},
	}
}

const (
	unlimited  = "unlimited"
	mostAmount = 1_000_000_000
)

// amount is a quota. usual is its default; most is the largest there may be, 0 where it may be unlimited.
func amount(name string, usual, most int64, field func(*Settings) *int64) Setting {
	rule := fmt.Sprintf("a number from 1 to %d, default or %s", mostAmount, unlimited)
	if most != 0 {
		rule = fmt.Sprintf("a number from 1 to %d or default", most)
	}
	return Setting{
		Name: name,
		get: func(s Settings) string {
			switch n := *field(&s); n {
			case 0:
				return strconv.FormatInt(usual, 10)
			case collab.Unlimited:
				return unlimited
			default:
				return strconv.FormatInt(n, 10)
			}
		},
		set: func(s *Settings, value string) error {
			n, err := strconv.ParseInt(value, 10, 64)
			switch {
			case value == "default":
				n = 0
			case value == unlimited && most == 0:
				n = collab.Unlimited
			case err != nil || n < 1 || n > cmp.Or(most, mostAmount):
				return fmt.Errorf("%s must be %s, not %q", name, rule, value)
			}
			*field(s) = n
			return nil
		},
	}
}

const (
	// ProviderSetting is the name of the setting that has a secret beside its value.
	ProviderSetting = "permission-provider"

	none = "none"
)

// Rules are what settings are checked by that depends on more than their values.
type Rules struct {
	CheckURL func(string) error // reports the rule that the URL of a permission provider breaks, as a predicate
	Secret   []byte             // the bearer secret of a permission provider that is set
}

// Settings returns all settings.
func (r Rules) Settings() []Setting {
	return []Setting{
		toggle("advanced-queries", "on", "off", func(s *Settings) *bool { return &s.AdvancedQueriesOff }),
		toggle("notification-preferences", "on", "off", func(s *Settings) *bool { return &s.NotificationPreferencesOff }),
		{"default-access", []string{string(collab.AccessOrganizationPrivate), string(collab.AccessPublic)}, getDefaultAccess, setDefaultAccess},
		toggle("events", "triggered", "all", func(s *Settings) *bool { return &s.AllEvents }),
		toggle("mail-grouping", "on", "off", func(s *Settings) *bool { return &s.MailGroupingOff }),
		toggle("mail-recipients", "anyone", "members", func(s *Settings) *bool { return &s.MailToMembersOnly }),
		text("mail-from-name", collab.CheckMailName, func(s *Settings) *string { return &s.MailLook.FromName }),
		text("mail-product", collab.CheckMailName, func(s *Settings) *string { return &s.MailLook.Product }),
		text("mail-link", collab.CheckMailLink, func(s *Settings) *string { return &s.MailLook.Link }),
		amount("write-units-per-second", collab.WriteUnitsPerSecond, 0, func(s *Settings) *int64 { return &s.WriteUnitsPerSecond }),
		amount("read-units-per-second", collab.ReadUnitsPerSecond, 0, func(s *Settings) *int64 { return &s.ReadUnitsPerSecond }),
		amount("events-per-minute", collab.EventsPerMinute, 0, func(s *Settings) *int64 { return &s.EventsPerMinute }),
		amount("mails-per-day", collab.MailsPerDay, 0, func(s *Settings) *int64 { return &s.MailsPerDay }),
		amount("webhook-endpoints", collab.WebhookEndpoints, collab.MaxWebhooks, func(s *Settings) *int64 { return &s.WebhookEndpoints }),
		{ProviderSetting, nil, getProvider, r.setProvider},
	}
}

func getDefaultAccess(s Settings) string {
	return cmp.Or(string(s.DefaultAccess), string(collab.AccessOrganizationPrivate))
}

func setDefaultAccess(s *Settings, value string) error {
	switch access := collab.Access(value); access {
	case collab.AccessOrganizationPrivate:
		s.DefaultAccess = ""
		return nil
	case collab.AccessPublic:
		s.DefaultAccess = access
		return nil
	}
	return fmt.Errorf("default-access must be %s or %s, not %q", collab.AccessOrganizationPrivate, collab.AccessPublic, value)
}

func getProvider(s Settings) string {
	if s.Provider == nil {
		return none
	}
	return s.Provider.URL
}

func (r Rules) setProvider(s *Settings, value string) error {
	if value == none {
		s.Provider = nil
		return nil
	}
	if err := r.CheckURL(value); err != nil {
		return fmt.Errorf("%s %w", ProviderSetting, err)
	}
	text := string(bytes.TrimRight(r.Secret, "\r\n"))
	if text == "" {
		return ErrNoSecret
	}
	if len(text) > 1_000 || strings.Trim(text, bearerCharacters) != "" {
		return errors.New("the secret must be at most 1000 letters, digits and - . _ ~ + / =: it is sent as `Authorization: Bearer SECRET`")
	}
	s.Provider = &collab.PermissionProvider{URL: value, Secret: text}
	return nil
}

// ErrNoSecret says that a permission provider is set without its secret.
var ErrNoSecret = errors.New(ProviderSetting + " needs its bearer secret")

// bearerCharacters are those of a bearer token (RFC 6750).
const bearerCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="

// Set changes one setting by its name.
func (r Rules) Set(s *Settings, name, value string) error {
	var names []string
	for _, setting := range r.Settings() {
		if setting.Name == name {
			return setting.set(s, value)
		}
		names = append(names, setting.Name)
	}
	return fmt.Errorf("there is no setting %q: the settings are %s", name, strings.Join(names, ", "))
}
