package rpc

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// admitPerson returns PERMISSION_DENIED if no person can call the endpoint. It also fails if the
// request is too large, or the person has sent too many.
func (a Access) admitPerson(c *Call, counts action) error {
	if a == BackEnd {
		return collab.Errorf(collab.PermissionDenied, "only a back end may call this operation")
	}
	if len(c.body) > MaxPersonBody {
		return refuse(http.StatusRequestEntityTooLarge, "the body of a person's request must be at most 131072 bytes")
	}
	return c.take(counts, 1)
}

// covers checks that the token covers the organization and the documents of a request's data. It
// returns PERMISSION_DENIED if it does not, or lacks the required role. It returns NOT_FOUND if the
// organization does not exist or is disabled, if it or a document was created after the token, or
// if the person was removed.
func (a Access) covers(ctx context.Context, c *Call, o *Object, data reflect.Value) error {
	id := strings.Join(o.texts(data, "organizationId"), "")
	documents := append(o.texts(data, "documentId"), o.texts(data, "documentIds")...)
	if !c.Person.In(id) {
		return notCovered(id, documents)
	}
	org, found, err := c.directory.Open(ctx, c.Account, id, "", documents)
	missing := collab.CodeOf(err) == collab.FailedPrecondition || err == nil && !c.Person.Issued(org.Incarnation)
	switch {
	case missing:
		return collab.Errorf(collab.NotFound, "organization %q does not exist", id)
	case err != nil:
		return err
	}
	c.org = org
	roles, err := c.Covered(ctx, org, documents)
	if err != nil {
		return err
	}
	for _, id := range documents {
		switch role := roles[id]; {
		case role == "":
			return notCovered(org.Organization, []string{id})
		case a == PersonWrites && role != collab.RoleEditor:
			return collab.Errorf(collab.PermissionDenied, "the token lets its person read document %q, and not write in it", id)
		}
	}
	for _, doc := range found {
		if !c.Person.Issued(doc.Incarnation) {
			return collab.NoDocument(id, doc.Document)
		}
	}
	if len(documents) == 0 && a != PersonInbox && !c.Person.In(id, collab.ResourceOrganization) {
		return notCovered(id, nil)
	}
	if a == PersonInbox || len(documents) == 0 { // other operations check a document, and so removals
		if removed, err := c.directory.IsRemoved(ctx, org, c.Person.UserID); err != nil || removed {
			return cmp.Or[error](err, collab.Errorf(collab.NotFound, "organization %q does not exist", id))
		}
	}
	return nil
}

func notCovered(org string, documents []string) error {
	if len(documents) > 0 {
		return collab.Errorf(collab.PermissionDenied, "the token does not cover document %q", documents[0])
	}
	return collab.Errorf(collab.PermissionDenied, "the token does not cover organization %q: name documents that it covers", org)
}

// Covered returns the token's role on each document by id: that on the document, else on the
// nearest folder, else on the organization. It omits uncovered documents. It reads folders only if
// the token has some.
func (c *Call) Covered(ctx context.Context, org collab.OrganizationRef, documents []string) (map[string]collab.Role, error) {
	roles := map[string]collab.Role{}
	all := c.Person.Resource(org.Organization, collab.ResourceOrganization, org.Organization)
	var wanted []string
	for _, id := range documents {
		if r := c.Person.Resource(org.Organization, collab.ResourceDocument, id); r != nil {
			roles[id] = r.AccessRole
		} else {
			wanted = append(wanted, id)
		}
	}
	var folders map[string][]collab.FolderRef
	if len(wanted) > 0 && c.Person.In(org.Organization, collab.ResourceFolder) {
		var err error
		if folders, err = c.directory.FoldersOf(ctx, org, wanted); err != nil {
			return nil, err
		}
	}
	for _, id := range wanted {
		if all != nil {
			roles[id] = all.AccessRole
		}
		for _, folder := range folders[id] {
			r := c.Person.Resource(org.Organization, collab.ResourceFolder, folder.Folder)
			if r != nil && c.Person.Issued(folder.Incarnation) {
				roles[id] = r.AccessRole
				break
			}
		}
	}
	return roles, nil
}

// toPerson returns the part of a response's data that a person can receive. User objects have the
// present names and pictures of stored users, those of authors first, as far as reads of profiles
// are bounded. document is that of objects without a documentId.
func (f Fields) toPerson(ctx context.Context, c *Call, data any, document string) any {
	if page, ok := data.(interface{ report() }); ok {
		page.report()
	}
	var s segments
	s.value(data)
	copied := func(text []byte, visit func(users, collab.Object) collab.Object) []byte {
		var b bytes.Buffer
		f.prune(jsontext.NewDecoder(bytes.NewReader(text)), jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true)), users{document: document, visit: visit})
		return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	var authors, others []documentUser
	text := copied(bytes.Join(s, nil), func(u users, user collab.Object) collab.Object {
		switch shown := (documentUser{u.document, user.Text("userId")}); {
		case shown.document == "" || shown.user == "":
		case isAuthor(u.field):
			authors = append(authors, shown)
		default:
			others = append(others, shown)
		}
		if u.absent {
			return nil
		}
		return user
	})
	profiles, err := c.profiles(ctx, append(authors, others...))
	if err != nil && collab.CodeOf(err) != collab.ResourceExhausted {
		c.cause = err // the response has the names in the objects
	}
	if len(profiles) == 0 {
		return collab.JSON(text)
	}
	left := maxRenamed
	return collab.JSON(copied(text, func(u users, user collab.Object) collab.Object {
		p := profiles[documentUser{u.document, user.Text("userId")}]
		present := slices.Clone(user)
		for _, field := range []Member[*string]{{"name", p.Name}, {"photoUrl", p.PhotoURL}} {
			if field.Value != nil {
				present.Set(field.Key, JSON(field.Value))
			}
		}
		more := WrappedLen(present.JSON()) - WrappedLen(user.JSON())
		if u.absent {
			more = WrappedLen(present.JSON()) + len(`,"contact":`)
			user = nil
		}
		if more > left || len(present) == 1 {
			return user
		}
		left -= max(more, 0)
		return present
	}))
}

// documentUser is a user in a document, by id.
type documentUser struct{ document, user string }

// profiles returns the profiles of users. With an error, it also returns the ones read
// before.
func (c *Call) profiles(ctx context.Context, users []documentUser) (map[documentUser]collab.Profile, error) {
	var ids []string
	seen := map[string]bool{}
	for _, u := range users {
		if !seen[u.document] && len(ids) < maxRenamedDocuments {
			seen[u.document] = true
			ids = append(ids, u.document)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	_, documents, err := c.directory.Open(ctx, c.Account, c.org.Organization, "", ids)
	if err != nil {
		return nil, err
	}
	refs := map[string]collab.DocumentRef{}
	for _, doc := range documents {
		refs[doc.Document] = doc
	}
	var stored []collab.UserAt
	for _, u := range users {
		if doc, exists := refs[u.document]; exists {
			stored = append(stored, collab.UserAt{In: doc.Resource(), User: u.user})
		}
	}
	found, err := c.directory.Profiles(ctx, stored)
	list := map[documentUser]collab.Profile{}
	for in, profiles := range found {
		for id, p := range profiles {
			list[documentUser{in.Document.Document, id}] = p
		}
	}
	return list, err
}
