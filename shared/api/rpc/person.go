package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/collab"
)

// Person declares what a person with a token may do with an endpoint. The zero value allows nothing.
type Person struct {
	Sends string // the fields of data that a person may send: see Fields
	Sees  string // the fields of the answer's data that reach a person: see Fields

	Editor bool // the token needs this role on the documents that the request names; else any role is enough

	Counts bool // a request counts as a change, although it stores nothing that lasts

	// Inbox: the request need not name a document, although the token covers less than the organization. The operation leaves out what the
	// token does not cover.
	Inbox bool

	// Fill sets the fields that only a back end may send, and checks the values of those that a person sends.
	Fill func(p *collab.Person, data map[string]any, m *Refusals)
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

func (f Fields) of(name string) (within Fields, ok bool) {
	if within, ok = f[name]; !ok {
		within, ok = f["*"]
	}
	return within, ok
}

// prune copies the next value with only the members in f. It calls leave, unless that is nil, with the path of each other member.
func (f Fields) prune(from *jsontext.Decoder, to *jsontext.Encoder, leave func(jsontext.Pointer)) error {
	if kind := from.PeekKind(); f == nil || kind != '{' && kind != '[' {
		value, err := from.ReadValue()
		if err == nil {
			err = to.WriteValue(value)
		}
		return err
	}
	open, err := from.ReadToken()
	if err != nil {
		return err
	}
	object := open.Kind() == '{'
	if err := to.WriteToken(open); err != nil {
		return err
	}
	for kind := from.PeekKind(); kind != '}' && kind != ']'; kind = from.PeekKind() {
		within, ok := f, true
		if object {
			name, err := from.ReadToken()
			if err != nil {
				return err
			}
			if within, ok = f.of(name.String()); ok {
				if err := to.WriteToken(jsontext.String(name.String())); err != nil {
					return err
				}
			} else if leave != nil {
				leave(from.StackPointer())
			}
		}
		if ok {
			err = within.prune(from, to, leave)
		} else {
			err = from.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	end, err := from.ReadToken()
	if err == nil {
		err = to.WriteToken(end)
	}
	return err
}

// Prune returns a JSON text with only the members in f.
func (f Fields) Prune(text collab.JSON) collab.JSON {
	var b bytes.Buffer
	if err := f.prune(jsontext.NewDecoder(bytes.NewReader(text)), jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true)), nil); err != nil {
		panic(err) // the program made the text
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Refusals collects the reasons to refuse a person's request.
type Refusals struct{ Violations }

// Refuse adds a violation at a path, such as `data.commentIds[0]`.
func (r *Refusals) Refuse(path, format string, args ...any) {
	r.note(path, fmt.Sprintf(format, args...))
}

// onlyBackEnds is the violation of a field that a person may not send.
const onlyBackEnds = "must be left out: only a back end may set it"

// personRule is a Person with its texts parsed.
type personRule struct {
	Person
	sends, sees Fields
	writes      bool // the operation counts as a write
}

func newPersonRule(p Person, writes bool, shape *Shape) *personRule {
	if p.Sends == "" {
		return nil
	}
	rule := &personRule{p, ParseFields(p.Sends), ParseFields(p.Sees), writes}
	rule.sends.check(shape, "data")
	return rule
}

// check panics if a name is not a field of the shape.
func (f Fields) check(shape *Shape, path string) {
	for name, within := range f {
		at := PathOf(path, name)
		field := fieldOf(shape, name)
		if field == nil {
			panic("rpc: a person may send " + at + ", which is no field")
		}
		within.check(field.Shape, at)
	}
}

// fieldOf returns the field that has a name in an object, or in the objects of an array. It returns nil if there is none.
func fieldOf(shape *Shape, name string) *Field {
	for shape.Elem != nil {
		shape = shape.Elem
	}
	if shape.Object == nil {
		return nil
	}
	if i, ok := shape.Object.byName[name]; ok {
		return &shape.Object.Fields[i]
	}
	return nil
}

// body returns a person's request as a back end would send it. It refuses fields that a person may not send, checks that the token covers
// the documents, and sets the fields that only a back end may send.
func (rule *personRule) body(x *exchange, body []byte, shape *Shape) ([]byte, error) {
	if rule == nil {
		return nil, collab.Errorf(collab.PermissionDenied, "only a back end may call this operation")
	}
	if len(body) > MaxPersonBody {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body of a person's request must be at most 131072 bytes")
	}
	kind := looks
	if rule.writes {
		kind = writes
	}
	if err := x.take(kind, 1); err != nil {
		return nil, err
	}
	if !jsontext.Value(body).IsValid() {
		return nil, errNoJSON
	}
	var refusals Refusals
	all := Fields{"data": rule.sends}
	if err := all.prune(jsontext.NewDecoder(bytes.NewBuffer(body)), jsontext.NewEncoder(new(bytes.Buffer)), func(at jsontext.Pointer) {
		// The decoder refuses unknown fields.
		if path := pointerPath("", at); known(shape.Object.Fields[0].Shape, path) {
			refusals.note(path, onlyBackEnds)
		}
	}); err != nil {
		return nil, err
	}
	if err := refusals.err(); err != nil {
		return nil, err
	}
	var sent struct {
		Data map[string]any `json:"data"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&sent); err != nil || sent.Data == nil {
		return nil, errNoJSON
	}
	if err := rule.covers(x, sent.Data); err != nil {
		return nil, err
	}
	if rule.Fill != nil {
		rule.Fill(x.Person, sent.Data, &refusals)
	}
	if err := refusals.err(); err != nil {
		return nil, err
	}
	filled, err := collab.EncodeJSON(map[string]any{"data": sent.Data})
	return filled, err
}

// errNoJSON makes the caller decode the body, which fails with a more precise error.
var errNoJSON = errors.New("the body is no JSON object with data")

// known reports whether a path of data names a field, or a member of an open object.
func known(shape *Shape, path string) bool {
	for _, name := range strings.Split(path, ".")[1:] {
		name, _, _ = strings.Cut(name, "[")
		field := fieldOf(shape, name)
		if field == nil {
			for shape.Elem != nil {
				shape = shape.Elem
			}
			return shape.Object != nil && shape.Object.Open
		}
		shape = field.Shape
	}
	return true
}

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
	return rule.sees.Prune(bytes.Join(s, nil))
}
