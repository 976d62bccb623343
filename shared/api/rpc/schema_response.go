package rpc

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"collabdata/shared/collab"
)

// Open is embedded in a type of an answer whose object has further members, of any name.
type Open struct{}

func (*Page[T]) item() reflect.Type { return reflect.TypeFor[T]() }

func (*GroupedPage[T]) item() reflect.Type { return reflect.TypeFor[T]() }

func (Keyed[T]) member() reflect.Type { return reflect.TypeFor[T]() }

// Answer returns the schema of an answer's data, or of a part of it. Beside what encoding/json makes of a type it knows: a Page of pointers
// has items that may be null; the tag rule:"object" makes a collab.JSON an object, rule:"nullable" lets a field be null, and schema:"Name"
// gives a collab.JSON the schema of the component of that name, or of arrays of it by schema:"[]Name".
func (s *Schemas) Answer(t reflect.Type) Schema {
	zero := reflect.Zero(t).Interface()
	switch v := zero.(type) {
	case interface{ item() reflect.Type }:
		return s.page(v.item(), zero)
	case interface{ member() reflect.Type }:
		return Schema{{"type", "object"}, {"additionalProperties", s.Fields(v.member())}}
	case collab.Timestamp:
		return ref("Timestamp")
	case collab.JSON:
		return anything()
	}
	if values := valuesOf(t); values != nil {
		return enum(values)
	}
	switch t.Kind() {
	case reflect.String:
		return Schema{{"type", "string"}}
	case reflect.Bool:
		return Schema{{"type", "boolean"}}
	case reflect.Int, reflect.Int64:
		return Schema{{"type", "integer"}}
	case reflect.Pointer:
		return s.Answer(t.Elem())
	case reflect.Slice:
		return Schema{{"type", "array"}, {"items", s.Answer(t.Elem())}}
	case reflect.Map:
		return Schema{{"type", "object"}, {"additionalProperties", true}}
	case reflect.Struct:
		name := upper(t.Name())
		s.answered[name] = true
		return s.component(name, t.String(), func() Schema { return s.Fields(t) })
	}
	panic(fmt.Sprintf("rpc: an answer cannot hold a %s", t))
}

func (s *Schemas) page(item reflect.Type, page any) Schema {
	one := s.Answer(item)
	items := one
	if item.Kind() == reflect.Pointer {
		items = orNull(one)
	}
	list := Schema{{"type", "array"}, {"items", items}}
	if _, ok := page.(interface{ RoomIn(string) int }); !ok {
		return list
	}
	groups := Schema{{"type", "object"}, {"additionalProperties", Schema{{"type", "array"}, {"items", one}}}}
	return Schema{{"anyOf", []Schema{list, groups}}}
}

// Fields is Answer for a struct, whose fields stand in the schema: all of them, or those that are named.
func (s *Schemas) Fields(t reflect.Type, names ...string) Schema {
	properties, required, open := Keyed[Schema]{}, []string{}, false
	for _, f := range reflect.VisibleFields(t) {
		open = open || f.Type == reflect.TypeFor[Open]()
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" || names != nil && !slices.Contains(names, name) {
			continue
		}
		properties = append(properties, Member[Schema]{
			Key: name, Value: s.described(s.field(f), t.Name(), name, f.Tag.Get("doc"), ""),
		})
		if !strings.HasPrefix(options, "omit") {
			required = append(required, name)
		}
	}
	schema := structure(properties, required)
	if open {
		schema = append(schema, Member[any]{"additionalProperties", true})
	}
	return schema
}

func (s *Schemas) field(f reflect.StructField) Schema {
	schema := s.Answer(f.Type)
	rule := f.Tag.Get("rule")
	if slices.Contains(strings.Split(rule, ","), "object") {
		schema = Schema{{"type", "object"}, {"additionalProperties", true}}
	}
	if name := f.Tag.Get("schema"); name != "" {
		single, list := strings.CutPrefix(name, "[]")
		schema = ref(single)
		if list {
			schema = Schema{{"type", "array"}, {"items", schema}}
		}
	}
	if strings.Contains(rule, "nullable") || f.Type.Kind() == reflect.Pointer && !strings.Contains(f.Tag.Get("json"), ",omit") {
		schema = orNull(schema)
	}
	return schema
}
