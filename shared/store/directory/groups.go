package directory

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// GroupName returns the name of a group; NOT_FOUND when it does not exist.
func (s *Store) GroupName(ctx context.Context, org collab.OrganizationRef, group string) (string, error) {
	it, err := s.Get(ctx, keys.Group(org, group))
	if err == nil && it == nil {
		err = collab.Errorf(collab.NotFound, "group %q does not exist", group)
	}
	return it.Text(keys.Name), err
}

// ChangeGroups changes groups of users, side by side, or adds them. Errors stand at the places of their groups.
func (s *Store) ChangeGroups(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, ids []string, change func(i int, g *collab.UserGroup),
) []error {
	itemKeys := collab.Map(ids, func(id string) keys.Key { return keys.Group(org, id) })
	c := changes[collab.UserGroup]{s, req, always("the group"), itemKeys, func(i int, g *collab.UserGroup, _ bool) error {
		g.ID = ids[i]
		change(i, g)
		g.CreatedAt, g.LastUpdated = cmp.Or(g.CreatedAt, req.Millis()), req.Millis()
		return nil
	}}
	return c.all(ctx)
}

// MayNameGroups reports whether a person may learn of an organization's groups and mention them: whether they are its member at a time.
func (s *Store) MayNameGroups(ctx context.Context, org collab.OrganizationRef, person string, at collab.Millis) (bool, error) {
	members, err := s.Members(ctx, org, []string{person})
	m, is := members[person]
	return is && m.Holds(at), err
}

// GroupsAfter returns at most most groups after one, "" for the first, by id. Strongly consistent.
func (s *Store) GroupsAfter(ctx context.Context, org collab.OrganizationRef, after string, most int) ([]collab.UserGroup, error) {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Groups), Strong: true}
	return store.ListAfter(ctx, s.Table, q, keys.Groups, after, most, reader(keys.Groups, func(g *collab.UserGroup) *string { return &g.ID }))
}

// GroupUsers returns at most most users of a group after one, "" for the first, by id. Strongly consistent.
func (s *Store) GroupUsers(ctx context.Context, org collab.OrganizationRef, group, after string, most int) ([]string, error) {
	q := store.Scan{PK: keys.GroupUser(org, group, "").PK, Keys: store.Everything, Strong: true}
	return store.ListAfter(ctx, s.Table, q, "", after, most, func(it store.Item) (string, error) { return store.LastPart(it, "") })
}

// InGroup reports whether a user is in a group. Eventually consistent.
func (s *Store) InGroup(ctx context.Context, org collab.OrganizationRef, group, user string) (bool, error) {
	found, err := s.GetAll(ctx, []keys.Key{keys.GroupUser(org, group, user)}, false)
	return len(found) > 0, err
}

// AddGroupUsers puts users into a group, side by side; who is in it stays. Errors stand at the places of their users.
func (s *Store) AddGroupUsers(ctx context.Context, req *request.Request, org collab.OrganizationRef, group string, users []string) []error {
	return each(users, func(user string) error {
		for _, k := range []keys.Key{keys.UserGroup(org, user, group), keys.GroupUser(org, group, user)} {
			it := store.NewItem(k)
			it[keys.AddedBy] = store.Text(req.Mark())
			if _, err := s.Create(ctx, it); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteGroupUsers takes users out of a group, side by side; who is not in it is no error. Errors stand at the places of their users.
func (s *Store) DeleteGroupUsers(ctx context.Context, org collab.OrganizationRef, group string, users []string) []error {
	return each(users, func(user string) error { return s.deleteGroupUser(ctx, org, group, user) })
}

// deleteGroupUser takes a user out of a group. The item by which it finds them goes last, so that a repeat can finish.
func (s *Store) deleteGroupUser(ctx context.Context, org collab.OrganizationRef, group, user string) error {
	if err := s.Delete(ctx, keys.GroupUser(org, group, user)); err != nil {
		return err
	}
	return s.Delete(ctx, keys.UserGroup(org, user, group))
}

// each calls f for each id, side by side, and returns the errors at their places.
func each(ids []string, f func(id string) error) []error {
	errs := make([]error, len(ids))
	store.All(len(ids), func(i int) { errs[i] = f(ids[i]) })
	return errs
}
