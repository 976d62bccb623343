package directory

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
	"collabdata/shared/store"
)

// OpenResources returns existing, enabled resources by name. It returns the errors of OpenDocument,
// and NOT_FOUND if a folder does not exist.
func (s *Store) OpenResources(ctx context.Context, acct string, named []collab.ResourceName) ([]collab.Resource, error) {
	list := make([]collab.Resource, len(named))
	err := store.Each(ctx, len(named), func(ctx context.Context, i int) (err error) {
		list[i], err = s.OpenResource(ctx, acct, named[i], collab.CreateFlags{})
		return err
	})
	return list, err
}

// OpenResource returns one resource like OpenResources. It adds a missing organization or document
// as OpenDocument does.
func (s *Store) OpenResource(ctx context.Context, acct string, n collab.ResourceName, create collab.CreateFlags) (in collab.Resource, err error) {
	if n.Document != "" {
		in.Document, err = s.OpenDocument(ctx, acct, n.Organization, n.Document, create)
		in.OrganizationRef = in.Document.OrganizationRef
		return in, err
	}
	if in.OrganizationRef, err = s.OpenOrCreateOrganization(ctx, acct, n.Organization, create.Organization); err != nil || n.Folder == "" {
		return in, err
	}
	in.Folder, err = s.findFolder(ctx, in.OrganizationRef, n.Folder)
	return in, err
}

// AddGrants sets grants of a user on at most store.MaxWrites resources, all or none. A grant that
// gives access also undoes the user's removal from the resource or its organization.
func (s *Store) AddGrants(ctx context.Context, req *request.Request, user string, on []collab.Resource, grants []collab.Grant) error {
	itemKeys := collab.Map(on, func(in collab.Resource) keys.Key { return memberKey(in, user) })
	err := s.Try(ctx, "the permissions", req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		there, err := s.GetAll(ctx, itemKeys, true)
		if err != nil || req.Repeat && there[itemKeys[0]].WrittenBy(req.Mark()) {
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

// Held is a grant of a user on a document or folder, or a place in a group.
type Held struct {
	collab.Grant
	Document, Folder, Group string // exactly one of them is set
	Position                string // in the list
}

// Holdings returns up to most grants and group places of a user in an organization after a
// position, "" for the first. Grants on deleted folders and documents may be among them. It reads
// with strong consistency.
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

// DeleteGrants deletes grants of a user, all or none. It ignores missing ones.
func (s *Store) DeleteGrants(ctx context.Context, user string, on []collab.Resource) error {
	writes := collab.Map(on, func(in collab.Resource) store.Write { return store.Delete(memberKey(in, user)) })
	_, err := s.Write(ctx, writes...)
	return err
}
