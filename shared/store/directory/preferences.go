package directory

import (
	"context"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Preferences returns a user's preferences for each of the documents, in their order: see collab.EffectivePreferences. The documents need
// not exist. Strongly consistent.
func (s *Store) Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error) {
	return s.preferences(ctx, org, len(documents), true, func(i int) (string, string) { return user, documents[i] })
}

// UserPreferences returns the preferences of each of the users for a document, by user id, as Preferences does, but eventually consistent.
func (s *Store) UserPreferences(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]collab.Preferences, error) {
	list, err := s.preferences(ctx, doc.OrganizationRef, len(users), false, func(i int) (string, string) { return users[i], doc.Document })
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
	ctx context.Context, org collab.OrganizationRef, n int, strong bool, of func(i int) (user, document string),
) ([]collab.Preferences, error) {
	keys := make([]table.Key, 0, 2*n)
	for i := range n {
		user, document := of(i)
		keys = append(keys, preferenceKey(org, user, document), preferenceKey(org, user, ""))
	}
	found, err := s.GetAll(ctx, keys, strong)
	if err != nil {
		return nil, err
	}
	list := make([]collab.Preferences, n)
	for i := range n {
		var document, organization collab.Preferences
		if err := errors.Join(found[keys[2*i]].Decode(&document), found[keys[2*i+1]].Decode(&organization)); err != nil {
			return nil, err
		}
		list[i] = collab.EffectivePreferences(document, organization)
	}
	return list, nil
}

// preferenceKey is the key of a user's preferences for a document, or for the organization when document is "".
func preferenceKey(org collab.OrganizationRef, user, document string) table.Key {
	if document == "" {
		return table.OrganizationPreference(org.Account, org.Organization, user)
	}
	return table.Preference(org.Account, org.Organization, user, document)
}

// SetPreferences writes a user's preferences for a document, or for the organization when document is "". A channel that is "" has
// none: it falls back. The last writer wins.
func (s *Store) SetPreferences(ctx context.Context, org collab.OrganizationRef, user, document string, p collab.Preferences) error {
	update := expression.
		Set(expression.Name(table.Inbox), expression.Value(p.Inbox)).
		Set(expression.Name(table.Mail), expression.Value(p.Email))
	_, err := s.Write(ctx, s.Update(preferenceKey(org, user, document), update))
	return err
}
