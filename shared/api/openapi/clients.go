package openapi

import (
	"encoding/json"
	"strings"
)

// ForClients returns the part of a document for client generators. It has neither webhooks nor
// grouped lists, and a boolean that can only be true is a boolean. It has the components of the
// events, so that they become types.
func ForClients(document []byte) ([]byte, error) {
	var d struct {
		OpenAPI    string                               `json:"openapi"`
		Info       any                                  `json:"info"`
		Servers    any                                  `json:"servers"`
		Security   any                                  `json:"security"`
		Tags       any                                  `json:"tags"`
		Paths      any                                  `json:"paths"`
		Components map[string]map[string]map[string]any `json:"components"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	schemas := d.Components["schemas"]
	for name, schema := range schemas {
		if strings.HasSuffix(name, "Groups") {
			delete(schemas, name)
		}
		properties, _ := schema["properties"].(map[string]any)
		delete(properties, groupField)
		for key, property := range properties {
			property := property.(map[string]any)
			if list, ok := property["anyOf"].([]any); ok && key == "data" {
				properties[key] = list[0]
			}
			if property["const"] == true {
				delete(property, "const")
			}
		}
	}
	return json.MarshalIndent(d, "", "  ")
}
