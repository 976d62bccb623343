package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/store/directory"
)

type keyCommands struct {
	Create keyCreate `cmd:"" help:"Make an API key of an account with its first token."`
	List   keyList   `cmd:"" help:"List the API keys of an account."`
	Delete keyDelete `cmd:"" help:"Delete an API key with its tokens."`
}

type keyCreate struct {
	Account id `arg:"" help:"Account."`
}

// Run makes the key.
func (c *keyCreate) Run(ctx context.Context, a *admin, s *directory.Store) error {
	return accountError(a.addKey(ctx, s, c.Account))
}

// addKey makes an API key with a token that does not expire, and shows both.
func (a *admin) addKey(ctx context.Context, s *directory.Store, account id) error {
	key, token, err := operator.AddKey(ctx, s, a.random, string(account))
	if err != nil {
		return err
	}
	a.field("key", key)
	a.field("token", token)
	a.say("The token is shown this once: keep it where your back end keeps its secrets. Requests carry both:")
	a.say("  -H '%s: %s' -H '%s: %s'", credentials.KeyHeader, key, credentials.TokenHeader, token)
	return nil
}

type keyList struct {
	Account id `arg:"" help:"Account."`
}

// Run lists the keys.
func (c *keyList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if err := checkAccount(ctx, s, c.Account); err != nil {
		return err
	}
	keys, err := s.APIKeys(ctx, string(c.Account), "", 0)
	if err != nil {
		return err
	}
	a.list("KEY", "TOKENS")
	for _, k := range keys {
		key, err := s.APIKey(ctx, k)
		if err != nil {
			return err
		}
		valid := slices.DeleteFunc(key.Tokens, func(t collab.Token) bool { return !operator.Valid(t, a.now()) })
		a.row(k, len(valid))
	}
	if len(keys) == 0 {
		a.say("There is none yet: `admin key create %s` makes one.", word(c.Account))
	}
	return nil
}

type keyDelete struct {
	Key apiKey `arg:"" help:"API key."`
}

// Run deletes the key.
func (c *keyDelete) Run(ctx context.Context, a *admin, s *directory.Store) error {
	key, err := s.APIKey(ctx, string(c.Key))
	if err != nil {
		return keyError(err)
	}
	if err := a.confirm(operator.AskDeleteKey, key.Account); err != nil {
		return err
	}
	if _, err := s.DeleteAPIKey(ctx, string(c.Key)); err != nil {
		return keyError(err)
	}
	a.field("deleted", c.Key)
	a.say("It is refused within 60 s. `admin key create %s` makes another one.", word(key.Account))
	return nil
}

// apiKey is an API key on the command line.
type apiKey string

// Validate reports a key that no header could carry.
func (k apiKey) Validate() error {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.~-"
	if k == "" || len(k) > credentials.MaxCredential || strings.Trim(string(k), characters) != "" {
		return fmt.Errorf("must be 1 to %d letters, digits, _ . ~ and -", credentials.MaxCredential)
	}
	return nil
}

// keyError adds to an error about a missing key where keys are listed.
func keyError(err error) error {
	if collab.CodeOf(err) == collab.NotFound {
		return errors.New("the API key does not exist: see `admin key list ACCOUNT`")
	}
	return err
}
