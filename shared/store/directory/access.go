package directory

import (
	"context"
	"slices"

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

// AddGrants sets grants of a user on at most store.MaxWrites resources, all or none. They also end
// the user's removals from the resources: see endRemovals.
func (s *Store) AddGrants(ctx context.Context, req *request.Request, user string, on []collab.Resource, grants []collab.Grant) error {
	defer s.forgetProfiles(user)
	itemKeys := collab.Map(on, func(in collab.Resource) keys.Key { return memberKey(in, user) })
	err := s.Try(ctx, "the permissions", req.Mark(), func(ctx context.Context) ([]store.Write, error) {
		existing, err := s.GetAll(ctx, itemKeys, true)
		if err != nil || req.Repeat && existing[itemKeys[0]].WrittenBy(req.Mark()) {
			return nil, err
		}
		writes := make([]store.Write, len(itemKeys))
		for i, k := range itemKeys {
			var it memberItem
			change := changeMember(req, on[i], user, func(m *collab.Member) { m.Grant = grants[i] })
			writes[i], err = store.Rewritten(k, existing[k], req.Mark(), &it, func(it *memberItem, _ bool) error { return change(it) })
			if err != nil {
				return nil, err
			}
		}
		return writes, nil
	})
	if err != nil {
		return err
	}
	return s.endRemovals(ctx, []string{user}, on)
}

// DeleteGrants deletes grants of a user, all or none. It ignores missing ones. Each existing one
// leaves a removal that hides nothing.
func (s *Store) DeleteGrants(ctx context.Context, user string, on []collab.Resource) error {
	defer s.forgetProfiles(user)
	found, err := s.GetAll(ctx, collab.Map(on, func(in collab.Resource) keys.Key { return memberKey(in, user) }), true)
	if err != nil {
		return err
	}
	on = slices.DeleteFunc(slices.Clone(on), func(in collab.Resource) bool { return found[memberKey(in, user)] == nil })
	if len(on) == 0 {
		return nil
	}
	err = store.Each(ctx, len(on), func(ctx context.Context, i int) error {
		if err := s.flagRemovals(ctx, on[i]); err != nil {
			return err
		}
		_, err := s.Table.Create(ctx, s.removedItem(on[i], user, true))
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.Write(ctx, collab.Map(on, func(in collab.Resource) store.Write { return store.Delete(memberKey(in, user)) })...)
	return err
}
