package users

import (
	"cmp"
	"context"
	"math"
	"slices"

	"collabdata/shared/access"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// mostPeople is the maximum number of users on a page for a person.
const mostPeople = 30

func (r *GetRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if r.DocumentID == nil {
		m.Add("documentId", "is required")
	}
}

// people adds the users that the call's person can mention, after one: users of a document, its
// folders and its organization that can see the document. It returns NOT_FOUND if the person cannot
// see it.
func (s *Service) people(ctx context.Context, call *rpc.Call, req *GetRequest, page *rpc.GroupedPage[UserWithRole], after string) error {
	doc, err := s.Directory.OpenDocument(ctx, call.Account, req.OrganizationID, *req.DocumentID, collab.CreateFlags{})
	missing := collab.NoDocument(req.OrganizationID, *req.DocumentID)
	if collab.CodeOf(err) == collab.FailedPrecondition {
		return missing
	}
	if err != nil {
		return err
	}
	may := func(ctx context.Context, ids []string) (map[string]bool, error) {
		allowed := map[string]bool{}
		viewers, err := s.Access.Viewers(ctx, call.Settings, []collab.DocumentRef{doc}, ids, false)
		for _, v := range slices.Concat(viewers...) {
			allowed[v.User] = v.May
		}
		return allowed, err
	}
	if allowed, err := may(ctx, []string{call.Person.UserID}); err != nil || !allowed[call.Person.UserID] {
		return cmp.Or(err, missing)
	}
	levels, err := s.Directory.Levels(ctx, collab.Resource{OrganizationRef: doc.OrganizationRef, Document: doc})
	if err != nil {
		return err
	}
	found, finds := map[string]collab.User{}, finder(req.SearchKey)
	usage, before, examined := collab.UsageOf(ctx), 0.0, 0 // of the previous call
	next := func(ctx context.Context, after string, n int) (users []string, last string, err error) {
		left := usage.PageLeft()
		if examined > 0 && !math.IsInf(left, 1) {
			if n = min(n, int(left/max(before-left, 1)*float64(examined))); n <= 0 {
				return nil, after, nil // the page ends by the units that it reads
			}
		}
		before, examined = left, n
		members, last, err := s.Directory.MembersOf(ctx, levels, rpc.Distinct(req.UserIDs), after, n)
		for _, m := range members {
			if m.Email = nil; finds(m.User) { // addresses are neither returned nor searched
				found[m.UserID] = m.User
				users = append(users, m.UserID)
			}
		}
		return users, last, err
	}
	ids, last, err := access.First(ctx, min(page.Most(), mostPeople), access.MaxCandidates, after, next, may)
	for _, id := range ids {
		text := rpc.JSON(UserWithRole{User: found[id]})
		page.AddTo("", text, rpc.WrappedLen(text))
	}
	if last != "" {
		page.Next(collab.MemberPosition{User: last})
	}
	return err
}
