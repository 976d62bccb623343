package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// ForClients returns the part of a document for client generators. It has neither webhooks nor
// grouped lists, and a boolean that can only be true is a boolean. It has the components of the
// events, so that they become types. The details of an error are a list of violations; the 404 with
// other details is an open object. A schema of nullable items is a component. See simplify for the
// schemas.
func ForClients(document []byte) ([]byte, error) {
	var d struct {
		OpenAPI    string                               `json:"openapi"`
		Info       map[string]any                       `json:"info"`
		Servers    []map[string]any                     `json:"servers"`
		Security   any                                  `json:"security"`
		Tags       any                                  `json:"tags"`
		Paths      map[string]map[string]map[string]any `json:"paths"`
		Components map[string]map[string]map[string]any `json:"components"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	if len(d.Servers) > 0 {
		d.Info["description"] = fmt.Sprintf("%s: see the [introduction](%s/docs) on the server of `make run`.",
			d.Info["summary"], d.Servers[0]["url"])
	}
	if get, ok := d.Paths["/v2/auth/permissions/get"]; ok {
		get["post"]["responses"].(map[string]any)["404"] = map[string]any{
			"description": "NOT_FOUND: `error.details` has the data of a success, or is absent if the organization does not exist.",
			"content":     map[string]any{"application/json": map[string]any{"schema": map[string]any{"type": "object", "additionalProperties": true}}},
		}
	}
	schemas := d.Components["schemas"]
	for name, schema := range schemas {
		if strings.HasSuffix(name, "Groups") {
			delete(schemas, name)
			continue
		}
		properties, _ := schema["properties"].(map[string]any)
		delete(properties, groupField)
		for _, property := range properties {
			if property := property.(map[string]any); property["const"] == true {
				delete(property, "const")
			}
		}
		simplify(schema)
		nameItems(schema, schemas)
	}
	return json.MarshalIndent(d, "", "  ")
}

// ascii replaces a range of control characters by its part in ASCII. Ruby refuses the range in a
// regular expression, and PHP compares its bytes with those of letters.
var ascii = strings.NewReplacer(`\x7f-\x9f`, `\x7f`)

// simplify removes parts of a schema that client generators misread: forms of a value after the
// first, unless it is null, and members next to a $ref. It also removes defaults, which make a
// field required in TypeScript, and characters of a pattern beyond ASCII.
func simplify(value any) {
	switch value := value.(type) {
	case map[string]any:
		if forms, ok := value["anyOf"].([]any); ok {
			last := forms[len(forms)-1].(map[string]any)
			if value["anyOf"] = []any{forms[0], last}; last["type"] != "null" {
				delete(value, "anyOf")
				maps.Copy(value, forms[0].(map[string]any))
			}
		}
		if _, ok := value["$ref"].(string); ok {
			maps.DeleteFunc(value, func(key string, _ any) bool { return key != "$ref" })
		}
		if _, ok := value["type"]; ok {
			delete(value, "default")
		}
		if pattern, ok := value["pattern"].(string); ok {
			value["pattern"] = ascii.Replace(pattern)
		}
		for _, v := range value {
			simplify(v)
		}
	case []any:
		for _, v := range value {
			simplify(v)
		}
	}
}

// nameItems moves schemas of nullable items to components: openapi-generator mistakes the name of
// the class of such items in PHP.
func nameItems(schema map[string]any, schemas map[string]map[string]any) {
	if items, ok := schema["items"].(map[string]any); ok {
		if kinds, ok := items["anyOf"].([]any); ok {
			const components = "#/components/schemas/"
			name := "Nullable" + strings.TrimPrefix(kinds[0].(map[string]any)["$ref"].(string), components)
			schemas[name] = items
			schema["items"] = map[string]any{"$ref": components + name}
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range properties {
		nameItems(property.(map[string]any), schemas)
	}
}
