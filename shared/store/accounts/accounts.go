// Package accounts stores accounts: settings, API keys and their tokens, the permission provider,
// quotas, Idempotency-Keys of requests, and unsubscribed users and addresses.
//
// A method named Change… calls change with the present state, and again if another request wrote
// meanwhile, so change must depend only on its argument. An error of change leaves the state
// unchanged. Attributes unknown to this version are kept. These methods return ABORTED if conflicts
// persist, or if an answer is lost and another request has written since.
package accounts

import (
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Store stores accounts in a table. It is safe for concurrent use.
type Store struct{ *store.Table }

// New returns the accounts in a table.
func New(t *store.Table) *Store { return &Store{t} }

type accountItem struct {
	collab.Account
	Settings store.Encoded[collab.Settings] `dynamodbav:"set"`
	Provider bool                           `dynamodbav:"prv,omitempty"` // Settings.PermissionProvider
}

func newAccountItem(a collab.Account) accountItem {
	return accountItem{a, store.Encoded[collab.Settings]{Value: a.Settings}, a.Settings.PermissionProvider}
}

func (it accountItem) account(id string) collab.Account {
	a := it.Account
	a.ID, a.Settings = id, it.Settings.Value
	a.Settings.PermissionProvider = it.Provider
	return a
}

func accountMissing(id string) error {
	return collab.Errorf(collab.NotFound, "account %q does not exist", id)
}

// AddAccount adds an account with a signing key. It returns ALREADY_EXISTS if the id is taken.
func (s *Store) AddAccount(ctx context.Context, a collab.Account) error {
	first, err := s.newSigningKey()
	if err != nil {
		return err
	}
	refused, err := s.Write(ctx,
		store.Create(store.ItemOf(keys.Account(a.ID), newAccountItem(a))), store.Put(store.NewItem(keys.AccountEntry(a.ID))),
		store.Put(store.ItemOf(keys.SigningKeys(a.ID), newSigningItem([]collab.SigningKey{first}))))
	if err == nil && refused != nil {
		err = collab.Errorf(collab.AlreadyExists, "account %q already exists", a.ID)
	}
	return err
}

// EnsureAccount adds an account and an API key if they do not exist. It leaves existing ones
// unchanged.
func (s *Store) EnsureAccount(ctx context.Context, a collab.Account, key string, tokens []collab.Token) error {
	if err := s.AddAccount(ctx, a); err != nil && collab.CodeOf(err) != collab.AlreadyExists {
		return err
	}
	if err := s.AddAPIKey(ctx, key, a.ID, tokens); err != nil && collab.CodeOf(err) != collab.AlreadyExists {
		return err
	}
	return nil
}

// ChangeAccount changes an account and returns it. It returns NOT_FOUND if the account does not
// exist.
func (s *Store) ChangeAccount(ctx context.Context, id string, change func(*collab.Account) error) (a collab.Account, err error) {
	_, err = store.Rewrite(ctx, s.Table, keys.Account(id), "the account", func(it *accountItem, exists bool) (err error) {
		if !exists {
			return accountMissing(id)
		}
		a = it.account(id)
		err = change(&a)
		*it = newAccountItem(a)
		return err
	})
	return a, err
}

// Account returns an account. It returns NOT_FOUND if the account does not exist.
func (s *Store) Account(ctx context.Context, id string) (collab.Account, error) {
	a, exists, err := store.Read[accountItem](ctx, s.Table, keys.Account(id))
	if err == nil && !exists {
		err = accountMissing(id)
	}
	return a.account(id), err
}

// Accounts returns up to limit accounts after an id, in id order. limit 0 means all; after ""
// starts at the first.
func (s *Store) Accounts(ctx context.Context, after string, limit int) ([]collab.Account, error) {
	q := store.Scan{PK: keys.Accounts, Keys: store.Everything, Strong: true}
	ids, err := store.ListAfter(ctx, s.Table, q, "", after, limit, func(it store.Item) (string, error) { return store.LastPart(it, "") })
	if err != nil {
		return nil, err
	}
	list := make([]collab.Account, len(ids))
	err = store.Each(ctx, len(ids), func(ctx context.Context, i int) (err error) {
		if list[i], err = s.Account(ctx, ids[i]); collab.CodeOf(err) == collab.NotFound {
			list[i], err = collab.Account{}, nil // deleted meanwhile
		}
		return err
	})
	return slices.DeleteFunc(list, func(a collab.Account) bool { return a.ID == "" }), err
}

type keyItem struct {
	Account string                        `dynamodbav:"acct"`
	Tokens  store.Encoded[[]collab.Token] `dynamodbav:"tok"`
}

func keyMissing() error { return collab.Errorf(collab.NotFound, "the API key does not exist") }

// AddAPIKey adds an API key to an account. It returns NOT_FOUND if the account does not exist, and
// ALREADY_EXISTS if the key does.
func (s *Store) AddAPIKey(ctx context.Context, key, account string, tokens []collab.Token) error {
	it := store.ItemOf(keys.APIKey(key), keyItem{account, store.Encoded[[]collab.Token]{Value: tokens}})
	owner, mark := keys.Account(account), s.NewMark()
	return s.Try(ctx, "the account", mark, func(ctx context.Context) ([]store.Write, error) {
		found, err := s.GetAll(ctx, []keys.Key{owner, it.Key()}, true)
		switch {
		case err != nil:
			return nil, err
		case found[owner] == nil:
			return nil, accountMissing(account)
		case found[it.Key()] != nil:
			return nil, collab.Errorf(collab.AlreadyExists, "the API key already exists")
		}
		return []store.Write{
			store.Change(found[owner], found[owner], mark), // deleted meanwhile: fails
			store.Create(it), store.Put(store.NewItem(keys.AccountAPIKey(account, key))),
		}, nil
	})
}

// APIKey returns an API key with its account's settings. It returns NOT_FOUND if the key does not
// exist.
func (s *Store) APIKey(ctx context.Context, key string) (collab.APIKey, error) {
	it, err := s.key(ctx, key)
	if err != nil {
		return collab.APIKey{}, err
	}
	a, err := s.Account(ctx, it.Account)
	return collab.APIKey{Key: key, Account: a.ID, Disabled: a.Disabled, Settings: a.Settings, Tokens: it.Tokens.Value}, err
}

func (s *Store) key(ctx context.Context, key string) (keyItem, error) {
	it, exists, err := store.Read[keyItem](ctx, s.Table, keys.APIKey(key))
	if err == nil && !exists {
		err = keyMissing()
	}
	return it, err
}

// APIKeys returns up to limit API keys of an account after a key, in order. limit 0 means all;
// after "" starts at the first.
func (s *Store) APIKeys(ctx context.Context, account, after string, limit int) ([]string, error) {
	prefix := keys.AccountAPIKey(account, "")
	q := store.Scan{PK: prefix.PK, Keys: store.Children(prefix.SK), Strong: true}
	return store.ListAfter(ctx, s.Table, q, prefix.SK, after, limit, func(it store.Item) (string, error) { return store.LastPart(it, prefix.SK) })
}

// ChangeTokens changes the tokens of an API key. It returns NOT_FOUND if the key does not exist.
func (s *Store) ChangeTokens(ctx context.Context, key string, change func([]collab.Token) ([]collab.Token, error)) error {
	_, err := store.Rewrite(ctx, s.Table, keys.APIKey(key), "the API key", func(it *keyItem, exists bool) (err error) {
		if !exists {
			return keyMissing()
		}
		it.Tokens.Value, err = change(it.Tokens.Value)
		return err
	})
	return err
}

// PermissionProvider returns the permission provider of an account, nil if it has none; members and
// document access decide then.
func (s *Store) PermissionProvider(ctx context.Context, acct string) (*collab.PermissionProvider, error) {
	p, exists, err := store.Read[collab.PermissionProvider](ctx, s.Table, keys.PermissionProvider(acct))
	if err != nil || !exists {
		return nil, err
	}
	return &p, nil
}

// SetPermissionProvider sets or, if p is nil, removes the permission provider of an account, and
// sets the flag in its settings. It returns NOT_FOUND if the account does not exist.
func (s *Store) SetPermissionProvider(ctx context.Context, acct string, p *collab.PermissionProvider) error {
	k := keys.PermissionProvider(acct)
	if p != nil {
		if _, err := store.Rewrite(ctx, s.Table, k, "the permission provider", func(provider *collab.PermissionProvider, _ bool) error {
			*provider = *p
			return nil
		}); err != nil {
			return err
		}
	}
	_, err := s.ChangeAccount(ctx, acct, func(a *collab.Account) error {
		a.Settings.PermissionProvider = p != nil
		return nil
	})
	if err == nil && p == nil {
		err = s.Delete(ctx, k)
	}
	return err
}

// DeleteAPIKey deletes an API key with its tokens, and returns its account. It returns NOT_FOUND if
// the key does not exist.
func (s *Store) DeleteAPIKey(ctx context.Context, key string) (account string, err error) {
	it, err := s.key(ctx, key)
	if err != nil {
		return "", err
	}
	refused, err := s.Write(ctx, store.DeleteRead(store.NewItem(keys.APIKey(key))), store.Delete(keys.AccountAPIKey(it.Account, key)))
	if err == nil && refused != nil {
		err = keyMissing()
	}
	return it.Account, err
}

// DeleteAccount deletes an account with its API keys, signing keys, webhook endpoints, their tasks,
// permission provider and email secret.
//
// It returns NOT_FOUND if the account does not exist. It returns FAILED_PRECONDITION if the account
// has organizations, whose data would become unreachable, or if it is enabled, because requests in
// progress could add one.
func (s *Store) DeleteAccount(ctx context.Context, id string) error {
	a, err := s.Account(ctx, id)
	if err != nil {
		return err
	}
	if !a.Disabled {
		return collab.Errorf(collab.FailedPrecondition, "account %q is enabled: disable it a minute before", id)
	}
	organizations := store.Scan{PK: keys.Organization(id, "").PK, Keys: store.Children(keys.Organizations), Strong: true}
	for it, err := range s.Items(ctx, organizations) {
		if err != nil {
			return err
		}
		if it[keys.DeletedAt] == nil {
			return collab.Errorf(collab.FailedPrecondition, "account %q has organizations: their data would stay, and belong to nobody", id)
		}
	}
	apiKeys, err := s.APIKeys(ctx, id, "", 0)
	if err != nil {
		return err
	}
	for _, key := range apiKeys {
		if _, err := s.DeleteAPIKey(ctx, key); err != nil && collab.CodeOf(err) != collab.NotFound {
			return err
		}
	}
	hooks, err := s.Query(ctx, store.Scan{PK: keys.Webhook(id, "").PK, Keys: store.Span{From: keys.LastWebhook(id).SK}, Strong: true})
	if err != nil {
		return err
	}
	for _, it := range hooks {
		hook, err := keys.Unescape(it.Text(keys.SK))
		if err != nil && it.Text(keys.SK) >= store.Everything.From {
			return store.Unreadable(it.Key(), err)
		}
		if _, err := s.Write(ctx, store.Delete(it.Key()), store.Delete(keys.Task(collab.TaskRef{Kind: collab.WebhookTask, Account: id, ID: hook}))); err != nil {
			return err
		}
	}
	refused, err := s.Write(ctx, store.DeleteRead(store.NewItem(keys.Account(id))), store.Delete(keys.AccountEntry(id)),
		store.Delete(keys.PermissionProvider(id)), store.Delete(keys.MailSecret(id)), store.Delete(keys.SigningKeys(id)))
	if err == nil && refused != nil {
		err = accountMissing(id)
	}
	return err
}
