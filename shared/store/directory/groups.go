package directory

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// GroupName returns the name of a group. It returns NOT_FOUND if the group does not exist.
func (s *Store) GroupName(ctx context.Context, org collab.OrganizationRef, group string) (string, error) {
	it, err := s.Get(ctx, keys.Group(org, group))
	if err == nil && it == nil {
		err = collab.Errorf(collab.NotFound, "group %q does not exist", group)
	}
	return it.Text(keys.Name), err
}

// ChangeGroups adds or changes groups concurrently. The errors correspond to ids.
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

// MayNameGroups reports whether a user may list and mention the groups of an organization: whether
// the user is a member at a time.
func (s *Store) MayNameGroups(ctx context.Context, org collab.OrganizationRef, person string, at collab.Millis) (bool, error) {
	members, err := s.Members(ctx, org, []string{person})
	m, ok := members[person]
	return ok && m.Holds(at), err
}

// GroupsAfter returns up to limit groups after an id, in id order. It reads with strong
// consistency.
func (s *Store) GroupsAfter(ctx context.Context, org collab.OrganizationRef, after string, limit int) ([]collab.UserGroup, error) {
	q := store.Scan{PK: keys.OrganizationPartition(org), Keys: store.Children(keys.Groups), Strong: true}
	return store.ListAfter(ctx, s.Table, q, keys.Groups, after, limit, reader(keys.Groups, func(g *collab.UserGroup) *string { return &g.ID }))
}

// GroupUsers returns up to limit users of a group after an id, in id order. It reads with strong
// consistency.
func (s *Store) GroupUsers(ctx context.Context, org collab.OrganizationRef, group, after string, limit int) ([]string, error) {
	q := store.Scan{PK: keys.GroupUser(org, group, "").PK, Keys: store.Everything, Strong: true}
	return store.ListAfter(ctx, s.Table, q, "", after, limit, func(it store.Item) (string, error) { return store.LastPart(it, "") })
}

// AddGroupUsers adds users to a group concurrently. It ignores users that are in it. The errors
// correspond to users.
func (s *Store) AddGroupUsers(ctx context.Context, req *request.Request, org collab.OrganizationRef, group string, users []string) []error {
	return store.All(len(users), func(i int) error {
		for _, k := range []keys.Key{keys.UserGroup(org, users[i], group), keys.GroupUser(org, group, users[i])} {
			it := store.NewItem(k)
			it[keys.AddedBy] = store.Text(req.Mark())
			if _, err := s.Create(ctx, it); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteGroupUsers removes users from a group concurrently. It ignores users that are not in it.
// The errors correspond to users.
func (s *Store) DeleteGroupUsers(ctx context.Context, org collab.OrganizationRef, group string, users []string) []error {
	return store.All(len(users), func(i int) error { return s.deleteGroupUser(ctx, org, group, users[i]) })
}

// deleteGroupUser removes a user from a group. The item that lists the group of the user goes last,
// so that a retry can finish.
func (s *Store) deleteGroupUser(ctx context.Context, org collab.OrganizationRef, group, user string) error {
	if err := s.Delete(ctx, keys.GroupUser(org, group, user)); err != nil {
		return err
	}
	return s.Delete(ctx, keys.UserGroup(org, user, group))
}
