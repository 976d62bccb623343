package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/table"
	"collabdata/shared/tx"
)

// notificationItem is a notification.
type notificationItem struct {
	Body store.Encoded[collab.Notification] `dynamodbav:"body"`
}

func notificationItemOf(org collab.OrganizationRef, n collab.Notification) store.Item {
	return store.ItemOf(table.Notification(org, n.ID), notificationItem{store.Encoded[collab.Notification]{Value: n}})
}

// AddNotification records a notification of an organization with the event that sends it, both or neither. created is false, and
// nothing has changed, when another event has sent a notification with this id. It fails with INVALID_ARGUMENT when the notification is larger
// than collab.MaxItemBytes.
func (s *Store) AddNotification(ctx context.Context, t *tx.Tx, org collab.OrganizationRef, n collab.Notification, ev *collab.Event) (created bool, err error) {
	it := notificationItemOf(org, n)
	if err := store.CheckSize(it, "data"); err != nil {
		return false, err
	}
	it[table.AddedBy] = store.Text(ev.ID)
	refused, err := s.Commit(ctx, t, []store.Write{s.Create(it)}, ev)
	return err == nil && (refused == nil || refused.Of[0].There.Text(table.AddedBy) == ev.ID), err
}

// MakeNotification stores a notification unless there is one with its id.
func (s *Store) MakeNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	_, err := s.PutNew(ctx, notificationItemOf(org, n))
	return err
}

// Notification reads a notification of the organization; NOT_FOUND when it does not exist.
func (s *Store) Notification(ctx context.Context, org collab.OrganizationRef, id string) (collab.Notification, error) {
	_, n, err := s.notification(ctx, org, id)
	return n, err
}

func (s *Store) notification(ctx context.Context, org collab.OrganizationRef, id string) (store.Item, collab.Notification, error) {
	it, err := s.Get(ctx, table.Notification(org, id))
	if err == nil && it == nil {
		err = notificationMissing(org, id)
	}
	var n notificationItem
	if err == nil {
		err = it.Decode(&n)
	}
	return it, n.Body.Value, err
}

func notificationMissing(org collab.OrganizationRef, id string) error {
	return collab.Errorf(collab.NotFound, "notification %q does not exist in organization %q", id, org.Organization)
}
