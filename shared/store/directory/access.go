package directory

import (
	"context"
	"maps"
	"slices"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// OpenResources returns the resources of names, which are there and enabled. It fails like OpenDocument where one is not, and with
// NOT_FOUND where a folder does not exist.
func (s *Store) OpenResources(ctx context.Context, acct string, named []collab.ResourceName) ([]collab.Resource, error) {
	list := make([]collab.Resource, len(named))
	err := store.Each(ctx, len(named), func(ctx context.Context, i int) (err error) {
		n := named[i]
		if n.Document != "" {
			list[i].Document, err = s.OpenDocument(ctx, acct, n.Organization, n.Document, collab.CreateFlags{})
			list[i].OrganizationRef = list[i].Document.OrganizationRef
			return err
		}
		if list[i].OrganizationRef, err = s.OpenOrganization(ctx, acct, n.Organization); err != nil || n.Folder == "" {
			return err
		}
		list[i].Folder, err = s.findFolder(ctx, list[i].OrganizationRef, n.Folder)
		return err
	})
	return list, err
}

// AddGrants gives a user grants on resources, all or none: at most store.MaxWrites. They replace those that are there. Where the user was
// taken out of a resource before, or of its organization, a grant that holds undoes that.
func (s *Store) AddGrants(ctx context.Context, req *request.Request, user string, on []collab.Resource, grants []collab.Grant) error {
	itemKeys := collab.Map(on, func(in collab.Resource) keys.Key { return memberKey(in, user) })
	err := s.Try(ctx, "the permissions", req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		there, err := s.GetAll(ctx, itemKeys, true)
		if err != nil || req.Repeat && there[itemKeys[0]].Text(keys.Writer) == req.Mark() {
			return nil, err
		}
		writes := make([]store.Write, len(itemKeys))
		for i, k := range itemKeys {
			var it memberItem
			change := changeMember(req, on[i], user, func(m *collab.Member) { m.Grant = grants[i] })
			writes[i], err = store.Rewritten(k, there[k], req.Mark(), &it, func(it *memberItem, _ bool) error { return change(it) })
			if err != nil {
				return nil, err
			}
		}
		return writes, nil
	})
	if err != nil {
		return err
	}
	var held []collab.Resource
	for i := range on {
		if grants[i].Holds(req.Millis()) {
			held = append(held, on[i])
		}
	}
	return s.bringBack(ctx, []string{user}, held)
}

// Held is what a user has in an organization in addition to membership: a grant on a document or a folder, or a place in a group.
type Held struct {
	collab.Grant
	Document, Folder, Group string // one of them is not ""
	Position                string // of it in the list
}

// Holdings returns at most most of what a user has in an organization, after a position ("" for all). It may return grants on folders and
// documents that were deleted. Strongly consistent.
func (s *Store) Holdings(ctx context.Context, org collab.OrganizationRef, user, after string, most int) ([]Held, error) {
	q := store.Scan{PK: keys.GrantPartition(org), Keys: store.Children(keys.GrantsOf(user)).After(after), Limit: most, Strong: true}
	items, _, err := s.QueryPage(ctx, q)
	if err != nil {
		return nil, err
	}
	return readAll(items, func(it store.Item) (Held, error) {
		h := Held{Position: it.Text(keys.SK)}
		_, doc, folder, group, err := keys.ParseGrant(org, h.Position)
		if err == nil {
			h.Document, h.Folder, h.Group = doc.Document, folder.Folder, group
			err = it.Decode(&h.Grant)
		}
		return h, err
	})
}

// DeleteGrants takes grants on resources from a user, all or none; one that is not there is gone already.
func (s *Store) DeleteGrants(ctx context.Context, user string, on []collab.Resource) error {
	writes := collab.Map(on, func(in collab.Resource) store.Write { return store.Delete(memberKey(in, user)) })
	_, err := s.Write(ctx, writes...)
	return err
}

// Standings returns what decides what users may do with the organization, and with those of the folders and documents that exist. byDefault
// is the account's access. It fails with FAILED_PRECONDITION where the users have very many grants on folders, and the folders above what
// is asked for are very many. Strongly consistent: one round trip for each level of folders, and two more, or three for many folders.
func (s *Store) Standings(
	ctx context.Context, org collab.OrganizationRef, byDefault collab.Access, users, folders, documents []string,
) (*collab.Standings, error) {
	docs, err := s.DocumentsByID(ctx, org, documents)
	if err != nil {
		return nil, err
	}
	ask := folders
	for _, d := range docs {
		ask = append(ask[:len(ask):len(ask)], d.Folder)
	}
	tree, err := s.FoldersAbove(ctx, org, ask)
	if err != nil {
		return nil, err
	}
	g := grants{org: org, users: users}
	if g.found, err = s.readGrants(ctx, org, users, tree, docs); err != nil {
		return nil, err
	}
	of := &collab.Standings{Folders: map[string]collab.UserStandings{}, Documents: map[string]collab.UserStandings{}}
	if of.Members, err = g.on(collab.Resource{OrganizationRef: org}); err != nil {
		return nil, err
	}
	for _, id := range folders {
		if f, ok := tree[id]; ok {
			if of.Folders[id], err = g.standings(tree, f.Access, f.Parent, byDefault, of.Members, collab.Resource{OrganizationRef: org, Folder: f.Ref(org)}); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range docs {
		in := collab.Resource{OrganizationRef: org, Document: d.Ref(org)}
		with, err := g.standings(tree, d.Access, d.Folder, byDefault, of.Members, in)
		if err != nil {
			return nil, err
		}
		with.Document = d
		of.Documents[d.ID] = with
	}
	return of, nil
}

// What keeps one question for standings below 4,000 read units, where a missing grant that is asked for costs one. What 30 users have on
// 30 documents and in the organization is 930; 60 chains of folders are 600.
const (
	fewFolders     = collab.MaxFolderDepth // up to these, users' grants on folders are asked for one by one
	listedGrants   = 100                   // on folders, of each user: read in one go instead
	mostFoldersAsk = 2_000                 // grants on folders that are asked for one by one where users have more than that
)

// readGrants reads the grants of users on folders, documents and the organization, by key.
func (s *Store) readGrants(
	ctx context.Context, org collab.OrganizationRef, users []string, folders collab.Folders, docs []collab.Document,
) (map[keys.Key]store.Item, error) {
	listed, all, err := s.listFolderGrants(ctx, org, users, folders, fewFolders, true)
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		all = append(all, keys.Member(org, u))
		for _, d := range docs {
			all = append(all, keys.DocumentGrant(d.Ref(org), u))
		}
	}
	found, err := s.GetAll(ctx, all, true)
	maps.Copy(found, listed)
	return found, err
}

// listFolderGrants reads the first grants on folders of each user, where there are more than few folders to ask about. ask are the keys of
// the grants that this leaves to be read.
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

// folderGrants reads the first grants of a user on folders. last is the sort key of the last one, "" where there are no others.
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

// grants are those of some users on some resources.
type grants struct {
	org   collab.OrganizationRef
	users []string
	found map[keys.Key]store.Item
}

// on returns the grants on a resource by user.
func (g *grants) on(in collab.Resource) (map[string]*collab.Grant, error) {
	list := map[string]*collab.Grant{}
	for _, u := range g.users {
		if it := g.found[memberKey(in, u)]; it != nil {
			list[u] = &collab.Grant{}
			if err := it.Decode(list[u]); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// standings returns those of the users with a thing that has an access type of its own, or none, and lies in a folder.
func (g *grants) standings(
	tree collab.Folders, own collab.Access, folder string, byDefault collab.Access, members map[string]*collab.Grant, in collab.Resource,
) (of collab.UserStandings, err error) {
	of = collab.UserStandings{Access: tree.Access(own, folder, byDefault), Grants: map[string][]*collab.Grant{}, Members: members}
	resources := []collab.Resource{in}
	for _, id := range tree.Up(folder) {
		if f, exists := tree[id]; exists {
			resources = append(resources, collab.Resource{OrganizationRef: g.org, Folder: f.Ref(g.org)})
		}
	}
	for _, r := range resources {
		list, err := g.on(r)
		if err != nil {
			return of, err
		}
		for _, u := range g.users {
			of.Grants[u] = append(of.Grants[u], list[u])
		}
	}
	return of, nil
}

// Writers returns, by id, those of the users who may write in a document, as viewers of it; byDefault is the account's access. Nobody may
// in one that does not exist in this incarnation, or is disabled.
func (s *Store) Writers(
	ctx context.Context, doc collab.DocumentRef, byDefault collab.Access, users []string,
) (map[string]collab.Viewer, error) {
	return s.may(ctx, doc, byDefault, users, collab.Standing.MayWrite)
}

// MaySee returns, by id, which of the users may see a document, as Writers does.
func (s *Store) MaySee(ctx context.Context, doc collab.DocumentRef, byDefault collab.Access, users []string) (map[string]bool, error) {
	viewers, err := s.may(ctx, doc, byDefault, users, func(of collab.Standing, now collab.Millis) bool { return of.Grant(now) != nil })
	allowed := make(map[string]bool, len(viewers))
	for u := range viewers {
		allowed[u] = true
	}
	return allowed, err
}

func (s *Store) may(
	ctx context.Context, doc collab.DocumentRef, byDefault collab.Access, users []string, allows func(collab.Standing, collab.Millis) bool,
) (map[string]collab.Viewer, error) {
	of, err := s.Standings(ctx, doc.OrganizationRef, byDefault, users, nil, []string{doc.Document})
	if err != nil {
		return nil, err
	}
	with, exists := of.Documents[doc.Document]
	if !exists || with.Document.Disabled || with.Document.Ref(doc.OrganizationRef) != doc {
		return nil, nil
	}
	allowed := make(map[string]collab.Viewer, len(users))
	for _, u := range users {
		if of, now := with.Of(u), s.Millis(); allows(of, now) {
			allowed[u] = collab.Viewer{User: u, May: true, Member: of.Member.Holds(now)}
		}
	}
	return allowed, nil
}
