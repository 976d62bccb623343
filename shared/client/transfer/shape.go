package transfer

import (
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// shape is the form of a request's value. It is read from the client's types, so that new fields of
// operations are also fields of the file.
type shape struct {
	fields map[string]*shape // of an object; nil for any value
	open   bool              // allows further fields
	items  *shape            // of an array
	time   bool              // milliseconds since epoch
}

// shapeOf returns the shape of a type without some of its fields. The type must not be recursive.
func shapeOf[T any](without ...string) *shape {
	s := shapeOfType(reflect.TypeFor[T]())
	for _, name := range without {
		delete(s.fields, name)
	}
	return s
}

func shapeOfType(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &shape{time: true}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8: // JSON
		return &shape{}
	case t.Kind() == reflect.Slice:
		return &shape{items: shapeOfType(t.Elem())}
	case t.Kind() != reflect.Struct:
		return &shape{}
	}
	s := &shape{fields: map[string]*shape{}}
	for _, f := range reflect.VisibleFields(t) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous || !f.IsExported():
		case name != "":
			s.fields[name] = shapeOfType(f.Type)
		case tagged && options == "embed":
			s.open = true
		}
	}
	return s
}

// keep converts a response to a request: it removes null and unknown members, and converts times to
// milliseconds.
func (s *shape) keep(v jsontext.Value) jsontext.Value {
	switch kind := v.Kind(); {
	case s.time && kind == '"':
		text, _ := jsontext.AppendUnquote(nil, v)
		if at, err := time.Parse(time.RFC3339, string(text)); err == nil {
			return jsontext.Value(jsontext.Int(at.UnixMilli()).String())
		}
	case s.fields != nil && kind == '{':
		return value(s.keepMembers(parse(v)))
	case s.items != nil && kind == '[':
		list := itemsOf(v)
		for i := range list {
			list[i] = s.items.keep(list[i])
		}
		return array(list)
	}
	return v
}

// keepMembers is keep for an object.
func (s *shape) keepMembers(o object) object {
	members := make(object, 0, len(o))
	for _, m := range o {
		field, ok := s.fields[m.Key]
		switch {
		case ok && m.Value.Kind() != 'n':
			m.Value = field.keep(m.Value)
			members = append(members, m)
		case !ok && s.open:
			members = append(members, m)
		}
	}
	return members
}
