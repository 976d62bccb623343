package outbox

import (
	"context"
	"encoding/json"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
)

// notificationItem is a notification.
type notificationItem struct {
	Body      store.JSON    `dynamodbav:"body"`
	CreatedAt collab.Millis `dynamodbav:"ca"`
}

// AddNotification records a notification of an organization with the event that sends it, both or neither. created is false, and
// nothing has changed, when another event has sent a notification with this id. It fails with INVALID_ARGUMENT when the notification is larger
// than collab.MaxItemBytes.
func (s *Store) AddNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification, ev *collab.Event) (created bool, err error) {
	it, err := encodeNotification(org, n)
	if err != nil {
		return false, err
	}
	if err := store.CheckSize(it, "data"); err != nil {
		return false, err
	}
	it[table.AddedBy] = store.Text(ev.ID)
	writes, err := s.recordOne(ctx, ev)
	if err != nil {
		return false, err
	}
	refused, err := s.Write(ctx, append([]store.Write{s.Create(it)}, writes...)...)
	return err == nil && (refused == nil || refused.Of[0].There.Text(table.AddedBy) == ev.ID), err
}

func encodeNotification(org collab.OrganizationRef, n collab.Notification) (store.Item, error) {
	k := table.Notification(org.Account, org.Organization, n.ID)
	body, err := collab.EncodeJSON(n)
	if err != nil {
		return nil, store.Unreadable(k, err)
	}
	return store.Encode(k, notificationItem{body, n.CreatedAt})
}

func readNotification(it store.Item) (n collab.Notification, err error) {
	if err := json.Unmarshal([]byte(it.Text(table.Body)), &n); err != nil {
		return n, store.Unreadable(it.Key(), err)
	}
	return n, nil
}

// MakeNotification stores a notification unless there is one with its id.
func (s *Store) MakeNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	it, err := encodeNotification(org, n)
	if err != nil {
		return err
	}
	_, err = s.PutNew(ctx, it)
	return err
}

// Notification reads a notification of the organization; NOT_FOUND when it does not exist.
func (s *Store) Notification(ctx context.Context, org collab.OrganizationRef, id string) (collab.Notification, error) {
	it, err := s.Get(ctx, table.Notification(org.Account, org.Organization, id))
	if err != nil {
		return collab.Notification{}, err
	}
	if it == nil {
		return collab.Notification{}, collab.Errorf(collab.NotFound, "notification %q does not exist in organization %q", id, org.Organization)
	}
	return readNotification(it)
}
