package inbox

import (
	"context"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// notificationItem is a notification.
type notificationItem struct {
	Body store.Encoded[collab.Notification] `dynamodbav:"body"`
	audience
}

// audience is whom a notification is for. The notification's item has one; further users are in items next to it. Everyone who has a
// pointer to the notification, or did something with it, is in one of them.
type audience struct {
	All bool     `dynamodbav:"all,omitempty"` // everyone of the organization
	To  []string `dynamodbav:"to,omitempty"`  // collab.MaxAudience at most
}

func notificationItemOf(org collab.OrganizationRef, n collab.Notification, all bool, to []string) store.Item {
	return store.ItemOf(keys.Notification(org, n.ID),
		notificationItem{store.Encoded[collab.Notification]{Value: n}, audience{all, to[:min(len(to), collab.MaxAudience)]}})
}

// listed is the item of a notification in the list of its document.
func listed(org collab.OrganizationRef, n collab.Notification) store.Item {
	return store.NewItem(keys.DocumentNotification(n.Document(org), n.CreatedAt, n.ID))
}

// AddNotification records a notification and the event that sends it in one transaction. created is false, and nothing has changed, when
// another event has sent a notification with this id. It fails with INVALID_ARGUMENT when the notification is larger than
// collab.MaxItemBytes.
func (s *Store) AddNotification(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, n collab.Notification, ev *collab.Event,
) (created bool, err error) {
	var to []string
	for _, u := range ev.People {
		to = append(to, u.UserID)
	}
	it := notificationItemOf(org, n, ev.NotifyAll, to)
	if err := store.CheckSize(it, "data"); err != nil {
		return false, err
	}
	it[keys.AddedBy] = store.Text(ev.ID)
	refused, err := s.outbox.Commit(ctx, req, []store.Write{store.Create(it), store.Put(listed(org, n))}, ev)
	return err == nil && (refused == nil || refused.Of[0].There.Text(keys.AddedBy) == ev.ID), err
}

// AddAudience records that the notification of an event is for users, at most collab.MaxAudience, and adds the notification where the event
// brought none of its own. It must come before AddToInbox. It reports false, and leaves nothing, where the notification was deleted.
func (s *Store) AddAudience(
	ctx context.Context, org collab.OrganizationRef, n collab.Notification, event string, users ...string,
) (bool, error) {
	k, further := keys.Notification(org, n.ID), keys.Audience(org, n.CreatedAt, n.ID, strings.Join(users[:min(len(users), 1)], ""))
	own := n.ID != event
	var there store.Item
	var err error
	if own {
		if there, err = s.Get(ctx, k); err != nil || there.Text(keys.AddedBy) != event {
			return false, err
		}
	} else {
		if err := s.Put(ctx, listed(org, n)); err != nil { // before the notification, which is never missing in the list
			return false, err
		}
		if there, err = s.Create(ctx, notificationItemOf(org, n, false, users)); err != nil {
			return false, err
		}
	}
	var known audience
	if err := there.Decode(&known); err != nil {
		return false, err
	}
	if there != nil && slices.ContainsFunc(users, func(u string) bool { return !slices.Contains(known.To, u) }) {
		if err := s.Put(ctx, store.ItemOf(further, audience{To: users})); err != nil {
			return false, err
		}
	}
	if own {
		return true, nil
	}
	deleted, err := s.Withdrawn(ctx, collab.EventRef{Account: org.Account, ID: event})
	if !deleted || err != nil {
		return err == nil, err
	}
	for _, k := range []keys.Key{k, further, keys.DocumentNotification(n.Document(org), n.CreatedAt, n.ID)} {
		if err := s.Delete(ctx, k); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Withdrawn reports whether the notification of an event was deleted: nobody is notified of the event any more.
func (s *Store) Withdrawn(ctx context.Context, event collab.EventRef) (bool, error) {
	it, err := s.Get(ctx, keys.Withdrawn(event.Account, event.ID))
	return it != nil, err
}

// Notification reads a notification of the organization; NOT_FOUND when it does not exist.
func (s *Store) Notification(ctx context.Context, org collab.OrganizationRef, id string) (collab.Notification, error) {
	_, n, err := s.notification(ctx, org, id)
	return n, err
}

func (s *Store) notification(ctx context.Context, org collab.OrganizationRef, id string) (store.Item, collab.Notification, error) {
	it, err := s.Get(ctx, keys.Notification(org, id))
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
