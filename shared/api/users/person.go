package users

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

const (
	mostPeople  = 30 // users in an answer to a person
	peoplePages = 3  // pages of 1,000 users that are searched at each level
)

// Fill demands a document.
func (r *GetRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if r.DocumentID == nil {
		m.Add("documentId", "is required")
	}
}

// people fills a page with the users whom the call's person may mention: those of a document, its folders and its organization who may see the
// document. It fails with NOT_FOUND if the person may not see the document.
func (s *Service) people(ctx context.Context, call *rpc.Call, req *GetRequest, page *rpc.GroupedPage[UserWithRole]) error {
	missing := collab.NoDocument(req.OrganizationID, *req.DocumentID)
	doc, err := s.Directory.OpenDocument(ctx, call.Account, req.OrganizationID, *req.DocumentID, collab.CreateFlags{})
	if collab.CodeOf(err) == collab.FailedPrecondition {
		return missing
	}
	if err != nil {
		return err
	}
	levels, err := s.Directory.Levels(ctx, doc)
	if err != nil {
		return err
	}
	see := func(ids []string) (may []string, err error) {
		viewers, err := s.Access.Viewers(ctx, call.Settings, []collab.DocumentRef{doc}, ids, false)
		for _, v := range slices.Concat(viewers...) {
			if v.May {
				may = append(may, v.User)
			}
		}
		return may, err
	}
	if me, err := see([]string{call.Person.UserID}); err != nil || len(me) == 0 {
		return cmp.Or(err, missing)
	}
	var known []string
	for _, level := range levels {
		var position collab.MemberPosition
		for range peoplePages {
			q := collab.MemberQuery{In: level, Users: rpc.Distinct(req.UserIDs)}
			members, next, err := s.Directory.FindMembers(ctx, q, position, collab.MaxPageSize)
			if err != nil {
				return err
			}
			members = slices.DeleteFunc(members, func(m collab.FoundMember) bool {
				m.Email = nil // nor is it searched for
				return slices.Contains(known, m.UserID) || req.SearchKey != nil && !found(m.User, strings.ToLower(*req.SearchKey))
			})
			members = members[:min(len(members), mostPeople-len(known))]
			may, err := see(collab.Map(members, func(m collab.FoundMember) string { return m.UserID }))
			if err != nil {
				return err
			}
			for _, m := range members {
				if slices.Contains(may, m.UserID) {
					known = append(known, m.UserID)
					text := rpc.JSON(UserWithRole{User: m.User})
					page.AddTo("", text, rpc.WrappedLen(text))
				}
			}
			if next == nil || len(known) == mostPeople {
				break
			}
			position = *next
		}
	}
	return nil
}
