package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/api/operator"
	"collabdata/shared/api/rpc"
)

// LineSchema returns the JSON Schema of the lines of an exported file, from the types of
// operator.RecordsAdd. Each array of the request has the lines of a kind. examples are lines of
// every kind. It returns an error if a field has no description, or a kind no example.
func LineSchema(examples []json.RawMessage) ([]byte, error) {
	s := newSchemas(glossary, samples)
	for i, m := range s.components["Millis"] {
		if m.Key == "minimum" {
			s.components["Millis"][i].Value = operator.MinTime
		}
	}
	byKind := map[string][]json.RawMessage{}
	for _, line := range examples {
		var l struct{ Kind string }
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, err
		}
		byKind[l.Kind] = append(byKind[l.Kind], line)
	}
	var kinds []object
	for _, f := range rpc.ShapeOf(reflect.TypeFor[operator.RecordsAddRequest]()).Object.Fields {
		if f.Shape.Kind != rpc.KindArray {
			continue
		}
		kind := strings.TrimSuffix(f.Name, "s")
		if byKind[kind] == nil {
			return nil, fmt.Errorf("the kind %s has no example", kind)
		}
		line := s.object(kind, f.Shape.Elem.Object)
		for i, m := range line {
			switch m.Key {
			case "properties":
				line[i].Value = append(obj("kind", obj("type", "string", "const", kind, "description", "The kind of line")), m.Value.(object)...)
			case "required":
				line[i].Value = append([]string{"kind"}, m.Value.([]string)...)
			}
		}
		if _, some := line.Get("required"); !some {
			line = with(line, "required", []string{"kind"})
		}
		s.components[kind] = with(line, "examples", byKind[kind])
		kinds = append(kinds, ref("schemas/"+kind))
	}
	if s.undescribed != nil {
		return nil, fmt.Errorf("these fields have no description: %s", strings.Join(s.undescribed, ", "))
	}
	text := rpc.JSON(obj(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"title", "A line of a file for admin import",
		"description", "Each line of the file is one JSON object. The first one is the organization; owners come before what belongs to them.",
		"oneOf", kinds,
		"$defs", s.components,
	))
	var b bytes.Buffer
	text = bytes.ReplaceAll(sized(text), []byte("#/components/schemas/"), []byte("#/$defs/"))
	if err := layout(&b, jsontext.Value(text), 0); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
