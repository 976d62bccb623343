package accounts

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/store"
)

type mailSecretItem struct {
	Secret []byte `dynamodbav:"seed"`
}

// MailSecret returns the secret that signs an account's unsubscribe tokens, nil if it has none yet.
func (s *Store) MailSecret(ctx context.Context, acct string) ([]byte, error) {
	item, _, err := store.Read[mailSecretItem](ctx, s.Table, keys.MailSecret(acct))
	return item.Secret, err
}

// KeepMailSecret stores an account's secret unless it has one, and returns the stored one.
func (s *Store) KeepMailSecret(ctx context.Context, acct string, secret []byte) ([]byte, error) {
	existing, err := s.Create(ctx, store.ItemOf(keys.MailSecret(acct), mailSecretItem{secret}))
	if err != nil || existing == nil {
		return secret, err
	}
	var item mailSecretItem
	err = existing.Decode(&item)
	return item.Secret, err
}

type unsubscribedItem struct {
	At collab.Millis `dynamodbav:"ca"`
}

// Unsubscribed returns, by user id, which users of an organization receive no emails, because they
// unsubscribed or because their address was unsubscribed in the account. It reads with eventual
// consistency.
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

// Unsubscribe stops emails to a user of the organization, and to the user's address in the whole
// account. It is idempotent.
func (s *Store) Unsubscribe(ctx context.Context, r unsubscribe.Recipient) error {
	return s.eachUnsubscribed(ctx, r, func(ctx context.Context, k keys.Key) error {
		_, err := s.Create(ctx, store.ItemOf(k, unsubscribedItem{s.Millis()}))
		return err
	})
}

// Resubscribe undoes Unsubscribe. It is idempotent.
func (s *Store) Resubscribe(ctx context.Context, r unsubscribe.Recipient) error {
	return s.eachUnsubscribed(ctx, r, s.Delete)
}

// Unsubscription is an unsubscribed user or address, and the time of unsubscribing.
type Unsubscription struct {
	User    string // in the organization; "" for an address
	Address string // hash of an address of the account; "" for a user
	At      collab.Millis
}

func (u Unsubscription) key(acct, organization string) keys.Key {
	if u.User != "" {
		return keys.UnsubscribedUser(acct, organization, u.User)
	}
	return keys.UnsubscribedAddress(acct, u.Address)
}

// ListUnsubscribed returns up to limit unsubscribed users of an organization, or unsubscribed
// addresses of its account. after and next are sort keys, "" for the first page and after the last.
// It reads with strong consistency.
func (s *Store) ListUnsubscribed(
	ctx context.Context, acct, organization string, addresses bool, after string, limit int,
) (list []Unsubscription, next string, err error) {
	beginning := keys.UnsubscribedUser(acct, organization, "")
	if addresses {
		beginning = keys.UnsubscribedAddress(acct, "")
	}
	items, more, err := s.QueryPage(ctx, store.Scan{
		PK: beginning.PK, Keys: store.Children(beginning.SK).After(after), Limit: limit, Strong: true,
	})
	for _, it := range items {
		id, err := store.LastPart(it, beginning.SK)
		if err != nil {
			return nil, "", err
		}
		u := Unsubscription{User: id, At: it.Number(keys.CreatedAt)}
		if addresses {
			u.User, u.Address = "", id
		}
		list, next = append(list, u), it.Text(keys.SK)
	}
	if !more {
		next = ""
	}
	return list, next, err
}

// RestoreUnsubscribed stores an unsubscription with its time unless one exists. It reports whether
// it did.
func (s *Store) RestoreUnsubscribed(ctx context.Context, acct, organization string, u Unsubscription) (bool, error) {
	existing, err := s.Create(ctx, store.ItemOf(u.key(acct, organization), unsubscribedItem{u.At}))
	return existing == nil, err
}

func (s *Store) eachUnsubscribed(ctx context.Context, r unsubscribe.Recipient, f func(context.Context, keys.Key) error) error {
	itemKeys := unsubscribedKeys(r)
	return store.Each(ctx, len(itemKeys), func(ctx context.Context, i int) error { return f(ctx, itemKeys[i]) })
}

func unsubscribedKeys(r unsubscribe.Recipient) []keys.Key {
	return []keys.Key{keys.UnsubscribedUser(r.Account, r.Organization, r.User), keys.UnsubscribedAddress(r.Account, r.Address().String())}
}
