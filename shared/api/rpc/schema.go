package rpc

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"collabdata/shared/collab"
)

// Schema is a JSON Schema (2020-12), its keywords in order.
type Schema = Keyed[any]

// Schemas makes the schemas of requests and answers from their types. Structs with a name are components, which the schemas refer to. A
// field's description is its doc tag, else what the glossary says of its name.
type Schemas struct {
	glossary    map[string]string
	samples     map[string]any
	components  map[string]Schema
	of          map[string]string // the type, with its package, of each component
	answered    map[string]bool   // the components of answers
	undescribed []string
}

// NewSchemas returns a maker of schemas. The glossary says what fields are, by their names; samples are values of some of them.
func NewSchemas(glossary map[string]string, samples map[string]any) *Schemas {
	return &Schemas{glossary: glossary, samples: samples, components: scalars(), of: map[string]string{}, answered: map[string]bool{}}
}

// Components returns the components, by name: those of the scalars, and those that were referred to.
func (s *Schemas) Components() map[string]Schema { return s.components }

// Undescribed returns the fields that neither have a doc tag nor stand in the glossary.
func (s *Schemas) Undescribed() []string { return s.undescribed }

// Request returns the schema of a request's data, whose fields stand in it. The answers' schemas are made before: where a component is one of
// an answer too, that of the request has the name with Input behind it.
func (s *Schemas) Request(t reflect.Type) Schema { return s.object(planOf(t).object) }

// scalars are the components of the rules that name a form.
func scalars() map[string]Schema {
	const id = `1 to %d bytes in UTF-8, no control characters; %%, #, space, ! and " count three`
	text := func(pattern string, most int, description string) Schema {
		return Schema{{"type", "string"}, {"minLength", 1}, {"maxLength", most}, {"pattern", pattern}, {"description", description}}
	}
	const plain = `^[^\x00-\x1f\x7f-\x9f]+$`
	return map[string]Schema{
		"Id":             text(plain, collab.MaxID, fmt.Sprintf(id, collab.MaxID)),
		"DocumentId":     text(plain, collab.MaxDocumentID, fmt.Sprintf(id, collab.MaxDocumentID)),
		"NotificationId": text(`^[A-Za-z0-9_-]+$`, collab.MaxNotificationID, "letters, digits, _ and -"),
		"CommentId":      {{"type", "integer"}, {"minimum", 1}, {"maximum", int64(collab.MaxCommentID)}, {"description", "an integer from 1 to 2^53-1"}},
		"Millis": {{"type", "integer"}, {"minimum", 0}, {"maximum", collab.MaxMillis},
			{"description", "a time in milliseconds since epoch, to the end of the year 9999"}},
		"Timestamp": {{"type", "string"}, {"format", "date-time"}, {"description", "a time in ISO 8601, in UTC with milliseconds"},
			{"examples", []string{"2026-03-01T12:00:00.250Z"}}},
	}
}

var formNames = map[string]string{
	"id": "Id", "docid": "DocumentId", "notificationid": "NotificationId", "commentid": "CommentId", "time": "Millis",
}

func anything() Schema {
	return Schema{{"type", []string{"string", "number", "boolean", "object", "array", "null"}}}
}

func ref(name string) Schema { return Schema{{"$ref", "#/components/schemas/" + name}} }

// orNull lets a schema take null.
func orNull(schema Schema) Schema {
	if schema[0].Key != "type" {
		return Schema{{"anyOf", []Schema{schema, {{"type", "null"}}}}}
	}
	schema = slices.Clone(schema)
	for i, m := range schema {
		if kind, ok := m.Value.(string); ok && m.Key == "type" {
			schema[i].Value = []string{kind, "null"}
		} else if m.Key == "enum" {
			schema[i].Value = append(slices.Clone(m.Value.([]any)), nil)
		}
	}
	return schema
}

// enum is the schema of a string that is one of some values.
func enum(values []string) Schema {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return Schema{{"type", "string"}, {"enum", list}}
}

// structure is the schema of an object with properties.
func structure(properties Keyed[Schema], required []string) Schema {
	schema := Schema{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema = append(schema, Member[any]{"required", required})
	}
	return schema
}

// object returns the schema of a struct of a request.
func (s *Schemas) object(o *objectPlan) Schema {
	properties, required := Keyed[Schema]{}, []string{}
	for _, f := range o.fields {
		schema := s.plan(f.plan)
		if !f.required && !f.notNull {
			schema = orNull(schema)
		}
		if f.required {
			required = append(required, f.name)
		}
		properties = append(properties, Member[Schema]{Key: f.name, Value: s.described(schema, o.name, f.name, f.doc, f.plan.unit())})
	}
	return append(structure(properties, required), Member[any]{"additionalProperties", false})
}

// described returns the schema with the description of a field.
func (s *Schemas) described(schema Schema, of, field, doc, unit string) Schema {
	if doc == "" {
		doc = s.glossary[field]
	}
	if doc == "" {
		s.undescribed = append(s.undescribed, of+"."+field)
	}
	if unit != "" {
		doc += ": " + unit
	}
	schema = append(slices.Clone(schema), Member[any]{"description", doc})
	if sample, ok := s.samples[field]; ok {
		schema = append(schema, Member[any]{"examples", []any{sample}})
	}
	return schema
}

// unit says what JSON Schema has no word for: its lengths are in characters.
func (p *plan) unit() string {
	switch {
	case p.kind == kindOpt, p.kind == kindPointer:
		return p.elem.unit()
	case p.kind == kindString && p.maxLen > 0:
		return fmt.Sprintf("at most %d bytes", p.maxLen)
	}
	return ""
}

// plan returns the schema of a value of a request.
func (s *Schemas) plan(p *plan) Schema {
	if name, ok := formNames[p.form]; ok {
		return ref(name)
	}
	switch p.kind {
	case kindPointer, kindOpt:
		return s.plan(p.elem)
	case kindOne:
		one := s.plan(p.elem)
		list := Schema{{"type", "array"}, {"items", one}, {"minItems", 1}, {"maxItems", 1}}
		return Schema{{"anyOf", []Schema{one, list}}}
	case kindRaw:
		if p.only {
			return Schema{{"type", "object"}, {"additionalProperties", true}}
		}
		return anything()
	case kindString:
		return p.text()
	case kindBool:
		return Schema{{"type", "boolean"}}
	case kindInteger:
		return Schema{{"type", "integer"}, {"minimum", p.min}, {"maximum", p.max}}
	case kindArray:
		schema := Schema{{"type", "array"}, {"items", s.plan(p.elem)}}
		if p.nonEmpty {
			schema = append(schema, Member[any]{"minItems", 1})
		}
		if p.maxLen > 0 {
			schema = append(schema, Member[any]{"maxItems", p.maxLen})
		}
		return schema
	}
	make := func() Schema {
		schema := s.object(p.object)
		if p.nonEmpty {
			schema = append(schema, Member[any]{"minProperties", 1})
		}
		return schema
	}
	if p.object.name == "" {
		return make()
	}
	name := upper(p.object.name)
	if s.answered[name] {
		name += "Input"
	}
	return s.component(name, p.object.of, make)
}

// component refers to the component of a type, and makes it where it is new. It panics where another type has the name.
func (s *Schemas) component(name, of string, make func() Schema) Schema {
	if _, made := s.components[name]; !made {
		s.components[name], s.of[name] = nil, of
		s.components[name] = make()
	}
	if s.of[name] != of {
		panic(fmt.Sprintf("rpc: %s and %s would be one component %s", of, s.of[name], name))
	}
	return ref(name)
}

func (p *plan) text() Schema {
	if p.enum != nil {
		return enum(p.enum)
	}
	schema := Schema{{"type", "string"}}
	if p.nonEmpty {
		schema = append(schema, Member[any]{"minLength", 1})
	}
	if p.maxLen > 0 {
		schema = append(schema, Member[any]{"maxLength", p.maxLen})
	}
	return schema
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
