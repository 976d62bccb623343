package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// accountItem is the item of an account.
type accountItem struct {
	Name      string                         `dynamodbav:"name"`
	Disabled  bool                           `dynamodbav:"off"`
	Settings  store.Encoded[collab.Settings] `dynamodbav:"set"`
	CreatedAt collab.Millis                  `dynamodbav:"ca"`
}

func newAccountItem(a collab.Account) accountItem {
	return accountItem{a.Name, a.Disabled, store.Encoded[collab.Settings]{Value: a.Settings}, a.CreatedAt}
}

func (a accountItem) account(id string) collab.Account {
	return collab.Account{ID: id, Name: a.Name, Disabled: a.Disabled, Settings: a.Settings.Value, CreatedAt: a.CreatedAt}
}

func accountMissing(id string) error {
	return collab.Errorf(collab.NotFound, "account %q does not exist", id)
}

// AddAccount makes an account, and lists it; ALREADY_EXISTS when one with its id is there.
func (s *Store) AddAccount(ctx context.Context, a collab.Account) error {
	refused, err := s.Write(ctx,
		s.Create(store.ItemOf(table.Account(a.ID), newAccountItem(a))), s.Replace(store.NewItem(table.AccountEntry(a.ID))))
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
		a = it.account(id)
		err = change(&a)
		*it = newAccountItem(a)
		return err
	})
	return a, err
}

// Account reads an account; NOT_FOUND when it does not exist.
func (s *Store) Account(ctx context.Context, id string) (collab.Account, error) {
	a, exists, err := store.Read[accountItem](ctx, s.Table, table.Account(id))
	if err == nil && !exists {
		err = accountMissing(id)
	}
	return a.account(id), err
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
		var a accountItem
		if err := found[keys[i]].Decode(&a); err != nil {
			return nil, err
		}
		list = append(list, a.account(id))
	}
	return list, nil
}
