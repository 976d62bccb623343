package store

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// AddNotification records a notification of an organization with the event that sends it, both or neither. created is false, and
// nothing has changed, when a notification with this id is there.
func (s *Store) AddNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification, ev *collab.Event) (created bool, err error) {
	it, err := notificationItem(org, n)
	if err != nil {
		return false, fail(ctx, err)
	}
	if err := checkSize(it, "the notification"); err != nil {
		return false, err
	}
	outbox, err := s.record(ctx, events(ev))
	if err != nil {
		return false, err
	}
	refused, err := s.transact(ctx, append([]types.TransactWriteItem{putNew(s.table, it)}, outbox...))
	if err != nil {
		return false, err
	}
	return refused == nil, nil
}

func notificationItem(org collab.OrganizationRef, n collab.Notification) (item, error) {
	body, err := json.Marshal(n)
	it := newItem(table.Notification(org.Account, org.Organization, n.ID))
	it[table.Body] = str(string(body))
	it.setNum(table.CreatedAt, n.CreatedAt)
	return it, err
}

// Notification reads a notification of the organization; NOT_FOUND when it does not exist.
func (s *Store) Notification(ctx context.Context, org collab.OrganizationRef, id string) (collab.Notification, error) {
	var n collab.Notification
	it, err := s.get(ctx, table.Notification(org.Account, org.Organization, id))
	if err != nil {
		return n, err
	}
	if it == nil {
		return n, collab.Errorf(collab.NotFound, "notification %q does not exist in organization %q", id, org.Organization)
	}
	return n, fail(ctx, json.Unmarshal(it.json(table.Body), &n))
}

// Preferences returns a user's preferences for each of the documents, in their order: the document's, else the organization's, else
// collab.DefaultPreferences, for each channel by itself. Strongly consistent. The documents need not exist.
func (s *Store) Preferences(ctx context.Context, org collab.OrganizationRef, user string, documents []string) ([]collab.Preferences, error) {
	orgKey := table.OrganizationPreference(org.Account, org.Organization, user)
	keys := []table.Key{orgKey}
	for _, d := range documents {
		keys = append(keys, table.Preference(org.Account, org.Organization, user, d))
	}
	found, err := s.getAll(ctx, keys, true)
	if err != nil {
		return nil, err
	}
	list := make([]collab.Preferences, len(documents))
	for i := range documents {
		list[i] = collab.DefaultPreferences
		for _, k := range []table.Key{orgKey, keys[i+1]} {
			if v := found[k].text(table.Inbox); v != "" {
				list[i].Inbox = collab.Preference(v)
			}
			if v := found[k].text(table.Mail); v != "" {
				list[i].Email = collab.Preference(v)
			}
		}
	}
	return list, nil
}

// SetPreferences writes a user's preferences for a document, or for the organization when document is "". A channel that is "" has
// none: it falls back.
func (s *Store) SetPreferences(ctx context.Context, org collab.OrganizationRef, user, document string, p collab.Preferences) error {
	k := table.OrganizationPreference(org.Account, org.Organization, user)
	if document != "" {
		k = table.Preference(org.Account, org.Organization, user, document)
	}
	it := newItem(k)
	it.setText(table.Inbox, string(p.Inbox))
	it.setText(table.Mail, string(p.Email))
	return s.put(ctx, it)
}
