package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

type tokenCommands struct {
	Create tokenCreate `cmd:"" help:"Make another token of an API key, for its turn to come or for another back end."`
	Rotate tokenRotate `cmd:"" help:"Make a token, and let the others of the API key end after a while."`
	List   tokenList   `cmd:"" help:"List the tokens of an API key by the beginning of their SHA-256."`
	Revoke tokenRevoke `cmd:"" help:"Refuse a token from now on."`
}

// maxTokens keeps the item of a key small: it is read with every request that the gateway does not remember.
const maxTokens = 100

type tokenCreate struct {
	Key     apiKey `arg:"" help:"API key."`
	Expires moment `placeholder:"TIME" help:"When it ends to be valid: 2027-01-31, 2027-01-31T12:00:00Z or 90d; without one, never."`
}

// Run makes the token.
func (c *tokenCreate) Run(ctx context.Context, a *admin, s *directory.Store) error {
	expires := c.Expires.after(a.now())
	if !expires.IsZero() && !expires.After(a.now()) {
		return wrongf("--expires %s is past", expires.UTC().Format(time.RFC3339))
	}
	token, stored, err := operator.NewToken(a.random, a.now(), expires)
	if err != nil {
		return err
	}
	if err := a.addToken(ctx, s, c.Key, stored, func([]collab.Token) {}); err != nil {
		return err
	}
	a.field("token", token)
	a.field("hash", operator.TokenName(stored))
	a.field("expires", stamp(stored.Expires))
	a.say(
		"The token is shown this once: keep it where your back end keeps its secrets. `admin token revoke %s %s` ends it.", c.Key,
		operator.TokenName(stored),
	)
	return nil
}

type tokenRotate struct {
	Key   apiKey        `arg:"" help:"API key."`
	Grace time.Duration `default:"24h" help:"How long the other tokens stay valid, such as 24h or 0s."`
}

// Run rotates the tokens. One that ends sooner by itself does so.
func (c *tokenRotate) Run(ctx context.Context, a *admin, s *directory.Store) error {
	if c.Grace < 0 {
		return wrongf("--grace must not be negative")
	}
	if c.Grace == 0 {
		if err := a.confirm("Who uses another token of the API key will be refused within 60 s."); err != nil {
			return err
		}
	}
	token, stored, err := operator.NewToken(a.random, a.now(), time.Time{})
	if err != nil {
		return err
	}
	end := a.now().Add(c.Grace).UnixMilli()
	ending := 0
	if err := a.addToken(ctx, s, c.Key, stored, func(others []collab.Token) {
		ending = len(others)
		for i := range others {
			if others[i].Expires == 0 || others[i].Expires > end {
				others[i].Expires = end
			}
		}
	}); err != nil {
		return err
	}
	a.field("token", token)
	a.field("hash", operator.TokenName(stored))
	a.field("ending", ending)
	a.field("others-end", stamp(end))
	a.say("The token is shown this once: give it to your back end before the others end.")
	return nil
}

// addToken adds a token to an API key, whose other tokens, those that are valid, change may change.
func (a *admin) addToken(
	ctx context.Context, s *directory.Store, key apiKey, token collab.Token, change func(others []collab.Token),
) error {
	return keyError(s.ChangeTokens(ctx, string(key), func(tokens []collab.Token) ([]collab.Token, error) {
		tokens = slices.DeleteFunc(tokens, func(t collab.Token) bool { return !operator.Valid(t, a.now()) })
		if len(tokens) >= maxTokens {
			return nil, fmt.Errorf("the key has %d tokens: revoke one by `admin token revoke %s HASH` before", len(tokens), key)
		}
		change(tokens)
		return append(tokens, token), nil
	}))
}

type tokenList struct {
	Key apiKey `arg:"" help:"API key."`
}

// Run lists the tokens.
func (c *tokenList) Run(ctx context.Context, a *admin, s *directory.Store) error {
	key, err := s.APIKey(ctx, string(c.Key))
	if err != nil {
		return keyError(err)
	}
	a.list("HASH", "STATE", "CREATED", "EXPIRES")
	for _, t := range key.Tokens {
		state := "valid"
		if !operator.Valid(t, a.now()) {
			state = "expired"
		}
		a.row(operator.TokenName(t), state, stamp(t.CreatedAt), stamp(t.Expires))
	}
	return nil
}

type tokenRevoke struct {
	Key  apiKey `arg:"" help:"API key."`
	Hash string `arg:"" help:"The beginning of the token's SHA-256, as admin token list shows it: four characters or more."`
}

// Run revokes the token.
func (c *tokenRevoke) Run(ctx context.Context, a *admin, s *directory.Store) error {
	prefix := strings.ToLower(c.Hash)
	if len(prefix) < 4 || len(prefix) > 64 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return errors.New("HASH must be 4 to 64 hexadecimal digits, as `admin token list` shows them: not the token itself")
	}
	if err := a.confirm("Who uses the token %s… of the API key will be refused within 60 s.", prefix); err != nil {
		return err
	}
	var revoked collab.Token
	left := 0
	err := s.ChangeTokens(ctx, string(c.Key), func(tokens []collab.Token) ([]collab.Token, error) {
		matches := func(t collab.Token) bool { return strings.HasPrefix(hex.EncodeToString(t.Hash), prefix) }
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
	a.field("revoked", operator.TokenName(revoked))
	a.say("It is refused within 60 s.")
	if left == 0 {
		a.say("The key has no token left: `admin token create %s` makes one.", c.Key)
	}
	return nil
}
