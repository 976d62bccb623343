package directory

import (
	"context"
	"maps"
	"slices"
	"sync"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
)

// Removing a user from an organization or document leaves a removal, so that threads that name the
// user stay hidden and the user's tokens stop working. Its key has a hash of the user's id, so that
// it can outlive personal data: see package erasure. The item of the organization or document has a
// flag if removals exist; without it, nobody reads them.

func removedKey(in collab.Resource, user string) keys.Key {
	if in.Document.Document != "" {
		return keys.RemovedFrom(in.Document, user)
	}
	return keys.Removed(in.OrganizationRef, user)
}

func (s *Store) removedItem(in collab.Resource, user string) store.Item {
	it := store.NewItem(removedKey(in, user))
	it[keys.LastUpdated], it[keys.RemovedUser] = store.Number(s.Millis()), store.Text(user)
	return it
}

// mayRemove reports whether an organization or document had removals when this process opened it.
// It is true if the process does not know.
func (s *Store) mayRemove(k keys.Key) bool {
	last, known := s.cached.Last(k)
	return last.removals || !known
}

// IsRemoved reports whether a user was removed from an opened organization. It reads nothing if
// there were no removals when the organization was opened.
func (s *Store) IsRemoved(ctx context.Context, org collab.OrganizationRef, user string) (bool, error) {
	if !s.mayRemove(keys.Organization(org.Account, org.Organization)) {
		return false, nil
	}
	it, err := s.Get(ctx, keys.Removed(org, user))
	return it != nil, err
}

// EndAccess removes users from an organization, members or not, with their grants and groups, and
// ends their notifications. It keeps data written after at, because the users were added again. The
// removals expire with the users' last tokens, except removals that existed before.
func (s *Store) EndAccess(ctx context.Context, org collab.OrganizationRef, users []string, at collab.Millis) error {
	in := collab.Resource{OrganizationRef: org}
	if err := s.flagRemovals(ctx, in); err != nil {
		return err
	}
	found, err := s.GetAll(ctx, append(
		collab.Map(users, func(u string) keys.Key { return keys.Member(org, u) }),
		collab.Map(users, func(u string) keys.Key { return keys.Removed(org, u) })...), true)
	if err != nil {
		return err
	}
	return store.Each(ctx, len(users), func(ctx context.Context, i int) error {
		m, earlier := found[keys.Member(org, users[i])], found[keys.Removed(org, users[i])]
		if m.Number(keys.LastUpdated) > at {
			return nil
		}
		removal := s.removedItem(in, users[i])
		removal[keys.LastUpdated] = store.Number(max(at, earlier.Number(keys.LastUpdated)))
		if earlier == nil || earlier[keys.Expires] != nil {
			removal[keys.Expires] = store.Number(s.RemovalExpiry())
		}
		if err := s.Put(ctx, removal); err != nil {
			return err
		}
		if _, err := s.deleteGrants(ctx, org, users[i], at, func() error { return nil }); err != nil || m == nil {
			return err
		}
		_, err := s.Write(ctx, store.DeleteRead(m, keys.LastUpdated))
		return err
	})
}

// RemovalExpiry returns the expiry of the removal of a user whose data is erased now, in Unix
// seconds: no token of the user is valid then.
func (s *Store) RemovalExpiry() int64 {
	return s.Now().Add(collab.MaxTokenLife+store.ClockSkew).Unix() + 1
}

// DeleteMembers removes users from a resource. Removal from an organization includes all grants and
// groups in it. Removed users see nothing of the organization or document, whatever its access
// type: see Viewings. The errors correspond to users: NOT_FOUND if the user is not in the resource.
func (s *Store) DeleteMembers(ctx context.Context, req *request.Request, in collab.Resource, users []string) []error {
	errs := make([]error, len(users))
	there, err := s.GetAll(ctx, collab.Map(users, func(u string) keys.Key { return memberKey(in, u) }), true)
	if err != nil {
		store.All(len(users), func(i int) { errs[i] = err })
		return errs
	}
	flag := sync.OnceValue(func() error { return s.flagRemovals(ctx, in) })
	record := func(user string) error {
		if in.Folder.Folder != "" {
			return nil // the access type decides about its documents
		}
		if err := flag(); err != nil {
			return err
		}
		return s.Put(ctx, s.removedItem(in, user))
	}
	remove := func(i int) error {
		user, found := users[i], there[memberKey(in, users[i])] != nil
		if found {
			if err := record(user); err != nil {
				return err
			}
		}
		if in.Folder.Folder == "" && in.Document.Document == "" {
			n, err := s.deleteGrants(ctx, in.OrganizationRef, user, collab.MaxMillis, func() error { return record(user) })
			if found = found || n > 0; err != nil {
				return err
			}
		}
		if !found && !req.Repeat {
			return errNoUser
		}
		return s.Delete(ctx, memberKey(in, user))
	}
	if in.Folder.Folder != "" || in.Document.Document != "" {
		store.All(len(users), func(i int) { errs[i] = remove(i) })
		return errs
	}
	for i := range users {
		errs[i] = remove(i)
	}
	return errs
}

func (s *Store) flagRemovals(ctx context.Context, in collab.Resource) error {
	k, incarnation := keys.Organization(in.Account, in.Organization), in.OrganizationRef.Incarnation
	if in.Document.Document != "" {
		k, incarnation = documentKey(in.Document), in.Document.Incarnation
	}
	it, err := s.Get(ctx, k)
	if err != nil || it == nil || it[keys.Removals] != nil || it.Number(keys.Incarnation) != incarnation {
		return err
	}
	_, err = s.Write(ctx, store.Update(k, expression.Set(expression.Name(keys.Removals), expression.Value(true)),
		expression.Name(keys.PK).AttributeExists()))
	s.cached.Put(k, opened{incarnation, true}, s.Now()) // the next request reads the item
	return err
}

// BringBack restores access of users that were removed from an opened document or its organization
// and have written something since. wrote has the time of the last comment of each. It reads
// nothing if there were no removals when the document was opened.
func (s *Store) BringBack(ctx context.Context, doc collab.DocumentRef, wrote map[string]collab.Millis) error {
	removals := map[keys.Key]collab.Millis{}
	for u, at := range wrote {
		if s.mayRemove(keys.Organization(doc.Account, doc.Organization)) {
			removals[keys.Removed(doc.OrganizationRef, u)] = at
		}
		if s.mayRemove(documentKey(doc)) {
			removals[keys.RemovedFrom(doc, u)] = at
		}
	}
	return s.lift(ctx, removals)
}

// bringBack is BringBack for users that get a grant on resources. It reads the items of the
// resources.
func (s *Store) bringBack(ctx context.Context, users []string, on []collab.Resource) error {
	itself := func(in collab.Resource) keys.Key { return keys.Organization(in.Account, in.Organization) }
	var ask []keys.Key
	for _, in := range on {
		if ask = append(ask, itself(in)); in.Document.Document != "" {
			ask = append(ask, documentKey(in.Document))
		}
	}
	found, err := s.GetAll(ctx, ask, true)
	if err != nil {
		return err
	}
	removals := map[keys.Key]collab.Millis{}
	for _, in := range on {
		for _, u := range users {
			if found[itself(in)][keys.Removals] != nil {
				removals[keys.Removed(in.OrganizationRef, u)] = collab.MaxMillis
			}
			if in.Document.Document != "" && found[documentKey(in.Document)][keys.Removals] != nil {
				removals[keys.RemovedFrom(in.Document, u)] = collab.MaxMillis
			}
		}
	}
	return s.lift(ctx, removals)
}

// lift deletes the removals that are older than their times.
func (s *Store) lift(ctx context.Context, removals map[keys.Key]collab.Millis) error {
	if len(removals) == 0 {
		return nil
	}
	found, err := s.GetAll(ctx, slices.Collect(maps.Keys(removals)), true)
	if err != nil {
		return err
	}
	maps.DeleteFunc(found, func(k keys.Key, it store.Item) bool { return it.Number(keys.LastUpdated) >= removals[k] })
	lifted := slices.Collect(maps.Values(found))
	return store.Each(ctx, len(lifted), func(ctx context.Context, i int) error {
		_, err := s.Write(ctx, store.DeleteRead(lifted[i], keys.LastUpdated))
		return err
	})
}
