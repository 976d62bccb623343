package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What only the operator does: it makes accounts, keys and tokens, and what no operation of the interface makes or changes.

// AddAccount makes an account, and lists it; ALREADY_EXISTS when one with its id is there.
func (s *Store) AddAccount(ctx context.Context, a collab.Account) error {
	it, err := accountItem(a)
	if err != nil {
		return fail(ctx, err)
	}
	refused, err := s.transact(ctx, []types.TransactWriteItem{
		putNew(s.table, it),
		{Put: &types.Put{TableName: &s.table, Item: newItem(table.AccountEntry(a.ID))}},
	})
	if err == nil && refused != nil {
		err = collab.Errorf(collab.AlreadyExists, "account %q is there already", a.ID)
	}
	return err
}

func accountItem(a collab.Account) (item, error) {
	settings, err := json.Marshal(a.Settings)
	it := newItem(table.Account(a.ID))
	it.setText(table.Name, a.Name)
	it.setBool(table.Disabled, &a.Disabled)
	it.setJSON(table.Settings, settings)
	it.setNum(table.CreatedAt, a.CreatedAt)
	return it, err
}

// ChangeAccount changes an account, and returns it as it is then; NOT_FOUND when it does not exist. change may be called again, with what
// others wrote meanwhile; its error leaves the account as it is.
func (s *Store) ChangeAccount(ctx context.Context, id string, change func(*collab.Account) error) (collab.Account, error) {
	var a collab.Account
	err := s.rewrite(ctx, table.Account(id), func(before item) (item, error) {
		if before == nil {
			return nil, collab.Errorf(collab.NotFound, "account %q does not exist", id)
		}
		var err error
		if a, err = readAccount(id, before); err != nil {
			return nil, err
		}
		if err := change(&a); err != nil {
			return nil, err
		}
		return accountItem(a)
	})
	return a, err
}

// AddAPIKey makes an API key of an account; NOT_FOUND when the account does not exist, ALREADY_EXISTS when the key is there.
func (s *Store) AddAPIKey(ctx context.Context, key, account string, tokens []collab.Token) error {
	text, err := tokensJSON(tokens)
	if err != nil {
		return fail(ctx, err)
	}
	it := newItem(table.APIKey(key))
	it.setText(table.AccountID, account)
	it.setJSON(table.Tokens, text)
	there := "attribute_exists(" + table.PK + ")"
	refused, err := s.transact(ctx, []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{TableName: &s.table, Key: keyOf(table.Account(account)), ConditionExpression: &there}},
		putNew(s.table, it),
		{Put: &types.Put{TableName: &s.table, Item: newItem(table.AccountAPIKey(account, key))}},
	})
	switch {
	case err != nil || refused == nil:
		return err
	case *refused[0].Code == "ConditionalCheckFailed":
		return collab.Errorf(collab.NotFound, "account %q does not exist", account)
	}
	return collab.Errorf(collab.AlreadyExists, "the API key is there already")
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

func tokensJSON(tokens []collab.Token) (collab.JSON, error) {
	stored := make([]storedToken, len(tokens))
	for i, t := range tokens {
		stored[i] = storedToken{t.Hash[:], t.Expires, t.CreatedAt}
	}
	return json.Marshal(stored)
}

func readTokens(text collab.JSON) ([]collab.Token, error) {
	var stored []storedToken
	if err := json.Unmarshal(text, &stored); err != nil {
		return nil, err
	}
	tokens := make([]collab.Token, len(stored))
	for i, t := range stored {
		tokens[i] = collab.Token{Expires: t.Expires, CreatedAt: t.CreatedAt}
		copy(tokens[i].Hash[:], t.Hash)
	}
	return tokens, nil
}

// ChangeTokens changes the tokens of an API key; NOT_FOUND when the key does not exist. change may be called again, with what others wrote
// meanwhile; its error leaves the tokens as they are.
func (s *Store) ChangeTokens(ctx context.Context, key string, change func([]collab.Token) ([]collab.Token, error)) error {
	return s.rewrite(ctx, table.APIKey(key), func(before item) (item, error) {
		if before == nil {
			return nil, collab.Errorf(collab.NotFound, "the API key does not exist")
		}
		tokens, err := readTokens(before.json(table.Tokens))
		if err != nil {
			return nil, err
		}
		if tokens, err = change(tokens); err != nil {
			return nil, err
		}
		text, err := tokensJSON(tokens)
		after := maps.Clone(before)
		after.setJSON(table.Tokens, text)
		return after, err
	})
}

// ChangeOrganization changes an organization, or makes it: change is then called with an empty one, CreatedAt 0, that has its id. It
// returns the organization as it is then. change may be called again, with what others wrote meanwhile; its error leaves the organization
// as it is.
func (s *Store) ChangeOrganization(ctx context.Context, org collab.OrganizationRef, change func(*collab.Organization) error) (collab.Organization, error) {
	var o collab.Organization
	err := s.rewrite(ctx, table.Organization(org.Account, org.Organization), func(before item) (item, error) {
		o = collab.Organization{ID: org.Organization}
		if before != nil {
			var err error
			if o, err = readOrganization(before); err != nil {
				return nil, err
			}
		}
		if err := change(&o); err != nil {
			return nil, err
		}
		return organizationItem(org.Account, o), nil
	})
	return o, err
}

// ChangeFolder changes a folder, or makes it, as ChangeOrganization does. Its parent is not checked.
func (s *Store) ChangeFolder(ctx context.Context, org collab.OrganizationRef, id string, change func(*collab.Folder) error) (collab.Folder, error) {
	var f collab.Folder
	err := s.rewrite(ctx, table.Folder(org.Account, org.Organization, id), func(before item) (item, error) {
		f = collab.Folder{ID: id, Parent: collab.RootFolder}
		if before != nil {
			var err error
			if f, err = readFolder(before); err != nil {
				return nil, err
			}
		}
		if err := change(&f); err != nil {
			return nil, err
		}
		return folderItem(org, f), nil
	})
	return f, err
}

// ChangeDocument changes a document, or makes it, as ChangeOrganization does. Its folder is not checked.
func (s *Store) ChangeDocument(ctx context.Context, doc collab.DocumentRef, change func(*collab.Document) error) (collab.Document, error) {
	var d collab.Document
	err := s.rewrite(ctx, table.Document(doc.Account, doc.Organization, doc.Document), func(before item) (item, error) {
		d = collab.Document{ID: doc.Document, Folder: collab.RootFolder}
		if before != nil {
			var err error
			if d, err = readDocument(before); err != nil {
				return nil, err
			}
		}
		if err := change(&d); err != nil {
			return nil, err
		}
		return documentItem(doc.OrganizationRef, d), nil
	})
	return d, err
}

// rewrite reads an item, nil where there is none, and puts what change makes of it in its place, on condition that nobody else wrote it
// meanwhile; else it begins again, five times at most, then it fails with ABORTED. It is a transaction, as one whose answer is lost is
// repeated without being done twice.
func (s *Store) rewrite(ctx context.Context, k table.Key, change func(item) (item, error)) error {
	for n := range tries {
		if n > 0 && !s.backoff(ctx, n-1) {
			break
		}
		before, err := s.get(ctx, k)
		if err != nil {
			return err
		}
		after, err := change(before)
		if err != nil {
			return fail(ctx, err)
		}
		e := newExpression()
		condition := e.unchanged(before, after)
		refused, err := s.transact(ctx, []types.TransactWriteItem{{Put: &types.Put{
			TableName: &s.table, Item: after, ConditionExpression: &condition,
			ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values,
		}}})
		if err != nil || refused == nil {
			return err
		}
	}
	return collab.Errorf(collab.Aborted, "others are writing the same data: try again")
}

// unchanged returns the condition that an item is as it was read, nil for none, in all that after replaces.
func (e *expression) unchanged(before, after item) string {
	if before == nil {
		return "attribute_not_exists(" + e.name(table.PK) + ")"
	}
	condition := "attribute_exists(" + e.name(table.PK) + ")"
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if name != table.PK && name != table.SK {
			condition += " AND " + e.name(name) + " = " + e.value(before[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			condition += " AND attribute_not_exists(" + e.name(name) + ")"
		}
	}
	return condition
}
