package inbox

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// retention is the lifetime of a notification, with its entries and the users' actions.
const retention = 365 * 24 * time.Hour

func expiry(at collab.Millis) int64 { return at/1000 + int64(retention.Seconds()) }

type notificationItem struct {
	Body store.Encoded[collab.Notification] `dynamodbav:"body"`
	// For everyone in the organization.
	All bool `dynamodbav:"all,omitempty"`
	// Recipients, at most collab.MaxAudience.
	To []string `dynamodbav:"to,omitempty"`
	// Deletion time of a comment event's notification. It is not added again.
	DeletedAt collab.Millis `dynamodbav:"del,omitempty"`
	Expires   int64         `dynamodbav:"ttl"`
}

func itemOf(org collab.OrganizationRef, n collab.Notification, all bool, to []string) store.Item {
	return store.ItemOf(keys.Notification(org, n.ID), notificationItem{
		Body: store.Encoded[collab.Notification]{Value: n}, All: all, To: to[:min(len(to), collab.MaxAudience)], Expires: expiry(n.CreatedAt),
	})
}

func listed(org collab.OrganizationRef, n collab.Notification) store.Item {
	return pointerItem(keys.DocumentNotification(n.Document(org), n.CreatedAt, n.ID), n.CreatedAt)
}

func pointerItem(k keys.Key, at collab.Millis) store.Item {
	it := store.NewItem(k)
	it[keys.Expires] = store.Number(expiry(at))
	return it
}

// recipientsItem holds a part of a notification's recipients.
type recipientsItem struct {
	Body    store.Encoded[[]collab.User] `dynamodbav:"body"`
	Expires int64                        `dynamodbav:"ttl"`
}

// recipientsBytes bounds the size of the users in one item; JSON may take six times as many bytes.
const recipientsBytes = 50_000

// addRecipients stores the recipients of a notification in separate items, so that a page of an
// inbox does not read them.
func (s *Store) addRecipients(ctx context.Context, org collab.OrganizationRef, n collab.Notification, event string, users []collab.User) error {
	var parts [][]collab.User
	left := 0
	for _, u := range users {
		u.UserDetails = collab.UserDetails{}
		if left -= len(u.UserID) + len(collab.Deref(u.Name)) + len(collab.Deref(u.Email)); left < 0 {
			parts, left = append(parts, nil), recipientsBytes
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], u)
	}
	return store.Each(ctx, len(parts), func(ctx context.Context, i int) error {
		part := recipientsItem{store.Encoded[[]collab.User]{Value: parts[i]}, expiry(n.CreatedAt)}
		return s.Put(ctx, store.ItemOf(keys.Recipients(org, n.ID, event, i), part))
	})
}

func (s *Store) deleteRecipients(ctx context.Context, org collab.OrganizationRef, id, event string) error {
	span := store.Children(keys.RecipientsOf(event))
	for it, err := range s.Items(ctx, store.Scan{PK: keys.Notification(org, id).PK, Keys: span, Project: []string{keys.PK, keys.SK}}) {
		if err == nil {
			err = s.Delete(ctx, it.Key())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// AddNotification records a notification for users, or for all, and the event that sends it.
// created is false, and nothing changes, if another event has sent this notification. It returns
// INVALID_ARGUMENT if the notification exceeds collab.MaxItemBytes.
func (s *Store) AddNotification(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, n collab.Notification, users []collab.User, ev *collab.Event,
) (created bool, err error) {
	it := itemOf(org, n, ev.NotifyAll, collab.Map(users, func(u collab.User) string { return u.UserID }))
	if err := store.CheckSize(it, "data"); err != nil {
		return false, err
	}
	it[keys.AddedBy] = store.Text(ev.ID)
	// Nothing refers to them until the notification exists.
	if err := s.addRecipients(ctx, org, n, ev.ID, users); err != nil {
		return false, err
	}
	refused, err := s.outbox.Commit(ctx, req, []store.Write{store.Create(it), store.Put(listed(org, n))}, ev)
	if err != nil || refused == nil {
		return err == nil, err
	}
	if refused.Of[0].There.Text(keys.AddedBy) == ev.ID {
		return true, nil
	}
	return false, s.deleteRecipients(ctx, org, n.ID, ev.ID)
}

// deletedFor reports whether an item is the deletion mark of a notification with a time.
func deletedFor(it store.Item, at collab.Millis) bool {
	return it[keys.DeletedAt] != nil && it.Number(keys.CreatedAt) >= at
}

// Derive adds the notification of a comment event unless it exists. It returns false if the
// notification was deleted. It replaces the deletion mark of an earlier one with its id.
func (s *Store) Derive(ctx context.Context, org collab.OrganizationRef, n collab.Notification, users []string) (bool, error) {
	// First, so that the list never lacks the notification.
	if err := s.Put(ctx, listed(org, n)); err != nil {
		return false, err
	}
	it := itemOf(org, n, false, users)
	existing, err := s.Create(ctx, it)
	if err == nil && existing[keys.DeletedAt] != nil && !deletedFor(existing, n.CreatedAt) {
		var refused *store.Refusal
		if refused, err = s.Write(ctx, store.Replace(existing, it, keys.DeletedAt)); refused != nil {
			existing = refused.Of[0].There
		} else {
			existing = nil
		}
	}
	if err == nil && deletedFor(existing, n.CreatedAt) {
		return false, s.Delete(ctx, listed(org, n).Key())
	}
	return err == nil, err
}

// Withdraw removes a derived notification, so that Derive can add one with its id. Inboxes no
// longer show it, because their entries have its time. It leaves a deleted notification, and one
// that has replaced n.
func (s *Store) Withdraw(ctx context.Context, org collab.OrganizationRef, n collab.Notification) error {
	it, found, err := s.notification(ctx, org, n.ID)
	if collab.CodeOf(err) == collab.NotFound || err == nil && found.CreatedAt != n.CreatedAt {
		return nil
	}
	if err != nil {
		return err
	}
	refused, err := s.Write(ctx, store.DeleteRead(it, keys.DeletedAt, keys.Body))
	if err != nil || refused != nil {
		return err
	}
	return s.Delete(ctx, listed(org, n).Key())
}

// Sent returns the notification of an event, nil if it was deleted. For a comment event, texts from
// notifications/update are included.
func (s *Store) Sent(ctx context.Context, ev *collab.Event) (*collab.Notification, error) {
	org := ev.Document().OrganizationRef
	it, n, err := s.notification(ctx, org, ev.NotificationID)
	if collab.CodeOf(err) == collab.NotFound || err == nil && ev.Type == collab.NotificationAdded && it.Text(keys.AddedBy) != ev.ID {
		return nil, nil
	}
	return &n, err
}

// Recipients returns the recipients of the notification of an event.
func (s *Store) Recipients(ctx context.Context, ev *collab.Event) (users []collab.User, err error) {
	pk := keys.Notification(ev.Document().OrganizationRef, ev.NotificationID).PK
	for it, err := range s.Items(ctx, store.Scan{PK: pk, Keys: store.Children(keys.RecipientsOf(ev.ID)), Strong: true}) {
		var part recipientsItem
		if err == nil {
			err = it.Decode(&part)
		}
		if err != nil {
			return nil, err
		}
		users = append(users, part.Body.Value...)
	}
	return users, nil
}

// Deleted reports whether the notification of an event was deleted for everyone.
func (s *Store) Deleted(ctx context.Context, ev *collab.Event) (bool, error) {
	it, err := s.Get(ctx, keys.Notification(ev.Document().OrganizationRef, ev.Notification()))
	if ev.NotificationID != "" {
		return it.Text(keys.AddedBy) != ev.ID, err
	}
	return deletedFor(it, ev.Time), err
}

// DeletedBy reports whether a user has deleted a notification from the inbox.
func (s *Store) DeletedBy(ctx context.Context, org collab.OrganizationRef, user string, n collab.Notification) (bool, error) {
	it, err := s.Get(ctx, keys.NotificationState(org, user, n.CreatedAt, n.ID))
	return it[keys.DeletedAt] != nil, err
}

// Notification returns a notification of the organization. It returns NOT_FOUND if the notification
// does not exist.
func (s *Store) Notification(ctx context.Context, org collab.OrganizationRef, id string) (collab.Notification, error) {
	_, n, err := s.notification(ctx, org, id)
	return n, err
}

func (s *Store) notification(ctx context.Context, org collab.OrganizationRef, id string) (store.Item, collab.Notification, error) {
	it, err := s.Get(ctx, keys.Notification(org, id))
	if err == nil && (it == nil || it[keys.DeletedAt] != nil) {
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
