package accounts

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store"
)

// mailSecretItem is the item of the secret that signs an account's tokens to unsubscribe.
type mailSecretItem struct {
	Secret []byte `dynamodbav:"seed"`
}

// MailSecret returns the secret that signs an account's tokens to unsubscribe; nil where it has none yet.
func (s *Store) MailSecret(ctx context.Context, acct string) ([]byte, error) {
	kept, _, err := store.Read[mailSecretItem](ctx, s.Table, keys.MailSecret(acct))
	return kept.Secret, err
}

// KeepMailSecret stores an account's secret unless it has one, and returns the stored one.
func (s *Store) KeepMailSecret(ctx context.Context, acct string, secret []byte) ([]byte, error) {
	there, err := s.Create(ctx, store.ItemOf(keys.MailSecret(acct), mailSecretItem{secret}))
	if err != nil || there == nil {
		return secret, err
	}
	var kept mailSecretItem
	err = there.Decode(&kept)
	return kept.Secret, err
}

// unsubscribedItem is since when a user or an address gets no mail.
type unsubscribedItem struct {
	At collab.Millis `dynamodbav:"ca"`
}

// Unsubscribed returns, by user id, which users of an organization get no mail: those who unsubscribed, and those whose address was
// unsubscribed, as any user of the account. Eventually consistent.
func (s *Store) Unsubscribed(ctx context.Context, org collab.OrganizationRef, users []collab.User) (map[string]bool, error) {
	var itemKeys []keys.Key
	for _, u := range users {
		itemKeys = append(itemKeys, unsubscribedKeys(unsubscribe.Recipient{
			Account: org.Account, Organization: org.Organization, User: u.UserID, Email: collab.Deref(u.Email),
		})...)
	}
	found, err := s.GetAll(ctx, itemKeys, false)
	if err != nil {
		return nil, err
	}
	off := map[string]bool{}
	for i, u := range users {
		if found[itemKeys[2*i]] != nil || found[itemKeys[2*i+1]] != nil {
			off[u.UserID] = true
		}
	}
	return off, nil
}

// Unsubscribe ends the mails to a user of the organization, and to the user's address in the whole account. A repeat changes nothing.
func (s *Store) Unsubscribe(ctx context.Context, r unsubscribe.Recipient) error {
	return s.eachUnsubscribed(ctx, r, func(ctx context.Context, k keys.Key) error {
		_, err := s.Create(ctx, store.ItemOf(k, unsubscribedItem{s.Millis()}))
		return err
	})
}

// Resubscribe undoes Unsubscribe. A repeat changes nothing.
func (s *Store) Resubscribe(ctx context.Context, r unsubscribe.Recipient) error {
	return s.eachUnsubscribed(ctx, r, s.Delete)
}

func (s *Store) eachUnsubscribed(ctx context.Context, r unsubscribe.Recipient, f func(context.Context, keys.Key) error) error {
	itemKeys := unsubscribedKeys(r)
	return store.Each(ctx, len(itemKeys), func(ctx context.Context, i int) error { return f(ctx, itemKeys[i]) })
}

// unsubscribedKeys are the keys of the user and of the address.
func unsubscribedKeys(r unsubscribe.Recipient) []keys.Key {
	return []keys.Key{keys.UnsubscribedUser(r.Account, r.Organization, r.User), keys.UnsubscribedAddress(r.Account, r.Address().String())}
}
