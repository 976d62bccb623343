package directory

import (
	"context"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Users are stored at the organization, at folders and at documents. Profiles is the only answer to
// the question who a user is in a document.

const (
	profileTTL   = time.Minute // how long Profiles remembers
	mostProfiles = 10_000
)

type profileKey struct {
	document collab.DocumentRef
	user     string
}

// Profiles returns the stored users among users, by id: each field from the nearest level of the
// document that has it. It remembers them for a minute, and reads others with eventual consistency,
// half a unit for each user and level.
func (s *Store) Profiles(ctx context.Context, doc collab.DocumentRef, users []string) (collab.Profiles, error) {
	known, now := collab.Profiles{}, s.Now()
	var missing []string
	for _, u := range users {
		p, ok := s.profiles.Get(profileKey{doc, u}, now)
		switch {
		case !ok:
			missing = append(missing, u)
		case p.UserID != "":
			known[u] = p
		}
	}
	if len(missing) == 0 {
		return known, nil
	}
	read, err := s.readProfiles(ctx, collab.Resource{OrganizationRef: doc.OrganizationRef, Document: doc}, missing, false)
	for _, u := range missing {
		if err == nil {
			s.profiles.Put(profileKey{doc, u}, read[u], now.Add(profileTTL))
		}
		if p, stored := read[u]; stored {
			known[u] = p
		}
	}
	return known, err
}

// ProfilesIn is Profiles for the present document with an id; none if it does not exist.
func (s *Store) ProfilesIn(ctx context.Context, org collab.OrganizationRef, document string, users []string) (collab.Profiles, error) {
	_, found, err := s.Open(ctx, org.Account, org.Organization, "", []string{document})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return s.Profiles(ctx, found[0], users)
}

// PresentProfiles is Profiles at a resource, with strong consistency.
func (s *Store) PresentProfiles(ctx context.Context, in collab.Resource, users []string) (collab.Profiles, error) {
	return s.readProfiles(ctx, in, users, true)
}

// readProfiles reads profiles at a resource. It remembers the folders of a document for a minute.
func (s *Store) readProfiles(ctx context.Context, in collab.Resource, users []string, strong bool) (collab.Profiles, error) {
	if len(users) == 0 {
		return nil, nil
	}
	levels, ok := s.levels.Get(in.Document, s.Now())
	if !ok || in.Document.Document == "" {
		var err error
		if levels, err = s.Levels(ctx, in); err != nil {
			return nil, err
		}
		if in.Document.Document != "" {
			s.levels.Put(in.Document, levels, s.Now().Add(profileTTL))
		}
	}
	var itemKeys []keys.Key
	for _, level := range levels {
		itemKeys = append(itemKeys, collab.Map(users, func(u string) keys.Key { return memberKey(level, u) })...)
	}
	found, err := s.GetAll(ctx, itemKeys, strong)
	if err != nil {
		return nil, err
	}
	list := collab.Profiles{}
	for _, level := range levels { // nearest first
		for _, u := range users {
			it := found[memberKey(level, u)]
			if it == nil {
				continue
			}
			m, err := readMemberItem(it, func(store.Item) (string, error) { return u, nil })
			if err != nil {
				return nil, err
			}
			list.Add(m, level.Folder.Folder == "" && level.Document.Document == "")
		}
	}
	return list, nil
}

// forgetProfiles makes this process read profiles again.
func (s *Store) forgetProfiles() {
	s.profiles.Clear()
	s.levels.Clear()
}
