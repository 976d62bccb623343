package outbox

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Reached is what is kept of how an event reached a person.
type Reached struct {
	InInbox   bool          // an entry is in the person's list
	ReadAt    collab.Millis // 0 for never, as the next
	DeletedAt collab.Millis // out of the person's inbox
	MailAt    collab.Millis // when the mail left, or it was decided that none does; 0 for not yet
	NoMail    string        // why none did, "" for one that did
}

// Reached returns what is kept of how an event reached users, by user. n is the event's notification. Eventually consistent; one and a half
// units a user.
func (s *Store) Reached(
	ctx context.Context, doc collab.DocumentRef, event string, n collab.Notification, users []string,
) (map[string]Reached, error) {
	entry := func(u string) keys.Key { return keys.UserNotification(doc.OrganizationRef, u, n.CreatedAt, n.ID) }
	state := func(u string) keys.Key { return keys.NotificationState(doc.OrganizationRef, u, n.CreatedAt, n.ID) }
	mail := func(u string) keys.Key {
		return mailKey(MailThread{DocumentRef: doc, Annotation: n.AnnotationID, User: u}, event)
	}
	var ask []keys.Key
	for _, u := range users {
		ask = append(ask, entry(u), state(u), mail(u))
	}
	found, err := s.GetAll(ctx, ask, false)
	if err != nil {
		return nil, err
	}
	all := make(map[string]Reached, len(users))
	for _, u := range users {
		var did stateItem
		var sent mailItem
		if err := found[state(u)].Decode(&did); err != nil {
			return nil, err
		}
		if err := found[mail(u)].Decode(&sent); err != nil {
			return nil, err
		}
		all[u] = Reached{found[entry(u)] != nil, did.ReadAt, did.DeletedAt, sent.SentAt, sent.Why}
	}
	return all, nil
}

// QuarantinedEvent reads an event's place in the quarantine; nil where it is not in it.
func (s *Store) QuarantinedEvent(ctx context.Context, ref collab.EventRef) (*Quarantined, error) {
	q, exists, err := store.Read[Quarantined](ctx, s.Table, keys.Quarantined(ref.Account, ref.ID))
	if err != nil || !exists {
		return nil, err
	}
	q.EventRef = ref
	return &q, nil
}
