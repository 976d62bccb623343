package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"collabdata/shared/auth"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type keyCommands struct {
	Create keyCreate `cmd:"" help:"Make an API key of an account with its first token."`
	List   keyList   `cmd:"" help:"List the API keys of an account."`
}

type keyCreate struct {
	Account id `arg:"" help:"Account."`
}

// Run makes the key.
func (c *keyCreate) Run(ctx context.Context, a *admin) error {
	s, err := a.directory(ctx)
	if err != nil {
		return err
	}
	return accountError(a.addKey(ctx, s, c.Account))
}

// addKey makes an API key with a token that does not expire, and shows both.
func (a *admin) addKey(ctx context.Context, s *directory.Store, account id) error {
	key, err := a.secret("key-")
	if err != nil {
		return err
	}
	token, stored, err := a.newToken(time.Time{})
	if err != nil {
		return err
	}
	if err := s.AddAPIKey(ctx, key, string(account), []collab.Token{stored}); err != nil {
		return err
	}
	a.line("key", key)
	a.line("token", token)
	a.say("The token is shown this once: keep it where your back end keeps its secrets. Requests carry both:")
	a.say("  -H '%s: %s' -H '%s: %s'", auth.KeyHeader, key, auth.TokenHeader, token)
	return nil
}

type keyList struct {
	Account id `arg:"" help:"Account."`
}

// Run lists the keys.
func (c *keyList) Run(ctx context.Context, a *admin) error {
	s, err := a.directory(ctx)
	if err != nil {
		return err
	}
	if err := checkAccount(ctx, s, c.Account); err != nil {
		return err
	}
	keys, err := s.APIKeys(ctx, string(c.Account))
	if err != nil {
		return err
	}
	a.line("KEY", "TOKENS")
	for _, k := range keys {
		key, err := s.APIKey(ctx, k)
		if err != nil {
			return err
		}
		valid := slices.DeleteFunc(key.Tokens, func(t collab.Token) bool { return expired(t, a.now()) })
		a.line(k, len(valid))
	}
	if len(keys) == 0 {
		a.say("There is none yet: `admin key create %s` makes one.", word(c.Account))
	}
	return nil
}

type tokenCommands struct {
	Create tokenCreate `cmd:"" help:"Make another token of an API key, for its turn to come or for another back end."`
	List   tokenList   `cmd:"" help:"List the tokens of an API key by the beginning of their SHA-256."`
	Revoke tokenRevoke `cmd:"" help:"Refuse a token from now on."`
}

// apiKey is an API key on the command line.
type apiKey string

// Validate reports a key that no header could carry.
func (k apiKey) Validate() error {
	const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.~-"
	if k == "" || len(k) > auth.MaxCredential || strings.Trim(string(k), characters) != "" {
		return fmt.Errorf("must be 1 to %d letters, digits, _ . ~ and -", auth.MaxCredential)
	}
	return nil
}

// maxTokens keeps the item of a key small: it is read with every request that the gateway does not remember.
const maxTokens = 100

type tokenCreate struct {
	Key     apiKey `arg:"" help:"API key."`
	Expires moment `placeholder:"TIME" help:"When it ends to be valid: 2027-01-31, 2027-01-31T12:00:00Z or 90d; without one, never."`
}

// Run makes the token.
func (c *tokenCreate) Run(ctx context.Context, a *admin) error {
	s, err := a.directory(ctx)
	if err != nil {
		return err
	}
	expires := c.Expires.after(a.now())
	if !expires.IsZero() && !expires.After(a.now()) {
		return fmt.Errorf("--expires %s is past", expires.UTC().Format(time.RFC3339))
	}
	token, stored, err := a.newToken(expires)
	if err != nil {
		return err
	}
	err = s.ChangeTokens(ctx, string(c.Key), func(tokens []collab.Token) ([]collab.Token, error) {
		tokens = slices.DeleteFunc(tokens, func(t collab.Token) bool { return expired(t, a.now()) })
		if len(tokens) >= maxTokens {
			return nil, fmt.Errorf("the key has %d tokens: revoke one by `admin token revoke %s HASH` before", len(tokens), c.Key)
		}
		return append(tokens, stored), nil
	})
	if err != nil {
		return keyError(err)
	}
	a.line("token", token)
	a.line("hash", prefixOf(stored))
	a.line("expires", stamp(stored.Expires))
	a.say("The token is shown this once: keep it where your back end keeps its secrets. `admin token revoke %s %s` ends it.", c.Key, prefixOf(stored))
	return nil
}

// newToken returns a random token and what is stored of it. The zero time is never.
func (a *admin) newToken(expires time.Time) (string, collab.Token, error) {
	token, err := a.secret("token-")
	if err != nil {
		return "", collab.Token{}, err
	}
	stored := collab.Token{Hash: sha256.Sum256([]byte(token)), CreatedAt: a.millis()}
	if !expires.IsZero() {
		stored.Expires = expires.UnixMilli()
	}
	return token, stored, nil
}

func expired(t collab.Token, now time.Time) bool {
	return t.Expires != 0 && t.Expires <= now.UnixMilli()
}

// prefixOf names a token: the beginning of its hash.
func prefixOf(t collab.Token) string { return hex.EncodeToString(t.Hash[:6]) }

type tokenList struct {
	Key apiKey `arg:"" help:"API key."`
}

// Run lists the tokens.
func (c *tokenList) Run(ctx context.Context, a *admin) error {
	s, err := a.directory(ctx)
	if err != nil {
		return err
	}
	key, err := s.APIKey(ctx, string(c.Key))
	if err != nil {
		return keyError(err)
	}
	a.line("HASH", "STATE", "CREATED", "EXPIRES")
	for _, t := range key.Tokens {
		state := "valid"
		if expired(t, a.now()) {
			state = "expired"
		}
		a.line(prefixOf(t), state, stamp(t.CreatedAt), stamp(t.Expires))
	}
	return nil
}

type tokenRevoke struct {
	Key  apiKey `arg:"" help:"API key."`
	Hash string `arg:"" help:"The beginning of the token's SHA-256, as admin token list shows it: four characters or more."`
}

// Run revokes the token.
func (c *tokenRevoke) Run(ctx context.Context, a *admin) error {
	prefix := strings.ToLower(c.Hash)
	if len(prefix) < 4 || len(prefix) > 64 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return errors.New("HASH must be 4 to 64 hexadecimal digits, as `admin token list` shows them: not the token itself")
	}
	s, err := a.directory(ctx)
	if err != nil {
		return err
	}
	var revoked collab.Token
	left := 0
	err = s.ChangeTokens(ctx, string(c.Key), func(tokens []collab.Token) ([]collab.Token, error) {
		matches := func(t collab.Token) bool { return strings.HasPrefix(hex.EncodeToString(t.Hash[:]), prefix) }
		first := slices.IndexFunc(tokens, matches)
		if first < 0 {
			return nil, fmt.Errorf("the key has no token whose hash begins with %s: see `admin token list %s`", prefix, c.Key)
		}
		if slices.ContainsFunc(tokens[first+1:], matches) {
			return nil, fmt.Errorf("several tokens have a hash that begins with %s: give more of it", prefix)
		}
		revoked = tokens[first]
		tokens = slices.Delete(tokens, first, first+1)
		left = len(tokens)
		return tokens, nil
	})
	if err != nil {
		return keyError(err)
	}
	a.line("revoked", prefixOf(revoked))
	a.say("It is refused within 60 s.")
	if left == 0 {
		a.say("The key has no token left: `admin token create %s` makes one.", c.Key)
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
