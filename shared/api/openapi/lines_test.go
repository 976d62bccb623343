package openapi_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"collabdata/shared/api/openapi"
	"collabdata/shared/client/transfer"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

// exampleLines returns the lines of the README of imports.
func exampleLines(t *testing.T) (lines []json.RawMessage) {
	t.Helper()
	readme, err := os.ReadFile("../../client/transfer/README.md")
	must.Do(t, err)
	_, text, _ := strings.Cut(string(readme), "```jsonl\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the README has no lines")
	}
	for line := range strings.Lines(text) {
		lines = append(lines, json.RawMessage(strings.TrimSpace(line)))
	}
	return lines
}

// TestLineSchema checks the generated schema of imports. It accepts the README's lines, and refuses
// bad ones.
func TestLineSchema(t *testing.T) {
	examples := exampleLines(t)
	text, err := openapi.LineSchema(examples)
	must.Do(t, err)
	golden.Check(t, "../import-schema.json", string(text))
	const url = "https://api.example/import-schema.json"
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	must.Do(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	must.Do(t, compiler.AddResource(url, document))
	schema, err := compiler.Compile(url)
	must.Do(t, err)
	valid := func(line string) error {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		must.Do(t, err)
		return schema.Validate(value)
	}
	kinds := map[transfer.Kind]bool{}
	for _, line := range examples {
		must.Do(t, valid(string(line)))
		var l struct{ Kind transfer.Kind }
		must.Do(t, json.Unmarshal(line, &l))
		kinds[l.Kind] = true
		further := strings.TrimSuffix(string(line), "}") + `,"colour":"red"}`
		if open := l.Kind == transfer.Organization || l.Kind == transfer.Document; (valid(further) == nil) != open {
			t.Errorf("a further field of the kind %s: %v", l.Kind, valid(further))
		}
	}
	for _, kind := range transfer.Kinds() {
		if !kinds[kind] {
			t.Errorf("the kind %s has no example", kind)
		}
	}
	for _, line := range []string{
		`{}`, `{"kind":"thing"}`, `{"organizationId":"acme"}`, `{"kind":"organization"}`, `{"kind":"organization","organizationId":""}`,
		`{"kind":"annotation","documentId":"plan","annotationId":"a","createdAt":1700000000}`,
		`{"kind":"comment","documentId":"plan","annotationId":"a","commentId":0,"commentText":"x","from":{"userId":"ann"}}`,
		`{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"x"}`,
	} {
		if valid(line) == nil {
			t.Errorf("it accepts %s", line)
		}
	}
}

// TestLinesKnown checks that imports know every field of the schema.
func TestLinesKnown(t *testing.T) {
	text, err := openapi.LineSchema(exampleLines(t))
	must.Do(t, err)
	var described struct {
		Definitions map[transfer.Kind]struct {
			Properties map[string]json.RawMessage
		} `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(text, &described))
	for _, kind := range transfer.Kinds() {
		if len(described.Definitions[kind].Properties) == 0 {
			t.Errorf("the kind %s has no fields", kind)
		}
		for name := range described.Definitions[kind].Properties {
			file := `{"kind":"organization","organizationId":"acme"}` + "\n" + `{"kind":"` + string(kind) + `","` + name + `":null}` + "\n"
			if err := transfer.Check(strings.NewReader(file), transfer.ImportOptions{}); name != "kind" && strings.Contains(err.Error(), "is no field") {
				t.Error(err)
			}
		}
	}
}
