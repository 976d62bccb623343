package directory

import (
	"context"
	"slices"

	"collabdata/shared/collab"
)

// MayWrite returns, by id, which of the users may write in a document: those who may see it.
func (s *Store) MayWrite(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]bool, error) {
	return s.MaySee(ctx, doc, users)
}

// MaySee returns, by id, which of the users may see a document: everyone where it is public, the users of its organization, or those whom
// the document names. Nobody may where it does not exist. Eventually consistent.
func (s *Store) MaySee(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]bool, error) {
	d, err := s.Document(ctx, doc)
	if collab.CodeOf(err) == collab.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var members map[string]collab.Member
	if d.Access == collab.AccessOrganization || d.Access == "" {
		if members, err = s.Members(ctx, doc.OrganizationRef, users); err != nil {
			return nil, err
		}
	}
	allowed := make(map[string]bool, len(users))
	for _, u := range users {
		switch d.Access {
		case collab.AccessPublic:
			allowed[u] = true
		case collab.AccessRestricted:
			allowed[u] = slices.Contains(d.Users, u)
		default:
			_, allowed[u] = members[u]
		}
	}
	return allowed, nil
}
