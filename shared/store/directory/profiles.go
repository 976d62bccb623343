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

	// Bounds of one call of Profiles.
	profileUnits     = 200 // read units for users
	profileDocuments = 100 // documents whose folders are read
	firstProfiles    = 20  // items to read first, before their sizes are known
)

// Profiles returns what a document shows of the stored users among users: each field from the
// nearest level of the document that has it. It has no addresses, because it remembers profiles for
// a minute: see PresentProfiles. It reads others with eventual consistency, half a unit for each
// user and level, in order and at most profileUnits; users beyond that are absent, and not
// remembered. With an error, it also returns the profiles that were read before.
func (s *Store) Profiles(ctx context.Context, users []collab.DocumentUser) (map[collab.DocumentRef]collab.Profiles, error) {
	list, now := map[collab.DocumentRef]collab.Profiles{}, s.Now()
	seen := make(map[collab.DocumentUser]bool, len(users))
	var missing []collab.DocumentUser
	for _, u := range users {
		if list[u.Document] == nil {
			list[u.Document] = collab.Profiles{}
		}
		p, remembered := s.profiles.Get(u, now)
		switch {
		case seen[u] || !collab.HasProfile(u.User):
		case !remembered:
			missing = append(missing, u)
		case p.UserID != "":
			list[u.Document][u.User] = p
		}
		seen[u] = true
	}
	levels, err := s.rememberedLevels(ctx, missing)
	if err != nil {
		return list, err
	}
	missing = slices.DeleteFunc(missing, func(u collab.DocumentUser) bool { return levels[u.Document] == nil })
	found := map[keys.Key]store.Item{}
	spent := 0.0
	for most := firstProfiles; len(missing) > 0 && spent < profileUnits; most = min(2*most, int(2*(profileUnits-spent))) {
		var ask []keys.Key
		n := 0
		for ; n < len(missing) && len(ask) < most; n++ {
			ask = append(ask, memberKeys(levels[missing[n].Document], missing[n].User)...)
		}
		ask = slices.DeleteFunc(ask, func(k keys.Key) bool { _, read := found[k]; return read })
		units := float64(len(ask)) / 2
		if spent += units; collab.UsageOf(ctx).BeforeRead(units) != nil {
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
			p, err := profile(found, levels[u.Document], u.User)
			if err != nil {
				return list, err
			}
			p = p.Shown()
			if s.profiles.Put(u, p, now.Add(profileTTL)); p.UserID != "" {
				list[u.Document][u.User] = p
			}
		}
		missing = missing[n:]
	}
	return list, nil
}

// rememberedLevels returns the levels of the first documents of users: see Levels. It remembers them
// for a minute.
func (s *Store) rememberedLevels(ctx context.Context, users []collab.DocumentUser) (map[collab.DocumentRef][]collab.Resource, error) {
	levels, now := map[collab.DocumentRef][]collab.Resource{}, s.Now()
	var missing []collab.DocumentRef
	for _, u := range users {
		if of, ok := s.levels.Get(u.Document, now); ok {
			levels[u.Document] = of
		} else if !slices.Contains(missing, u.Document) && len(missing) < profileDocuments {
			missing = append(missing, u.Document)
		}
	}
	read, err := s.levelsOf(ctx, missing)
	for i, doc := range missing {
		if err == nil {
			levels[doc] = read[i]
			s.levels.Put(doc, read[i], now.Add(profileTTL))
		}
	}
	return levels, err
}

// PresentProfiles returns the stored users among users at a resource, by id, as they are now: each
// field from the nearest level that has it. It reads with strong consistency, one unit for each user
// and level.
func (s *Store) PresentProfiles(ctx context.Context, in collab.Resource, users []string) (collab.Profiles, error) {
	users = collab.Where(users, collab.HasProfile)
	if len(users) == 0 {
		return nil, nil
	}
	levels, err := s.Levels(ctx, in)
	if err != nil {
		return nil, err
	}
	var itemKeys []keys.Key
	for _, u := range users {
		itemKeys = append(itemKeys, memberKeys(levels, u)...)
	}
	found, err := s.GetAll(ctx, itemKeys, true)
	if err != nil {
		return nil, err
	}
	list := collab.Profiles{}
	for _, u := range users {
		p, err := profile(found, levels, u)
		if err != nil {
			return nil, err
		}
		if p.UserID != "" {
			list[u] = p
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
	s.profiles.Delete(func(u collab.DocumentUser) bool { return slices.Contains(users, u.User) })
}
