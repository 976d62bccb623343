package openapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"collabdata/shared/testing/must"
)

// TestLayout checks the line breaks at the width.
func TestLayout(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{}`, `{}`},
		{`{"a":[1,{"b":null}]}`, `{"a": [1, {"b": null}]}`},
		{`["` + strings.Repeat("x", 136) + `"]`, `["` + strings.Repeat("x", 136) + `"]`},
		{`["` + strings.Repeat("x", 137) + `"]`, "[\n \"" + strings.Repeat("x", 137) + "\"\n]"},
		{`{"a":{"b":[1,2],"` + strings.Repeat("c", 130) + `":{}}}`,
			"{\n \"a\": {\n  \"b\": [1, 2],\n  \"" + strings.Repeat("c", 130) + "\": {}\n }\n}"},
	} {
		var b bytes.Buffer
		if err := layout(&b, []byte(test.text), 0); err != nil || b.String() != test.want {
			t.Errorf("%s is laid out as\n%s\n%v, want\n%s", test.text, &b, err, test.want)
		}
	}
}

// TestForClients checks the omissions in the document for client generators.
func TestForClients(t *testing.T) {
	got, err := ForClients([]byte(`{"openapi": "3.1.0", "webhooks": {"e": {}}, "components": {"schemas": {
		"Data": {"anyOf": [1]}, "XGroups": {}, "Event": {"properties": {"truncated": {"type": "boolean", "const": true}}},
		"Result": {"properties": {"data": {"anyOf": [{"$ref": "list"}, {"$ref": "groups"}]}, "groupByDocumentId": {}}}}}}`))
	must.Do(t, err)
	var d struct {
		Webhooks   any
		Components struct{ Schemas json.RawMessage }
	}
	must.Do(t, json.Unmarshal(got, &d))
	var schemas bytes.Buffer
	must.Do(t, json.Compact(&schemas, d.Components.Schemas))
	const want = `{"Data":{"anyOf":[1]},"Event":{"properties":{"truncated":{"type":"boolean"}}},"Result":{"properties":{"data":{"$ref":"list"}}}}`
	if schemas.String() != want || d.Webhooks != nil {
		t.Errorf("got %s", got)
	}
}
