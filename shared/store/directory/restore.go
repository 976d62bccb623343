package directory

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// An import restores data from an export. Restoring adds missing data, and reports whether it added
// something. It returns ALREADY_EXISTS if different data exists, and leaves that unchanged.

// Removal is the removal of a user from an organization, folder or document.
type Removal struct {
	User      string
	Folder    string
	At        collab.Millis
	GrantOnly bool // it hides nothing
	// Opened reports that it is no removal from the document, which is open to the user in spite of
	// the removal from the organization.
	Opened bool
}

// readRemoval returns a removal from an organization, with its folders, or from a document.
func readRemoval(in collab.Resource, it store.Item) Removal {
	folder, _ := keys.ParseRemovalFromFolder(in.OrganizationRef, it.Text(keys.SK))
	return Removal{User: it.Text(keys.RemovedUser), Folder: folder.Folder, At: it.Number(keys.LastUpdated), GrantOnly: !hides(it)}
}

// ListRemovals returns up to limit users removed from a document, or from an organization and its
// folders, after a sort key. next is the sort key to continue after, "" at the end. It reads with
// strong consistency.
func (s *Store) ListRemovals(ctx context.Context, in collab.Resource, after string, limit int) (list []Removal, next string, err error) {
	items, more, err := s.QueryPage(ctx, store.Scan{
		PK: removedKey(in, "").PK, Keys: store.Everything.After(after), Limit: limit, Strong: true,
	})
	for _, it := range items {
		next = it.Text(keys.SK)
		if r := readRemoval(in, it); r.User != "" { // otherwise the user's data was erased
			list = append(list, r)
		}
	}
	if !more {
		next = ""
	}
	return list, next, err
}

// ListOpenings returns up to limit openings of a document after a sort key, as ListRemovals does.
func (s *Store) ListOpenings(ctx context.Context, doc collab.DocumentRef, after string, limit int) (list []Removal, next string, err error) {
	items, more, err := s.QueryPage(ctx, store.Scan{
		Index: keys.IndexIn, PK: keys.OpeningsOf(doc), Keys: store.Everything.After(after), Limit: limit,
	})
	var users []string
	for _, it := range items {
		next = it.Text(keys.DocAnn)
		user, err := keys.Unescape(next[len(keys.Members):])
		if err != nil {
			return nil, "", store.Unreadable(it.Key(), err)
		}
		users = append(users, user)
	}
	if !more {
		next = ""
	}
	if err == nil {
		list, err = s.openings(ctx, doc, users)
	}
	return list, next, err
}

func (s *Store) openings(ctx context.Context, doc collab.DocumentRef, users []string) (list []Removal, err error) {
	found, err := s.GetAll(ctx, collab.Map(users, func(u string) keys.Key { return keys.Opening(doc, u) }), true)
	for _, u := range users {
		if it := found[keys.Opening(doc, u)]; it != nil {
			list = append(list, Removal{User: u, At: it.Number(keys.LastUpdated), Opened: true})
		}
	}
	return list, err
}

// RemovalsOf returns the removals of users from an organization or document, and the document's
// openings, with strong consistency.
func (s *Store) RemovalsOf(ctx context.Context, in collab.Resource, users []string) (list []Removal, err error) {
	if in.Document.Document != "" {
		if list, err = s.openings(ctx, in.Document, users); err != nil {
			return nil, err
		}
	}
	found, err := s.GetAll(ctx, collab.Map(users, func(u string) keys.Key { return removedKey(in, u) }), true)
	for _, u := range users {
		if removal := found[removedKey(in, u)]; removal != nil {
			removal[keys.RemovedUser] = store.Text(u)
			list = append(list, readRemoval(in, removal))
		}
	}
	return list, err
}

// HaveRemovals reports whether users were removed from the organization, and from which documents,
// in order. It reads with strong consistency.
func (s *Store) HaveRemovals(
	ctx context.Context, org collab.OrganizationRef, documents []collab.DocumentRef,
) (fromAll bool, from []bool, err error) {
	itself := keys.Organization(org.Account, org.Organization)
	found, err := s.GetAll(ctx, append(collab.Map(documents, documentKey), itself), true)
	from = collab.Map(documents, func(d collab.DocumentRef) bool { return found[documentKey(d)][keys.Removals] != nil })
	return found[itself][keys.Removals] != nil, from, err
}

// RestoreRemoval records the removal of a user from an organization, folder or document, unless a
// later removal is known. It fails if the user has a grant there: the user was added again.
func (s *Store) RestoreRemoval(ctx context.Context, in collab.Resource, r Removal) (bool, error) {
	if r.Opened {
		existing, err := s.Table.Create(ctx, openingItem(in.Document, r.User, r.At))
		return existing == nil, err
	}
	removal, member := removedKey(in, r.User), memberKey(in, r.User)
	found, err := s.GetAll(ctx, []keys.Key{removal, member}, true)
	if err != nil || found[removal] != nil && found[removal].Number(keys.LastUpdated) >= r.At || r.GrantOnly && hides(found[removal]) {
		return false, err
	}
	if found[member] != nil {
		return false, collab.Errorf(collab.AlreadyExists, "user %q has access again; left unchanged", r.User)
	}
	if err := s.flagRemovals(ctx, in); err != nil {
		return false, err
	}
	it := s.removedItem(in, r.User, r.GrantOnly)
	it[keys.LastUpdated] = store.Number(r.At)
	return true, s.Put(ctx, it)
}

// RestorePreferences compares a user's preferences for an organization, or for a document, which
// need not exist. If add is true, it sets missing ones.
func (s *Store) RestorePreferences(ctx context.Context, org collab.OrganizationRef, u collab.UserPreferences, add bool) (bool, error) {
	documents, doc := []string(nil), org.Document("")
	if u.Document != "" {
		refs, err := s.refs(ctx, org, []string{u.Document})
		if err != nil {
			return false, err
		}
		documents, doc = []string{u.Document}, refs[0]
	}
	set, err := s.preferences(ctx, 1, true, func(int) (string, collab.DocumentRef) { return u.User, doc })
	if err != nil {
		return false, err
	}
	existing, times := set[0].Organization, set[0].Mail
	if u.Document != "" {
		existing, times = set[0].Document, collab.MailTimes{}
	}
	wanted, exists := u.Channels(), existing.Channels()
	switch {
	case !within(wanted, exists) && !within(exists, wanted):
		return false, collab.Otherwise("config")
	case u.Mail != (collab.MailTimes{}) && times != (collab.MailTimes{}) && u.Mail != times:
		return false, collab.Otherwise("mailFrequency")
	case !add:
		return false, nil
	}
	added := false
	if !within(wanted, exists) {
		added, err = true, s.SetPreferences(ctx, org, []string{u.User}, documents, u.Preferences)
	}
	if err == nil && u.Mail != times && u.Mail != (collab.MailTimes{}) {
		added, err = true, s.SetMailTimes(ctx, org, []string{u.User}, u.Mail)
	}
	return added, err
}

// within reports whether others contains some.
func within(some, others map[string]collab.Preference) bool {
	for channel, p := range some {
		if others[channel] != p {
			return false
		}
	}
	return true
}

// RestoreGroup adds a group, or the missing users to an existing group. It returns ALREADY_EXISTS
// if that has another name. A nil name matches any.
func (s *Store) RestoreGroup(
	ctx context.Context, req *request.Request, org collab.OrganizationRef, group string, name *string, users []string,
) (bool, error) {
	itemKeys := collab.Map(users, func(u string) keys.Key { return keys.GroupUser(org, group, u) })
	found, err := s.GetAll(ctx, append(itemKeys, keys.Group(org, group)), true)
	if err != nil {
		return false, err
	}
	existing := found[keys.Group(org, group)]
	var renamed error
	if existing != nil && name != nil && existing.Text(keys.Name) != *name {
		renamed = collab.Otherwise("groupName")
	}
	if existing == nil {
		name := cmp.Or(name, &group)
		errs := s.ChangeGroups(ctx, req, org, []string{group}, func(_ int, g *collab.UserGroup) { g.Name = *name })
		if errs[0] != nil {
			return false, errs[0]
		}
	}
	missing := slices.DeleteFunc(slices.Clone(users), func(u string) bool { return found[keys.GroupUser(org, group, u)] != nil })
	return existing == nil || len(missing) > 0, cmp.Or(append(s.AddGroupUsers(ctx, req, org, group, missing), renamed)...)
}

// Imported returns which things of a kind imports added or found. It reads with strong consistency.
func (s *Store) Imported(ctx context.Context, org collab.OrganizationRef, kind string, ids []string) (map[string]bool, error) {
	found, err := s.GetAll(ctx, collab.Map(ids, func(id string) keys.Key { return keys.Imported(org, kind, id) }), true)
	before := make(map[string]bool, len(ids))
	for _, id := range ids {
		before[id] = found[keys.Imported(org, kind, id)] != nil
	}
	return before, err
}

// SetImported remembers that an import added or found them.
func (s *Store) SetImported(ctx context.Context, org collab.OrganizationRef, kind string, ids []string) error {
	return store.Each(ctx, len(ids), func(ctx context.Context, i int) error {
		return s.Put(ctx, store.NewItem(keys.Imported(org, kind, ids[i])))
	})
}
