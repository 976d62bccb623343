package rpc

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// Filler is a request type, or a struct in one, with fields that the service sets for a person.
type Filler interface {
	// Fill sets fields that only a back end can send, and adds violations that only a person can
	// commit. It is called before Validate.
	Fill(p *collab.Person, m *Violations)
}

// MaxPersonBody is the maximum body size of a person's request, in bytes.
const MaxPersonBody = 128 << 10

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
	members := value.Object()
	account := members.Get("userId") != nil && members.Get("email") != nil
	foreign := slices.ContainsFunc(members, func(m collab.ObjectMember) bool { return !userFields[m.Name] })
	members = slices.DeleteFunc(members, func(m collab.ObjectMember) bool {
		_, shown := shownOfUsers[m.Name]
		return account && !shown && (m.Name == "email" || !foreign)
	})
	for i := range members {
		members[i].Value = withoutAddresses(members[i].Value)
	}
	return members.JSON()
}

// userFields are the fields of users, and shownOfUsers the ones for persons.
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
	visit    func(u users, user collab.Object) collab.Object
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
		user := slices.DeleteFunc(collab.JSON(value).Object(), func(m collab.ObjectMember) bool {
			_, shown := f[m.Name]
			return !shown || m.Name == "name" && isBlank(m.Value)
		})
		must(to.WriteValue(jsontext.Value(u.visit(u, user).JSON())))
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
			fields, ok := f[name]
			if !ok {
				fields, ok = f["*"]
			}
			if !ok || name == contactField && from.PeekKind() == 'n' {
				must(from.SkipValue())
				continue
			}
			must(to.WriteToken(jsontext.String(name)))
			isTag = isTag && name != contactField
			if within, u.field = fields, name; from.PeekKind() == '"' && (name == "documentId" || isTag && name == "userId") {
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
		if user := u.visit(u, collab.Object{{Name: "userId", Value: collab.JSON(tagged)}}); user != nil {
			must(to.WriteToken(jsontext.String(contactField)))
			must(to.WriteValue(jsontext.Value(user.JSON())))
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

// isBlank reports whether a value is a string of white space alone.
func isBlank(value collab.JSON) bool {
	var text string
	return len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil && strings.TrimSpace(text) == ""
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
