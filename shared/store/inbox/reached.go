package inbox

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Reached is the state of a notification in a user's inbox.
type Reached struct {
	InInbox   bool          // the inbox shows an entry
	ReadAt    collab.Millis // 0 for never
	DeletedAt collab.Millis // from the user's inbox; 0 for never

	Email   bool          // an email is due
	EndedAt collab.Millis // when an email left, or was decided against; 0 for not yet
	Why     string        // reason for no email; "" if one left

	Further map[string]ReachedBy // by channel
}

// ReachedBy is the state of a notification on a further channel.
type ReachedBy struct {
	Waits   bool          // for a notification.due event
	EndedAt collab.Millis // when the event was recorded, or was decided against; 0 for not yet
	Why     string        // reason for no event; "" if one was recorded
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
		var marks stateItem
		var item inboxItem
		if err := cmp.Or(found[state(u)].Decode(&marks), found[entry(u)].Decode(&item)); err != nil {
			return nil, err
		}
		all[u] = Reached{
			found[entry(u)] != nil && !item.Hidden, marks.ReadAt, marks.DeletedAt, item.Notices[collab.EmailChannel] != "", item.EndedAt, item.Why,
			further(found[entry(u)], item.Notices),
		}
	}
	return all, nil
}

// further returns the states of an entry on further channels: of the notices it waits for, and of
// ended ones.
func further(it store.Item, waiting map[string]string) map[string]ReachedBy {
	all := map[string]ReachedBy{}
	for name := range it {
		if channel, ended := strings.CutPrefix(name, keys.ChannelEnded); ended {
			at, why, _ := strings.Cut(it.Text(name), " ")
			ms, _ := strconv.ParseInt(at, 10, 64)
			all[channel] = ReachedBy{EndedAt: ms, Why: why}
		}
	}
	for channel := range waiting {
		if channel != collab.EmailChannel {
			all[channel] = ReachedBy{Waits: true}
		}
	}
	return all
}
