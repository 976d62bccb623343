package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown returns the reference as Markdown pages by path: /llms.txt (see llmstxt.org), which
// lists the others, /docs/introduction.md, and a page for each operation and type of webhook, such
// as /docs/v2/organizations/get.md and /docs/webhooks/comment.added.md.
func Markdown(document []byte) (map[string][]byte, error) {
	var d pages
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	var index bytes.Buffer
	fmt.Fprintf(&index, "# %s\n\n> Comments, threads and notifications for a product: every operation is a POST with a JSON body.\n\n", d.Info.Title)
	index.WriteString("- [Introduction](/docs/introduction.md): credentials, ids, pages, errors, notifications, persons, webhooks\n")
	index.WriteString("- [OpenAPI](/openapi.json), and [a simpler form for generators](/openapi-clients.json)\n")
	index.WriteString("- [A collection for Postman](/postman.json)\n")
	index.WriteString("- [JSON Schema of the lines of a file to import](/import-schema.json)\n")
	pages := map[string][]byte{"/docs/introduction.md": []byte(d.Info.Description)}
	list := func(title, folder string, paths map[string]path) {
		fmt.Fprintf(&index, "\n## %s\n\n", title)
		for _, name := range slices.Sorted(maps.Keys(paths)) {
			if paths[name].Post.Summary == "" { // a page for browsers
				continue
			}
			file := folder + name + ".md"
			fmt.Fprintf(&index, "- [%s](%s): %s\n", name, file, paths[name].Post.Summary)
			pages[file] = d.page(name, paths[name])
		}
	}
	list("Operations", "/docs", d.Paths)
	list("Webhooks", "/docs/webhooks/", d.Webhooks)
	pages["/llms.txt"] = index.Bytes()
	return pages, nil
}

// pages is the part of a document that Markdown needs.
type pages struct {
	Info            struct{ Title, Description string }
	Paths, Webhooks map[string]path
	Components      struct {
		Schemas         map[string]*field
		SecuritySchemes map[string]struct{ Name string }
	}
}

type path struct {
	Post struct {
		Summary, Description string
		RequestBody          body
		Responses            map[string]body
	}
}

type body struct {
	Content map[string]struct {
		Schema   *field
		Examples map[string]struct {
			Summary string
			Value   json.RawMessage
		}
	}
}

// field is a schema.
type field struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a name, or an array of names
	Description          string
	Properties           map[string]*field
	Required             []string
	Items                *field
	AnyOf                []*field
	AdditionalProperties values
	Enum                 []any
	Default              any
	MaxItems             *int
}

// values is the schema of an object's values, or nil for a boolean.
type values struct{ *field }

// UnmarshalJSON reads a schema or a boolean.
func (v *values) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return nil
	}
	return json.Unmarshal(text, &v.field)
}

const contentType = "application/json"

// page returns the page of an operation or a webhook.
func (d *pages) page(name string, operations path) []byte {
	var b bytes.Buffer
	op := operations.Post
	fmt.Fprintf(&b, "# POST %s\n\n%s.\n\n%s\n", name, op.Summary, strings.ReplaceAll(op.Description, "](#", "](/docs/introduction.md#"))
	request, response := op.RequestBody.Content[contentType], op.Responses["200"].Content[contentType]
	if response.Schema == nil {
		response = op.Responses["202"].Content[contentType]
	}
	for _, part := range []struct {
		title  string
		schema *field
	}{{"Request", request.Schema}, {"Response", response.Schema}} {
		if part.schema != nil {
			fmt.Fprintf(&b, "\n## %s\n\n", part.title)
			d.fields(&b, part.schema, "", map[string]bool{})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(request.Examples)) {
		fmt.Fprintf(&b, "\n## Example: %s\n", request.Examples[name].Summary)
		for _, part := range []body{op.RequestBody, op.Responses["200"], op.Responses["202"]} {
			if example, ok := part.Content[contentType].Examples[name]; ok {
				b.WriteString("\n```json\n")
				_ = json.Indent(&b, example.Value, "", "  ")
				b.WriteString("\n```\n")
			}
		}
	}
	return b.Bytes()
}

// resolve returns the schema that a reference names, without null, and the name.
func (d *pages) resolve(f *field) (schema *field, name string) {
	for {
		if i := slices.IndexFunc(f.AnyOf, func(f *field) bool { return f.Type != "null" }); i >= 0 {
			f = f.AnyOf[i]
		} else if f.Ref != "" {
			name = f.Ref[strings.LastIndexByte(f.Ref, '/')+1:]
			f = d.Components.Schemas[name]
		} else {
			return f, name
		}
	}
}

// fields lists the fields of an object, required ones first, with their own fields below. Fields of
// a type that the page has listed are left out.
func (d *pages) fields(b *bytes.Buffer, f *field, indent string, listed map[string]bool) {
	object, name := d.resolve(f)
	if object.Items != nil {
		d.fields(b, object.Items, indent, listed)
		return
	}
	if object.AdditionalProperties.field != nil {
		d.fields(b, object.AdditionalProperties.field, indent, listed)
		return
	}
	if len(object.Properties) == 0 {
		return
	}
	if name != "" && listed[name] {
		fmt.Fprintf(b, "%s- the fields of %s above\n", indent, name)
		return
	}
	listed[name] = true
	for _, required := range []bool{true, false} {
		for _, field := range slices.Sorted(maps.Keys(object.Properties)) {
			if slices.Contains(object.Required, field) == required {
				d.field(b, field, object.Properties[field], required, indent, listed)
			}
		}
	}
}

// field writes the line of a field, and the fields of its value.
func (d *pages) field(b *bytes.Buffer, name string, f *field, required bool, indent string, listed map[string]bool) {
	schema, _ := d.resolve(f)
	fmt.Fprintf(b, "%s- `%s` %s", indent, name, d.kind(f))
	if required {
		b.WriteString(", required")
	}
	if f.Default != nil && f.Default != false {
		fmt.Fprintf(b, ", default %v", f.Default)
	}
	if schema.MaxItems != nil {
		fmt.Fprintf(b, ", at most %d", *schema.MaxItems)
	}
	if len(schema.Enum) > 0 {
		fmt.Fprintf(b, ", one of %v", schema.Enum)
	}
	if f.Description != "" {
		b.WriteString(": " + strings.ReplaceAll(f.Description, "\n", " "))
	}
	b.WriteString("\n")
	d.fields(b, f, indent+"  ", listed)
}

// kind returns the name of a type.
func (d *pages) kind(f *field) string {
	schema, name := d.resolve(f)
	kind := fmt.Sprint(cmp.Or[any](schema.Type, "any"))
	if several, ok := schema.Type.([]any); ok {
		kind = fmt.Sprint(several[0]) // the other is null
	}
	switch {
	case kind == "array" && schema.Items != nil:
		return "array of " + d.kind(schema.Items)
	case schema.AdditionalProperties.field != nil && len(schema.Properties) == 0:
		return "object by id of " + d.kind(schema.AdditionalProperties.field)
	case kind == "object" && name != "":
		return name
	}
	return kind
}
