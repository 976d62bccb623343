package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"collabdata/scripts/operator"
	"collabdata/shared/store/directory"
)

type settingsCommands struct {
	Get settingsGet `cmd:"" help:"Show the settings of an account."`
	Set settingsSet `cmd:"" help:"Change settings of an account."`
}

type settingsGet struct {
	Account id `arg:"" help:"Account."`
}

// Run shows the settings.
func (c *settingsGet) Run(ctx context.Context, a *admin, s *directory.Store) error {
	settings, err := operator.ReadSettings(ctx, s, string(c.Account))
	if err != nil {
		return accountError(err)
	}
	a.show(settings)
	a.say("`admin settings set %s NAME=VALUE` changes one.", word(c.Account))
	return nil
}

// show prints settings. The secret of the permission provider is not shown.
func (a *admin) show(s operator.Settings) {
	for _, setting := range (operator.Rules{}).Settings() {
		a.field(setting.Name, setting.Get(s))
	}
}

type settingsSet struct {
	Account id       `arg:"" help:"Account."`
	Values  []string `arg:"" name:"name=value" help:"advanced-queries=on|off, notification-preferences=on|off, default-access=organizationPrivate|public, events=triggered|all, mail-grouping=on|off, mail-recipients=anyone|members, mail-from-name=NAME|none, mail-product=NAME|none, mail-link=URL|none, write-units-per-second=N, read-units-per-second=N, events-per-minute=N, mails-per-day=N, webhook-endpoints=N, permission-provider=URL|none."`
	Secret  []byte   `name:"secret-file" type:"filecontent" placeholder:"FILE" help:"File with the bearer secret of the permission provider; - for standard input."`
}

// Run changes the settings, none where one is not as it must be.
func (c *settingsSet) Run(ctx context.Context, a *admin, s *directory.Store) error {
	change := func(s *operator.Settings) error {
		for _, assignment := range c.Values {
			if err := a.assign(s, assignment, c.Secret); err != nil {
				return err
			}
		}
		return nil
	}
	if err := change(new(operator.Settings)); err != nil {
		return wrong{err}
	}
	after, err := operator.ChangeSettings(ctx, s, string(c.Account), change)
	if err != nil {
		return accountError(err)
	}
	a.show(after)
	a.say("Requests and deliveries follow these within 60 s.")
	return nil
}

// assign carries out one NAME=VALUE.
func (a *admin) assign(s *operator.Settings, assignment string, secret []byte) error {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("%q is not of the form NAME=VALUE", assignment)
	}
	err := operator.Rules{CheckURL: a.deployment.checkURL, Secret: secret}.Set(s, name, value)
	if errors.Is(err, operator.ErrNoSecret) {
		err = fmt.Errorf("%w: give --secret-file FILE, or - for standard input", err)
	}
	return err
}
