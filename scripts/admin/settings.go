package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type settingsCommands struct {
	Get settingsGet `cmd:"" help:"Show the settings of an account."`
	Set settingsSet `cmd:"" help:"Change settings of an account."`
}

// settings are those of an account, as the operator sees them.
type settings struct {
	collab.Settings
	provider *collab.PermissionProvider
}

// setting is one line of an account's settings.
type setting struct {
	name string
	get  func(settings) string
	set  func(*settings, string) error
}

// toggle is a setting of two values; the second one sets the flag.
func toggle(name, unset, set string, flag func(*settings) *bool) setting {
	return setting{
		name: name,
		get: func(s settings) string {
			if *flag(&s) {
				return set
			}
			return unset
		},
		set: func(s *settings, value string) error {
			if value != set && value != unset {
				return fmt.Errorf("%s must be %s or %s, not %q", name, unset, set, value)
			}
			*flag(s) = value == set
			return nil
		},
	}
}

// text is a setting that is a text; none, or nothing, is as the deployment has it.
func text(name string, check func(string) error, field func(*settings) *string) setting {
	return setting{
		name: name,
		get: func(s settings) string {
			return cmp.Or(*field(&s), none)
		},
		set: func(s *settings, value string) error {
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
func amount(name string, usual, most int64, field func(*settings) *int64) setting {
	rule := fmt.Sprintf("a number from 1 to %d, default or %s", mostAmount, unlimited)
	if most != 0 {
		rule = fmt.Sprintf("a number from 1 to %d or default", most)
	}
	return setting{
		name: name,
		get: func(s settings) string {
			switch n := *field(&s); n {
			case 0:
				return strconv.FormatInt(usual, 10)
			case collab.Unlimited:
				return unlimited
			default:
				return strconv.FormatInt(n, 10)
			}
		},
		set: func(s *settings, value string) error {
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
	permissionProvider = "permission-provider"
	none               = "none"
)

func (a *admin) known(secret []byte) []setting {
	return []setting{
		toggle("advanced-queries", "on", "off", func(s *settings) *bool { return &s.AdvancedQueriesOff }),
		toggle("notification-preferences", "on", "off", func(s *settings) *bool { return &s.NotificationPreferencesOff }),
		{"default-access", getDefaultAccess, setDefaultAccess},
		toggle("events", "triggered", "all", func(s *settings) *bool { return &s.AllEvents }),
		toggle("mail-grouping", "on", "off", func(s *settings) *bool { return &s.MailGroupingOff }),
		toggle("mail-recipients", "anyone", "members", func(s *settings) *bool { return &s.MailToMembersOnly }),
		text("mail-from-name", collab.CheckMailName, func(s *settings) *string { return &s.MailLook.FromName }),
		text("mail-product", collab.CheckMailName, func(s *settings) *string { return &s.MailLook.Product }),
		text("mail-link", collab.CheckMailLink, func(s *settings) *string { return &s.MailLook.Link }),
		amount("write-units-per-second", collab.WriteUnitsPerSecond, 0, func(s *settings) *int64 { return &s.WriteUnitsPerSecond }),
		amount("read-units-per-second", collab.ReadUnitsPerSecond, 0, func(s *settings) *int64 { return &s.ReadUnitsPerSecond }),
		amount("events-per-minute", collab.EventsPerMinute, 0, func(s *settings) *int64 { return &s.EventsPerMinute }),
		amount("mails-per-day", collab.MailsPerDay, 0, func(s *settings) *int64 { return &s.MailsPerDay }),
		amount("webhook-endpoints", collab.WebhookEndpoints, collab.MaxWebhooks, func(s *settings) *int64 { return &s.WebhookEndpoints }),
		{permissionProvider, getProvider, func(s *settings, value string) error { return a.setProvider(s, value, secret) }},
	}
}

func getDefaultAccess(s settings) string {
	return cmp.Or(string(s.DefaultAccess), string(collab.AccessOrganizationPrivate))
}

func setDefaultAccess(s *settings, value string) error {
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

func getProvider(s settings) string {
	if s.provider == nil {
		return none
	}
	return s.provider.URL
}

func (a *admin) setProvider(s *settings, value string, secret []byte) error {
	if value == none {
		s.provider = nil
		return nil
	}
	guard, err := a.deployment.guard()
	if err != nil {
		return err
	}
	if err := guard.CheckURL(value); err != nil {
		text := fmt.Sprintf("%s %v", permissionProvider, err)
		if u, parseErr := url.Parse(value); parseErr == nil && u.Scheme != "" && a.deployment.AllowedPrivateCIDRs == "" {
			text += "; for one in a private network of the deployment give --allowed-private-cidrs as the deployment has it"
		}
		return errors.New(text)
	}
	text := string(bytes.TrimRight(secret, "\r\n"))
	if text == "" {
		return fmt.Errorf("%s needs its bearer secret: give --secret-file FILE, or - for standard input", permissionProvider)
	}
	if len(text) > 1_000 || strings.Trim(text, bearerCharacters) != "" {
		return errors.New("the secret must be at most 1000 letters, digits and - . _ ~ + / =: it is sent as `Authorization: Bearer SECRET`")
	}
	s.provider = &collab.PermissionProvider{URL: value, Secret: text}
	return nil
}

// bearerCharacters are those of a bearer token (RFC 6750).
const bearerCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="

type settingsGet struct {
	Account id `arg:"" help:"Account."`
}

// Run shows the settings.
func (c *settingsGet) Run(ctx context.Context, a *admin, s *directory.Store) error {
	account, err := s.Account(ctx, string(c.Account))
	if err != nil {
		return accountError(err)
	}
	provider, err := s.PermissionProvider(ctx, account.ID)
	if err != nil {
		return err
	}
	a.show(settings{account.Settings, provider})
	a.say("`admin settings set %s NAME=VALUE` changes one.", word(c.Account))
	return nil
}

// show prints settings. The secret of the permission provider is not shown.
func (a *admin) show(s settings) {
	for _, setting := range a.known(nil) {
		a.field(setting.name, setting.get(s))
	}
}

type settingsSet struct {
	Account id       `arg:"" help:"Account."`
	Values  []string `arg:"" name:"name=value" help:"advanced-queries=on|off, notification-preferences=on|off, default-access=organizationPrivate|public, events=triggered|all, mail-grouping=on|off, mail-recipients=anyone|members, mail-from-name=NAME|none, mail-product=NAME|none, mail-link=URL|none, write-units-per-second=N, read-units-per-second=N, events-per-minute=N, mails-per-day=N, webhook-endpoints=N, permission-provider=URL|none."`
	Secret  []byte   `name:"secret-file" type:"filecontent" placeholder:"FILE" help:"File with the bearer secret of the permission provider; - for standard input."`
}

// Run changes the settings, none where one is not as it must be. The permission provider, which lies apart from the others, is the last.
func (c *settingsSet) Run(ctx context.Context, a *admin, s *directory.Store) error {
	change := func(s *settings) error {
		for _, assignment := range c.Values {
			if err := a.assign(s, assignment, c.Secret); err != nil {
				return err
			}
		}
		return nil
	}
	if err := change(new(settings)); err != nil {
		return wrong{err}
	}
	before, err := s.PermissionProvider(ctx, string(c.Account))
	if err != nil {
		return err
	}
	var after settings
	if _, err := s.ChangeAccount(ctx, string(c.Account), func(account *collab.Account) error {
		after = settings{account.Settings, before}
		err := change(&after)
		account.Settings = after.Settings
		return err
	}); err != nil {
		return accountError(err)
	}
	if after.provider != before {
		if err := s.SetPermissionProvider(ctx, string(c.Account), after.provider); err != nil {
			return err
		}
	}
	a.show(after)
	a.say("Requests and deliveries follow these within 60 s.")
	return nil
}

// assign carries out one NAME=VALUE.
func (a *admin) assign(s *settings, assignment string, secret []byte) error {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("%q is not of the form NAME=VALUE", assignment)
	}
	var names []string
	for _, setting := range a.known(secret) {
		if setting.name == name {
			return setting.set(s, value)
		}
		names = append(names, setting.name)
	}
	return fmt.Errorf("there is no setting %q: the settings are %s", name, strings.Join(names, ", "))
}
