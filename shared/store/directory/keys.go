package directory

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// keyItem is the item of an API key.
type keyItem struct {
	Account string     `dynamodbav:"acct"`
	Tokens  store.JSON `dynamodbav:"tok"` // of []storedToken
}

// storedToken is a token in the JSON of its key's item.
type storedToken struct {
	Hash      []byte        `json:"hash"`
	Expires   collab.Millis `json:"expires,omitempty"`
	CreatedAt collab.Millis `json:"createdAt"`
}

func (it *keyItem) setTokens(tokens []collab.Token) (err error) {
	stored := make([]storedToken, len(tokens))
	for i, t := range tokens {
		stored[i] = storedToken{t.Hash[:], t.Expires, t.CreatedAt}
	}
	it.Tokens, err = json.Marshal(stored)
	return err
}

func (it *keyItem) tokens() ([]collab.Token, error) {
	var stored []storedToken
	if err := json.Unmarshal(it.Tokens, &stored); err != nil {
		return nil, err
	}
	var tokens []collab.Token
	for _, t := range stored {
		token := collab.Token{Expires: t.Expires, CreatedAt: t.CreatedAt}
		copy(token.Hash[:], t.Hash)
		tokens = append(tokens, token)
	}
	return tokens, nil
}

func keyMissing() error { return collab.Errorf(collab.NotFound, "the API key does not exist") }

// AddAPIKey makes an API key of an account; NOT_FOUND when the account does not exist, ALREADY_EXISTS when the key is there.
func (s *Store) AddAPIKey(ctx context.Context, key, account string, tokens []collab.Token) error {
	attributes := keyItem{Account: account}
	if err := attributes.setTokens(tokens); err != nil {
		return store.Fail(ctx, err)
	}
	it, err := store.Encode(table.APIKey(key), attributes)
	if err != nil {
		return err
	}
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
	var none collab.APIKey
	it, err := s.Get(ctx, table.APIKey(key))
	if err != nil {
		return none, err
	}
	if it == nil {
		return none, keyMissing()
	}
	var attributes keyItem
	if err := it.Decode(&attributes); err != nil {
		return none, err
	}
	tokens, err := attributes.tokens()
	if err != nil {
		return none, store.Fail(ctx, err)
	}
	a, err := s.Account(ctx, attributes.Account)
	return collab.APIKey{Key: key, Account: a.ID, Disabled: a.Disabled, Settings: a.Settings, Tokens: tokens}, err
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
	_, err := store.Rewrite(ctx, s.Table, table.APIKey(key), "the API key", func(it *keyItem, exists bool) error {
		if !exists {
			return keyMissing()
		}
		tokens, err := it.tokens()
		if err != nil {
			return err
		}
		if tokens, err = change(tokens); err != nil {
			return err
		}
		return it.setTokens(tokens)
	})
	return err
}
