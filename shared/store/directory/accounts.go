package directory

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// accountItem is the item of an account.
type accountItem struct {
	Name      string        `dynamodbav:"name"`
	Disabled  bool          `dynamodbav:"off"`
	Settings  store.JSON    `dynamodbav:"set"`
	CreatedAt collab.Millis `dynamodbav:"ca"`
}

func newAccountItem(a collab.Account) (accountItem, error) {
	settings, err := json.Marshal(a.Settings)
	return accountItem{a.Name, a.Disabled, settings, a.CreatedAt}, err
}

func (a accountItem) account(id string) (collab.Account, error) {
	account := collab.Account{ID: id, Name: a.Name, Disabled: a.Disabled, CreatedAt: a.CreatedAt}
	if err := json.Unmarshal(a.Settings, &account.Settings); err != nil {
		return collab.Account{}, store.Unreadable(table.Account(id), err)
	}
	return account, nil
}

func readAccount(id string, it store.Item) (collab.Account, error) {
	var a accountItem
	if err := it.Decode(&a); err != nil {
		return collab.Account{}, err
	}
	return a.account(id)
}

func accountMissing(id string) error {
	return collab.Errorf(collab.NotFound, "account %q does not exist", id)
}

// AddAccount makes an account, and lists it; ALREADY_EXISTS when one with its id is there.
func (s *Store) AddAccount(ctx context.Context, a collab.Account) error {
	attributes, err := newAccountItem(a)
	if err != nil {
		return store.Fail(ctx, err)
	}
	it, err := store.Encode(table.Account(a.ID), attributes)
	if err != nil {
		return err
	}
	refused, err := s.Write(ctx, s.Create(it), s.Replace(store.NewItem(table.AccountEntry(a.ID))))
	if err == nil && refused != nil {
		err = collab.Errorf(collab.AlreadyExists, "account %q is there already", a.ID)
	}
	return err
}

// EnsureAccount makes an account, and an API key of it, where they are missing. What is there stays as it is.
func (s *Store) EnsureAccount(ctx context.Context, a collab.Account, key string, tokens []collab.Token) error {
	if err := s.AddAccount(ctx, a); err != nil && collab.CodeOf(err) != collab.AlreadyExists {
		return err
	}
	if err := s.AddAPIKey(ctx, key, a.ID, tokens); err != nil && collab.CodeOf(err) != collab.AlreadyExists {
		return err
	}
	return nil
}

// ChangeAccount changes an account, and returns it as it is then; NOT_FOUND when it does not exist.
func (s *Store) ChangeAccount(ctx context.Context, id string, change func(*collab.Account) error) (a collab.Account, err error) {
	_, err = store.Rewrite(ctx, s.Table, table.Account(id), "the account", func(it *accountItem, exists bool) (err error) {
		if !exists {
			return accountMissing(id)
		}
		if a, err = it.account(id); err != nil {
			return err
		}
		if err := change(&a); err != nil {
			return err
		}
		*it, err = newAccountItem(a)
		return err
	})
	return a, err
}

// Account reads an account; NOT_FOUND when it does not exist.
func (s *Store) Account(ctx context.Context, id string) (collab.Account, error) {
	it, err := s.Get(ctx, table.Account(id))
	if err != nil {
		return collab.Account{}, err
	}
	if it == nil {
		return collab.Account{}, accountMissing(id)
	}
	return readAccount(id, it)
}

// Accounts returns all accounts by id.
func (s *Store) Accounts(ctx context.Context) ([]collab.Account, error) {
	entries, err := s.Query(ctx, store.Scan{PK: table.Accounts, Keys: store.Everything, Strong: true})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(entries))
	keys := make([]table.Key, len(entries))
	for i, e := range entries {
		if ids[i], err = lastPart(e, ""); err != nil {
			return nil, err
		}
		keys[i] = table.Account(ids[i])
	}
	found, err := s.GetAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	list := make([]collab.Account, 0, len(ids))
	for i, id := range ids {
		if found[keys[i]] == nil {
			continue
		}
		a, err := readAccount(id, found[keys[i]])
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}
