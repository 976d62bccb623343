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
	All  bool                               `dynamodbav:"all,omitempty"` // it is for everyone of the organization
	To   []string                           `dynamodbav:"to,omitempty"`  // whom it is for, collab.MaxTold at most
}

func notificationItemOf(org collab.OrganizationRef, n collab.Notification, all bool, to []string) store.Item {
	return store.ItemOf(table.Notification(org, n.ID), notificationItem{store.Encoded[collab.Notification]{Value: n}, all, to[:min(len(to), collab.MaxTold)]})
}

// list puts a notification into the list of its document: ahead of it, so that it is never without. What it points to may not come to be.
func (s *Store) list(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	return s.Put(ctx, store.NewItem(table.DocumentNotification(n.Document(org), n.CreatedAt, n.ID)))
}

// AddNotification records a notification of an organization with the event that sends it, both or neither. created is false, and
// nothing has changed, when another event has sent a notification with this id. It fails with INVALID_ARGUMENT when the notification is larger
// than collab.MaxItemBytes.
func (s *Store) AddNotification(ctx context.Context, t *tx.Tx, org collab.OrganizationRef, n collab.Notification, ev *collab.Event) (created bool, err error) {
	var to []string
	for _, u := range ev.People {
		to = append(to, u.UserID)
	}
	it := notificationItemOf(org, n, ev.NotifyAll, to)
	if err := store.CheckSize(it, "data"); err != nil {
		return false, err
	}
	if err := s.list(ctx, org, n); err != nil {
		return false, err
	}
	it[table.AddedBy] = store.Text(ev.ID)
	refused, err := s.Commit(ctx, t, []store.Write{store.Create(it)}, ev)
	return err == nil && (refused == nil || refused.Of[0].There.Text(table.AddedBy) == ev.ID), err
}

// MakeNotification stores a notification for users unless there is one with its id.
func (s *Store) MakeNotification(ctx context.Context, org collab.OrganizationRef, n collab.Notification, to ...string) error {
	if err := s.list(ctx, org, n); err != nil {
		return err
	}
	_, err := s.Create(ctx, notificationItemOf(org, n, false, to))
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
