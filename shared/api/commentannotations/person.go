package commentannotations

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// Fields that a person receives, and the comment that a person sends.
const (
	placeFields      = "location{id locationName} targetElement{elementId targetText occurrence selectAllContent}"
	visibilityFields = "visibility{type organizationId userIds}"
	followFields     = "{*{user{userId} type level}}"
	seenUser         = "{userId name photoUrl}"
	seenComment      = "commentId commentText commentHtml from" + seenUser + " taggedUserContacts{userId organizationUserGroupId text contact" + seenUser + "} " + seenAttachment + " createdAt lastUpdated"
	seenAttachment   = "attachments{attachmentId name size type url thumbnail mimeType}"
	seenAnnotation   = "annotationId documentId from" + seenUser + " color status{id name type color} " + placeFields + " resolvedByUserId " + visibilityFields + " createdAt lastUpdated " +
		"subscribedUsers" + followFields + " unsubscribedUsers" + followFields + " unread deleted commentsTruncated comments{" + seenComment + "}"
	seenItems   = "*{success message code id}"
	sentComment = "{commentText commentHtml taggedUserContacts{userId organizationUserGroupId} " + seenAttachment + "}"
)

// named requires ids of annotations.
func named(_ *collab.Person, data map[string]any, m *rpc.Violations) {
	if list, ok := data["annotationIds"].([]any); !ok || len(list) > collab.MaxIDsPerFilter {
		m.Add("annotationIds", "must name 1 to %d annotations", collab.MaxIDsPerFilter)
	}
}

// namedOrAll limits how many annotations a request names, if it names any.
func namedOrAll(p *collab.Person, data map[string]any, m *rpc.Violations) {
	if data["annotationIds"] != nil {
		named(p, data, m)
	}
}

// writtenBy makes a person the author of comments, and notifies those whom they concern.
func writtenBy(p *collab.Person, comments any) {
	list, _ := comments.([]any)
	for _, c := range list {
		if comment, ok := c.(map[string]any); ok {
			comment["from"], comment["triggerNotification"] = p.User(), true
		}
	}
}

func fillAdd(p *collab.Person, data map[string]any, m *rpc.Violations) {
	list, _ := data["commentAnnotations"].([]any)
	for i, a := range list {
		annotation, ok := a.(map[string]any)
		if comments, _ := annotation["commentData"].([]any); ok && len(comments) == 0 {
			m.Add(fmt.Sprintf("commentAnnotations[%d].commentData", i), "must have a comment")
		}
		writtenBy(p, annotation["commentData"])
	}
	org, _ := data["organizationId"].(string)
	document, _ := data["documentId"].(string)
	if r := p.Resource(org, collab.ResourceDocument, document); r != nil {
		data["createOrganization"], data["createDocument"] = true, true
	}
}

func fillComments(p *collab.Person, data map[string]any, _ *rpc.Violations) {
	writtenBy(p, data["commentData"])
}

func fillCommentUpdate(_ *collab.Person, data map[string]any, _ *rpc.Violations) {
	data["triggerNotification"] = true
}

// fillUpdate restricts a status to open and resolved, and records the person as the one who set it.
func fillUpdate(p *collab.Person, data map[string]any, m *rpc.Violations) {
	named(p, data, m)
	changed := data["updatedData"]
	if list, ok := changed.([]any); ok && len(list) == 1 {
		changed = list[0]
	}
	changes, _ := changed.(map[string]any)
	sent, ok := changes["status"]
	if !ok {
		return
	}
	status, _ := sent.(map[string]any)
	switch status["id"] {
	case resolvedStatus:
		changes["resolvedByUserId"] = p.UserID
	case openStatus:
	default:
		m.Add("updatedData.status.id", "must be %s or %s: only a back end may set another", openStatus, resolvedStatus)
		return
	}
	changes["status"], changes["statusUpdatedByUserId"] = defaultStatuses[status["id"].(string)], p.UserID
	data["triggerNotification"] = true
}

// mine returns the sight of the call's person, nil for a back end. A call has one, which reads the access to a document once.
func (s *Service) mine(call *rpc.Call) collab.Sight {
	if call.Person == nil {
		return nil
	}
	if call.Sight == nil {
		call.Sight = s.Access.People(call.Settings, call.Person.UserID)
	}
	return call.Sight
}

// viewers returns what the call's person may see of a document that begin opened, nil for a back end.
func (s *Service) viewers(ctx context.Context, call *rpc.Call, doc collab.DocumentRef) (collab.Viewers, error) {
	sight := s.mine(call)
	if sight == nil {
		return nil, nil
	}
	found, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{})
	return found[doc], err
}

// seen returns the annotations that the call's person may see, or that do not exist, and the creators of the former; all of them for a back end.
func (s *Service) seen(
	ctx context.Context, call *rpc.Call, doc collab.DocumentRef, ids []string,
) (seen []string, creators map[string]string, err error) {
	viewers, err := s.viewers(ctx, call, doc)
	if err != nil || viewers == nil || ids == nil {
		return ids, nil, err
	}
	seen, creators = []string{}, map[string]string{}
	for _, id := range ids {
		a, err := s.Threads.Head(ctx, doc, id)
		switch {
		case collab.CodeOf(err) == collab.NotFound:
		case err != nil:
			return nil, nil, err
		case !viewers.See(&a):
			continue
		default:
			creators[id] = a.CreatorID
		}
		seen = append(seen, id)
	}
	return seen, creators, nil
}

// outcomes returns the errors of ids, given those of the seen ones. The others do not exist.
func outcomes(doc collab.DocumentRef, ids, seen []string, errs []error) []error {
	for i, id := range ids {
		if !slices.Contains(seen, id) {
			errs = slices.Insert(errs, i, collab.NoAnnotation(doc, id))
		}
	}
	return errs
}

// known returns users of an organization, a document and its folders by id, as they are stored, with their addresses. It looks for users of
// folders only if one of the named is missing.
func (s *Service) known(ctx context.Context, doc collab.DocumentRef, me string, named []string) (map[string]collab.User, error) {
	found := map[string]collab.User{}
	look := func(levels ...collab.Resource) error {
		for _, in := range levels {
			members, err := s.Directory.MembersAt(ctx, in, append(named, me))
			if err != nil {
				return err
			}
			for id, m := range members {
				if _, there := found[id]; !there {
					found[id] = m.User
				}
			}
		}
		return nil
	}
	err := look(collab.Resource{OrganizationRef: doc.OrganizationRef}, collab.Resource{OrganizationRef: doc.OrganizationRef, Document: doc})
	missing := func(id string) bool { return found[id].UserID == "" }
	if err != nil || !slices.ContainsFunc(named, missing) {
		return found, err
	}
	levels, err := s.Directory.Levels(ctx, doc)
	if err != nil {
		return nil, err
	}
	return found, look(levels[1 : len(levels)-1]...)
}

// mostNamed is the largest number of people that a person's request names, counted each time.
const mostNamed = 200

// nameGroups gives the tags of groups that have no text the names of these, and returns how many users are in the groups. It fails with
// NOT_FOUND if a group does not exist, or the call's person is no member of the organization, and with INVALID_ARGUMENT if there are more
// than maxGroups.
func (s *Service) nameGroups(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, comments []NewComment) (users int, err error) {
	_, groups := tagged(comments)
	if len(groups) == 0 {
		return 0, nil
	}
	if len(groups) > maxGroups {
		return 0, collab.Errorf(collab.InvalidArgument, "a request may tag at most %d groups, not %d", maxGroups, len(groups))
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

// introduce fills the author and the tagged users of a person's comments in from what is stored of them, and of all comments the names of
// tagged groups. It fails with INVALID_ARGUMENT if a tagged user, or one of others, may not see the document, or if there are more than
// mostNamed, with RESOURCE_EXHAUSTED if the person mentions too many people in an hour, and like nameGroups.
func (s *Service) introduce(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, others []string, comments ...[]NewComment) error {
	inGroups, err := s.nameGroups(ctx, call, doc, slices.Concat(comments...))
	if call.Person == nil || err != nil {
		return err
	}
	me := call.Person.UserID
	tagged := []string{}
	for _, c := range slices.Concat(comments...) {
		for _, t := range c.TaggedUserContacts {
			if t.UserID != "" {
				tagged = append(tagged, t.UserID)
			}
		}
	}
	if len(tagged)+len(others) > mostNamed {
		return collab.Errorf(collab.InvalidArgument, "a request may name at most %d people in tags and visibility", mostNamed)
	}
	if err := call.Mentions(len(tagged) + inGroups); err != nil {
		return err
	}
	named := slices.DeleteFunc(rpc.Distinct(slices.Concat(tagged, others)), func(id string) bool { return id == me })
	users, err := s.known(ctx, doc, me, named)
	if err != nil {
		return err
	}
	viewers, err := s.Access.Viewers(ctx, call.Settings, []collab.DocumentRef{doc}, named, false)
	if err != nil {
		return err
	}
	for _, v := range slices.Concat(viewers...) {
		if _, there := users[v.User]; !there || !v.May {
			return collab.Errorf(collab.InvalidArgument, "user %q must be a user who may see the document", v.User)
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
