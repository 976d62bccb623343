package commentannotations

import (
	"context"
	"slices"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// AsUser is the field of a read that names the person for whom it is.
type AsUser struct {
	AsUserID *string `json:"asUserId" rule:"notnull,id" person:"self" doc:"Only what this person may see: what they may not see is as if it did not exist. Left out, everything"`
}

// sight returns the sight of people, "" for nobody; nil, which is everything, where nobody is named.
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

// checkDocument fails with NOT_FOUND where the first person of a sight may not see a document.
func checkDocument(ctx context.Context, sight collab.Sight, doc collab.DocumentRef) error {
	found, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{})
	if err == nil && !found[doc][:1].May() {
		err = collab.NoDocument(doc.Organization, doc.Document)
	}
	return err
}

// checkAnnotation begins to ask whether a sight, nil for everything, lets see an annotation. wait fails with NOT_FOUND where it does not. Its
// error comes before every other one, which could tell of what is hidden.
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
		found, err := sight.Viewers(ctx, []collab.DocumentRef{doc}, time.Time{}) // it knows by now
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

// checkVisibility refuses a visibility of a field that does not say whom it is for, or names another organization than the request.
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
		m.Add(at("userIds"), "must be left out for %s: it is for restricted alone", v.Type)
	}
	rpc.Unique(m, at("userIds")+"[%d]", v.UserIDs, func(user *string) *string { return user })
}

// VerifyFlag is the field of a request that asks whether the people whom it names may do what it says of them.
type VerifyFlag struct {
	VerifyUserPermissions bool `json:"verifyUserPermissions" doc:"Refuse what is said of users who may not write in the document, or not see the annotation: authors, who changed or resolved it, and actionUser; false where it is left out"`
}

// writers returns which of the users may write in a document, where that is asked for. The zero value lets everybody.
func (s *Service) writers(ctx context.Context, call *rpc.Call, doc collab.DocumentRef, verify VerifyFlag, users []string) (writers, error) {
	if !verify.VerifyUserPermissions || len(users) == 0 {
		return writers{}, nil
	}
	viewers, err := s.Access.Writers(ctx, call.Settings, doc, rpc.Distinct(users))
	return writers{asked: true, viewers: viewers}, err
}

// writers are the users who may write in a document.
type writers struct {
	asked   bool // else everybody
	viewers map[string]collab.Viewer
}

// check fails with PERMISSION_DENIED where one of the users is none of them, or may not see the annotation.
func (w writers) check(a *collab.Annotation, users []string) error {
	for _, id := range users {
		v, may := w.viewers[id]
		switch {
		case !w.asked:
			return nil
		case !may:
			return collab.Errorf(collab.PermissionDenied, "user %q may not write in the document", id)
		case !v.Sees(a.Visibility, a.CreatorID):
			return collab.Errorf(collab.PermissionDenied, "user %q may not see the annotation", id)
		}
	}
	return nil
}

// authorsOf returns the ids of the authors of comments.
func authorsOf(comments []NewComment) []string {
	return collab.Map(comments, func(c NewComment) string { return c.From.UserID })
}
