package inbox

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

// Reached is what is kept of a notification in the inbox of a person.
type Reached struct {
	InInbox   bool          // the inbox shows an entry of the person's
	ReadAt    collab.Millis // 0 for never, as the next
	DeletedAt collab.Millis // out of the person's inbox

	Email   bool          // an email is to tell of it
	EndedAt collab.Millis // when an email left, or it was decided that none does; 0 for not yet
	Why     string        // why none did; "" for one that left
}

// Reached returns how a notification that was made at a time reached the inboxes of users, by user. Eventually consistent; one unit a user.
func (s *Store) Reached(
	ctx context.Context, org collab.OrganizationRef, at collab.Millis, id string, users []string,
) (map[string]Reached, error) {
	entry := func(u string) keys.Key { return keys.UserNotification(org, u, at, id) }
	state := func(u string) keys.Key { return keys.NotificationState(org, u, at, id) }
	found, err := s.GetAll(ctx, append(collab.Map(users, entry), collab.Map(users, state)...), false)
	if err != nil {
		return nil, err
	}
	all := make(map[string]Reached, len(users))
	for _, u := range users {
		var did stateItem
		var is inboxItem
		if err := cmp.Or(found[state(u)].Decode(&did), found[entry(u)].Decode(&is)); err != nil {
			return nil, err
		}
		all[u] = Reached{found[entry(u)] != nil && !is.Hidden, did.ReadAt, did.DeletedAt, is.Email != "", is.EndedAt, is.Why}
	}
	return all, nil
}
