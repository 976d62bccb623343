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

// Unsubscription is a user or an address without mails, and since when.
type Unsubscription struct {
	User    string // of the organization; "" for an address
	Address string // hash of an address, which gets no mail of the account; "" for a user
	At      collab.Millis
}

func (u Unsubscription) key(acct, organization string) keys.Key {
	if u.User != "" {
		return keys.UnsubscribedUser(acct, organization, u.User)
	}
	return keys.UnsubscribedAddress(acct, u.Address)
}

// ListUnsubscribed returns at most most of the unsubscribed users of an organization, or of the
// unsubscribed addresses of its account, after a sort key, "" for the first, and the sort key after
// which others follow, "" for none. Strongly consistent.
func (s *Store) ListUnsubscribed(
	ctx context.Context, acct, organization string, addresses bool, after string, most int,
) (list []Unsubscription, next string, err error) {
	beginning := keys.UnsubscribedUser(acct, organization, "")
	if addresses {
		beginning = keys.UnsubscribedAddress(acct, "")
	}
	items, more, err := s.QueryPage(ctx, store.Scan{
		PK: beginning.PK, Keys: store.Children(beginning.SK).After(after), Limit: most, Strong: true,
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

// RestoreUnsubscribed ends the mails to a user or an address as of a time, unless they ended
// before. It reports whether it did.
func (s *Store) RestoreUnsubscribed(ctx context.Context, acct, organization string, u Unsubscription) (bool, error) {
	there, err := s.Create(ctx, store.ItemOf(u.key(acct, organization), unsubscribedItem{u.At}))
	return there == nil, err
}

func (s *Store) eachUnsubscribed(ctx context.Context, r unsubscribe.Recipient, f func(context.Context, keys.Key) error) error {
	itemKeys := unsubscribedKeys(r)
	return store.Each(ctx, len(itemKeys), func(ctx context.Context, i int) error { return f(ctx, itemKeys[i]) })
}

// unsubscribedKeys are the keys of the user and of the address.
func unsubscribedKeys(r unsubscribe.Recipient) []keys.Key {
	return []keys.Key{keys.UnsubscribedUser(r.Account, r.Organization, r.User), keys.UnsubscribedAddress(r.Account, r.Address().String())}
}
