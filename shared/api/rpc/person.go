package rpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// Access controls calls of an endpoint by a person with a token.
//
// Tags of fields in the request and response types select the fields of a person:
//
//	person:"in"    a person's request can have the field; others are violations
//	person:"self"  the field is the person's id, or an array of it
//	person:"out"   the field of a response reaches a person; others are omitted
//
// A struct with fields of a person's request can implement Filler.
type Access int

const (
	BackEnd      Access = iota // no person can call the endpoint
	PersonReads                // the token covers all documents of the request, or if there are none, the organization
	PersonWrites               // the same, with the role editor

	// PersonInbox requires that the token covers the documents of the request, or if there are
	// none, anything in the organization. A removed person cannot write.
	PersonInbox
)

// Filler is a request type, or a struct in one, with fields that the service sets for a person.
type Filler interface {
	// Fill sets fields that only a back end can send, and adds violations that only a person can
	// commit. It is called before Validate.
	Fill(p *collab.Person, m *Violations)
}

// MaxPersonBody is the maximum body size of a person's request, in bytes.
const MaxPersonBody = 128 << 10

const personTag = "person" // of a field: see Access

func tagged(tag reflect.StructTag, word string) bool {
	for of := range strings.SplitSeq(tag.Get(personTag), ",") {
		if of == word {
			return true
		}
	}
	return false
}

// Fields maps names of JSON members to the members of their values, or to nil for all. The name *
// means any.
type Fields map[string]Fields

// Received returns the fields of a response's data that reach a person. It panics if a struct
// reaches persons without any of its fields.
func Received(data reflect.Type) Fields { return received(data, data.String()) }

func received(t reflect.Type, path string) Fields {
	switch v := reflect.Zero(t).Interface().(type) {
	case interface{ ItemType() reflect.Type }:
		t = v.ItemType()
	case interface{ StoredType() reflect.Type }:
		t = v.StoredType()
	case interface{ ValueType() reflect.Type }:
		return Fields{"*": received(v.ValueType(), path+".*")}
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[collab.JSON]() {
		t = t.Elem()
	}
	if t == reflect.TypeFor[collab.User]() {
		return shownOfUsers
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	fields := Fields{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tagged(f.Tag, "out") {
			fields[name] = received(f.Type, path+"."+name)
		}
	}
	if len(fields) == 0 {
		panic(fmt.Sprintf("rpc: no field of %s (%s) is tagged person:\"out\"", path, t))
	}
	return fields
}

// Sent returns the fields that a person's request can have.
func Sent(p *Shape) Fields {
	for p.Elem != nil {
		p = p.Elem
	}
	if p.Object == nil {
		return nil
	}
	fields := Fields{}
	for _, f := range p.Object.Fields {
		if f.In {
			fields[f.Name] = Sent(f.Shape)
		}
	}
	return fields
}

// String returns the names, separated by spaces, with the members of each value in braces.
func (f Fields) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if f[name] != nil {
			name += "{" + f[name].String() + "}"
		}
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

// withoutAddresses returns a free-form value without the addresses of user objects in it. A user
// object has a userId; if it has only fields of users, the fields for back ends go as well.
func withoutAddresses(value collab.JSON) collab.JSON {
	switch {
	case len(value) > 0 && value[0] == '[':
		var list []collab.JSON
		must(json.Unmarshal(value, &list))
		return JSON(collab.Map(list, withoutAddresses))
	case len(value) == 0 || value[0] != '{':
		return value
	}
	var members Keyed[collab.JSON]
	must(json.Unmarshal(value, &members))
	_, named := members.Get("userId")
	_, addressed := members.Get("email")
	foreign := slices.ContainsFunc(members, func(m Member[collab.JSON]) bool { return !userFields[m.Key] })
	left := Keyed[collab.JSON]{}
	for _, m := range members {
		_, shown := shownOfUsers[m.Key]
		if named && addressed && !shown && (m.Key == "email" || !foreign) {
			continue
		}
		left = append(left, Member[collab.JSON]{m.Key, withoutAddresses(m.Value)})
	}
	return JSON(left)
}

// userFields are the fields of users, and shownOfUsers those that persons receive.
var userFields, shownOfUsers = func() (all map[string]bool, shown Fields) {
	all, shown = map[string]bool{}, Fields{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[collab.User]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if all[name] = true; tagged(f.Tag, "out") {
			shown[name] = nil
		}
	}
	return all, shown
}()

// users visits the user objects of a response.
type users struct {
	document string // of the object
	field    string // with the object
	absent   bool   // the tag has no object: nil adds none
	visit    func(u users, user Keyed[collab.JSON]) Keyed[collab.JSON]
}

func (f Fields) ofUsers() bool {
	return reflect.ValueOf(f).Pointer() == reflect.ValueOf(shownOfUsers).Pointer()
}

// prune copies the next value with only the members in f, and user objects as u returns them. It
// panics if that is not JSON.
func (f Fields) prune(from *jsontext.Decoder, to *jsontext.Encoder, u users) {
	kind := from.PeekKind()
	if kind == '{' && f.ofUsers() {
		value, err := from.ReadValue()
		must(err)
		var user Keyed[collab.JSON]
		must(json.Unmarshal(value, &user))
		user = slices.DeleteFunc(user, func(m Member[collab.JSON]) bool {
			_, shown := f[m.Key]
			return !shown || m.Key == "name" && isBlank(m.Value)
		})
		must(to.WriteValue(jsontext.Value(JSON(u.visit(u, user)))))
		return
	}
	if f == nil || kind != '{' && kind != '[' {
		value, err := from.ReadValue()
		must(err)
		if kind == '{' || kind == '[' {
			value = jsontext.Value(withoutAddresses(collab.JSON(value)))
		}
		must(to.WriteValue(value))
		return
	}
	token, err := from.ReadToken()
	must(err)
	must(to.WriteToken(token))
	_, isTag := f[contactField]
	var tagged jsontext.Value // the tag's userId
	for next := from.PeekKind(); next != '}' && next != ']'; next = from.PeekKind() {
		within := f
		if kind == '{' {
			token, err := from.ReadToken()
			must(err)
			name := token.String()
			of, ok := f[name]
			if !ok {
				of, ok = f["*"]
			}
			if !ok || name == contactField && from.PeekKind() == 'n' {
				must(from.SkipValue())
				continue
			}
			must(to.WriteToken(jsontext.String(name)))
			isTag = isTag && name != contactField
			if within, u.field = of, name; from.PeekKind() == '"' && (name == "documentId" || isTag && name == "userId") {
				value, err := from.ReadValue()
				must(err)
				must(to.WriteValue(value))
				if name == "userId" {
					tagged = value.Clone()
				} else {
					must(json.Unmarshal(value, &u.document))
				}
				continue
			}
		}
		within.prune(from, to, u)
	}
	if isTag && tagged != nil {
		u.absent, u.field = true, contactField
		if user := u.visit(u, Keyed[collab.JSON]{{"userId", collab.JSON(tagged)}}); user != nil {
			must(to.WriteToken(jsontext.String(contactField)))
			must(to.WriteValue(jsontext.Value(JSON(user))))
		}
	}
	token, err = from.ReadToken()
	must(err)
	must(to.WriteToken(token))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// maxRenamed limits the bytes that present names add to a response.
const maxRenamed = 500_000

// maxRenamedDocuments is the maximum number of documents of a response with present names.
const maxRenamedDocuments = 300

// contactField is the field of a tag with the user object.
const contactField = "contact"

// isAuthor reports whether a field has the user who acts: those get their names first.
func isAuthor(field string) bool { return field == "from" || field == "actionUser" }

// toPerson returns the part of a response's data that a person can receive. User objects have the
// present names and pictures of stored users, those of authors first, as far as reads of profiles
// are bounded. document is that of objects without a documentId.
func (f Fields) toPerson(ctx context.Context, c *Call, data any, document string) any {
	if page, ok := data.(interface{ report() }); ok {
		page.report()
	}
	var s segments
	s.value(data)
	copied := func(text []byte, visit func(users, Keyed[collab.JSON]) Keyed[collab.JSON]) []byte {
		var b bytes.Buffer
		f.prune(jsontext.NewDecoder(bytes.NewReader(text)), jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true)), users{document: document, visit: visit})
		return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	var authors, others []documentUser
	text := copied(bytes.Join(s, nil), func(u users, user Keyed[collab.JSON]) Keyed[collab.JSON] {
		switch shown := (documentUser{u.document, idOf(user)}); {
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
	return collab.JSON(copied(text, func(u users, user Keyed[collab.JSON]) Keyed[collab.JSON] {
		p := profiles[documentUser{u.document, idOf(user)}]
		present := user
		for name, text := range map[string]*string{"name": p.Name, "photoUrl": p.PhotoURL} {
			if text != nil {
				present = present.With(name, JSON(text))
			}
		}
		more := WrappedLen(JSON(present)) - WrappedLen(JSON(user))
		if u.absent {
			more = WrappedLen(JSON(present)) + len(`,"contact":`)
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

// profiles returns the profiles of users. With an error, it also returns those that were read before.
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

// isBlank reports whether a value is a string of white space alone.
func isBlank(value collab.JSON) bool {
	var text string
	return len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil && strings.TrimSpace(text) == ""
}

func idOf(user Keyed[collab.JSON]) (id string) {
	text, _ := user.Get("userId")
	_ = json.Unmarshal(text, &id)
	return id
}

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

// forSelf sets the fields of the person's id.
func (o *Object) forSelf(v reflect.Value, p *collab.Person) {
	for _, f := range o.Fields {
		if !f.Self {
			continue
		}
		switch field := v.FieldByIndex(f.index); field.Kind() {
		case reflect.Pointer:
			field.Set(reflect.ValueOf(&p.UserID))
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{p.UserID}))
		default:
			field.SetString(p.UserID)
		}
	}
}

// texts returns the non-empty strings in the named field of a request's data.
func (o *Object) texts(data reflect.Value, name string) []string {
	i, ok := o.byName[name]
	if !ok {
		return nil
	}
	v := data.FieldByIndex(o.Fields[i].index)
	if v.Kind() == reflect.Slice {
		return v.Interface().([]string)
	}
	if v.Kind() == reflect.Pointer {
		v = reflect.Indirect(v)
	}
	if !v.IsValid() || v.String() == "" {
		return nil
	}
	return []string{v.String()}
}

// Directory reads the resources of tokens.
type Directory interface {
	// Open returns an organization and its existing, enabled documents among those given. It
	// returns NOT_FOUND if the organization does not exist, and FAILED_PRECONDITION if it is
	// disabled.
	Open(ctx context.Context, account, organization, folder string, documents []string) (collab.OrganizationRef, []collab.DocumentRef, error)

	// IsRemoved reports whether a user was removed from an organization that Open returned, and
	// nothing in it is open to the user.
	IsRemoved(ctx context.Context, org collab.OrganizationRef, user string) (bool, error)

	// Profiles returns the profiles of the first users that it may read. With an error, it also
	// returns those that were read before.
	Profiles(ctx context.Context, users []collab.UserAt) (map[collab.Resource]collab.Profiles, error)

	// FoldersOf returns the folders above each document, nearest first. It omits missing documents.
	FoldersOf(ctx context.Context, org collab.OrganizationRef, documents []string) (map[string][]collab.FolderRef, error)
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
	var asked []string
	for _, id := range documents {
		if r := c.Person.Resource(org.Organization, collab.ResourceDocument, id); r != nil {
			roles[id] = r.AccessRole
		} else {
			asked = append(asked, id)
		}
	}
	var folders map[string][]collab.FolderRef
	if len(asked) > 0 && c.Person.In(org.Organization, collab.ResourceFolder) {
		var err error
		if folders, err = c.directory.FoldersOf(ctx, org, asked); err != nil {
			return nil, err
		}
	}
	for _, id := range asked {
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
