// Package answer converts JSON responses to tables and facts, for terminals and pages.
package answer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"collabdata/shared/collab"
)

// Value is a JSON value. Members of objects keep their order.
type Value struct {
	Members []Member // of an object; nil for other values
	Items   []Value  // of an array; nil for other values
	Scalar  any      // string, json.Number, bool or nil
	kind    json.Delim
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Parse parses a valid JSON text. nil is the zero Value.
func Parse(text collab.JSON) (v Value) {
	if len(text) == 0 {
		return v
	}
	switch text[0] {
	case '{':
		v.kind = '{'
		for name, value := range text.Members() {
			v.Members = append(v.Members, Member{name, Parse(value)})
		}
	case '[':
		v.kind = '['
		var items []collab.JSON
		_ = json.Unmarshal(text, &items)
		v.Items = collab.Map(items, Parse)
	case '"', 't', 'f', 'n':
		_ = json.Unmarshal(text, &v.Scalar)
	default:
		v.Scalar = json.Number(text)
	}
	return v
}

// Object and Array report the kind of the value.
func (v Value) Object() bool { return v.kind == '{' }
func (v Value) Array() bool  { return v.kind == '[' }

// Empty reports whether the value is null or an empty string, array or object.
func (v Value) Empty() bool {
	return v.kind == 0 && (v.Scalar == nil || v.Scalar == "") || v.kind != 0 && len(v.Members)+len(v.Items) == 0
}

// Get returns a member, or the zero Value.
func (v Value) Get(name string) Value {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return Value{}
}

// String formats the value: a user as name and id, a named object as its name, another object as
// its members, and a list of objects as its length. For attempts, it adds the status of the last.
func (v Value) String() string {
	switch {
	case v.Array() && len(v.Items) > 0 && v.Items[0].Object() && v.Items[0].Get("userId").Empty():
		text := fmt.Sprint(len(v.Items))
		if last := v.Items[len(v.Items)-1]; !last.Get("durationMs").Empty() { // attempts
			text += ", last " + cmp.Or(last.Get("status").String(), last.Get("reason").String())
		}
		return text
	case v.Array():
		return strings.Join(collab.Map(v.Items, Value.String), ", ")
	case v.Object():
		if id := v.Get("userId").String(); id != "" {
			for _, name := range []string{v.Get("name").String(), v.Get("email").String()} {
				if name != "" && name != id {
					return name + " (" + id + ")"
				}
			}
			return id
		}
		if name := v.Get("name").String(); name != "" {
			return name
		}
		return strings.Join(collab.Map(v.Members, func(m Member) string { return m.Name + ": " + m.Value.String() }), "; ")
	case v.Scalar == nil:
		return ""
	}
	return fmt.Sprint(v.Scalar)
}

// Part is a table or a list of facts.
type Part struct {
	Title   string
	Columns []string // names of members; nil for facts
	Rows    [][]Value
	Facts   []Member
}

// Parts converts the data of a response to tables and facts. An array of objects becomes a table of
// their members. An object of objects becomes a table with its keys in the column key. Another
// object becomes facts, and a table for each list of objects in it.
func Parts(title, key string, v Value) []Part {
	list := v.Items
	if v.Object() && len(v.Members) > 0 && !slices.ContainsFunc(v.Members, func(m Member) bool { return !m.Value.Object() }) {
		for _, m := range v.Members {
			own := Member{key, Value{Scalar: m.Name}}
			rest := slices.DeleteFunc(slices.Clone(m.Value.Members), func(member Member) bool { return member.Name == "id" || member.Name == key })
			list = append(list, Value{kind: '{', Members: append([]Member{own}, rest...)})
		}
	} else if v.Object() {
		return facts(title, key, v)
	}
	part := Part{Title: title, Columns: []string{}}
	for _, item := range list {
		members := item.Members
		if !item.Object() {
			members = []Member{{key, item}}
		}
		for _, m := range members {
			if !m.Value.Empty() && !slices.Contains(part.Columns, m.Name) {
				part.Columns = append(part.Columns, m.Name)
			}
		}
	}
	for _, item := range list {
		if !item.Object() {
			item = Value{kind: '{', Members: []Member{{key, item}}}
		}
		part.Rows = append(part.Rows, collab.Map(part.Columns, item.Get))
	}
	return []Part{part}
}

func facts(title, key string, v Value) []Part {
	part := Part{Title: title}
	var lists []Part
	for _, m := range v.Members {
		if m.Value.Array() && len(m.Value.Items) > 0 && m.Value.Items[0].Object() {
			lists = append(lists, Parts(Words(m.Name), key, m.Value)...)
		} else if !m.Value.Empty() {
			part.Facts = append(part.Facts, m)
		}
	}
	return append([]Part{part}, lists...)
}

// Words splits the name of a member into words: failingSince becomes "Failing since".
func Words(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case i == 0:
			r = unicode.ToUpper(r)
		case unicode.IsUpper(r) && !strings.HasSuffix(name[:i], "I"):
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		case unicode.IsUpper(r):
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return strings.NewReplacer("Api", "API", " url", " URL").Replace(b.String())
}

var instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

// Time formats a time in UTC. ok is false if the value is not a time.
func (v Value) Time() (text string, ok bool) {
	s, _ := v.Scalar.(string)
	if !instant.MatchString(s) {
		return "", false
	}
	return s[:10] + " " + s[11:19], true
}

// Key returns the name of the ids that key the objects in a response: it follows from the end of
// the path.
func Key(path string) string {
	for _, names := range [][2]string{
		{"/comments/", "commentId"}, {"/commentannotations/count/", "documentId"}, {"/commentannotations/", "annotationId"},
		{"/documents/", "documentId"}, {"/folders/", "folderId"}, {"/users/", "userId"}, {"/permissions/", "userId"},
		{"/notifications/config/", "userId"}, {"/notifications/", "notificationId"}, {"/organizations/", "organizationId"},
	} {
		if strings.Contains(path, names[0]) {
			return names[1]
		}
	}
	return "id"
}
