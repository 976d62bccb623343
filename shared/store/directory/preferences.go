package directory

import (
	"context"
	"errors"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Preferences returns a user's effective preferences for each document, in order: see
// collab.EffectivePreferences. The documents need not exist. It reads with strong consistency.
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

// UserPreferences returns the preferences that users have set for a document and its organization,
// by user id. It reads with eventual consistency.
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

// PreferencesOf returns the preferences that n pairs of a user and a document have, with eventual
// consistency.
func (s *Store) PreferencesOf(
	ctx context.Context, n int, at func(i int) (user string, doc collab.DocumentRef),
) ([]collab.PreferencesSet, error) {
	return s.preferences(ctx, n, false, at)
}

func (s *Store) preferences(
	ctx context.Context, n int, strong bool, at func(i int) (user string, doc collab.DocumentRef),
) ([]collab.PreferencesSet, error) {
	itemKeys := make([]keys.Key, 0, 2*n)
	for i := range n {
		user, doc := at(i)
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
		if _, doc := at(i); document.Incarnation != 0 && document.Incarnation != doc.Incarnation {
			document.Preferences = collab.Preferences{}
		}
		list[i] = collab.PreferencesSet{Document: document.Preferences, Organization: organization.Preferences, Mail: organization.MailTimes}
	}
	return list, nil
}

// preferenceItem is the item of a preference for a document. Its incarnation is the document's, so
// that a deletion voids it. 0 means that the document did not exist yet: it applies to any document
// with the id.
type preferenceItem struct {
	collab.Preferences
	Incarnation int64 `dynamodbav:"inc,omitempty"`
}

type organizationPreferenceItem struct {
	collab.Preferences
	collab.MailTimes
}

// refs returns references of documents, in order. The incarnation of a missing document is 0.
func (s *Store) refs(ctx context.Context, org collab.OrganizationRef, ids []string) ([]collab.DocumentRef, error) {
	var itemKeys []keys.Key
	list := make([]collab.DocumentRef, len(ids))
	for i, id := range ids {
		list[i] = org.Document(id)
		k := documentKey(list[i])
		if last, ok := s.cached.Get(k, s.Now()); ok {
			list[i].Incarnation = last.incarnation
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

// OrganizationPreferences returns a user's preferences for the organization, with defaults, and the
// user's email times. It reads with strong consistency.
func (s *Store) OrganizationPreferences(ctx context.Context, org collab.OrganizationRef, user string) (collab.Preferences, collab.MailTimes, error) {
	p, _, err := store.Read[organizationPreferenceItem](ctx, s.Table, keys.OrganizationPreference(org, user))
	return collab.EffectivePreferences(collab.Preferences{}, p.Preferences), p.MailTimes, err
}

// SetMailTimes sets the email times of users of an organization. After an error, some may be set.
func (s *Store) SetMailTimes(ctx context.Context, org collab.OrganizationRef, users []string, m collab.MailTimes) error {
	return store.Each(ctx, len(users), func(ctx context.Context, i int) error {
		_, err := s.setPreference(ctx, keys.OrganizationPreference(org, users[i]), m, false)
		return err
	})
}

// ChangeMailTimes changes the email times of users of an organization. After an error, some may be
// changed.
func (s *Store) ChangeMailTimes(
	ctx context.Context, org collab.OrganizationRef, users []string, change func(user string, times collab.MailTimes) collab.MailTimes,
) error {
	list, err := s.preferences(ctx, len(users), true, func(i int) (string, collab.DocumentRef) { return users[i], org.Document("") })
	if err != nil {
		return err
	}
	return store.Each(ctx, len(users), func(ctx context.Context, i int) error {
		_, err := s.setPreference(ctx, keys.OrganizationPreference(org, users[i]), change(users[i], list[i].Mail), false)
		return err
	})
}

// setPreference sets the attributes of a struct in an item, and removes the empty ones, except
// further channels if keepFurther is true. Other attributes are kept.
func (s *Store) setPreference(
	ctx context.Context, k keys.Key, v any, keepFurther bool, conditions ...expression.ConditionBuilder,
) (*store.Refusal, error) {
	update := expression.Set(expression.Name(keys.LastUpdated), expression.Value(s.Millis()))
	it := store.ItemOf(k, v)
	for _, name := range store.AttributesOf(v) {
		switch value := it[name]; {
		case name == keys.Channels && keepFurther:
		case value != nil:
			update = update.Set(expression.Name(name), expression.Value(value))
		default:
			update = update.Remove(expression.Name(name))
		}
	}
	return s.Write(ctx, store.Update(k, update, conditions...))
}

// ListPreferences returns up to limit preferences that users have set, those for the organization
// first, after a position. next is the position to continue at, nil at the end. It reads with
// strong consistency.
func (s *Store) ListPreferences(
	ctx context.Context, org collab.OrganizationRef, at collab.PreferencePosition, limit int,
) (list []collab.UserPreferences, next *collab.PreferencePosition, err error) {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Preferences), Limit: limit, Strong: true}
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

// SetPreferences sets the preferences of each user for each document, or for the organization if
// documents is nil. An empty channel falls back to the default; if p.Further is nil, further
// channels are kept. The last writer wins; email times are kept. After an error, some may be set.
func (s *Store) SetPreferences(ctx context.Context, org collab.OrganizationRef, users, documents []string, p collab.Preferences) error {
	docs, err := s.refs(ctx, org, documents)
	if err != nil {
		return err
	}
	each := max(len(docs), 1)
	return store.Each(ctx, len(users)*each, func(ctx context.Context, i int) error {
		u := users[i/each]
		if documents == nil {
			_, err := s.setPreference(ctx, keys.OrganizationPreference(org, u), preferenceItem{Preferences: p}, p.Further == nil)
			return err
		}
		d := docs[i%each]
		k, it := keys.Preference(org, d.Document, u), preferenceItem{p, d.Incarnation}
		if p.Further == nil {
			refused, err := s.setPreference(ctx, k, it, true, expression.Name(keys.Incarnation).AttributeNotExists().
				Or(expression.Name(keys.Incarnation).Equal(expression.Value(d.Incarnation))))
			if err != nil || refused == nil {
				return err
			} // otherwise its further channels are those of a deleted document
		}
		_, err := s.setPreference(ctx, k, it, false)
		return err
	})
}
