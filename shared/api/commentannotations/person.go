package commentannotations

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Bounds of one request of a person.
const (
	maxNamedThreads = collab.MaxIDsPerFilter // updated annotations
	maxAddedThreads = 10
	maxComments     = 10 // added comments of all annotations, or updated comments
	maxNamedPeople  = 50 // distinct people in tags and visibility
)

func checkNamed(m *rpc.Violations, ids []string) {
	if len(ids) == 0 || len(ids) > maxNamedThreads {
		m.Add("annotationIds", "must name 1 to %d annotations", maxNamedThreads)
	}
}

func checkNamedComments(m *rpc.Violations, ids []int64) {
	if len(ids) == 0 || len(ids) > maxComments {
		m.Add("commentIds", "must name 1 to %d comments", maxComments)
	}
}

// known returns the profiles of users in a document, with their addresses.
func (s *Service) profilesOf(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]collab.User, error) {
	profiles, err := s.Directory.PresentProfiles(ctx, collab.UsersAt(doc.Resource(), users))
	found := map[string]collab.User{}
	for id, p := range profiles[doc.Resource()] {
		found[id] = p.User
	}
	return found, err
}

// nameGroups fills in the text of group tags, and returns the number of users in these groups. It
// returns NOT_FOUND if a group does not exist or the call's person is no member of the
// organization, and INVALID_ARGUMENT if there are more than maxGroups.
func (s *Service) nameGroups(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, comments []NewComment) (users int, err error) {
	_, groups := tagged(comments)
	if len(groups) == 0 {
		return 0, nil
	}
	if len(groups) > maxGroups {
		return 0, collab.Errorf(collab.InvalidArgument, "a request can tag at most %d groups, not %d", maxGroups, len(groups))
	}
	if call.Person != nil {
		if may, err := s.Directory.MayNameGroups(ctx, doc.OrganizationRef, call.Person.UserID, call.Millis()); err != nil || !may {
			return 0, cmp.Or[error](err, collab.Errorf(collab.NotFound, "group %q does not exist", groups[0]))
		}
	}
	names := map[string]string{}
	for _, id := range groups {
		if names[id], err = s.Directory.GroupName(ctx, doc.OrganizationRef, id); err != nil {
			return 0, err
		}
		in, err := s.Directory.GroupUsers(ctx, doc.OrganizationRef, id, "", collab.MaxGroupMention)
		if users += len(in); err != nil {
			return 0, err
		}
	}
	for _, c := range comments {
		for i := range c.TaggedUserContacts {
			if t := &c.TaggedUserContacts[i]; t.GroupID != "" && t.Text == nil {
				t.Text = new(cmp.Or(names[t.GroupID], t.GroupID))
			}
		}
	}
	return users, nil
}

// namedBy returns the distinct users in tags and in others, without me.
func namedBy(me string, others []string, comments [][]NewComment) []string {
	users, _ := tagged(slices.Concat(comments...))
	named := rpc.Distinct(slices.Concat(users, others))
	return slices.DeleteFunc(named, func(id string) bool { return id == me })
}

// introduce fills in the stored author and tagged users of a person's comments, and the names of
// tagged groups. It returns INVALID_ARGUMENT if a named user cannot see the document, or there are
// more than maxNamedPeople. It returns RESOURCE_EXHAUSTED if the person mentions too many people in
// an hour. Other errors are those of nameGroups.
func (s *Service) introduce(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, others []string, comments ...[]NewComment) error {
	inGroups, err := s.nameGroups(ctx, call, doc, slices.Concat(comments...))
	if call.Person == nil || err != nil {
		return err
	}
	me := call.Person.UserID
	named := namedBy(me, others, comments)
	if len(named) > maxNamedPeople {
		return collab.Errorf(collab.InvalidArgument, "a request can name at most %d people in tags and visibility", maxNamedPeople)
	}
	if err := call.Mentions(len(named) + inGroups); err != nil {
		return err
	}
	profiles := collab.Later(ctx, func() (map[string]collab.User, error) { return s.profilesOf(ctx, doc, append(named, me)) })
	var viewers [][]collab.Viewer
	if len(named) > 0 {
		if viewers, err = s.Access.Viewers(ctx, call.Settings, []collab.DocumentRef{doc}, named, false); err != nil {
			return err
		}
	}
	users, err := profiles()
	if err != nil {
		return err
	}
	for _, v := range slices.Concat(viewers...) {
		if _, ok := users[v.User]; !ok || !v.May {
			return collab.Errorf(collab.InvalidArgument, "user %q must be able to see the document", v.User)
		}
	}
	for _, list := range comments {
		for i := range list {
			list[i].From = list[i].From.Over(users[me])
			list[i].From.UserID = me
			for j := range list[i].TaggedUserContacts {
				t := &list[i].TaggedUserContacts[j]
				if u, ok := users[t.UserID]; ok {
					t.Contact = &u
				}
			}
		}
	}
	return nil
}
