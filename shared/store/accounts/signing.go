package accounts

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

type signingItem struct {
	Keys store.Encoded[[]collab.SigningKey] `dynamodbav:"keys"`
}

func newSigningItem(list []collab.SigningKey) signingItem {
	return signingItem{store.Encoded[[]collab.SigningKey]{Value: list}}
}

// signingKeys is the number of valid keys of an account: the newest signs, and the previous one
// still verifies.
const signingKeys = 2

func (s *Store) newSigningKey() (k collab.SigningKey, err error) {
	k.ID, k.CreatedAt = s.NewMark(), s.Millis()
	k.Secret, err = s.NewSecret()
	return k, err
}

// Signing returns the keys that verify the tokens of an account's users. It returns NOT_FOUND if
// the account does not exist.
func (s *Store) Signing(ctx context.Context, acct string) (collab.Signing, error) {
	found, err := s.GetAll(ctx, []keys.Key{keys.Account(acct), keys.SigningKeys(acct)}, false)
	if err != nil {
		return collab.Signing{}, err
	}
	itself := found[keys.Account(acct)]
	if itself == nil {
		return collab.Signing{}, accountMissing(acct)
	}
	var it accountItem
	var item signingItem
	if err := itself.Decode(&it); err != nil {
		return collab.Signing{}, err
	}
	err = found[keys.SigningKeys(acct)].Decode(&item)
	a := it.account(acct)
	return collab.Signing{Account: acct, Disabled: a.Disabled, Settings: a.Settings, Keys: item.Keys.Value}, err
}

// RotateSigningKeys adds a signing key to an account, and returns the valid ones. It returns
// NOT_FOUND if the account does not exist.
func (s *Store) RotateSigningKeys(ctx context.Context, acct string) (list []collab.SigningKey, err error) {
	if _, err := s.Account(ctx, acct); err != nil {
		return nil, err
	}
	fresh, err := s.newSigningKey()
	if err != nil {
		return nil, err
	}
	_, err = store.Rewrite(ctx, s.Table, keys.SigningKeys(acct), "the signing keys", func(it *signingItem, _ bool) error {
		list = append([]collab.SigningKey{fresh}, it.Keys.Value...)
		list = list[:min(len(list), signingKeys)]
		it.Keys.Value = list
		return nil
	})
	return list, err
}
