package directory

import (
	"cmp"
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/request"
)

// ChangeOrganizations changes organizations of the request's account concurrently. If create is
// true, it adds missing ones. The errors correspond to ids: NOT_FOUND if the organization is
// missing and create is false.
func (s *Store) ChangeOrganizations(
	ctx context.Context, req *request.Request, ids []string, create bool, change func(i int, o *collab.Organization) error,
) []error {
	itemKeys := collab.Map(ids, func(id string) keys.Key { return keys.Organization(req.Account, id) })
	what := func(i int) string { return organizationNamed(ids[i]) }
	c := changes[collab.Organization]{s, req, what, itemKeys, func(i int, o *collab.Organization, exists bool) error {
		if !exists && !create {
			return collab.Errorf(collab.NotFound, "Organization does not exist")
		}
		o.ID, o.CreatedAt, o.LastUpdated = ids[i], cmp.Or(o.CreatedAt, req.Millis()), req.Millis()
		return change(i, o)
	}}
	return c.all(ctx)
}

// FindOrganization is OpenOrganization for operations that disabled organizations allow. It reads
// with strong consistency.
func (s *Store) FindOrganization(ctx context.Context, acct, id string, create bool) (collab.OrganizationRef, error) {
	found, err := s.Organizations(ctx, acct, []string{id})
	if err != nil {
		return collab.OrganizationRef{}, err
	}
	if len(found) == 0 {
		return s.OpenOrCreateOrganization(ctx, acct, id, create)
	}
	return collab.OrganizationRef{Account: acct, Organization: id, Incarnation: found[0].Incarnation}, nil
}
