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

// checkDocument returns NOT_FOUND if the first person of a sight cannot see a document.
func checkDocument(ctx context.Context, sight collab.Sight, doc collab.DocumentRef) error {
	found, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{})
	if err == nil && !found[doc][:1].May() {
		err = collab.NoDocument(doc.Organization, doc.Document)
	}
	return err
}

// checkAnnotation begins to check whether a sight can see an annotation; nil can see everything.
// wait returns NOT_FOUND if not. Its error comes first: others could reveal hidden content.
func (s *Service) checkAnnotation(
	ctx context.Context, call *rpc.Call, sight collab.Sight, doc collab.DocumentRef, ann string,
) (wait func() error) {
	if sight == nil {
		return func() error { return nil }
	}
	asked := collab.Later(ctx, func() (any, error) { return nil, checkDocument(ctx, sight, doc) })
	head := collab.Later(ctx, func() (collab.Annotation, error) { return s.headOf(ctx, call, doc, ann) })
	return func() error {
		if _, err := asked(); err != nil {
			return err
		}
		found, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{}) // cached by now
		var a collab.Annotation
		if err == nil {
			a, err = head()
		}
		if err == nil && !found[doc].See(&a) {
			err = collab.NoAnnotation(doc, ann)
		}
		return err
	}
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

// writers returns the users with write access to a document, if the request verifies permissions.
// The zero value allows everyone.
func (s *Service) writers(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, verify VerifyFlag, users []string) (writers, error) {
	if !verify.VerifyUserPermissions || len(users) == 0 {
		return writers{}, nil
	}
	viewers, err := s.Access.Writers(ctx, call.Settings, doc, rpc.Distinct(users))
	return writers{asked: true, viewers: viewers}, err
}

// writers are the users with write access to a document.
type writers struct {
	asked   bool // false allows everyone
	viewers map[string]collab.Viewer
}

// check returns PERMISSION_DENIED if one of the users cannot write in the document, or cannot see
// the annotation.
func (w writers) check(a *collab.Annotation, users []string) error {
	for _, id := range users {
		v, may := w.viewers[id]
		switch {
		case !w.asked:
			return nil
		case !may:
			return collab.Errorf(collab.PermissionDenied, "user %q cannot write in the document", id)
		case !v.Sees(a.Visibility, a.CreatorID):
			return collab.Errorf(collab.PermissionDenied, "user %q cannot see the annotation", id)
		}
	}
	return nil
}

// mayWrite returns PERMISSION_DENIED if the request verifies permissions and one of the users
// cannot write in the document or see the annotation.
func (s *Service) mayWrite(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, verify VerifyFlag, ann string, users []string) error {
	allowed, err := s.writers(ctx, call, doc, verify, users)
	if err != nil || !allowed.asked {
		return err
	}
	a, err := s.Threads.Head(ctx, doc, ann)
	if err != nil {
		return err
	}
	return allowed.check(&a, users)
}

func authorsOf(comments []NewComment) []string {
	return collab.Map(comments, func(c NewComment) string { return c.From.UserID })
}
