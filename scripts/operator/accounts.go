package operator

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/quota"
)

func listAccounts(ctx context.Context, r *Run, _ *struct{}) error {
	r.Title = "Accounts"
	create := r.offer("account create", "Make an account …", "")
	create.Inputs = []Input{{Name: "id", Label: "Id, which cannot be changed"}, {Name: "name", Label: "Name"}}
	p := &Part{
		Columns: []string{"Account", "State", "Created", "Name"}, Offers: []*Offer{create},
		Empty: "There is none yet: `admin account create ID` makes one.",
	}
	read := after(func(after string, n int) ([]collab.Account, error) { return r.accounts.Accounts(ctx, after, n) },
		func(a collab.Account) string { return a.ID })
	return list(r, "accounts", p, pageSize, read, always(func(a collab.Account) []Cell {
		return row(accountLink(a.ID), state(a.Disabled), Time(a.CreatedAt), a.Name)
	}))
}

func accountLink(id string) Cell { return link(id, address("/account", "account", id)) }

func (r *Run) aboveAccount(account id) { r.Above = []Cell{accountLink(string(account))} }

func showAccount(ctx context.Context, r *Run, p *inAccount) error {
	a, err := r.accounts.Account(ctx, string(p.Account))
	if err != nil {
		return err
	}
	r.aboveAccount(p.Account)
	r.Title = "Account " + a.ID
	part := r.facts("Name", a.Name, "State", state(a.Disabled), "Created", Time(a.CreatedAt))
	part.Links = []Cell{
		link("Organizations", address("/organizations", "account", a.ID)), link("Webhooks", address("/webhooks", "account", a.ID)),
	}
	part.Offers = []*Offer{r.offer("account disable", "Disable it …", "account")}
	if a.Disabled {
		part.Offers = []*Offer{r.offer("account enable", "Enable it", "account"), r.offer("account delete", "Delete it …", "account")}
	}
	if err := listKeys(ctx, r, p); err != nil {
		return err
	}
	if err := r.addQuotas(ctx, a); err != nil {
		return err
	}
	if err := getSettings(ctx, r, p); err != nil {
		return err
	}
	call := r.offer("call", "Call it …", "account")
	call.Inputs = []Input{
		{Name: "path", Label: "Path, such as /v2/organizations/get"}, {Name: "body", Label: "Body", Value: `{"data": {}}`, Kind: "textarea"},
	}
	r.add(&Part{Title: "Call the API", Note: "As a back end of the account does.", Offers: []*Offer{call}})
	return nil
}

type newAccount struct {
	ID   newID       `arg:"" help:"The account's id: 1 to 64 letters, digits, _ and -. It stands in logs, and cannot be changed."`
	Name displayName `help:"Its name; without one, its id."`
}

func createAccount(ctx context.Context, r *Run, p *newAccount) error {
	if p.Name == "" {
		p.Name = displayName(p.ID)
	}
	err := r.accounts.AddAccount(ctx, collab.Account{ID: string(p.ID), Name: string(p.Name), CreatedAt: r.directory.Millis()})
	if collab.CodeOf(err) == collab.AlreadyExists {
		return collab.Errorf(collab.AlreadyExists, "account %q is there already: `admin key create %s` makes another key for it", p.ID, p.ID)
	}
	if err != nil {
		return err
	}
	r.facts("Account", p.ID)
	return createKey(ctx, r, &inAccount{id(p.ID)})
}

// setAccount disables an account or enables it.
func setAccount(disabled bool, done string) func(context.Context, *Run, *inAccount) error {
	return func(ctx context.Context, r *Run, p *inAccount) error {
		a, err := r.accounts.ChangeAccount(ctx, string(p.Account), func(a *collab.Account) error {
			a.Disabled = disabled
			return nil
		})
		if err == nil {
			r.facts("Account", a.ID, "State", state(a.Disabled))
			r.done(done, p.Account)
		}
		return err
	}
}

func deleteAccount(ctx context.Context, r *Run, p *inAccount) error {
	if err := r.accounts.DeleteAccount(ctx, string(p.Account)); err != nil {
		return err
	}
	r.facts("Deleted", p.Account)
	r.done("Account %q is deleted.", p.Account)
	r.Then = "/"
	return nil
}

func listKeys(ctx context.Context, r *Run, p *inAccount) error {
	if _, err := r.accounts.Account(ctx, string(p.Account)); err != nil {
		return err
	}
	further := r.offer("key create", "Make an API key …", "account")
	part := &Part{
		Title: "API keys", Columns: []string{"Key", "Valid tokens"}, Offers: []*Offer{further},
		Empty: fmt.Sprintf("There is none yet: `admin key create %s` makes one.", word(p.Account)),
	}
	read := after(func(after string, n int) ([]string, error) {
		return r.accounts.APIKeys(ctx, string(p.Account), after, n)
	},
		func(k string) string { return k })
	return list(r, "keys", part, pageSize, read, func(k string) ([]Cell, error) {
		key, err := r.accounts.APIKey(ctx, k)
		valid := slices.DeleteFunc(key.Tokens, func(t collab.Token) bool { return !valid(t, r.directory.Now()) })
		return row(link(k, address("/key", "key", k)), len(valid)), err
	})
}

func createKey(ctx context.Context, r *Run, p *inAccount) error {
	r.aboveAccount(p.Account)
	key, err := secret(r.Random, "key-")
	if err != nil {
		return err
	}
	token, stored, err := newToken(r.Random, r.directory.Now(), 0)
	if err == nil {
		err = r.accounts.AddAPIKey(ctx, key, string(p.Account), []collab.Token{stored})
	}
	if err != nil {
		return err
	}
	r.Title, r.Stay = "An API key", true
	r.facts("Key", key, "Token", token)
	r.done("It was made. The token is shown this once: keep it where your back end keeps its secrets.")
	r.next("Requests carry both:\n  -H '%s: %s' -H '%s: %s'", credentials.KeyHeader, key, credentials.TokenHeader, token)
	return nil
}

func deleteKey(ctx context.Context, r *Run, p *ofKey) error {
	account, err := r.accounts.DeleteAPIKey(ctx, string(p.Key))
	if err != nil {
		return err
	}
	r.facts("Deleted", p.Key)
	r.done("The API key %s is deleted: it is refused within 60 s.", p.Key)
	r.next("`admin key create %s` makes another one.", word(account))
	r.Then = address("/account", "account", account)
	return nil
}

func listTokens(ctx context.Context, r *Run, p *ofKey) error {
	k, err := r.accounts.APIKey(ctx, string(p.Key))
	if err != nil {
		return err
	}
	r.aboveAccount(id(k.Account))
	if r.values != nil {
		r.values.Set("account", k.Account) // an id is looked for in it
	}
	r.Title = "API key " + k.Key
	further := r.offer("token create", "Make a token …", "key")
	further.Inputs = []Input{{Name: "expires", Label: "It ends (UTC), or never", Kind: "datetime-local"}}
	rotate := r.offer("token rotate", "Replace all …", "key")
	rotate.Inputs = []Input{{Name: "grace", Label: "The others end after", Value: "24h"}}
	part := &Part{
		Title: "Tokens", Columns: []string{"Hash", "State", "Created", "Expires"},
		Offers: []*Offer{further, rotate, r.offer("key delete", "Delete the API key …", "key")},
	}
	r.add(part)
	for _, t := range k.Tokens {
		is := good("valid")
		if !valid(t, r.directory.Now()) {
			is = soft("expired")
		}
		name := tokenName(t)
		revoke := r.offer("token revoke", "Revoke …", "key", "hash", name)
		part.Rows = append(part.Rows, row(name, is, Time(t.CreatedAt), Time(t.Expires), Cell{Offer: revoke}))
	}
	return nil
}

type newTokenOf struct {
	ofKey
	Expires moment `placeholder:"TIME" help:"When it ends to be valid: 2027-01-31, 2027-01-31T12:00:00Z or 90d; without one, never."`
}

func createToken(ctx context.Context, r *Run, p *newTokenOf) error {
	now := r.directory.Now()
	expires := p.Expires.after(now)
	if expires != 0 && expires <= now.UnixMilli() {
		return collab.Errorf(collab.InvalidArgument, "expires is past: %s", Time(expires))
	}
	t, err := r.addToken(ctx, p.Key, expires, func([]collab.Token) {})
	if err != nil {
		return err
	}
	r.facts("Expires", Time(expires))
	r.done("It was made. The token is shown this once: keep it where your back end keeps its secrets.")
	r.next("`admin token revoke %s %s` ends it.", p.Key, tokenName(t))
	return nil
}

type rotation struct {
	ofKey
	Grace time.Duration `default:"24h" help:"How long the other tokens stay valid, such as 24h or 0s."`
}

// ask asks where others are refused at once.
func (p *rotation) ask(context.Context, *Run) (string, error) {
	switch {
	case p.Grace < 0:
		return "", collab.Errorf(collab.InvalidArgument, "grace must not be negative")
	case p.Grace == 0:
		return "Who uses another token of the API key will be refused within 60 s.", nil
	}
	return "", nil
}

// rotateTokens adds a token and ends the others after the grace. One that ends sooner by itself does so.
func rotateTokens(ctx context.Context, r *Run, p *rotation) error {
	end, ending := r.directory.Now().Add(p.Grace).UnixMilli(), 0
	_, err := r.addToken(ctx, p.Key, 0, func(others []collab.Token) {
		ending = len(others)
		for i := range others {
			if others[i].Expires == 0 || others[i].Expires > end {
				others[i].Expires = end
			}
		}
	})
	if err != nil {
		return err
	}
	r.facts("Ending", ending, "Others end", Time(end))
	r.done("It was made. The token is shown this once: give it to your back end before the others end.")
	return nil
}

// maxTokens keeps the item of a key small: it is read with every request that the gateway does not remember.
const maxTokens = 100

// addToken adds a token to an API key, whose other tokens, those that are valid, change may change, and reports it.
func (r *Run) addToken(ctx context.Context, key apiKey, expires collab.Millis, change func(others []collab.Token)) (collab.Token, error) {
	token, stored, err := newToken(r.Random, r.directory.Now(), expires)
	if err != nil {
		return stored, err
	}
	err = r.accounts.ChangeTokens(ctx, string(key), func(tokens []collab.Token) ([]collab.Token, error) {
		tokens = slices.DeleteFunc(tokens, func(t collab.Token) bool { return !valid(t, r.directory.Now()) })
		if len(tokens) >= maxTokens {
			return nil, collab.Errorf(collab.FailedPrecondition, "the key has %d tokens: revoke one before", len(tokens))
		}
		change(tokens)
		return append(tokens, stored), nil
	})
	if err == nil {
		r.Title, r.Stay = "A token", true
		part := r.facts("Token", token, "Hash", tokenName(stored))
		part.Links = []Cell{link("API key "+string(key), address("/key", "key", string(key)))}
	}
	return stored, err
}

type ofToken struct {
	ofKey
	Hash hashPrefix `arg:"" help:"The beginning of the token's SHA-256, as admin token list shows it: four characters or more."`
}

// hashPrefix is the beginning of a token's hash.
type hashPrefix string

// Validate reports what is no beginning of a hash.
func (h hashPrefix) Validate() error {
	if len(h) < 4 || len(h) > 64 || strings.Trim(strings.ToLower(string(h)), "0123456789abcdef") != "" {
		return errors.New("must be 4 to 64 hexadecimal digits, as `admin token list` shows them: not the token itself")
	}
	return nil
}

func revokeToken(ctx context.Context, r *Run, p *ofToken) error {
	prefix := strings.ToLower(string(p.Hash))
	var revoked collab.Token
	left := 0
	err := r.accounts.ChangeTokens(ctx, string(p.Key), func(tokens []collab.Token) ([]collab.Token, error) {
		matches := func(t collab.Token) bool { return strings.HasPrefix(hex.EncodeToString(t.Hash), prefix) }
		first := slices.IndexFunc(tokens, matches)
		if first < 0 {
			return nil, collab.Errorf(collab.FailedPrecondition, "the key has no token whose hash begins with %s", prefix)
		}
		if slices.ContainsFunc(tokens[first+1:], matches) {
			return nil, collab.Errorf(collab.FailedPrecondition, "several tokens have a hash that begins with %s: give more of it", prefix)
		}
		revoked = tokens[first]
		tokens = slices.Delete(tokens, first, first+1)
		left = len(tokens)
		return tokens, nil
	})
	if err != nil {
		return err
	}
	r.facts("Revoked", tokenName(revoked))
	r.done("The token %s is revoked: it is refused within 60 s.", tokenName(revoked))
	if left == 0 {
		r.next("The key has no token left: `admin token create %s` makes one.", p.Key)
	}
	return nil
}

// newToken returns a random token and what is stored of it. It never expires at 0.
func newToken(random io.Reader, now time.Time, expires collab.Millis) (string, collab.Token, error) {
	token, err := secret(random, "token-")
	return token, collab.Token{Hash: collab.HashToken(token), CreatedAt: now.UnixMilli(), Expires: expires}, err
}

// secret returns a prefix and 16 random bytes in hexadecimal.
func secret(random io.Reader, prefix string) (string, error) {
	bytes := make([]byte, 16)
	_, err := io.ReadFull(random, bytes)
	return prefix + hex.EncodeToString(bytes), err
}

// valid reports whether a token has not expired.
func valid(t collab.Token, now time.Time) bool { return t.Expires == 0 || t.Expires > now.UnixMilli() }

// tokenName names a token: the beginning of its hash.
func tokenName(t collab.Token) string { return hex.EncodeToString(t.Hash[:6]) }

// addQuotas adds what the account may use at once of each quota. What it used comes back evenly.
func (r *Run) addQuotas(ctx context.Context, a collab.Account) error {
	paid, err := r.accounts.Paid(ctx, a.ID)
	part := &Part{
		Title: "Use of its quotas", Columns: []string{"Of", "Left now", "Most at once", "Comes back within", "Must wait"},
		Note: "What was used comes back evenly. Each process of a function adds up what it used of a quota, up to a hundredth of it, before it " +
			"counts here.",
	}
	r.add(part)
	names := [quota.Kinds]string{quota.Writes: "Write units", quota.Reads: "Read units", quota.Events: "Events", quota.Mails: "Mails"}
	now := r.directory.Now()
	for k, limit := range quota.Of(a.Settings) {
		if limit.Most == 0 {
			part.Rows = append(part.Rows, row(names[k], "unlimited", soft("–"), soft("–"), soft("–")))
			continue
		}
		until := time.UnixMilli(paid[k])
		used := float64(max(0, until.Sub(now))) / float64(limit.Per) * float64(limit.Most)
		wait := soft("no")
		if left := limit.Wait(until, now); left > 0 {
			wait = bad(span(left))
		}
		left := fmt.Sprintf("%.0f", max(0, float64(limit.Most)-used))
		part.Rows = append(part.Rows, row(names[k], left, limit.Most, span(limit.Per), wait))
	}
	return err
}
