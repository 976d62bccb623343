package directory

import (
	"context"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Preferences returns a user's preferences for each of the documents, in their order: see collab.EffectivePreferences. The documents need
// not exist. Strongly consistent.
func (s *Store) Preferences(
	ctx context.Context, org collab.OrganizationRef, user string, documents []string,
) ([]collab.Preferences, error) {
	list, err := s.toBe(ctx, org, documents)
	if err != nil {
		return nil, err
	}
	return s.preferences(ctx, len(list), true, func(i int) (string, collab.DocumentRef) { return user, list[i] })
}

// UserPreferences returns the preferences of each of the users for a document, by user id, as Preferences does, but eventually consistent.
func (s *Store) UserPreferences(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]collab.Preferences, error) {
	list, err := s.preferences(ctx, len(users), false, func(i int) (string, collab.DocumentRef) { return users[i], doc })
	if err != nil {
		return nil, err
	}
	all := make(map[string]collab.Preferences, len(users))
	for i, u := range users {
		all[u] = list[i]
	}
	return all, nil
}

// preferences returns n effective preferences, each of a user and for a document.
func (s *Store) preferences(
	ctx context.Context, n int, strong bool, of func(i int) (user string, doc collab.DocumentRef),
) ([]collab.Preferences, error) {
	itemKeys := make([]keys.Key, 0, 2*n)
	for i := range n {
		user, doc := of(i)
		itemKeys = append(itemKeys, keys.Preference(doc, user), keys.OrganizationPreference(doc.OrganizationRef, user))
	}
	found, err := s.GetAll(ctx, itemKeys, strong)
	if err != nil {
		return nil, err
	}
	list := make([]collab.Preferences, n)
	for i := range n {
		var document, organization collab.Preferences
		if err := errors.Join(found[itemKeys[2*i]].Decode(&document), found[itemKeys[2*i+1]].Decode(&organization)); err != nil {
			return nil, err
		}
		list[i] = collab.EffectivePreferences(document, organization)
	}
	return list, nil
}

// toBe returns documents of an organization, in their order, as they are, or as they will be once they are added.
func (s *Store) toBe(ctx context.Context, org collab.OrganizationRef, ids []string) ([]collab.DocumentRef, error) {
	var itemKeys []keys.Key
	list := make([]collab.DocumentRef, len(ids))
	for i, id := range ids {
		list[i] = org.Document(id)
		k := documentKey(list[i])
		if n, known := s.known.Get(k, s.Now()); known {
			list[i].Incarnation = n
		} else {
			itemKeys = append(itemKeys, k)
		}
	}
	found, err := s.GetAll(ctx, itemKeys, false)
	for i := range list {
		if it := found[documentKey(list[i])]; it != nil && err == nil {
			var of collab.Lifetime
			err = it.Decode(&of)
			list[i].Incarnation = of.Next()
		}
	}
	return list, err
}

// OrganizationPreferences returns a user's preferences for the organization, or the default. Strongly consistent.
func (s *Store) OrganizationPreferences(ctx context.Context, org collab.OrganizationRef, user string) (collab.Preferences, error) {
	p, _, err := store.Read[collab.Preferences](ctx, s.Table, keys.OrganizationPreference(org, user))
	return collab.EffectivePreferences(collab.Preferences{}, p), err
}

// SetPreferences writes the preferences of each of the users for each of the documents, or for the organization when documents is nil. A
// channel that has none falls back. The last writer wins. Where it fails, some may be written.
func (s *Store) SetPreferences(ctx context.Context, org collab.OrganizationRef, users, documents []string, p collab.Preferences) error {
	var itemKeys []keys.Key
	docs, err := s.toBe(ctx, org, documents)
	if err != nil {
		return err
	}
	for _, u := range users {
		if documents == nil {
			itemKeys = append(itemKeys, keys.OrganizationPreference(org, u))
		}
		for _, d := range docs {
			itemKeys = append(itemKeys, keys.Preference(d, u))
		}
	}
	return store.Each(ctx, len(itemKeys), func(ctx context.Context, i int) error { return s.Put(ctx, store.ItemOf(itemKeys[i], p)) })
}
