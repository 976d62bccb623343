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

// Taking access from a user leaves a removal at the organization, folder or document. It ends when
// somebody gives access to that resource, and rests until the end of a grant that has one. A token
// never ends it. Its key has a hash of the user's id,
// so that it can outlive personal data: see package erasure. The item of the organization or
// document has a flag if removals exist; without it, nobody reads them.
//
// A removal from an organization or document hides it, so that threads that name the user stay
// hidden and the user's tokens stop working. A grant on a folder or document in the organization,
// or an opening, opens that one in spite of the removal from the organization. Other removals, with
// the attribute GrantOnly, hide nothing: the access type decides.

func removedKey(in collab.Resource, user string) keys.Key {
	switch {
	case in.Document.Document != "":
		return keys.RemovedFrom(in.Document, user)
	case in.Folder.Folder != "":
		return keys.RemovedFromFolder(in.Folder, user)
	}
	return keys.Removed(in.OrganizationRef, user)
}

func (s *Store) removedItem(in collab.Resource, user string, grantOnly bool) store.Item {
	it := store.NewItem(removedKey(in, user))
	it[keys.LastUpdated], it[keys.RemovedUser] = store.Number(s.Millis()), store.Text(user)
	if grantOnly {
		it[keys.GrantOnly] = store.Number(1)
	}
	return it
}

func openingItem(doc collab.DocumentRef, user string, at collab.Millis) store.Item {
	it := store.NewItem(keys.Opening(doc, user))
	it[keys.LastUpdated] = store.Number(at)
	it[keys.In], it[keys.DocAnn] = store.Text(keys.OpeningsOf(doc)), store.Text(keys.Members+keys.Escape(user))
	return it
}

// hides reports whether an item is a removal that hides its organization or document, unless it
// rests.
func hides(removal store.Item) bool { return removal != nil && removal[keys.GrantOnly] == nil }

// hidesNow is hides without the removals that rest.
func (s *Store) hidesNow(removal store.Item) bool {
	return hides(removal) && removal.Number(keys.Resting) <= s.Millis()/1000
}

// mayRemove reports whether an organization or document had removals when this process opened it.
// It is true if the process does not know.
func (s *Store) mayRemove(k keys.Key) bool {
	last, ok := s.cached.Last(k)
	return last.removals || !ok
}

// IsRemoved reports whether a user was removed from an opened organization, and nothing in it is
// open to the user. It reads nothing if there were no removals when the organization was opened.
func (s *Store) IsRemoved(ctx context.Context, org collab.OrganizationRef, user string) (bool, error) {
	if !s.mayRemove(keys.Organization(org.Account, org.Organization)) {
		return false, nil
	}
	removal, err := s.Get(ctx, keys.Removed(org, user))
	if err != nil || !s.hidesNow(removal) {
		return false, err
	}
	items := s.Items(ctx, store.Scan{PK: keys.GrantPartition(org), Keys: store.Children(keys.GrantsOf(user)), Strong: true})
	for it, err := range items {
		if err != nil {
			return false, err
		}
		_, _, _, group, err := keys.ParseGrant(org, it.Text(keys.SK))
		if err != nil {
			return false, store.Unreadable(it.Key(), err)
		}
		var g collab.Grant
		if err := it.Decode(&g); err != nil {
			return false, err
		}
		if group == "" && g.Holds(s.Millis()) {
			return false, nil
		}
	}
	return true, nil
}

// EndAccess removes users from an organization, members or not, with their grants and groups, and
// ends their notifications. It keeps data written after at, because the users were added again. The
// removals expire with the users' last tokens, except removals that existed before.
func (s *Store) EndAccess(ctx context.Context, org collab.OrganizationRef, users []string, at collab.Millis) error {
	defer s.forgetProfiles(users...)
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
		removal := s.removedItem(in, users[i], false)
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
// type: see Viewings. The errors correspond to users: NOT_FOUND if the user is not in the resource,
// and it is no document that a comment opened to the user.
func (s *Store) DeleteMembers(ctx context.Context, req *request.Request, in collab.Resource, users []string) []error {
	defer s.forgetProfiles(users...)
	places := func(user string) []keys.Key {
		if in.Document.Document != "" {
			return []keys.Key{memberKey(in, user), keys.Opening(in.Document, user)}
		}
		return []keys.Key{memberKey(in, user)}
	}
	existing, err := s.GetAll(ctx, slices.Concat(collab.Map(users, places)...), true)
	if err != nil {
		return slices.Repeat([]error{err}, len(users))
	}
	flag := sync.OnceValue(func() error { return s.flagRemovals(ctx, in) })
	record := func(user string) error {
		if err := flag(); err != nil {
			return err
		}
		return s.Put(ctx, s.removedItem(in, user, in.Folder.Folder != ""))
	}
	remove := func(i int) error {
		user := users[i]
		found := slices.ContainsFunc(places(user), func(k keys.Key) bool { return existing[k] != nil })
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
		for _, k := range places(user)[1:] {
			if existing[k] == nil {
				continue
			}
			if err := s.Delete(ctx, k); err != nil {
				return err
			}
		}
		return s.Delete(ctx, memberKey(in, user))
	}
	if in.Folder.Folder != "" || in.Document.Document != "" {
		return store.All(len(users), remove)
	}
	errs := make([]error, len(users))
	for i := range users {
		errs[i] = remove(i)
	}
	return errs
}

// flagRemovals sets the flag of an organization or document. A folder has none.
func (s *Store) flagRemovals(ctx context.Context, in collab.Resource) error {
	if in.Folder.Folder != "" {
		return nil
	}
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

// BringBack gives access to users that were removed from an opened document or its organization and
// have written something in the document since: the document opens to them, and nothing else of the
// organization. wrote has the time of the last comment of each. It reads nothing if there were no
// removals when the document was opened.
func (s *Store) BringBack(ctx context.Context, doc collab.DocumentRef, wrote map[string]collab.Millis) error {
	if s.disabled {
		return nil
	}
	ofOrganization, ofDocument := s.mayRemove(keys.Organization(doc.Account, doc.Organization)), s.mayRemove(documentKey(doc))
	var ask []keys.Key
	for u := range wrote {
		if ofOrganization {
			ask = append(ask, keys.Removed(doc.OrganizationRef, u))
		}
		if ofDocument {
			ask = append(ask, keys.RemovedFrom(doc, u))
		}
	}
	found, err := s.GetAll(ctx, ask, true)
	if err != nil {
		return err
	}
	var writes []store.Write
	for u, at := range wrote {
		opened := false
		if removal := found[keys.RemovedFrom(doc, u)]; hides(removal) && removal.Number(keys.LastUpdated) < at {
			writes, opened = append(writes, store.DeleteRead(removal, keys.LastUpdated)), true
		}
		if removal := found[keys.Removed(doc.OrganizationRef, u)]; hides(removal) && removal.Number(keys.LastUpdated) < at {
			opened = true
		}
		if opened {
			writes = append(writes, store.Put(openingItem(doc, u, s.Millis())))
		}
	}
	return s.each(ctx, writes)
}

// endRemovals ends the removals of users from resources, because they have got grants there. If a
// grant ends, the removal rests until then.
func (s *Store) endRemovals(ctx context.Context, users []string, on []collab.Resource) error {
	itself := func(in collab.Resource) keys.Key {
		if in.Document.Document != "" {
			return documentKey(in.Document)
		}
		return keys.Organization(in.Account, in.Organization)
	}
	found, err := s.GetAll(ctx, collab.Map(on, itself), true)
	if err != nil {
		return err
	}
	members := map[keys.Key]keys.Key{} // by removal
	for _, in := range on {
		if in.Folder.Folder != "" || found[itself(in)][keys.Removals] != nil {
			for _, u := range users {
				members[removedKey(in, u)] = memberKey(in, u)
			}
		}
	}
	if found, err = s.GetAll(ctx, slices.Collect(maps.Keys(members)), true); err != nil || len(found) == 0 {
		return err
	}
	granted, err := s.GetAll(ctx, collab.Map(slices.Collect(maps.Keys(found)), func(k keys.Key) keys.Key { return members[k] }), true)
	if err != nil {
		return err
	}
	var writes []store.Write
	for k, removal := range found {
		switch end := granted[members[k]].Number(keys.GrantEnd); {
		case granted[members[k]] == nil: // taken meanwhile
		case end == 0:
			writes = append(writes, store.DeleteRead(removal, keys.LastUpdated))
		default:
			writes = append(writes, store.Update(k, expression.Set(expression.Name(keys.Resting), expression.Value(end)),
				expression.Name(keys.LastUpdated).Equal(expression.Value(removal.Number(keys.LastUpdated)))))
		}
	}
	return s.each(ctx, writes)
}

// each executes writes one by one, concurrently.
func (s *Store) each(ctx context.Context, writes []store.Write) error {
	return store.Each(ctx, len(writes), func(ctx context.Context, i int) error {
		_, err := s.Write(ctx, writes[i])
		return err
	})
}
