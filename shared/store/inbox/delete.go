package inbox

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/store/outbox"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// A notification is deleted for everyone by deleting its item. The same transaction withdraws its event, so that no run of deliver adds it
// anew or sends mail, and keeps its audience, so that a job finds what points to it. Out of one inbox it is deleted by the item of what
// that user did with it.

// DeleteNotification deletes a notification out of the inbox of a user, or with "" for everyone. It changes nothing where none of that id
// and time exists: it was deleted.
func (s *Store) DeleteNotification(ctx context.Context, org collab.OrganizationRef, user string, of outbox.JobNotification) error {
	return s.delete(ctx, org, user, of, func(listed keys.Key) store.Write { return store.Delete(listed) })
}

// EraseNotification deletes a notification for everyone, and sweeps it. What the list of its document has of it stays, with
// keys.DeletedAt, until SweepListed is called with that: a run of deliver may add to it for some time.
func (s *Store) EraseNotification(ctx context.Context, org collab.OrganizationRef, of outbox.JobNotification) error {
	err := s.delete(ctx, org, "", of, func(listed keys.Key) store.Write {
		it := store.NewItem(listed)
		it[keys.DeletedAt] = store.Number(s.Millis())
		return store.Put(it)
	})
	if err != nil {
		return err
	}
	return s.SweepNotification(ctx, org, of)
}

// delete is DeleteNotification; unlist is what becomes of its item in the list of its document.
func (s *Store) delete(
	ctx context.Context, org collab.OrganizationRef, user string, of outbox.JobNotification, unlist func(listed keys.Key) store.Write,
) error {
	it, n, err := s.notification(ctx, org, of.ID)
	if collab.CodeOf(err) == collab.NotFound || err == nil && n.CreatedAt != of.At {
		return nil
	}
	var to audience
	if err == nil {
		err = it.Decode(&to)
	}
	if err != nil {
		return err
	}
	event := cmp.Or(it.Text(keys.AddedBy), n.ID)
	if user == "" {
		withdrawn := store.NewItem(keys.Withdrawn(org.Account, event))
		withdrawn[keys.Expires] = store.Number(outbox.Expiry(s.Millis()))
		_, err = s.Write(ctx, store.DeleteRead(it, keys.AddedBy), store.Put(withdrawn),
			store.Put(store.ItemOf(keys.Audience(org, n.CreatedAt, n.ID, ""), to)),
			unlist(keys.DocumentNotification(n.Document(org), n.CreatedAt, n.ID)))
		return err
	}
	if to.All {
		if err := s.Put(ctx, store.ItemOf(keys.Audience(org, n.CreatedAt, n.ID, user), audience{To: []string{user}})); err != nil {
			return err
		}
	}
	mails := outbox.MailThread{DocumentRef: n.Document(org), Annotation: n.AnnotationID, User: user}
	if err := s.outbox.MailSent(ctx, mails, []string{event}); err != nil {
		return err
	}
	if _, err := s.Write(ctx, store.Update(keys.NotificationState(org, user, n.CreatedAt, n.ID),
		expression.Set(expression.Name(keys.DeletedAt), expression.Value(s.Millis())))); err != nil {
		return err
	}
	return s.Delete(ctx, keys.UserNotification(org, user, n.CreatedAt, n.ID))
}

// SweepNotification deletes what a deleted notification has left: its audience, the pointers to it, and what users did with it.
func (s *Store) SweepNotification(ctx context.Context, org collab.OrganizationRef, n outbox.JobNotification) error {
	itemKeys := store.Span{From: keys.Audience(org, n.At, n.ID, "").SK, To: keys.AudienceEnd(n.At)}
	for it, err := range s.Items(ctx, store.Scan{PK: keys.Notification(org, n.ID).PK, Keys: itemKeys, Strong: true}) {
		if err == nil {
			err = s.sweepAudience(ctx, org, n, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SweepListed deletes a notification that the list of a document names by a sort key, with all that hangs on it.
func (s *Store) SweepListed(ctx context.Context, doc collab.DocumentRef, sk string) error {
	at, id, err := keys.ParseListed(sk)
	if err != nil {
		return nil // of a later version
	}
	it, n, err := s.notification(ctx, doc.OrganizationRef, id)
	of := outbox.JobNotification{ID: id, At: at}
	if err == nil && n.CreatedAt == at && n.Document(doc.OrganizationRef) == doc {
		err = s.sweepAudience(ctx, doc.OrganizationRef, of, it)
	}
	if err != nil && collab.CodeOf(err) != collab.NotFound {
		return err
	}
	return s.SweepNotification(ctx, doc.OrganizationRef, of)
}

// sweepAudience deletes an audience of a notification, and before it what its users have of the notification.
func (s *Store) sweepAudience(ctx context.Context, org collab.OrganizationRef, n outbox.JobNotification, it store.Item) error {
	var to audience
	if err := it.Decode(&to); err != nil {
		return err
	}
	var itemKeys []keys.Key
	for _, u := range to.To {
		itemKeys = append(itemKeys, keys.UserNotification(org, u, n.At, n.ID), keys.NotificationState(org, u, n.At, n.ID))
	}
	if to.All {
		itemKeys = append(itemKeys, keys.AllNotification(org, n.At, n.ID))
	}
	for _, k := range append(itemKeys, it.Key()) {
		if err := s.Delete(ctx, k); err != nil {
			return err
		}
	}
	return nil
}
