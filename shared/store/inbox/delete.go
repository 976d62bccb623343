package inbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// OutOfInbox is the reason for not emailing a notification that its recipient has deleted.
const OutOfInbox = "deleted out of the inbox"

// DeleteNotification deletes a notification from a user's inbox, or for everyone if user is "". It
// does nothing if no notification has this id and time. Inbox entries remain until they expire,
// without a notification.
func (s *Store) DeleteNotification(ctx context.Context, org collab.OrganizationRef, user string, notification outbox.JobNotification) error {
	it, n, err := s.notification(ctx, org, notification.ID)
	switch {
	case collab.CodeOf(err) == collab.NotFound || err == nil && n.CreatedAt != notification.At:
		return nil
	case err != nil:
		return err
	case user == "":
		return s.deleteForAll(ctx, org, it, n)
	}
	deleted := expression.Set(expression.Name(keys.DeletedAt), expression.Value(s.Millis())).
		Set(expression.Name(keys.Expires), expression.Value(expiry(n.CreatedAt)))
	if _, err := s.Write(ctx, store.Update(keys.NotificationState(org, user, n.CreatedAt, n.ID), deleted)); err != nil {
		return err
	}
	return s.Delete(ctx, keys.UserNotification(org, user, n.CreatedAt, n.ID))
}

// deleteForAll deletes a notification for everyone. For a comment event it keeps a deletion mark as
// long as the event, because a delivery would add the notification again. The mark has the time of
// the notification: a later one may have its id.
func (s *Store) deleteForAll(ctx context.Context, org collab.OrganizationRef, it store.Item, n collab.Notification) error {
	unlist := store.Delete(listed(org, n).Key())
	if it[keys.AddedBy] == nil {
		deleted := store.NewItem(it.Key())
		deleted[keys.DeletedAt], deleted[keys.Expires] = store.Number(s.Millis()), store.Number(outbox.Expiry(s.Millis()))
		deleted[keys.CreatedAt] = store.Number(n.CreatedAt)
		_, err := s.Write(ctx, store.Put(deleted), unlist)
		return err
	}
	if err := s.deleteRecipients(ctx, org, n.ID, it.Text(keys.AddedBy)); err != nil {
		return err
	}
	_, err := s.Write(ctx, store.DeleteRead(it, keys.AddedBy), unlist)
	return err
}
