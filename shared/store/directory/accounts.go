package store

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// PutAccount writes an account whole, and lists it.
func (s *Store) PutAccount(ctx context.Context, a collab.Account) error {
	settings, err := json.Marshal(a.Settings)
	if err != nil {
		return fail(ctx, err)
	}
	it := newItem(table.Account(a.ID))
	it.setText(table.Name, a.Name)
	it.setBool(table.Disabled, &a.Disabled)
	it.setJSON(table.Settings, settings)
	it.setNum(table.CreatedAt, a.CreatedAt)
	refused, err := s.transact(ctx, []types.TransactWriteItem{
		{Put: &types.Put{TableName: &s.table, Item: it}},
		{Put: &types.Put{TableName: &s.table, Item: newItem(table.AccountEntry(a.ID))}},
	})
	if err == nil && refused != nil {
		err = collab.Errorf(collab.Internal, "an unconditional write was refused")
	}
	return err
}

func readAccount(id string, it item) (collab.Account, error) {
	disabled := it.bool(table.Disabled)
	a := collab.Account{
		ID: id, Name: it.text(table.Name), Disabled: disabled != nil && *disabled, CreatedAt: it.num(table.CreatedAt),
	}
	err := json.Unmarshal(it.json(table.Settings), &a.Settings)
	return a, err
}

// Account reads an account; NOT_FOUND when it does not exist.
func (s *Store) Account(ctx context.Context, id string) (collab.Account, error) {
	it, err := s.get(ctx, table.Account(id))
	if err != nil {
		return collab.Account{}, err
	}
	if it == nil {
		return collab.Account{}, collab.Errorf(collab.NotFound, "account %q does not exist", id)
	}
	a, err := readAccount(id, it)
	return a, fail(ctx, err)
}

// Accounts returns all accounts by id.
func (s *Store) Accounts(ctx context.Context) ([]collab.Account, error) {
	entries, err := s.query(ctx, scan{pk: table.Accounts, keys: everything, strong: true})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(entries))
	keys := make([]table.Key, len(entries))
	for i, e := range entries {
		if ids[i], err = table.Unescape(e.text(table.SK)); err != nil {
			return nil, fail(ctx, err)
		}
		keys[i] = table.Account(ids[i])
	}
	found, err := s.getAll(ctx, keys, true)
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
			return nil, fail(ctx, err)
		}
		list = append(list, a)
	}
	return list, nil
}

// storedToken is a token in the JSON of its key's item.
type storedToken struct {
	Hash      []byte        `json:"hash"`
	Expires   collab.Millis `json:"expires,omitempty"`
	CreatedAt collab.Millis `json:"createdAt"`
}

// PutAPIKey writes an API key of an account with all its tokens.
func (s *Store) PutAPIKey(ctx context.Context, key, account string, tokens []collab.Token) error {
	stored := make([]storedToken, len(tokens))
	for i, t := range tokens {
		stored[i] = storedToken{t.Hash[:], t.Expires, t.CreatedAt}
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return fail(ctx, err)
	}
	it := newItem(table.APIKey(key))
	it.setText(table.AccountID, account)
	it.setJSON(table.Tokens, text)
	if err := s.put(ctx, it); err != nil {
		return err
	}
	entry := newItem(table.AccountAPIKey(account, key))
	return s.put(ctx, entry)
}

// APIKey reads an API key with its account's settings; NOT_FOUND when the key does not exist.
func (s *Store) APIKey(ctx context.Context, key string) (collab.APIKey, error) {
	var none collab.APIKey
	it, err := s.get(ctx, table.APIKey(key))
	if err != nil {
		return none, err
	}
	if it == nil {
		return none, collab.Errorf(collab.NotFound, "the API key does not exist")
	}
	var stored []storedToken
	if err := json.Unmarshal(it.json(table.Tokens), &stored); err != nil {
		return none, fail(ctx, err)
	}
	a, err := s.Account(ctx, it.text(table.AccountID))
	if err != nil {
		return none, err
	}
	k := collab.APIKey{Key: key, Account: a.ID, Disabled: a.Disabled, Settings: a.Settings}
	for _, t := range stored {
		token := collab.Token{Expires: t.Expires, CreatedAt: t.CreatedAt}
		copy(token.Hash[:], t.Hash)
		k.Tokens = append(k.Tokens, token)
	}
	return k, nil
}

// APIKeys returns the API keys of an account.
func (s *Store) APIKeys(ctx context.Context, account string) ([]string, error) {
	prefix := table.AccountAPIKey(account, "")
	items, err := s.query(ctx, scan{pk: prefix.PK, keys: children(prefix.SK), strong: true})
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(items))
	for i, it := range items {
		if keys[i], err = table.Unescape(it.text(table.SK)[len(prefix.SK):]); err != nil {
			return nil, fail(ctx, err)
		}
	}
	return keys, nil
}

// PutMember writes a user of an organization whole.
func (s *Store) PutMember(ctx context.Context, org collab.OrganizationRef, m collab.Member) error {
	it := newItem(table.Member(org.Account, org.Organization, m.UserID))
	it.setOptText(table.Name, m.Name)
	it.setOptText(table.Email, m.Email)
	it.setNum(table.CreatedAt, m.CreatedAt)
	it.setNum(table.LastUpdated, m.LastUpdated)
	return s.put(ctx, it)
}

func readMember(it item) (collab.Member, error) {
	id, err := table.Unescape(it.text(table.SK)[len(table.Members):])
	return collab.Member{
		User:      collab.User{UserID: id, Name: it.optText(table.Name), Email: it.optText(table.Email)},
		CreatedAt: it.num(table.CreatedAt), LastUpdated: it.num(table.LastUpdated),
	}, err
}

// Members returns those of the users who are members of the organization, by user id.
func (s *Store) Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error) {
	keys := make([]table.Key, len(users))
	for i, u := range users {
		keys[i] = table.Member(org.Account, org.Organization, u)
	}
	found, err := s.getAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	members := make(map[string]collab.Member, len(found))
	for _, it := range found {
		m, err := readMember(it)
		if err != nil {
			return nil, fail(ctx, err)
		}
		members[m.UserID] = m
	}
	return members, nil
}

// ListMembers returns up to most members of the organization behind the user id after ("" for the first), by user id, and whether
// there are more.
func (s *Store) ListMembers(ctx context.Context, org collab.OrganizationRef, after string, most int) (list []collab.Member, more bool, err error) {
	keys := children(table.Members)
	if after != "" {
		keys = keys.after(table.Members + table.Escape(after))
	}
	items, more, err := s.queryPage(ctx, scan{pk: table.OrganizationPartition(org.Account, org.Organization), keys: keys, limit: most})
	if err != nil {
		return nil, false, err
	}
	for _, it := range items {
		m, err := readMember(it)
		if err != nil {
			return nil, false, fail(ctx, err)
		}
		list = append(list, m)
	}
	return list, more, nil
}

// RemoveMember takes a user out of the organization. One who is not in it is no error.
func (s *Store) RemoveMember(ctx context.Context, org collab.OrganizationRef, user string) error {
	_, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: keyOf(table.Member(org.Account, org.Organization, user)),
	})
	return fail(ctx, err)
}
