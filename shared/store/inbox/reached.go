package inbox

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

// Reached is what is kept of a notification in the inbox of a person.
type Reached struct {
	InInbox   bool          // an entry is in the person's list
	ReadAt    collab.Millis // 0 for never, as the next
	DeletedAt collab.Millis // out of the person's inbox
}

// Told is what is kept of the notification of an event that a person is to be told of.
type Told struct {
	Gone      bool          // it was deleted for everyone
	ReadAt    collab.Millis // when the person read it; 0 for not yet
	DeletedAt collab.Millis // out of the person's inbox; 0 for not
}

// Told returns what is kept of the notifications of events, in their order: whether a user has read or deleted them, and whether they were deleted for everyone.
// Eventually consistent; half a unit, and one unit an event.
func (s *Store) Told(ctx context.Context, org collab.OrganizationRef, user string, events []*collab.Event) ([]Told, error) {
	if len(events) == 0 {
		return nil, nil
	}
	id := func(ev *collab.Event) string { return cmp.Or(ev.NotificationID, ev.ID) }
	of := func(ev *collab.Event) keys.Key { return keys.Notification(org, id(ev)) }
	pointers := collab.Map(events, func(ev *collab.Event) pointer {
		return pointer{sk: keys.NotificationState(org, user, ev.Time, id(ev)).SK, at: ev.Time, id: id(ev)}
	})
	until := keys.ReadUntil(org, user)
	state := func(p pointer) keys.Key { return keys.NotificationState(org, user, p.at, p.id) }
	found, err := s.GetAll(ctx, slices.Concat(collab.Map(events, of), collab.Map(pointers, state), []keys.Key{until}), false)
	if err != nil {
		return nil, err
	}
	read := states{by: map[string]stateItem{}}
	if err := found[until].Decode(&read.until); err != nil {
		return nil, err
	}
	for _, p := range pointers {
		var did stateItem
		if err := found[state(p)].Decode(&did); err != nil {
			return nil, err
		}
		read.by[p.sk] = did
	}
	list := make([]Told, len(events))
	for i, ev := range events {
		it, did := found[of(ev)], read.of(pointers[i])
		gone := it[keys.DeletedAt] != nil || ev.NotificationID != "" && it.Text(keys.AddedBy) != ev.ID
		list[i] = Told{gone, did.ReadAt, did.DeletedAt}
	}
	return list, nil
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
		if err := found[state(u)].Decode(&did); err != nil {
			return nil, err
		}
		all[u] = Reached{found[entry(u)] != nil, did.ReadAt, did.DeletedAt}
	}
	return all, nil
}
