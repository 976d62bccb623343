package inbox

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

// Reached is the state of a notification in a user's inbox.
type Reached struct {
	InInbox   bool          // the inbox shows an entry
	ReadAt    collab.Millis // 0 for never
	DeletedAt collab.Millis // from the user's inbox; 0 for never

	Email   bool          // an email is due
	EndedAt collab.Millis // when an email left, or was decided against; 0 for not yet
	Why     string        // reason for no email; "" if one left
}

// Reached returns the state of a notification in the inboxes of users, by user. at is the
// notification's time. It reads with eventual consistency, one unit for each user.
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
		all[u] = Reached{found[entry(u)] != nil && !is.Hidden, did.ReadAt, did.DeletedAt, is.Notices[collab.EmailChannel] != "", is.EndedAt, is.Why}
	}
	return all, nil
}
