package directory

import (
	"context"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Users are stored at the organization, at folders and at documents. Profiles and PresentProfiles are
// the only answers to the question who a user is in a document.

const (
	profileTTL   = time.Minute // how long Profiles remembers
	mostProfiles = 10_000

	// Bounds of one call of Profiles, in read units for users and for levels.
	profileUnits = 200
	levelUnits   = 150

	// Items and resources to read first, before their sizes and folders are known.
	firstProfiles = 20
	firstLevels   = 10
)

// Profiles returns what a resource shows of the stored users among users: each field from the
// nearest level of the resource that has it. It has no addresses, because it remembers profiles for
// a minute: see PresentProfiles. It reads others with eventual consistency, half a unit for each
// user and level, in order and at most profileUnits; users beyond that are absent, and not
// remembered. With an error, it also returns the profiles that were read before.
func (s *Store) Profiles(ctx context.Context, users []collab.UserAt) (map[collab.Resource]collab.Profiles, error) {
	list, now := map[collab.Resource]collab.Profiles{}, s.Now()
	seen := make(map[collab.UserAt]bool, len(users))
	var missing []collab.UserAt
	for _, u := range users {
		if list[u.In] == nil {
			list[u.In] = collab.Profiles{}
		}
		p, remembered := s.profiles.Get(u, now)
		switch {
		case seen[u] || !u.HasProfile():
		case !remembered:
			missing = append(missing, u)
		case p.UserID != "":
			list[u.In][u.User] = p
		}
		seen[u] = true
	}
	levels, err := s.rememberedLevels(ctx, missing)
	if err != nil {
		return list, err
	}
	missing = slices.DeleteFunc(missing, func(u collab.UserAt) bool { return levels[u.In] == nil })
	found := map[keys.Key]store.Item{}
	spent := 0.0
	for limit := firstProfiles; len(missing) > 0 && spent < profileUnits; limit = min(2*limit, int(2*(profileUnits-spent))) {
		var ask []keys.Key
		n := 0
		for ; n < len(missing) && len(ask) < limit; n++ {
			ask = append(ask, memberKeys(levels[missing[n].In], missing[n].User)...)
		}
		ask = slices.DeleteFunc(ask, func(k keys.Key) bool { _, read := found[k]; return read })
		units := float64(len(ask)) / 2
		if spent += units; collab.UsageOf(ctx).ReadLeft() < units {
			return list, nil
		}
		items, err := s.GetAll(ctx, ask, false)
		if err != nil {
			return list, err
		}
		for _, k := range ask {
			found[k] = items[k]
			spent += float64(items[k].Size()/4096) / 2
		}
		for _, u := range missing[:n] {
			p, err := profile(found, levels[u.In], u.User)
			if err != nil {
				return list, err
			}
			p = p.Shown()
			if s.profiles.Put(u, p, now.Add(profileTTL)); p.UserID != "" {
				list[u.In][u.User] = p
			}
		}
		missing = missing[n:]
	}
	return list, nil
}

// rememberedLevels returns the levels of the first resources of users, of as many as levelUnits
// allow: see Levels. It remembers them for a minute.
func (s *Store) rememberedLevels(ctx context.Context, users []collab.UserAt) (map[collab.Resource][]collab.Resource, error) {
	levels, now := map[collab.Resource][]collab.Resource{}, s.Now()
	seen := map[collab.Resource]bool{}
	var missing []collab.Resource
	for _, u := range users {
		if seen[u.In] {
			continue
		}
		seen[u.In] = true
		if above, ok := s.levels.Get(u.In, now); ok {
			levels[u.In] = above
		} else {
			missing = append(missing, u.In)
		}
	}
	read := map[collab.Resource]bool{}
	for limit := firstLevels; len(missing) > 0 && len(read) < levelUnits; limit *= 2 {
		part := missing[:min(limit, len(missing))]
		found, err := s.levelsOf(ctx, part)
		if err != nil {
			return levels, err
		}
		for in, above := range found {
			levels[in] = above
			s.levels.Put(in, above, now.Add(profileTTL))
			for _, level := range above {
				read[level] = true
			}
		}
		missing = missing[len(part):]
	}
	return levels, nil
}

// PresentProfiles returns the stored users among users at each resource of an organization, as they
// are now: each field from the nearest level that has it. It reads with strong consistency, one unit
// for each user and level.
func (s *Store) PresentProfiles(ctx context.Context, users []collab.UserAt) (map[collab.Resource]collab.Profiles, error) {
	users = collab.Where(users, collab.UserAt.HasProfile)
	levels, err := s.levelsOf(ctx, collab.Map(users, func(u collab.UserAt) collab.Resource { return u.In }))
	if err != nil {
		return nil, err
	}
	var itemKeys []keys.Key
	for _, u := range users {
		itemKeys = append(itemKeys, memberKeys(levels[u.In], u.User)...)
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	list := map[collab.Resource]collab.Profiles{}
	for _, u := range users {
		p, err := profile(found, levels[u.In], u.User)
		if err != nil {
			return nil, err
		}
		if list[u.In] == nil {
			list[u.In] = collab.Profiles{}
		}
		if p.UserID != "" {
			list[u.In][u.User] = p
		}
	}
	return list, nil
}

// memberKeys returns the keys of a user at levels.
func memberKeys(levels []collab.Resource, user string) []keys.Key {
	return collab.Map(levels, func(in collab.Resource) keys.Key { return memberKey(in, user) })
}

// profile returns a user at levels, nearest first. It has no id if the user is not stored.
func profile(found map[keys.Key]store.Item, levels []collab.Resource, user string) (p collab.Profile, err error) {
	for _, k := range memberKeys(levels, user) {
		if found[k] == nil {
			continue
		}
		m, err := readMemberItem(found[k], func(store.Item) (string, error) { return user, nil })
		if err != nil {
			return p, err
		}
		p = p.Or(collab.ProfileOf(m))
	}
	return p, nil
}

// forgetProfiles makes this process read the profiles of users again.
func (s *Store) forgetProfiles(users ...string) {
	s.profiles.Delete(func(u collab.UserAt) bool { return slices.Contains(users, u.User) })
}
