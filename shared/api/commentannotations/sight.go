package commentannotations

import (
	"context"
	"slices"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AsUser limits a read to the content that one person can see.
type AsUser struct {
	AsUserID *string `json:"asUserId" rule:"notnull,id" person:"self" doc:"Only content that this person can see; other content does not exist. Default: everything"`
}

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

// sight returns a filter for content that all the named people can see, skipping "". It returns
// nil, meaning no limit, if nobody is named.
func (s *Service) sight(call *rpc.Call, people ...string) collab.Sight {
	people = slices.DeleteFunc(rpc.Distinct(people), func(user string) bool { return user == "" })
	if len(people) == 0 {
		return nil
	}
	if call.Person != nil && slices.Equal(people, []string{call.Person.UserID}) {
		return s.mine(call)
	}
	return s.Access.People(call.Settings, people...)
}

// viewersOf returns the people of a sight as viewers of a document, and NOT_FOUND if the first
// cannot see it.
func viewersOf(ctx context.Context, sight collab.Sight, doc collab.DocumentRef) (collab.Viewers, error) {
	found, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{})
	if err == nil && !found[doc][:1].May() {
		err = collab.NoDocument(doc.Organization, doc.Document)
	}
	return found[doc], err
}

// begin opens the document of a request. It returns the errors of Directory.OpenDocument and
// request.Request.Raises, and NOT_FOUND if a person cannot see the document.
func (s *Service) begin(ctx context.Context, call *rpc.Call, t Target, create CreateFlags, raise bool) (collab.DocumentRef, error) {
	if err := call.Raises(raise); err != nil {
		return collab.DocumentRef{}, err
	}
	doc, err := s.open(ctx, call, t, collab.CreateFlags{Organization: create.CreateOrganization, Document: create.CreateDocument})
	if sight := s.mine(call); sight != nil && err == nil {
		_, err = viewersOf(ctx, sight, doc)
	}
	return doc, err
}

// open is Directory.OpenDocument. For a person, a disabled document is NOT_FOUND.
func (s *Service) open(ctx context.Context, call *rpc.Call, t Target, create collab.CreateFlags) (collab.DocumentRef, error) {
	doc, err := s.Directory.OpenDocument(ctx, call.Account, t.OrganizationID, t.DocumentID, create)
	if call.Person != nil && collab.CodeOf(err) == collab.FailedPrecondition {
		err = collab.NoDocument(t.OrganizationID, t.DocumentID)
	}
	return doc, err
}

// checkVisibility rejects a visibility without an audience, or of another organization than the
// request's.
func checkVisibility(m *rpc.Violations, field, organization string, v *collab.Visibility) {
	if v == nil {
		return
	}
	at := func(name string) string { return rpc.PathOf(field, name) }
	restricted := v.Type == collab.VisibilityRestricted
	switch {
	case v.Type == collab.VisibilityOrganizationPrivate && v.OrganizationID == "":
		m.Add(at("organizationId"), "is required for organizationPrivate")
	case v.OrganizationID != "" && v.OrganizationID != organization:
		m.Add(at("organizationId"), "must be the organizationId of the request")
	}
	switch {
	case restricted && len(v.UserIDs) == 0:
		m.Add(at("userIds"), "must name 1 to %d users for restricted", collab.MaxVisibleTo)
	case !restricted && v.Type != "" && len(v.UserIDs) > 0:
		m.Add(at("userIds"), "cannot be combined with %s: only restricted has it", v.Type)
	}
	rpc.Unique(m, at("userIds")+"[%d]", v.UserIDs, func(user *string) *string { return user })
}

// VerifyFlag turns on permission checks for the users in a request.
type VerifyFlag struct {
	VerifyUserPermissions bool `json:"verifyUserPermissions" doc:"Fail if authors or other acting users cannot write in the document or see the annotation"`
}

// acting returns the distinct users to verify, of the users that act in a request.
func (f VerifyFlag) acting(users ...string) []string {
	if !f.VerifyUserPermissions {
		return nil
	}
	return rpc.Distinct(users)
}

// rights decide on which annotations of a document a request may act. They are those of its person;
// for a back end's request, those of the users to verify, or without limits.
type rights struct {
	person  collab.Viewers // nil for a back end
	users   []string
	writers map[string]collab.Viewer
}

// rights returns the rights in an open document. It returns NOT_FOUND if the person cannot see the
// document.
func (s *Service) rights(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, users []string) (r rights, err error) {
	if sight := s.mine(call); sight != nil {
		r.person, err = viewersOf(ctx, sight, doc)
	} else if len(users) > 0 {
		r.users = users
		r.writers, err = s.Access.Writers(ctx, call.Settings, doc, users)
	}
	return r, err
}

// check returns NOT_FOUND if the person cannot see the annotation. It returns PERMISSION_DENIED if
// one of the users to verify cannot write in the document or see the annotation. Users that are not
// in among do not count, unless it is nil.
func (r rights) check(doc collab.DocumentRef, a *collab.Annotation, among []string) error {
	if r.person != nil && !r.person.See(a) {
		return collab.NoAnnotation(doc, a.ID)
	}
	for _, id := range r.users {
		v, may := r.writers[id]
		switch {
		case among != nil && !slices.Contains(among, id):
		case !may:
			return collab.Errorf(collab.PermissionDenied, "user %q cannot write in the document", id)
		case !v.Sees(a.Visibility, a.CreatorID):
			return collab.Errorf(collab.PermissionDenied, "user %q cannot see the annotation", id)
		}
	}
	return nil
}

// mayAct returns the errors of rights.check for an annotation. For a request with limited rights,
// it also returns the annotation, and NOT_FOUND if that does not exist.
func (s *Service) mayAct(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, ann string, users []string) (a collab.Annotation, err error) {
	if call.Person == nil && len(users) == 0 {
		return a, nil
	}
	return s.checked(ctx, doc, ann, func() (rights, error) { return s.rights(ctx, call, doc, users) })
}

// checked returns an annotation, and the errors of rights.check for it. Errors of the rights come
// first: others could reveal hidden content.
func (s *Service) checked(ctx context.Context, doc collab.DocumentRef, ann string, rightsOf func() (rights, error)) (a collab.Annotation, err error) {
	head := collab.Later(ctx, func() (collab.Annotation, error) { return s.Threads.Head(ctx, doc, ann) })
	r, err := rightsOf()
	if err == nil {
		a, err = head()
	}
	if err == nil {
		err = r.check(doc, &a, nil)
	}
	return a, err
}

func authorsOf(comments []NewComment) []string {
	return collab.Map(comments, func(c NewComment) string { return c.From.UserID })
}
