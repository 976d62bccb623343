package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// keyItem is the item of an API key.
type keyItem struct {
	Account string                        `dynamodbav:"acct"`
	Tokens  store.Encoded[[]collab.Token] `dynamodbav:"tok"`
}

func keyMissing() error { return collab.Errorf(collab.NotFound, "the API key does not exist") }

// AddAPIKey makes an API key of an account; NOT_FOUND when the account does not exist, ALREADY_EXISTS when the key is there.
func (s *Store) AddAPIKey(ctx context.Context, key, account string, tokens []collab.Token) error {
	it := store.ItemOf(table.APIKey(key), keyItem{account, store.Encoded[[]collab.Token]{Value: tokens}})
	refused, err := s.Write(ctx,
		s.Require(table.Account(account)), s.Create(it), s.Replace(store.NewItem(table.AccountAPIKey(account, key))))
	switch {
	case err != nil || refused == nil:
		return err
	case refused.Of[0].Refused:
		return accountMissing(account)
	}
	return collab.Errorf(collab.AlreadyExists, "the API key is there already")
}

// APIKey reads an API key with its account's settings; NOT_FOUND when the key does not exist.
func (s *Store) APIKey(ctx context.Context, key string) (collab.APIKey, error) {
	it, err := s.key(ctx, key)
	if err != nil {
		return collab.APIKey{}, err
	}
	a, err := s.Account(ctx, it.Account)
	return collab.APIKey{Key: key, Account: a.ID, Disabled: a.Disabled, Settings: a.Settings, Tokens: it.Tokens.Value}, err
}

func (s *Store) key(ctx context.Context, key string) (keyItem, error) {
	it, exists, err := store.Read[keyItem](ctx, s.Table, table.APIKey(key))
	if err == nil && !exists {
		err = keyMissing()
	}
	return it, err
}

// APIKeys returns the API keys of an account.
func (s *Store) APIKeys(ctx context.Context, account string) ([]string, error) {
	prefix := table.AccountAPIKey(account, "")
	items, err := s.Query(ctx, store.Scan{PK: prefix.PK, Keys: store.Children(prefix.SK), Strong: true})
	if err != nil {
		return nil, err
	}
	return readAll(items, func(it store.Item) (string, error) { return lastPart(it, prefix.SK) })
}

// ChangeTokens changes the tokens of an API key; NOT_FOUND when the key does not exist.
func (s *Store) ChangeTokens(ctx context.Context, key string, change func([]collab.Token) ([]collab.Token, error)) error {
	_, err := store.Rewrite(ctx, s.Table, table.APIKey(key), "the API key", func(it *keyItem, exists bool) (err error) {
		if !exists {
			return keyMissing()
		}
		it.Tokens.Value, err = change(it.Tokens.Value)
		return err
	})
	return err
}
