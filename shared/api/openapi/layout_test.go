package openapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	got, err := ForClients([]byte(`{"openapi": "3.1.0", "webhooks": {"e": {}},
		"info": {"summary": "Threads", "description": "A long introduction"}, "servers": [{"url": "http://host"}],
		"paths": {"/v2/auth/permissions/get": {"post": {"responses": {"404": {"$ref": "NotFound"}}}}},
		"components": {"schemas": {
		"Data": {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]}, "XGroups": {}, "Event": {"properties": {"truncated": {"type": "boolean", "const": true}}},
		"Error": {"properties": {"details": {"anyOf": [{"type": "array"}, {"type": "object"}]}}},
		"Id": {"type": "string", "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]+$"},
		"Request": {"properties": {"default": {"$ref": "Id", "description": "d"}, "ids": {"type": "array", "items": {"$ref": "Id", "examples": [1]}},
			"flag": {"type": ["boolean", "null"], "default": false}}},
		"List": {"type": "array", "items": {"anyOf": [{"$ref": "#/components/schemas/Id"}, {"type": "null"}]}},
		"Result": {"properties": {"data": {"anyOf": [{"$ref": "list"}, {"$ref": "groups"}]}, "groupByDocumentId": {},
			"all": {"type": "array", "items": {"anyOf": [{"$ref": "#/components/schemas/Event"}, {"type": "null"}]}}}}}}}`))
	must.Do(t, err)
	var d struct {
		Info       struct{ Description string }
		Webhooks   any
		Paths      json.RawMessage
		Components struct{ Schemas json.RawMessage }
	}
	must.Do(t, json.Unmarshal(got, &d))
	var schemas bytes.Buffer
	must.Do(t, json.Compact(&schemas, d.Components.Schemas))
	const want = `{"Data":{"anyOf":[{"type":"string"},{"type":"null"}]},"Error":{"properties":{"details":{"type":"array"}}},` +
		`"Event":{"properties":{"truncated":{"type":"boolean"}}},"Id":{"type":"string","pattern":"^[^\\x00-\\x1f\\x7f]+$"},` +
		`"Request":{"properties":{"default":{"$ref":"Id"},"flag":{"type":["boolean","null"]},"ids":{"items":{"$ref":"Id"},"type":"array"}}},` +
		`"List":{"type":"array","items":{"$ref":"#/components/schemas/NullableId"}},` +
		`"NullableId":{"anyOf":[{"$ref":"#/components/schemas/Id"},{"type":"null"}]},` +
		`"NullableEvent":{"anyOf":[{"$ref":"#/components/schemas/Event"},{"type":"null"}]},` +
		`"Result":{"properties":{"all":{"type":"array","items":{"$ref":"#/components/schemas/NullableEvent"}},"data":{"$ref":"list"}}}}`
	var a, b any
	must.Do(t, json.Unmarshal(schemas.Bytes(), &a))
	must.Do(t, json.Unmarshal([]byte(want), &b))
	if diff := cmp.Diff(b, a); diff != "" || d.Webhooks != nil {
		t.Errorf("schemas (- want, + got):\n%s%s", diff, got)
	}
	if want := "Threads: see the [introduction](http://host/docs) on the server of `make run`."; d.Info.Description != want {
		t.Errorf("the description is %q, want %q", d.Info.Description, want)
	}
	if strings.Contains(string(d.Paths), "NotFound") {
		t.Errorf("the 404 with other details refers to the common one: %s", d.Paths)
	}
}
