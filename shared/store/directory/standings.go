package directory

import (
	"context"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// Limits of one call with default access: 4,000 read units. A missing grant costs one unit: 30
// users and 30 documents have 930 grants. 60 chains of folders cost 600 units.
const (
	// Up to this number, grants on folders are read one by one.
	fewFolders = collab.MaxFolderDepth
	// The same without default access, so that a user costs at most two read units.
	fewFoldersUnset = 1
	// Grants on folders of each user that are read at once instead.
	listedGrants = 100
	// Grants on folders that are read one by one for users with more grants than that.
	mostFoldersAsk = 2_000
)

type asked struct {
	document *collab.DocumentRef // nil for a folder
	in       string              // the folder itself, or the document's folder
	standing collab.Standing     // of all users
	removals bool                // users were removed from the document
	grants   bool                // grants decide
}

// Standings returns the data that decides access of users to folders and documents of an
// organization, except the answers of a permission provider.
//
// It reads the organization, the documents and the folders above, then the relevant items of all
// users at once. With a default access, it reads all grants with strong consistency. It returns
// FAILED_PRECONDITION if both the users' grants on folders and the folders above are too many.
//
// Without a default access, it reads nothing more if no access type is set and nobody was removed.
// Otherwise it reads at most two units for each user, except users with many grants on folders, and
// may miss writes of the last second.
func (s *Store) Standings(ctx context.Context, org collab.OrganizationRef, q collab.StandingQuery) (*collab.Standings, error) {
	full := q.Default != ""
	itself := keys.Organization(org.Account, org.Organization)
	first := append(collab.Map(q.Documents, documentKey), itself)
	for _, u := range q.Users {
		if full || q.Members {
			first = append(first, keys.Member(org, u))
		}
	}
	var early []keys.Key
	for _, u := range q.Users {
		for _, doc := range q.Documents {
			if q.Early {
				early = append(early, keys.DocumentGrant(doc, u), keys.Removed(org, u), keys.RemovedFrom(doc, u))
			}
		}
	}
	found, err := s.GetAll(ctx, append(first, early...), full)
	if err != nil {
		return nil, err
	}
	state, err := s.readState(found[itself])
	if err != nil {
		return nil, err
	}
	exists := found[itself] != nil && state.DeletedAt == 0 && state.Incarnation == org.Incarnation
	removals := found[itself][keys.Removals] != nil && !full

	var list []asked
	access := map[int]collab.Access{} // of documents, their own
	for i, ref := range q.Documents {
		a := asked{document: &q.Documents[i], in: collab.RootFolder}
		if it := found[documentKey(ref)]; it != nil && exists {
			d, err := readDocument(it)
			if err != nil {
				return nil, err
			}
			at := d.Ref(org)
			issued := q.Person == nil || q.Person.Issued(at.Incarnation)
			if d.DeletedAt == 0 && issued && (at == ref || ref.Incarnation == collab.AnyIncarnation) {
				a = asked{document: &at, in: d.Folder, removals: it[keys.Removals] != nil && !full}
				a.standing.There, a.standing.Disabled, access[i] = true, d.Disabled, d.Access
			}
		}
		list = append(list, a)
	}
	for _, id := range q.Folders {
		list = append(list, asked{in: id})
	}
	var tree collab.Folders
	if !q.Provided {
		if tree, err = s.FoldersAbove(ctx, org, collab.Map(list, func(a asked) string { return a.in })); err != nil {
			return nil, err
		}
	}
	var ask []keys.Key
	matter := collab.Folders{} // folders whose grants decide
	for i := range list {
		a := &list[i]
		if _, exists := tree[a.in]; a.document == nil {
			a.standing.There = exists
		}
		if !a.standing.There || a.standing.Disabled && !full {
			continue
		}
		if !q.Provided {
			a.standing.Access, a.standing.SetOn = tree.Set(access[i], a.in)
		}
		if set := a.standing.Access; full {
			a.grants = true
			if set == "" {
				a.standing.Access = q.Default
			}
		} else {
			a.grants = set != "" && set != collab.AccessPublic
		}
		for _, u := range q.Users {
			ask = append(ask, a.asks(org, u, full || q.Members, removals)...)
		}
		for _, id := range tree.Up(a.in) {
			if f, exists := tree[id]; exists && a.grants {
				matter[id] = f
			}
		}
	}
	few := fewFoldersUnset
	if full {
		few = fewFolders
	}
	listed, further, err := s.listFolderGrants(ctx, org, q.Users, matter, few, full)
	if err != nil {
		return nil, err
	}
	further = append(further, ask...)
	more, err := s.GetAll(ctx, slices.DeleteFunc(further, func(k keys.Key) bool { return slices.Contains(early, k) }), full)
	if err != nil {
		return nil, err
	}
	maps.Copy(found, more)
	maps.Copy(found, listed)
	if tree, err = s.readOpen(ctx, org, q, list, tree, found); err != nil {
		return nil, err
	}
	return s.standings(org, q, list, tree, found)
}

// readOpen reads the items that open documents and folders to users among q.Users who were removed
// from the organization, into found. It returns the folders above.
func (s *Store) readOpen(
	ctx context.Context, org collab.OrganizationRef, q collab.StandingQuery, list []asked, tree collab.Folders, found map[keys.Key]store.Item,
) (collab.Folders, error) {
	removed := slices.DeleteFunc(slices.Clone(q.Users), func(u string) bool { return !s.hidesNow(found[keys.Removed(org, u)]) })
	if len(removed) == 0 {
		return tree, nil
	}
	if q.Provided {
		var err error
		if tree, err = s.FoldersAbove(ctx, org, collab.Map(list, func(a asked) string { return a.in })); err != nil {
			return nil, err
		}
	}
	var ask []keys.Key
	for _, a := range list {
		for _, u := range removed {
			if a.document != nil {
				ask = append(ask, keys.Opening(*a.document, u), keys.DocumentGrant(*a.document, u))
			}
			for _, id := range tree.Up(a.in) {
				if f, exists := tree[id]; exists {
					ask = append(ask, keys.FolderGrant(f.Ref(org), u))
				}
			}
		}
	}
	more, err := s.GetAll(ctx, ask, false)
	maps.Copy(found, more)
	return tree, err
}

// asks returns the keys of a user's relevant items, except grants on folders. member is true if the
// user's membership is already known.
func (a *asked) asks(org collab.OrganizationRef, user string, member, removals bool) (ask []keys.Key) {
	if a.grants && a.document != nil {
		ask = append(ask, keys.DocumentGrant(*a.document, user))
	}
	if !member && a.standing.Access == collab.AccessOrganizationPrivate {
		ask = append(ask, keys.Member(org, user))
	}
	if removals {
		ask = append(ask, keys.Removed(org, user))
	}
	if a.removals {
		ask = append(ask, keys.RemovedFrom(*a.document, user))
	}
	return ask
}

func (s *Store) standings(
	org collab.OrganizationRef, q collab.StandingQuery, list []asked, tree collab.Folders, found map[keys.Key]store.Item,
) (*collab.Standings, error) {
	grant := func(k keys.Key) (g *collab.Grant, err error) {
		if it := found[k]; it != nil {
			g = &collab.Grant{}
			err = it.Decode(g)
		}
		return g, err
	}
	all := &collab.Standings{Members: map[string]*collab.Grant{}}
	for _, u := range q.Users {
		g, err := grant(keys.Member(org, u))
		if err != nil {
			return nil, err
		}
		all.Members[u] = g
	}
	for _, a := range list {
		var by []collab.Standing
		for _, u := range q.Users {
			with := a.standing
			with.User, with.Member, with.RemovedFromAll = u, all.Members[u], s.hidesNow(found[keys.Removed(org, u)])
			var on []keys.Key
			if a.document != nil {
				on = append(on, keys.DocumentGrant(*a.document, u))
				with.Removed, with.Opened = s.hidesNow(found[keys.RemovedFrom(*a.document, u)]), found[keys.Opening(*a.document, u)] != nil
			}
			for _, id := range tree.Up(a.in) {
				if f, exists := tree[id]; exists {
					on = append(on, keys.FolderGrant(f.Ref(org), u))
				}
			}
			for _, k := range on {
				g, err := grant(k)
				if err != nil {
					return nil, err
				}
				with.Grants = append(with.Grants, g)
			}
			by = append(by, with)
		}
		if a.document != nil {
			all.Documents = append(all.Documents, by)
		} else {
			all.Folders = append(all.Folders, by)
		}
	}
	return all, nil
}

// listFolderGrants reads the first grants on folders of each user if there are more than few
// folders. ask are the keys that remain to be read.
func (s *Store) listFolderGrants(
	ctx context.Context, org collab.OrganizationRef, users []string, folders collab.Folders, few int, strong bool,
) (listed map[keys.Key]store.Item, ask []keys.Key, err error) {
	lists := make([]map[keys.Key]store.Item, len(users))
	left := make([][]keys.Key, len(users))
	err = store.Each(ctx, len(users), func(ctx context.Context, i int) (err error) {
		var last string
		if len(folders) > few {
			if lists[i], last, err = s.folderGrants(ctx, org, users[i], strong); err != nil || last == "" {
				return err
			}
		}
		for _, f := range folders {
			if k := keys.FolderGrant(f.Ref(org), users[i]); k.SK > last {
				left[i] = append(left[i], k)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if ask = slices.Concat(left...); len(folders) > few && len(ask) > mostFoldersAsk {
		return nil, nil, collab.Errorf(collab.FailedPrecondition,
			"there are too many folders above what is asked for, and grants of the users on others: ask for fewer users or resources at once")
	}
	listed = map[keys.Key]store.Item{}
	for _, items := range lists {
		maps.Copy(listed, items)
	}
	return listed, ask, nil
}

// folderGrants reads a user's first grants on folders. last is the sort key of the last one, "" if
// there are no more.
func (s *Store) folderGrants(
	ctx context.Context, org collab.OrganizationRef, user string, strong bool,
) (list map[keys.Key]store.Item, last string, err error) {
	q := store.Scan{PK: keys.GrantPartition(org), Keys: store.Children(keys.FolderGrantsOf(user)), Limit: listedGrants, Strong: strong}
	items, more, err := s.QueryPage(ctx, q)
	list = make(map[keys.Key]store.Item, len(items))
	for _, it := range items {
		list[it.Key()] = it
		last = it.Text(keys.SK)
	}
	if !more {
		last = ""
	}
	return list, last, err
}
