package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// Person declares what a person with a token may do with an endpoint. The zero value allows nothing.
type Person struct {
	Sends string // the fields of data that a person may send: see Fields
	Sees  string // the fields of the answer's data that reach a person: see Fields
	Self  string // the fields that name the person, an array of ids or an id; only a back end may send them

	Editor bool // the token needs this role on the documents that the request names; else any role is enough

	// Inbox: the request need not name a document, although the token covers less than the organization. The operation leaves out what the
	// token does not cover.
	Inbox bool

	// Fill sets further fields that only a back end may send, and checks values that the person sent.
	Fill func(p *collab.Person, data map[string]any, m *Violations)
}

// MaxPersonBody is the largest body of a person's request, in bytes.
const MaxPersonBody = 128 << 10

// Fields maps names of JSON members to the members within their values: nil means all of these. The name * means any.
type Fields map[string]Fields

// ParseFields parses names that are separated by spaces. Braces after a name select members within it: `comments{commentId from{userId}}`.
// Fields of an array are those of its elements. ParseFields panics if the braces do not match.
func ParseFields(text string) Fields {
	text = strings.NewReplacer("{", " { ", "}", " } ").Replace(text)
	stack, last := []Fields{{}}, ""
	for _, word := range strings.Fields(text) {
		switch in := stack[len(stack)-1]; word {
		case "{":
			in[last] = Fields{}
			stack = append(stack, in[last])
		case "}":
			stack = stack[:len(stack)-1]
		default:
			in[word], last = nil, word
		}
	}
	if len(stack) != 1 {
		panic("rpc: braces do not match in " + text)
	}
	return stack[0]
}

// check panics if a name is not a field of the shape, or has members that are not named.
func (f Fields) check(shape *Shape, path string) {
	if (f == nil) != (objectOf(shape) == nil) {
		panic("rpc: the members of " + path + " must be named, if it has some")
	}
	for name, within := range f {
		field, _ := fieldOf(shape, name)
		if field == nil {
			panic("rpc: " + path + " has no field " + name)
		}
		within.check(field.Shape, path+"."+name)
	}
}

// refuse notes the members of a value that only a back end may send. The decoder refuses unknown members.
func (f Fields) refuse(value any, shape *Shape, path string, m *Violations) {
	if f == nil {
		return
	}
	if list, ok := value.([]any); ok {
		for i, v := range list {
			f.refuse(v, shape, fmt.Sprintf("%s[%d]", path, i), m)
		}
	}
	object, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := PathOf(path, name)
		field, open := fieldOf(shape, name)
		if within, ok := f[name]; ok {
			within.refuse(object[name], field.Shape, at, m)
		} else if field != nil || open {
			m.note(at, "must be left out: only a back end may set it")
		}
	}
}

// objectOf returns the object of a shape, or of the elements of an array, nil if there is none.
func objectOf(shape *Shape) *Object {
	for shape.Elem != nil {
		shape = shape.Elem
	}
	return shape.Object
}

// fieldOf returns the field of objectOf that has a name, nil if there is none, and whether the object takes members of any name.
func fieldOf(shape *Shape, name string) (field *Field, open bool) {
	o := objectOf(shape)
	if o == nil {
		return nil, false
	}
	if i, ok := o.byName[name]; ok {
		field = &o.Fields[i]
	}
	return field, o.Open
}

// prune copies the next value with only the members in f. It panics if that is no JSON: the program made it.
func (f Fields) prune(from *jsontext.Decoder, to *jsontext.Encoder) {
	kind := from.PeekKind()
	if f == nil || kind != '{' && kind != '[' {
		value, err := from.ReadValue()
		made(err)
		made(to.WriteValue(value))
		return
	}
	token, err := from.ReadToken()
	made(err)
	made(to.WriteToken(token))
	for next := from.PeekKind(); next != '}' && next != ']'; next = from.PeekKind() {
		within := f
		if kind == '{' {
			token, err := from.ReadToken()
			made(err)
			name := token.String()
			of, ok := f[name]
			if !ok {
				of, ok = f["*"]
			}
			if !ok {
				made(from.SkipValue())
				continue
			}
			made(to.WriteToken(jsontext.String(name)))
			within = of
		}
		within.prune(from, to)
	}
	token, err = from.ReadToken()
	made(err)
	made(to.WriteToken(token))
}

// made panics if there is an error.
func made(err error) {
	if err != nil {
		panic(err)
	}
}

// personRule is a Person with its texts parsed.
type personRule struct {
	Person
	sends, sees Fields
	kind        kind
	data        *Shape
}

func newPersonRule(p Person, kind kind, data *Shape) *personRule {
	if p.Sends == "" {
		return nil
	}
	rule := &personRule{p, ParseFields(p.Sends), ParseFields(p.Sees), kind, data}
	rule.sends.check(data, "data")
	return rule
}

// body returns a person's request as a back end would send it. It refuses fields that only a back end may send, sets them itself, and checks
// that the token covers the documents.
func (rule *personRule) body(x *exchange) ([]byte, error) {
	if rule == nil {
		return nil, collab.Errorf(collab.PermissionDenied, "only a back end may call this operation")
	}
	if len(x.body) > MaxPersonBody {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body of a person's request must be at most 131072 bytes")
	}
	if err := x.take(rule.kind, 1); err != nil {
		return nil, err
	}
	var sent map[string]any
	dec := json.NewDecoder(bytes.NewReader(x.body))
	dec.UseNumber()
	if !jsontext.Value(x.body).IsValid() || dec.Decode(&sent) != nil {
		return nil, errNoJSON
	}
	data, ok := sent["data"].(map[string]any)
	if !ok {
		return nil, errNoJSON
	}
	refusals := Violations{root: "data"}
	rule.sends.refuse(data, rule.data, "data", &refusals)
	for _, name := range strings.Fields(rule.Self) {
		field, _ := fieldOf(rule.data, name)
		if data[name] = x.Person.UserID; field.Shape.Kind == KindArray {
			data[name] = []string{x.Person.UserID}
		}
	}
	if rule.Fill != nil {
		rule.Fill(x.Person, data, &refusals)
	}
	if err := refusals.err(); err != nil {
		return nil, err
	}
	if err := rule.covers(x, data); err != nil {
		return nil, err
	}
	return collab.EncodeJSON(sent)
}

// errNoJSON makes the caller decode the body, which fails with a more precise error.
var errNoJSON = errors.New("the body is no JSON object with data")

// covers fails with PERMISSION_DENIED if the token does not cover the organization or a document of a request, or not with the role that
// the operation needs. It ignores values that are not text: validation refuses them.
func (rule *personRule) covers(x *exchange, data map[string]any) error {
	org, _ := data["organizationId"].(string)
	var documents []string
	if id, ok := data["documentId"].(string); ok {
		documents = append(documents, id)
	}
	if list, ok := data["documentIds"].([]any); ok {
		for _, v := range list[:min(len(list), collab.MaxIDsPerFilter)] {
			if id, ok := v.(string); ok {
				documents = append(documents, id)
			}
		}
	}
	roles, err := x.Covered(x.ctx, org, documents)
	if err != nil {
		return err
	}
	for _, id := range documents {
		switch role := roles[id]; {
		case role == "":
			return collab.Errorf(collab.PermissionDenied, "the token does not cover document %q", id)
		case rule.Editor && role != collab.RoleEditor:
			return collab.Errorf(collab.PermissionDenied, "the token lets its person read document %q, and not write in it", id)
		}
	}
	if len(documents) > 0 || rule.Inbox && x.Person.In(org) || x.Person.In(org, collab.ResourceOrganization) {
		return nil
	}
	return collab.Errorf(collab.PermissionDenied, "the token does not cover organization %q: name documents that it covers", org)
}

// Covered returns the roles that a person's token gives on documents, by id: the role on the document, else on the nearest folder above
// it, else on the organization. It leaves out documents that the token does not cover. It reads folders only if the token names some.
func (c *Call) Covered(ctx context.Context, org string, documents []string) (map[string]collab.Role, error) {
	roles := map[string]collab.Role{}
	all := c.Person.Resource(org, collab.ResourceOrganization, org)
	var asked []string
	for _, id := range documents {
		if r := c.Person.Resource(org, collab.ResourceDocument, id); r != nil {
			roles[id] = r.AccessRole
		} else {
			asked = append(asked, id)
		}
	}
	var folders map[string][]string
	if len(asked) > 0 && c.Person.In(org, collab.ResourceFolder) {
		var err error
		if folders, err = c.folders(ctx, c.Account, org, asked); err != nil {
			return nil, err
		}
	}
	for _, id := range asked {
		if all != nil {
			roles[id] = all.AccessRole
		}
		for _, folder := range folders[id] {
			if r := c.Person.Resource(org, collab.ResourceFolder, folder); r != nil {
				roles[id] = r.AccessRole
				break
			}
		}
	}
	return roles, nil
}

// seen returns the part of an answer's data that a person may receive.
func (rule *personRule) seen(data any) any {
	if page, ok := data.(interface{ report() }); ok {
		page.report()
	}
	var s segments
	s.value(data)
	var b bytes.Buffer
	rule.sees.prune(jsontext.NewDecoder(bytes.NewReader(bytes.Join(s, nil))), jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true)))
	return collab.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// FoldersOf returns the folders above each document, the nearest first. It leaves out documents that do not exist.
type FoldersOf func(ctx context.Context, account, organization string, documents []string) (map[string][]string, error)
