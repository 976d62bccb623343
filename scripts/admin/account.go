package main

import (
	"context"
	"fmt"

	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type accountCommands struct {
	Create  accountCreate  `cmd:"" help:"Make an account with its first API key and token."`
	List    accountList    `cmd:"" help:"List the accounts."`
	Disable accountDisable `cmd:"" help:"Refuse the credentials of an account."`
	Enable  accountEnable  `cmd:"" help:"Accept the credentials of an account again."`
	Delete  accountDelete  `cmd:"" help:"Delete an account that is disabled and has no organizations, with its API keys."`
}

type accountCreate struct {
	ID   newID `arg:"" help:"The account's id: 1 to 64 letters, digits, _ and -. It stands in logs, and cannot be changed."`
	Name name  `help:"Its name; without one, its id."`
}

// Run makes the account.
func (c *accountCreate) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if c.Name == "" {
		c.Name = name(c.ID)
	}
	err := s.AddAccount(ctx, collab.Account{ID: string(c.ID), Name: string(c.Name), CreatedAt: a.millis()})
	if collab.CodeOf(err) == collab.AlreadyExists {
		return fmt.Errorf("account %q is there already: `admin key create %s` makes another key for it", c.ID, word(c.ID))
	}
	if err != nil {
		return err
	}
	a.field("account", c.ID)
	return a.addKey(ctx, s, id(c.ID))
}

type accountList struct{}

// Run lists the accounts.
func (c *accountList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	accounts, err := s.Accounts(ctx, "", 0)
	if err != nil {
		return err
	}
	a.list("ACCOUNT", "STATE", "CREATED", "NAME")
	for _, account := range accounts {
		a.row(account.ID, state(account.Disabled), stamp(account.CreatedAt), account.Name)
	}
	if len(accounts) == 0 {
		a.say("There is none yet: `admin account create ID` makes one.")
	}
	return nil
}

func state(disabled bool) string {
	if disabled {
		return "disabled"
	}
	return "enabled"
}

type accountDisable struct {
	ID id `arg:"" help:"Account."`
}

// Run disables the account.
func (c *accountDisable) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := a.confirm(operator.AskDisableAccount, c.ID); err != nil {
		return err
	}
	if err := a.setDisabled(ctx, s, c.ID, true); err != nil {
		return err
	}
	a.say("Its credentials are refused within 60 s. `admin account enable %s` accepts them again.", word(c.ID))
	return nil
}

type accountEnable struct {
	ID id `arg:"" help:"Account."`
}

// Run enables the account.
func (c *accountEnable) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := a.setDisabled(ctx, s, c.ID, false); err != nil {
		return err
	}
	a.say("Its credentials are accepted within 60 s.")
	return nil
}

func (a *admin) setDisabled(ctx context.Context, s *directory.Store, account id, disabled bool) error {
	changed, err := operator.SetAccountDisabled(ctx, s, string(account), disabled)
	if err != nil {
		return accountError(err)
	}
	a.record("account", changed.ID, "state", state(changed.Disabled))
	return nil
}

type accountDelete struct {
	ID id `arg:"" help:"Account."`
}

// Run deletes the account.
func (c *accountDelete) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := checkAccount(ctx, s, c.ID); err != nil {
		return err
	}
	if err := a.confirm("Account %q will be deleted with its API keys, for good.", c.ID); err != nil {
		return err
	}
	err := s.DeleteAccount(ctx, string(c.ID))
	if collab.CodeOf(err) == collab.FailedPrecondition {
		return fmt.Errorf("%s (`admin account disable %s` refuses its credentials)", collab.MessageOf(err), word(c.ID))
	}
	if err != nil {
		return accountError(err)
	}
	a.field("deleted", c.ID)
	return nil
}
