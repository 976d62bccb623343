package openapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// schemas builds JSON Schema 2020-12 from the types of requests and responses. Named structs and
// enums are components. The description of a field is its doc tag, else its text in the glossary.
// For a collab.JSON, the tag schema:"Name" selects the component, schema:"[]Name" an array of it,
// and schema:"Name|object" either of both.
type schemas struct {
	glossary   map[string]string
	samples    map[string]any // of fields, by name
	components map[string]object
	typeNames  map[string]string // the type of each component
	answered   map[string]bool   // components of responses
	results    map[string]string // the components of types called Result, by type

	clears      map[string]bool // fields, as Component.field, in which null differs from absent
	undescribed []string        // fields without doc tag and glossary entry
}

func newSchemas(glossary map[string]string, samples map[string]any) *schemas {
	return &schemas{
		glossary:   glossary,
		samples:    samples,
		components: scalars(),
		typeNames:  map[string]string{},
		answered:   map[string]bool{},
		clears:     map[string]bool{},
		results:    map[string]string{},
	}
}

// scalars are the components of rules with a form.
func scalars() map[string]object {
	const id = `1 to %d bytes in UTF-8, no control characters; %%, #, space, ! and " count three`
	text := func(pattern string, limit int, description string) object {
		return obj("type", "string", "minLength", 1, "maxLength", limit, "pattern", pattern, "description", description)
	}
	const plain = `^[^\x00-\x1f\x7f-\x9f]+$`
	return map[string]object{
		"Id":             text(plain, collab.MaxID, fmt.Sprintf(id, collab.MaxID)),
		"DocumentId":     text(plain, collab.MaxDocumentID, fmt.Sprintf(id, collab.MaxDocumentID)),
		"NotificationId": text(`^[A-Za-z0-9_-]+$`, collab.MaxNotificationID, "letters, digits, _ and -"),
		"CommentId": obj(
			"type", "integer", "minimum", 1, "maximum", int64(collab.MaxCommentID), "description", "an integer from 1 to 2^53-1",
		),
		"Millis": obj("type", "integer", "minimum", 0, "maximum", collab.MaxMillis,
			"description", "a time in milliseconds since epoch, to the end of the year 9999"),
		"Timestamp": obj("type", "string", "format", "date-time", "description", "a time in ISO 8601, in UTC with milliseconds",
			"examples", []string{"2026-03-01T12:00:00.250Z"}),
	}
}

var formNames = map[string]string{
	"id": "Id", "docid": "DocumentId", "notificationid": "NotificationId", "commentid": "CommentId", "time": "Millis",
}

func open() object { return obj("type", "object", "additionalProperties", true) }

func listOf(items object) object { return obj("type", "array", "items", items) }

// orNull makes a schema nullable.
func orNull(schema object) object {
	if len(schema) == 0 {
		return schema // anything
	}
	if list, ok := schema.Get("anyOf"); ok {
		return obj("anyOf", append(slices.Clone(list.([]object)), obj("type", "null")))
	}
	kind, ok := schema.Get("type")
	if !ok {
		return obj("anyOf", []object{schema, obj("type", "null")})
	}
	schema = slices.Clone(schema)
	for i, m := range schema {
		if m.Key == "type" {
			schema[i].Value = []any{kind, "null"}
		}
	}
	return schema
}

// structure is the schema of an object with properties.
func structure(properties object, required []string) object {
	schema := obj("type", "object", "properties", properties)
	if len(required) > 0 {
		schema = with(schema, "required", required)
	}
	return schema
}

// request refers to the component of a request's data. Responses come first: if a component is also
// that of a response, the request's name ends in Input.
func (s *schemas) request(name string, t reflect.Type) object {
	return s.component(name, t.String(), func() object { return s.object(name, rpc.ShapeOf(t).Object) })
}

func (s *schemas) object(name string, o *rpc.Object) object {
	properties, required := object{}, []string{}
	for _, f := range o.Fields {
		schema := s.tagged(f.Tag)
		if schema == nil {
			schema = s.shape(f.Shape)
		}
		if f.Required {
			required = append(required, f.Name)
		} else if !f.NotNull {
			schema = orNull(schema)
		}
		if f.Shape.Kind == rpc.KindBool {
			schema = with(schema, "default", false)
		}
		if f.Shape.Kind == rpc.KindOpt && !f.NotNull {
			s.clears[name+"."+f.Name] = true
		}
		properties = with(properties, f.Name, s.described(schema, name, f.Name, f.Tag, unit(f.Shape)))
	}
	return with(structure(properties, required), "additionalProperties", o.Open)
}

// described adds the description of a field to a schema.
func (s *schemas) described(schema object, object, field string, tag reflect.StructTag, unit string) object {
	doc := tag.Get("doc")
	if doc == "" {
		doc = s.glossary[field]
	}
	if doc == "" {
		s.undescribed = append(s.undescribed, object+"."+field)
	}
	if unit != "" {
		doc += ": " + unit
	}
	schema = with(slices.Clone(schema), "description", doc)
	if sample, ok := s.samples[field]; ok {
		schema = with(schema, "examples", []any{sample})
	}
	return schema
}

// unit describes a limit in bytes, because lengths in JSON Schema are in characters.
func unit(p *rpc.Shape) string {
	switch {
	case p.Kind == rpc.KindOpt, p.Kind == rpc.KindPointer:
		return unit(p.Elem)
	case p.Kind == rpc.KindString && p.MaxLen > 0:
		return fmt.Sprintf("at most %d bytes", p.MaxLen)
	}
	return ""
}

func (s *schemas) shape(p *rpc.Shape) object {
	if name, ok := formNames[p.Form]; ok {
		return ref("schemas/" + name)
	}
	switch p.Kind {
	case rpc.KindPointer, rpc.KindOpt:
		return s.shape(p.Elem)
	case rpc.KindOne:
		one := s.shape(p.Elem)
		return obj("anyOf", []object{one, with(listOf(one), "minItems", 1, "maxItems", 1)})
	case rpc.KindRaw:
		switch p.Only {
		case "object":
			return open()
		case "number":
			return obj("type", "number")
		}
		return object{} // anything
	case rpc.KindString:
		return s.text(p)
	case rpc.KindBool:
		schema := obj("type", "boolean")
		if p.Only != "" {
			schema = with(schema, "const", true)
		}
		return schema
	case rpc.KindInteger:
		return obj("type", "integer", "minimum", p.Min, "maximum", p.Max)
	case rpc.KindArray:
		schema := listOf(s.shape(p.Elem))
		if p.NonEmpty {
			schema = with(schema, "minItems", 1)
		}
		if p.MaxLen > 0 {
			schema = with(schema, "maxItems", p.MaxLen)
		}
		return schema
	}
	name, typ := p.Type.Name(), p.Type.String()
	if p.Object.Partial {
		name, typ = name+"Change", "change of "+typ
	}
	if name = upper(name); s.answered[name] {
		name += "Input"
	}
	return s.component(name, typ, func() object {
		schema := s.object(name, p.Object)
		if p.NonEmpty {
			schema = with(schema, "minProperties", 1)
		}
		return schema
	})
}

func (s *schemas) text(p *rpc.Shape) object {
	if p.Enum != nil {
		return s.enum(p.Type, p.Enum)
	}
	schema := obj("type", "string")
	if p.Form == "url" {
		schema = with(schema, "format", "uri")
	}
	if p.NonEmpty {
		schema = with(schema, "minLength", 1)
	}
	if p.MaxLen > 0 {
		schema = with(schema, "maxLength", p.MaxLen)
	}
	return schema
}

// enum refers to the component of a string type with fixed values.
func (s *schemas) enum(t reflect.Type, values []string) object {
	return s.component(upper(t.Name()), t.String(), func() object { return obj("type", "string", "enum", values) })
}

// component refers to the component of a type, and creates it if new. It panics if another type has
// the name.
func (s *schemas) component(name, typ string, make func() object) object {
	if _, ok := s.components[name]; !ok {
		s.components[name], s.typeNames[name] = nil, typ
		s.components[name] = make()
	}
	if s.typeNames[name] != typ {
		panic(fmt.Sprintf("openapi: %s and %s would be one component %s", typ, s.typeNames[name], name))
	}
	return ref("schemas/" + name)
}

// named refers to a component without a type.
func (s *schemas) named(name string, schema object) object {
	return s.component(name, name, func() object { return schema })
}

// answer returns the schema of a response's data, or of a part of it. A type called Result is named
// after its first operation, name. Besides encoding/json, it supports Page with nullable pointer
// items, and Stored. The tags rule:"object" and rule:"number" restrict a collab.JSON;
// rule:"nullable" allows null, and rule:"required" excludes the null of a pointer.
func (s *schemas) answer(name string, t reflect.Type) object {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.String {
		t = t.Elem()
	}
	zero := reflect.Zero(t).Interface()
	switch v := zero.(type) {
	case interface{ ItemType() reflect.Type }:
		return s.page(name, v.ItemType(), zero)
	case interface{ StoredType() reflect.Type }:
		return s.answer(name, v.StoredType())
	case interface{ ValueType() reflect.Type }:
		return obj("type", "object", "additionalProperties", s.answer(strings.TrimSuffix(name, "Data")+"Item", v.ValueType()))
	case collab.Timestamp:
		return ref("schemas/Timestamp")
	case collab.JSON:
		return object{} // anything
	case interface{ Values() []string }:
		return s.enum(t, v.Values())
	}
	switch t.Kind() {
	case reflect.String:
		return obj("type", "string")
	case reflect.Bool:
		return obj("type", "boolean")
	case reflect.Int, reflect.Int64:
		return obj("type", "integer")
	case reflect.Pointer:
		return s.answer(name, t.Elem())
	case reflect.Slice:
		return listOf(s.answer(name, t.Elem()))
	case reflect.Map:
		return open()
	case reflect.Struct:
		text := t.String()
		if t.Name() == "" {
			text = name // such as struct{}
		} else if !strings.HasSuffix(t.Name(), "Result") {
			name = upper(t.Name())
		} else if s.results[text] == "" {
			s.results[text] = name
		} else {
			name = s.results[text]
		}
		s.answered[name] = true
		return s.component(name, text, func() object { return s.fields(name, t) })
	}
	panic(fmt.Sprintf("openapi: an answer cannot hold a %s", t))
}

// page is the schema of a list; for a GroupedPage, of one of two components.
func (s *schemas) page(name string, item reflect.Type, page any) object {
	one := s.answer(name, item)
	items := one
	if item.Kind() == reflect.Pointer {
		items = orNull(one)
	}
	if _, ok := page.(interface{ RoomIn(string) int }); !ok {
		return listOf(items)
	}
	list, groups := strings.TrimSuffix(name, "Data")+"List", strings.TrimSuffix(name, "Data")+"Groups"
	return obj("anyOf", []object{
		s.named(list, with(listOf(items), "description", "Without "+groupField)),
		s.named(groups, obj("type", "object", "additionalProperties", listOf(one), "description", "With "+groupField+": by document id")),
	})
}

// groupField is the request field that replaces the list by an object of lists.
const groupField = "groupByDocumentId"

// fields returns the schema of a response's struct, with all or only the named fields.
func (s *schemas) fields(name string, t reflect.Type, names ...string) object {
	properties, required, further := object{}, []string{}, false
	for _, f := range reflect.VisibleFields(t) {
		further = further || f.Type == reflect.TypeFor[rpc.Open]()
		field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || field == "" || field == "-" || names != nil && !slices.Contains(names, field) {
			continue
		}
		properties = with(properties, field, s.described(s.field(f), name, field, f.Tag, ""))
		if !strings.HasPrefix(options, "omit") {
			required = append(required, field)
		}
	}
	schema := structure(properties, required)
	if further {
		schema = with(schema, "additionalProperties", true)
	}
	return schema
}

func (s *schemas) field(f reflect.StructField) object {
	schema := s.tagged(f.Tag)
	if schema == nil {
		schema = s.answer(f.Name, f.Type)
	}
	rules := strings.Split(f.Tag.Get("rule"), ",")
	switch {
	case slices.Contains(rules, "object"):
		schema = open()
	case slices.Contains(rules, "number"):
		schema = obj("type", "number")
	}
	never := strings.Contains(f.Tag.Get("json"), ",omit") || slices.Contains(rules, "required")
	if slices.Contains(rules, "nullable") || f.Type.Kind() == reflect.Pointer && !never {
		schema = orNull(schema)
	}
	return schema
}

// tagged returns the schema in a tag, or nil.
func (s *schemas) tagged(tag reflect.StructTag) object {
	named, ok := tag.Lookup("schema")
	if !ok {
		return nil
	}
	var list []object
	for name := range strings.SplitSeq(named, "|") {
		single, array := strings.CutPrefix(name, "[]")
		schema := obj("type", "object") // also open, but client generators cannot have a map in a union
		if single != "object" {
			schema = ref("schemas/" + single)
		}
		if array {
			schema = listOf(schema)
		}
		list = append(list, schema)
	}
	if len(list) == 1 {
		return list[0]
	}
	return obj("anyOf", list)
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
