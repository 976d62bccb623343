// Package answer turns the JSON of any answer into tables and facts, for a terminal and for pages.
package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Value is a JSON value; the members of an object keep their order.
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

// Parse reads a JSON text.
func Parse(text []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return parse(d)
}

func parse(d *json.Decoder) (v Value, err error) {
	token, err := d.Token()
	if err != nil {
		return v, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return Value{Scalar: token}, nil
	}
	v.kind = delim
	for d.More() {
		var name string
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return v, err
			}
			name = key.(string)
		}
		of, err := parse(d)
		if err != nil {
			return v, err
		}
		if delim == '{' {
			v.Members = append(v.Members, Member{name, of})
		} else {
			v.Items = append(v.Items, of)
		}
	}
	_, err = d.Token()
	return v, err
}

// Object and Array report what the value is.
func (v Value) Object() bool { return v.kind == '{' }
func (v Value) Array() bool  { return v.kind == '[' }

// Empty reports whether the value says nothing.
func (v Value) Empty() bool {
	return v.kind == 0 && (v.Scalar == nil || v.Scalar == "") || v.kind != 0 && len(v.Members)+len(v.Items) == 0
}

// Get returns a member, the zero Value where there is none.
func (v Value) Get(name string) Value {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return Value{}
}

// String returns the value as a text for people: a user by name and id, what else has a name by that, another object by its members, and a
// list of objects by how many they are.
func (v Value) String() string {
	switch {
	case v.Array() && len(v.Items) > 0 && v.Items[0].Object() && v.Items[0].Get("userId").Empty():
		return fmt.Sprint(len(v.Items))
	case v.Array():
		return strings.Join(each(v.Items, Value.String), ", ")
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
		return strings.Join(each(v.Members, func(m Member) string { return m.Name + ": " + m.Value.String() }), "; ")
	case v.Scalar == nil:
		return ""
	}
	return fmt.Sprint(v.Scalar)
}

func each[T, U any](list []T, f func(T) U) []U {
	all := make([]U, len(list))
	for i, v := range list {
		all[i] = f(v)
	}
	return all
}

// Part is a table or a list of facts.
type Part struct {
	Title   string
	Columns []string // names of members; nil for facts
	Rows    [][]Value
	Facts   []Member
}

// Parts returns the data of an answer as tables and facts. An array of objects is a table of what they have, an object of objects is one,
// too, with their keys under key. Another object is facts, and a table for each list of objects in it.
func Parts(title, key string, v Value) []Part {
	list := v.Items
	if v.Object() && len(v.Members) > 0 && !slices.ContainsFunc(v.Members, func(m Member) bool { return !m.Value.Object() }) {
		for _, m := range v.Members {
			own := Member{key, Value{Scalar: m.Name}}
			rest := slices.DeleteFunc(slices.Clone(m.Value.Members), func(of Member) bool { return of.Name == "id" || of.Name == key })
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
		part.Rows = append(part.Rows, each(part.Columns, item.Get))
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

// Words returns the name of a member as words: Failing since for failingSince.
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

// Time returns a time as people read it, in UTC; ok is false where the value is none.
func (v Value) Time() (text string, ok bool) {
	s, _ := v.Scalar.(string)
	if !instant.MatchString(s) {
		return "", false
	}
	return s[:10] + " " + s[11:19], true
}

// Key returns what the keys of an answer that is an object of objects are: ids of what the path ends with.
func Key(path string) string {
	for _, of := range [][2]string{
		{"/comments/", "commentId"}, {"/commentannotations/count/", "documentId"}, {"/commentannotations/", "annotationId"},
		{"/documents/", "documentId"}, {"/folders/", "folderId"}, {"/users/", "userId"}, {"/permissions/", "userId"},
		{"/notifications/config/", "userId"}, {"/notifications/", "notificationId"}, {"/organizations/", "organizationId"},
	} {
		if strings.Contains(path, of[0]) {
			return of[1]
		}
	}
	return "id"
}
