package directory

import (
	"context"
	"maps"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
)

// fewFoldersSeen is up to how many folders users' grants are asked for one by one, so that few users cost more than two read units.
const fewFoldersSeen = 1

// Viewings returns what decides whether users may see documents of one organization, but for the answers of the account's permission
// provider: by document, in their order, and in each by user. provided: the account has one, so that access types and grants do not matter.
// members: it is to be known who is a member of the organization, whatever the documents' access types.
//
// It reads the organization and the documents, and the folders above them; then, of all users at once, what these ask for: nothing where
// nobody set an access type and nobody was removed, else at most two read units a user, but for those with many grants on folders. What was
// written less than a second before may be missing.
func (s *Store) Viewings(
	ctx context.Context, docs []collab.DocumentRef, users []string, provided, members bool,
) ([][]collab.Viewing, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	org := docs[0].OrganizationRef
	var first []keys.Key // so that one round trip does where nothing is set
	if members {
		first = collab.Map(users, func(u string) keys.Key { return keys.Member(org, u) })
	}
	seen, err := s.seenDocuments(ctx, org, docs, first, provided)
	if err != nil {
		return nil, err
	}
	var ask []keys.Key
	asked := collab.Folders{} // whose grants matter
	for _, d := range seen.documents {
		for _, u := range users {
			ask = append(ask, d.asks(u, members, seen.removals)...)
		}
		for _, id := range seen.above.Up(d.Folder) {
			if f, exists := seen.above[id]; exists && d.granted() {
				asked[id] = f
			}
		}
	}
	listed, further, err := s.listFolderGrants(ctx, org, users, asked, fewFoldersSeen, false)
	if err != nil {
		return nil, err
	}
	g := grants{org: org, users: users}
	if g.found, err = s.GetAll(ctx, append(ask, further...), false); err != nil {
		return nil, err
	}
	maps.Copy(g.found, listed)
	maps.Copy(g.found, seen.items)
	isMember, err := g.on(collab.Resource{OrganizationRef: org})
	if err != nil {
		return nil, err
	}
	list := make([][]collab.Viewing, len(docs))
	for i, d := range seen.documents {
		of, err := g.standings(seen.above, "", d.Folder, "", isMember, collab.Resource{OrganizationRef: org, Document: d.ref})
		if err != nil {
			return nil, err
		}
		of.Access = d.set
		for _, u := range users {
			removed := g.found[keys.Removed(org, u)] != nil || g.found[keys.RemovedFrom(d.ref, u)] != nil
			list[i] = append(list[i], collab.Viewing{User: u, There: d.there, Removed: removed, Standing: of.Of(u), SetOn: d.setOn})
		}
	}
	return list, nil
}

// seenDocument is a document that somebody may see or not. Where it is not there, it is empty but for its reference.
type seenDocument struct {
	collab.Document
	ref             collab.DocumentRef
	there, removals bool          // it exists in the incarnation of the reference, and is enabled; users were taken out of it
	set             collab.Access // see collab.Folders.Set, also for the next
	setOn           string
}

// granted reports whether grants decide who sees the document.
func (d *seenDocument) granted() bool { return d.set != "" && d.set != collab.AccessPublic }

// asks returns the keys of what decides whether a user sees the document, but for grants on folders. member: it is known whether the user is
// one of the organization.
func (d *seenDocument) asks(user string, member, removals bool) (ask []keys.Key) {
	if !d.there {
		return nil
	}
	if d.granted() {
		ask = append(ask, keys.DocumentGrant(d.ref, user))
	}
	if !member && d.set == collab.AccessOrganizationPrivate {
		ask = append(ask, keys.Member(d.ref.OrganizationRef, user))
	}
	if removals {
		ask = append(ask, keys.Removed(d.ref.OrganizationRef, user))
	}
	if d.removals {
		ask = append(ask, keys.RemovedFrom(d.ref, user))
	}
	return ask
}

// seenDocuments are documents of an organization, and the folders above them.
type seenDocuments struct {
	documents []seenDocument
	removals  bool // users were taken out of the organization
	above     collab.Folders
	items     map[keys.Key]store.Item // that were read with them
}

// seenDocuments reads documents, and other items. provided: without the folders above, and the access types that they give.
func (s *Store) seenDocuments(
	ctx context.Context, org collab.OrganizationRef, docs []collab.DocumentRef, others []keys.Key, provided bool,
) (seen seenDocuments, err error) {
	itself := keys.Organization(org.Account, org.Organization)
	items, err := s.GetAll(ctx, append(append(collab.Map(docs, documentKey), itself), others...), false)
	if err != nil {
		return seen, err
	}
	seen.items = items
	of, err := s.readState(items[itself])
	if err != nil {
		return seen, err
	}
	there := items[itself] != nil && of.DeletedAt == 0 && of.Incarnation == org.Incarnation
	seen.removals = items[itself][keys.Removals] != nil
	var folders []string
	for _, doc := range docs {
		d := seenDocument{ref: doc}
		if it := items[documentKey(doc)]; it != nil && there {
			if d.Document, err = readDocument(it); err != nil {
				return seen, err
			}
			d.there = d.DeletedAt == 0 && !d.Disabled && d.Document.Ref(org) == doc
			d.removals = it[keys.Removals] != nil
		}
		if !d.there {
			d.Document = collab.Document{Folder: collab.RootFolder}
		}
		seen.documents, folders = append(seen.documents, d), append(folders, d.Folder)
	}
	if provided {
		return seen, nil
	}
	seen.above, err = s.FoldersAbove(ctx, org, folders)
	for i := range seen.documents {
		if d := &seen.documents[i]; d.there {
			d.set, d.setOn = seen.above.Set(d.Access, d.Folder)
		}
	}
	return seen, err
}
