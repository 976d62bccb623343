package operator

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/collab"
)

// settings are those of an account.
type settings struct {
	collab.Settings
	provider *collab.PermissionProvider // nil for none
}

func (r *Run) readSettings(ctx context.Context, account id) (s settings, err error) {
	a, err := r.accounts.Account(ctx, string(account))
	if err == nil {
		s.Settings = a.Settings
		s.provider, err = r.accounts.PermissionProvider(ctx, a.ID)
	}
	return s, err
}

// changeSettings changes the settings of an account, and returns them as they are then. change may be called again; its error leaves them
// as they are. The permission provider, which is stored apart from the others, is written last.
func (r *Run) changeSettings(ctx context.Context, account id, change func(*settings) error) (after settings, err error) {
	before, err := r.accounts.PermissionProvider(ctx, string(account))
	if err != nil {
		return after, err
	}
	_, err = r.accounts.ChangeAccount(ctx, string(account), func(a *collab.Account) error {
		after = settings{a.Settings, before}
		err := change(&after)
		a.Settings = after.Settings
		return err
	})
	if err == nil && after.provider != before {
		err = r.accounts.SetPermissionProvider(ctx, string(account), after.provider)
	}
	return after, err
}

// setting is one line of an account's settings.
type setting struct {
	name   string
	does   string   // a sentence
	values []string // those that it may have; nil where there are more than a few
	get    func(settings) string
	set    func(*settings, string) error
}

const (
	none       = "none"
	unlimited  = "unlimited"
	mostAmount = 1_000_000_000

	providerSetting = "permission-provider" // has a secret next to its value
)

// choice is a setting of two values: the default, which is stored as the zero value, and the other one, which is stored as set.
func choice[T comparable](name, usual, other, does string, set T, of func(*settings) *T) setting {
	return setting{
		name: name, does: does, values: []string{usual, other},
		get: func(s settings) string {
			if *of(&s) == set {
				return other
			}
			return usual
		},
		set: func(s *settings, value string) error {
			var zero T
			switch value {
			case usual:
				*of(s) = zero
			case other:
				*of(s) = set
			default:
				return fmt.Errorf("%s must be %s or %s, not %q", name, usual, other, value)
			}
			return nil
		},
	}
}

// text is a setting that is a text; none, or nothing, is as the deployment has it.
func text(name, does string, check func(string) error, of func(*settings) *string) setting {
	return setting{
		name: name, does: does,
		get: func(s settings) string { return cmp.Or(*of(&s), none) },
		set: func(s *settings, value string) error {
			if value == none {
				value = ""
			}
			if err := check(value); err != nil {
				return fmt.Errorf("%s %w", name, err)
			}
			*of(s) = value
			return nil
		},
	}
}

// amount is a quota. usual is its default; most is the largest there may be, 0 where it may be unlimited.
func amount(name, does string, usual, most int64, of func(*settings) *int64) setting {
	rule := fmt.Sprintf("a number from 1 to %d, default or %s", mostAmount, unlimited)
	if most != 0 {
		rule = fmt.Sprintf("a number from 1 to %d or default", most)
	}
	return setting{
		name: name, does: fmt.Sprintf("%s It is %s; default is %d.", does, rule, usual),
		get: func(s settings) string {
			n := *of(&s)
			if n == collab.Unlimited {
				return unlimited
			}
			return strconv.FormatInt(cmp.Or(n, usual), 10)
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
			*of(s) = n
			return nil
		},
	}
}

// allSettings returns the settings. One of the operator that is nil shows them alone.
func allSettings(o *Operator, secret []byte) []setting {
	return []setting{
		choice("advanced-queries", "on", "off", "Off, operations that the reference says need advanced queries are refused.", true,
			func(s *settings) *bool { return &s.AdvancedQueriesOff }),
		choice("notification-preferences", "on", "off", "Off, the operations on notification preferences are refused.", true,
			func(s *settings) *bool { return &s.NotificationPreferencesOff }),
		choice("default-access", string(collab.AccessOrganizationPrivate), string(collab.AccessPublic),
			"Who sees a document where neither it nor a folder above says so: members of its organization, or everybody.",
			collab.AccessPublic, func(s *settings) *collab.Access { return &s.DefaultAccess }),
		choice("events", "triggered", "all", "Webhooks hear of changes whose request has triggerNotification, or of all changes.", true,
			func(s *settings) *bool { return &s.AllEvents }),
		choice("mail-grouping", "on", "off", "On, what happens in a thread within five minutes is one mail to each person.", true,
			func(s *settings) *bool { return &s.MailGroupingOff }),
		choice("mail-recipients", "anyone", "members", "Mails go to every address that requests name, or to addresses of members alone.", true,
			func(s *settings) *bool { return &s.MailToMembersOnly }),
		text("mail-from-name", "Whom mails are from. With none it is that of the deployment.", collab.CheckMailName,
			func(s *settings) *string { return &s.MailLook.FromName }),
		text("mail-product", "What mails call the product. With none it is that of the deployment.", collab.CheckMailName,
			func(s *settings) *string { return &s.MailLook.Product }),
		text("mail-link", "Where mails lead: a URL, in which {organizationId}, {documentId} and {annotationId} stand for ids. With none it is that of the deployment.",
			collab.CheckMailLink, func(s *settings) *string { return &s.MailLook.Link }),
		amount("write-units-per-second", "How many write units of the table requests may use a second, averaged over 10.",
			collab.WriteUnitsPerSecond, 0, func(s *settings) *int64 { return &s.WriteUnitsPerSecond }),
		amount("read-units-per-second", "How many read units of the table requests may use a second, averaged over 10.",
			collab.ReadUnitsPerSecond, 0, func(s *settings) *int64 { return &s.ReadUnitsPerSecond }),
		amount("events-per-minute", "How many events requests may record a minute.", collab.EventsPerMinute, 0,
			func(s *settings) *int64 { return &s.EventsPerMinute }),
		amount("mails-per-day", "How many mails may leave at once. What was sent comes back evenly within 24 hours, and more wait.", collab.MailsPerDay, 0,
			func(s *settings) *int64 { return &s.MailsPerDay }),
		amount("webhook-endpoints", "How many webhooks the account may have.", collab.WebhookEndpoints, collab.MaxWebhooks,
			func(s *settings) *int64 { return &s.WebhookEndpoints }),
		amount("live-connections", "How many pages may be connected at the same time, to be told of changes.", collab.LiveConnections, 0,
			func(s *settings) *int64 { return &s.LiveConnections }),
		{
			providerSetting, "Your own service that says who may see a document, by its URL and bearer secret.", nil, getProvider,
			func(s *settings, value string) error { return setProvider(o, s, value, secret) },
		},
	}
}

// SettingsHelp says which settings there are, with the values that they may have.
func SettingsHelp() string {
	return strings.Join(collab.Map(allSettings(nil, nil), func(s setting) string {
		return s.name + "=" + cmp.Or(strings.Join(s.values, "|"), "VALUE")
	}), ", ")
}

// getProvider shows the URL alone: the secret is not shown.
func getProvider(s settings) string {
	if s.provider == nil {
		return none
	}
	return s.provider.URL
}

func setProvider(o *Operator, s *settings, value string, secret []byte) error {
	if value == none {
		s.provider = nil
		return nil
	}
	if err := o.CheckURL(value); err != nil {
		return fmt.Errorf("%s %w", providerSetting, err)
	}
	const bearer = wordCharacters + ".~+/=" // RFC 6750
	text := string(bytes.TrimRight(secret, "\r\n"))
	if text == "" {
		return errors.New(providerSetting + " needs its bearer secret (--secret-file FILE, or - for standard input)")
	}
	if len(text) > 1_000 || strings.Trim(text, bearer) != "" {
		return errors.New("the secret must be at most 1000 letters, digits and - . _ ~ + / =: it is sent as `Authorization: Bearer SECRET`")
	}
	s.provider = &collab.PermissionProvider{URL: value, Secret: text}
	return nil
}

func getSettings(ctx context.Context, r *Run, p *inAccount) error {
	s, err := r.readSettings(ctx, p.Account)
	if err == nil {
		r.addSettings(s)
		r.next("`admin settings set %s NAME=VALUE` changes one.", word(p.Account))
	}
	return err
}

func (r *Run) addSettings(of settings) {
	part := r.facts()
	part.Title = "Settings"
	for _, s := range allSettings(nil, nil) {
		f := r.offer("settings set", "Change …", "account", "setting", s.name)
		f.Inputs = []Input{{Name: "value", Label: s.name, Value: s.get(of), Values: s.values}}
		if s.name == providerSetting {
			f.Inputs = append(f.Inputs, Input{Name: "secret", Label: "its bearer secret", Kind: "password"})
		}
		part.Rows = append(part.Rows, row(s.name, Cell{Value: s.get(of), Offer: f, Note: s.does}))
	}
}

type settingsChange struct {
	inAccount
	Values []string `arg:"" name:"name=value" help:"${settings}."`
	Secret []byte   `name:"secret-file" type:"filecontent" placeholder:"FILE" help:"File with the bearer secret of the permission provider; - for standard input."`

	Setting string `kong:"-"` // of a form: the one that it changes
	Value   string `kong:"-"`
}

// apply changes settings, none where one is not as it must be.
func (p *settingsChange) apply(o *Operator, s *settings) error {
	changes := p.Values
	if p.Setting != "" {
		changes = []string{p.Setting + "=" + p.Value}
	}
	all := allSettings(o, p.Secret)
	for _, change := range changes {
		name, value, ok := strings.Cut(change, "=")
		i := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("%q is not of the form NAME=VALUE", change)
		case i < 0:
			names := collab.Map(all, func(s setting) string { return s.name })
			err = fmt.Errorf("there is no setting %q: the settings are %s", name, strings.Join(names, ", "))
		default:
			err = all[i].set(s, value)
		}
		if err != nil {
			return collab.Errorf(collab.InvalidArgument, "%v", err)
		}
	}
	return nil
}

// ask says of a form what it changes.
func (p *settingsChange) ask(ctx context.Context, r *Run) (string, error) {
	before, err := r.readSettings(ctx, p.Account)
	after := before
	if err == nil {
		err = p.apply(r.Operator, &after)
	}
	if err != nil {
		return "", err
	}
	question := ""
	for _, s := range allSettings(nil, nil) {
		if s.name == p.Setting {
			question = fmt.Sprintf("The setting %s of account %q is changed from %s to %s. Requests and deliveries follow it within 60 s.",
				s.name, p.Account, s.get(before), s.get(after))
		}
	}
	return question, nil
}

func setSettings(ctx context.Context, r *Run, p *settingsChange) error {
	if err := p.apply(r.Operator, new(settings)); err != nil { // wrong whatever the account has
		return err
	}
	after, err := r.changeSettings(ctx, p.Account, func(s *settings) error { return p.apply(r.Operator, s) })
	if err != nil {
		return err
	}
	r.addSettings(after)
	r.done("The settings are changed. Requests and deliveries follow them within 60 s.")
	if p.Setting != "" {
		r.done("The setting %s is changed. Requests and deliveries follow it within 60 s.", p.Setting)
	}
	return nil
}
