package collab

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is unchanged JSON text: numbers are not converted. nil means absent. It is stored as a
// string.
type JSON json.RawMessage

func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

func (j *JSON) UnmarshalJSON(text []byte) error { return (*json.RawMessage)(j).UnmarshalJSON(text) }

func (j JSON) MarshalText() ([]byte, error) { return j, nil }

func (j *JSON) UnmarshalText(text []byte) error { return j.UnmarshalJSON(text) }

// EncodeJSON returns v as JSON without escaping `<`, `>` and `&`. All stored and sent JSON comes
// from it, so its sizes count.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Members yields the names and texts of the members of an object in order; nothing for other
// values.
func (j JSON) Members() iter.Seq2[string, JSON] {
	return func(yield func(string, JSON) bool) {
		if len(j) == 0 {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(j))
		if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
			return
		}
		for dec.PeekKind() == '"' {
			token, err := dec.ReadToken()
			if err != nil {
				return
			}
			name := token.String()
			value, err := dec.ReadValue()
			end := int(dec.InputOffset())
			if err != nil || !yield(name, j[end-len(value):end]) {
				return
			}
		}
	}
}

// Get returns a member of an object, or nil.
func (j JSON) Get(name string) JSON {
	for n, value := range j.Members() {
		if n == name {
			return value
		}
	}
	return nil
}

// Text returns a string member of an object, or "".
func (j JSON) Text(name string) string { return TextOf(j.Get(name)) }

// TextOf returns the text of a string, or "" for another value.
func TextOf(value JSON) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, value) // valid, as the object is
	return string(text)
}

// Merge sets the members of other, and removes null ones. Order and text of members are preserved.
// Either object may be nil.
func (j JSON) Merge(other JSON) JSON {
	sent, changes := other.Object(), map[string]JSON{}
	for _, m := range sent {
		changes[m.Name] = m.Value
	}
	object := slices.DeleteFunc(j.Object(), func(m ObjectMember) bool { return string(changes[m.Name]) == "null" })
	for i, m := range object {
		if change, ok := changes[m.Name]; ok {
			object[i].Value = change
			delete(changes, m.Name)
		}
	}
	for _, m := range sent {
		if _, ok := changes[m.Name]; ok && string(m.Value) != "null" {
			object = append(object, m)
		}
	}
	return object.JSON()
}

// Only returns an object with only the members that have these names, or nil for other values.
func (j JSON) Only(names ...string) JSON {
	if len(j) == 0 || j[0] != '{' {
		return nil
	}
	return slices.DeleteFunc(j.Object(), func(m ObjectMember) bool { return !slices.Contains(names, m.Name) }).JSON()
}

// Object returns the members of an object; nil for other values.
func (j JSON) Object() (o Object) {
	for name, value := range j.Members() {
		o = append(o, ObjectMember{name, value})
	}
	return o
}

// Object is a JSON object with ordered members. Their names are distinct.
type Object []ObjectMember

// ObjectMember is one member of an Object.
type ObjectMember struct {
	Name  string
	Value JSON
}

func (o Object) index(name string) int {
	return slices.IndexFunc(o, func(m ObjectMember) bool { return m.Name == name })
}

// Get returns the value of a member, or nil.
func (o Object) Get(name string) JSON {
	if i := o.index(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Text returns the text of a string member, or "".
func (o Object) Text(name string) string { return TextOf(o.Get(name)) }

// Set sets a member. A new one comes last.
func (o *Object) Set(name string, value JSON) {
	if i := o.index(name); i >= 0 {
		(*o)[i].Value = value
		return
	}
	*o = append(*o, ObjectMember{name, value})
}

// JSON returns the object as text.
func (o Object) JSON() JSON {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, m.Name) // the only error, invalid UTF-8, is replaced
		text = append(append(text, ':'), m.Value...)
	}
	return append(text, '}')
}
