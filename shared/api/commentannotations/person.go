package commentannotations

import (
	"cmp"
	"context"
	"fmt"
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

func (r *DeleteRequest) Fill(_ *collab.Person, m *rpc.Violations) { checkNamed(m, r.AnnotationIDs) }

func (r *ReadSetRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if r.AnnotationIDs != nil {
		checkNamed(m, r.AnnotationIDs)
	}
}

func (r *AddRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	comments := 0
	for i, a := range r.CommentAnnotations {
		if comments += len(a.CommentData); len(a.CommentData) == 0 {
			m.Add(fmt.Sprintf("commentAnnotations[%d].commentData", i), "must have a comment")
		}
	}
	if len(r.CommentAnnotations) > maxAddedThreads {
		m.Add("commentAnnotations", "must have at most %d items, not %d", maxAddedThreads, len(r.CommentAnnotations))
	}
	if comments > maxComments {
		m.Add("commentAnnotations", "must hold at most %d comments in all, not %d", maxComments, comments)
	}
}

func (r *AddCommentsRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	if len(r.CommentData) > maxComments {
		m.Add("commentData", "must have at most %d items, not %d", maxComments, len(r.CommentData))
	}
}

// Fill makes the person the author, with the agent of the token, and turns notifications on.
func (c *AnnotationComment) Fill(p *collab.Person, m *rpc.Violations) {
	c.From, c.Agent, c.TriggerNotification, c.byPerson = p.User(), p.Stamp(), true, true
	checkSize(m, "context", c.Context, maxContext)
}

// Fill makes the person the author, with the agent of the token, and turns notifications on.
func (c *NewComment) Fill(p *collab.Person, m *rpc.Violations) {
	c.From, c.Agent, c.TriggerNotification, c.byPerson = p.User(), p.Stamp(), true, true
	checkSize(m, "context", c.Context, maxContext)
}

// Fill bounds a person's context.
func (d *CommentData) Fill(_ *collab.Person, m *rpc.Violations) {
	d.byPerson = true
	checkSize(m, "context", d.Context.Raw, maxContext)
}

func checkNamedComments(m *rpc.Violations, ids []int64) {
	if len(ids) == 0 || len(ids) > maxComments {
		m.Add("commentIds", "must name 1 to %d comments", maxComments)
	}
}

func (r *DeleteCommentsRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	checkNamedComments(m, r.CommentIDs)
}

func (r *UpdateCommentsRequest) Fill(_ *collab.Person, m *rpc.Violations) {
	checkNamedComments(m, r.CommentIDs)
	r.TriggerNotification = true
}

// Fill requires annotationIds, allows only the statuses OPEN and RESOLVED, records the person as
// the one who set the status, and turns notifications on.
func (r *UpdateRequest) Fill(p *collab.Person, m *rpc.Violations) {
	checkNamed(m, r.AnnotationIDs)
	if r.UpdatedData == nil {
		return
	}
	d := &r.UpdatedData.Value
	r.TriggerNotification = d.Status.Sent() || d.visibility().Sent()
	if !d.Status.Sent() {
		return
	}
	switch d.Status.Value.ID {
	case resolvedStatus:
		d.ResolvedByUserID = sent(p.UserID)
	case openStatus:
	default:
		m.Add("updatedData.status.id", "must be %s or %s: only a back end can set another", openStatus, resolvedStatus)
		return
	}
	d.Status.Raw, d.StatusUpdatedByUserID = defaultStatuses[d.Status.Value.ID], sent(p.UserID)
}

// sent returns a field as if a request had sent it.
func sent(text string) rpc.Opt[string] { return rpc.Opt[string]{Value: text, Raw: rpc.JSON(text)} }

// mine returns the Sight of the call's person, or nil for a back end. A call has one, which caches
// the access to documents.
func (s *Service) mine(call *rpc.Call) collab.Sight {
	if call.Person == nil {
		return nil
	}
	if call.Sight == nil {
		call.Sight = s.Access.Person(call.Settings, call.Person, call.Writes)
	}
	return call.Sight
}

// known returns the profiles of users in a document, with their addresses.
func (s *Service) known(ctx context.Context, doc collab.DocumentRef, users []string) (map[string]collab.User, error) {
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
	profiles := collab.Later(ctx, func() (map[string]collab.User, error) { return s.known(ctx, doc, append(named, me)) })
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
		if _, there := users[v.User]; !there || !v.May {
			return collab.Errorf(collab.InvalidArgument, "user %q must be able to see the document", v.User)
		}
	}
	for _, list := range comments {
		for i := range list {
			list[i].From = list[i].From.Over(users[me])
			list[i].From.UserID = me
			for j := range list[i].TaggedUserContacts {
				t := &list[i].TaggedUserContacts[j]
				if u, there := users[t.UserID]; there {
					t.Contact = &u
				}
			}
		}
	}
	return nil
}
