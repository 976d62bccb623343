package directory

import (
	"context"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Preferences returns a user's preferences for each of the documents, in their order: see collab.EffectivePreferences. The documents need
// not exist. Strongly consistent.
func (s *Store) Preferences(
	ctx context.Context, org collab.OrganizationRef, user string, documents []string,
) ([]collab.Preferences, error) {
	list, err := s.refs(ctx, org, documents)
	if err != nil {
		return nil, err
	}
	set, err := s.preferences(ctx, len(list), true, func(i int) (string, collab.DocumentRef) { return user, list[i] })
	return collab.Map(set, collab.PreferencesSet.Effective), err
}

// UserPreferences returns what each of the users has set for a document and its organization, by user id. Eventually consistent.
func (s *Store) UserPreferences(
	ctx context.Context, doc collab.DocumentRef, users []string,
) (map[string]collab.PreferencesSet, error) {
	list, err := s.PreferencesOf(ctx, len(users), func(i int) (string, collab.DocumentRef) { return users[i], doc })
	if err != nil {
		return nil, err
	}
	all := make(map[string]collab.PreferencesSet, len(users))
	for i, u := range users {
		all[u] = list[i]
	}
	return all, nil
}

// PreferencesOf returns what n users have set, each for a document. Eventually consistent.
func (s *Store) PreferencesOf(
	ctx context.Context, n int, of func(i int) (user string, doc collab.DocumentRef),
) ([]collab.PreferencesSet, error) {
	return s.preferences(ctx, n, false, of)
}

// preferences returns what users have set, each for a document.
func (s *Store) preferences(
	ctx context.Context, n int, strong bool, of func(i int) (user string, doc collab.DocumentRef),
) ([]collab.PreferencesSet, error) {
	itemKeys := make([]keys.Key, 0, 2*n)
	for i := range n {
		user, doc := of(i)
		itemKeys = append(itemKeys, keys.Preference(doc.OrganizationRef, doc.Document, user), keys.OrganizationPreference(doc.OrganizationRef, user))
	}
	found, err := s.GetAll(ctx, itemKeys, strong)
	if err != nil {
		return nil, err
	}
	list := make([]collab.PreferencesSet, n)
	for i := range n {
		var document preferenceItem
		var organization organizationPreferenceItem
		if err := errors.Join(found[itemKeys[2*i]].Decode(&document), found[itemKeys[2*i+1]].Decode(&organization)); err != nil {
			return nil, err
		}
		if _, doc := of(i); document.Incarnation != 0 && document.Incarnation != doc.Incarnation {
			document.Preferences = collab.Preferences{}
		}
		list[i] = collab.PreferencesSet{Document: document.Preferences, Organization: organization.Preferences, Mail: organization.MailTimes}
	}
	return list, nil
}

// preferenceItem is the item of a preference for a document. Its incarnation is that of the document that was there: once that is deleted,
// the preference is none. 0 is that of a preference that came before the document: it holds for whatever gets the id.
type preferenceItem struct {
	collab.Preferences
	Incarnation int64 `dynamodbav:"inc,omitempty"`
}

// organizationPreferenceItem is the item of a preference for an organization.
type organizationPreferenceItem struct {
	collab.Preferences
	collab.MailTimes
}

// refs returns documents of an organization, in their order. One that is not there has no incarnation.
func (s *Store) refs(ctx context.Context, org collab.OrganizationRef, ids []string) ([]collab.DocumentRef, error) {
	var itemKeys []keys.Key
	list := make([]collab.DocumentRef, len(ids))
	for i, id := range ids {
		list[i] = org.Document(id)
		k := documentKey(list[i])
		if n, known := s.cached.Get(k, s.Now()); known {
			list[i].Incarnation = n
		} else {
			itemKeys = append(itemKeys, k)
		}
	}
	found, err := s.GetAll(ctx, itemKeys, false)
	for i := range list {
		if it := found[documentKey(list[i])]; it != nil && it[keys.DeletedAt] == nil {
			list[i].Incarnation = it.Number(keys.Incarnation)
		}
	}
	return list, err
}

// OrganizationPreferences returns a user's preferences for the organization, or the default, and when the user gets mails. Strongly consistent.
func (s *Store) OrganizationPreferences(ctx context.Context, org collab.OrganizationRef, user string) (collab.Preferences, collab.MailTimes, error) {
	p, _, err := store.Read[organizationPreferenceItem](ctx, s.Table, keys.OrganizationPreference(org, user))
	return collab.EffectivePreferences(collab.Preferences{}, p.Preferences), p.MailTimes, err
}

// SetMailTimes says when users of an organization get mails. Where it fails, it may hold for some.
func (s *Store) SetMailTimes(ctx context.Context, org collab.OrganizationRef, users []string, m collab.MailTimes) error {
	return store.Each(ctx, len(users), func(ctx context.Context, i int) error {
		return s.setPreference(ctx, keys.OrganizationPreference(org, users[i]), m)
	})
}

// setPreference sets the attributes of a struct in an item, and removes those that it leaves out. Others stay.
func (s *Store) setPreference(ctx context.Context, k keys.Key, v any) error {
	update := expression.Set(expression.Name(keys.LastUpdated), expression.Value(s.Millis()))
	it := store.ItemOf(k, v)
	for _, name := range store.AttributesOf(v) {
		if value := it[name]; value != nil {
			update = update.Set(expression.Name(name), expression.Value(value))
		} else {
			update = update.Remove(expression.Name(name))
		}
	}
	_, err := s.Write(ctx, store.Update(k, update))
	return err
}

// ListPreferences returns at most most of the preferences that users have set, those for the organization first, after a position, the zero
// one for the beginning, and the one after which others follow, nil for none. Strongly consistent.
func (s *Store) ListPreferences(
	ctx context.Context, org collab.OrganizationRef, at collab.PreferencePosition, most int,
) (list []collab.UserPreferences, next *collab.PreferencePosition, err error) {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Preferences), Limit: most, Strong: true}
	if at.Documents {
		q.PK, q.Keys = keys.PreferencePartition(org), store.Everything
	}
	q.Keys = q.Keys.After(at.After)
	items, more, err := s.QueryPage(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	found := make([]struct {
		preferenceItem
		collab.MailTimes
	}, len(items))
	documents := make([]string, len(items))
	users := make([]string, len(items))
	for i, it := range items {
		if err := it.Decode(&found[i]); err != nil {
			return nil, nil, err
		}
		at.After = it.Text(keys.SK)
		parts, err := keys.Split(at.After)
		if err != nil || len(parts) != 2 {
			return nil, nil, store.Unreadable(it.Key(), err)
		}
		documents[i], users[i] = parts[0], parts[1]
	}
	var current []collab.DocumentRef
	if at.Documents {
		if current, err = s.refs(ctx, org, documents); err != nil {
			return nil, nil, err
		}
	}
	for i, p := range found {
		u := collab.UserPreferences{User: users[i], Preferences: p.Preferences, Mail: p.MailTimes}
		if at.Documents {
			u.Document = documents[i]
		}
		if !at.Documents || p.Incarnation == 0 || p.Incarnation == current[i].Incarnation {
			list = append(list, u)
		}
	}
	switch {
	case more:
		next = &at
	case !at.Documents:
		next = &collab.PreferencePosition{Documents: true}
	}
	return list, next, nil
}

// SetPreferences writes the preferences of each of the users for each of the documents, or for the organization when documents is nil. A
// channel that has none falls back. The last writer wins; when a user gets mails stays. Where it fails, some may be written.
func (s *Store) SetPreferences(ctx context.Context, org collab.OrganizationRef, users, documents []string, p collab.Preferences) error {
	docs, err := s.refs(ctx, org, documents)
	if err != nil {
		return err
	}
	each := max(len(docs), 1)
	return store.Each(ctx, len(users)*each, func(ctx context.Context, i int) error {
		u := users[i/each]
		if documents == nil {
			return s.setPreference(ctx, keys.OrganizationPreference(org, u), p)
		}
		d := docs[i%each]
		return s.setPreference(ctx, keys.Preference(org, d.Document, u), preferenceItem{p, d.Incarnation})
	})
}
