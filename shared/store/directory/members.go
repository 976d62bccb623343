package directory

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// memberItem is the item of a member of an organization, or of a grant on a folder or document,
// which In and DocAnn list.
type memberItem struct {
	collab.Member
	Details collab.JSON `dynamodbav:"usr,omitempty"` // further fields of the user object
	In      string      `dynamodbav:"in,omitempty"`
	DocAnn  string      `dynamodbav:"da,omitempty"`
}

func (it memberItem) member(user string) (collab.Member, error) {
	it.UserID = user
	if it.Details == nil {
		return it.Member, nil
	}
	return it.Member, json.Unmarshal(it.Details, &it.Member.UserDetails)
}

var errNoUser = collab.Errorf(collab.NotFound, "User does not exist.")

func memberKey(in collab.Resource, user string) keys.Key {
	switch {
	case in.Document.Document != "":
		return keys.DocumentGrant(in.Document, user)
	case in.Folder.Folder != "":
		return keys.FolderGrant(in.Folder, user)
	}
	return keys.Member(in.OrganizationRef, user)
}

func membersOf(in collab.Resource) string {
	if in.Document.Document != "" {
		return keys.DocumentGranted(in.Document)
	}
	return keys.FolderGranted(in.Folder)
}

func changeMember(req *request.Request, in collab.Resource, user string, change func(*collab.Member)) func(*memberItem) error {
	return func(it *memberItem) (err error) {
		if it.Member, err = it.member(user); err != nil {
			return err
		}
		change(&it.Member)
		it.Role = cmp.Or(it.Role, collab.RoleEditor)
		it.CreatedAt, it.LastUpdated = cmp.Or(it.CreatedAt, req.Millis()), req.Millis()
		it.Details = nil
		if it.UserDetails != (collab.UserDetails{}) {
			it.Details, err = collab.EncodeJSON(it.UserDetails)
		}
		if in.Folder.Folder != "" || in.Document.Document != "" {
			it.In, it.DocAnn = membersOf(in), keys.Members+keys.Escape(user)
		}
		return err
	}
}

// ChangeMembers changes users of a resource concurrently. If create is true, it adds missing ones.
// It also ends their removal from the resource, and the mark of an address that changes. It does
// not check the resource. The errors correspond to users: NOT_FOUND if the user is missing and
// create is false.
func (s *Store) ChangeMembers(
	ctx context.Context, req *request.Request, in collab.Resource, users []string, create bool, change func(i int, m *collab.Member),
) []error {
	itemKeys := collab.Map(users, func(user string) keys.Key { return memberKey(in, user) })
	moved := make([]bool, len(users))
	c := changes[memberItem]{s, req, always("the user"), itemKeys, func(i int, it *memberItem, exists bool) error {
		if !exists && !create {
			return errNoUser
		}
		return changeMember(req, in, users[i], func(m *collab.Member) { moved[i] = movesAddress(m, func() { change(i, m) }) })(it)
	}}
	errs := c.all(ctx)
	s.forgetProfiles(users...)
	for i, user := range users {
		if moved[i] && errs[i] == nil {
			errs[i] = s.endUndeliverable(ctx, in.OrganizationRef, user)
		}
	}
	if !create {
		return errs
	}
	if err := s.endRemovals(ctx, users, []collab.Resource{in}); err != nil {
		for i := range errs {
			errs[i] = cmp.Or(errs[i], err)
		}
	}
	return errs
}

// AddUnlessRemoved changes a user of a resource, and adds a missing one unless the user was removed
// from the resource or from one above. It gives no access that was taken away.
func (s *Store) AddUnlessRemoved(
	ctx context.Context, req *request.Request, in collab.Resource, user string, change func(m *collab.Member),
) error {
	defer s.forgetProfiles(user)
	removals, err := s.removedKeys(ctx, in, user)
	if err != nil {
		return err
	}
	member, moved := memberKey(in, user), false
	c := changes[memberItem]{s, req, always("the user"), []keys.Key{member}, func(_ int, it *memberItem, _ bool) error {
		return changeMember(req, in, user, func(m *collab.Member) { moved = movesAddress(m, func() { change(m) }) })(it)
	}}
	err = s.Try(ctx, c.subject(0), req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		found, err := s.GetAll(ctx, append(removals[:len(removals):len(removals)], member), true)
		if err != nil || found[member] == nil && len(found) > 0 {
			return nil, err
		}
		w, err := c.write(0, found[member])
		if w == nil || err != nil {
			return nil, err
		}
		writes := []store.Write{*w}
		if found[member] == nil {
			writes = append(writes, collab.Map(removals, store.RequireAbsent)...)
		}
		return writes, nil
	})
	if err == nil && moved {
		err = s.endUndeliverable(ctx, in.OrganizationRef, user)
	}
	return err
}

// removedKeys returns the keys of a user's removals from a resource and from those above.
func (s *Store) removedKeys(ctx context.Context, in collab.Resource, user string) ([]keys.Key, error) {
	levels, err := s.Levels(ctx, in)
	return collab.Map(levels, func(level collab.Resource) keys.Key { return removedKey(level, user) }), err
}

// deleteGrants removes a user's grants in an organization that were written until a time, and
// removes the user from groups. It calls first before the first deletion, and returns the number of
// deletions.
func (s *Store) deleteGrants(
	ctx context.Context, org collab.OrganizationRef, user string, until collab.Millis, first func() error,
) (n int, err error) {
	items, err := s.Query(ctx, store.Scan{
		PK: keys.GrantPartition(org), Keys: store.Children(keys.GrantsOf(user)), Strong: true,
		Project: []string{keys.PK, keys.SK, keys.LastUpdated, keys.AddedBy},
	})
	items = slices.DeleteFunc(items, func(it store.Item) bool {
		return it.Number(keys.LastUpdated) > until || it.Text(keys.AddedBy) >= collab.EarliestID(until+1)
	})
	if err == nil && len(items) > 0 {
		err = first()
	}
	if err != nil {
		return 0, err
	}
	return len(items), store.Each(ctx, len(items), func(ctx context.Context, i int) error {
		_, _, _, group, err := keys.ParseGrant(org, items[i].Text(keys.SK))
		if err != nil {
			return store.Unreadable(items[i].Key(), err)
		}
		if group != "" {
			return s.deleteGroupUser(ctx, org, group, user)
		}
		return s.Delete(ctx, items[i].Key())
	})
}

func readMember(it store.Item) (collab.Member, error) {
	return readMemberItem(it, func(it store.Item) (string, error) { return store.LastPart(it, keys.Members) })
}

func readMemberItem(it store.Item, user func(store.Item) (string, error)) (collab.Member, error) {
	var m memberItem
	if err := it.Decode(&m); err != nil {
		return m.Member, err
	}
	id, err := user(it)
	if err != nil {
		return m.Member, err
	}
	return m.member(id)
}

// Members returns the members of the organization among users, by user id. It reads with strong
// consistency.
func (s *Store) Members(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]collab.Member, error) {
	list, err := readByIDs(ctx, s, users, func(user string) keys.Key { return keys.Member(org, user) }, true, readMember)
	members := make(map[string]collab.Member, len(list))
	for _, m := range list {
		members[m.UserID] = m
	}
	return members, err
}

// TimeZones returns the time zones of users, by user id: that of the member of the organization,
// else the first of the user's folders and documents that has one. It looks at no more than 100 of
// these.
func (s *Store) TimeZones(ctx context.Context, org collab.OrganizationRef, users []string) (map[string]string, error) {
	members, err := s.Members(ctx, org, users)
	if err != nil {
		return nil, err
	}
	zones := make([]string, len(users))
	err = store.Each(ctx, len(users), func(ctx context.Context, i int) error {
		if zones[i] = members[users[i]].TimeZone; zones[i] != "" {
			return nil
		}
		items, _, err := s.QueryPage(ctx, store.Scan{
			PK: keys.GrantPartition(org), Keys: store.Children(keys.GrantsOf(users[i])), Limit: listedGrants, Strong: true,
		})
		for _, it := range items {
			m, err := s.GrantOf(it, users[i])
			if zones[i] = m.TimeZone; err != nil || zones[i] != "" {
				return err
			}
		}
		return err
	})
	list := make(map[string]string, len(users))
	for i, u := range users {
		list[u] = zones[i]
	}
	return list, err
}

// DocumentNames returns the names of existing documents, in one read with eventual consistency.
func (s *Store) DocumentNames(ctx context.Context, org collab.OrganizationRef, documents []string) (map[collab.DocumentRef]string, error) {
	found, err := s.GetAll(ctx, collab.Map(documents, func(id string) keys.Key { return keys.Document(org, id) }), false)
	names := make(map[collab.DocumentRef]string, len(found))
	for _, it := range found {
		d, err := readDocument(it)
		if err != nil {
			return nil, err
		}
		if d.DeletedAt == 0 {
			names[d.Ref(org)] = d.Name
		}
	}
	return names, err
}

// ListMembers yields the members of the organization after a user id, in id order, as
// ListOrganizations does.
func (s *Store) ListMembers(ctx context.Context, org collab.OrganizationRef, after string, limit int) iter.Seq2[collab.Member, error] {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Members), Limit: limit + 1}
	return store.List(ctx, s.Table, q, keys.Members, after, readMember)
}

// GrantOf returns the user in the item of a grant.
func (s *Store) GrantOf(it store.Item, user string) (collab.Member, error) {
	return readMemberItem(it, func(store.Item) (string, error) { return user, nil })
}
