// Package openapi makes the OpenAPI document of the interface from the table of endpoints. The document is the file openapi.json of package
// api: a test of this package writes it, and holds it.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/auth"
	"collabdata/shared/collab"
	"collabdata/shared/webhook"
)

// Example is a request to an endpoint and its answer, whole bodies both.
type Example struct {
	Path    string
	Title   string
	Request json.RawMessage
	Answer  json.RawMessage
}

// object is a JSON object, its members in order.
type object = rpc.Keyed[any]

const jsonType = "application/json"

// Document returns the OpenAPI document, with the examples of each endpoint and of each type of webhook event. It fails where a field has no
// description.
func Document(examples []Example, payloads map[collab.EventType]json.RawMessage) ([]byte, error) {
	schemas := rpc.NewSchemas(glossary, samples)
	endpoints := slices.DeleteFunc(api.Endpoints(), func(e api.Endpoint) bool { return e.Public }) // those are pages for people
	answers := map[string]rpc.Schema{}
	for _, e := range endpoints { // before all requests: see Schemas.Request
		if t := e.Operation.Data; t.Kind() == reflect.Struct {
			answers[e.Path] = schemas.Fields(t)
		} else {
			answers[e.Path] = schemas.Answer(t)
		}
	}
	hooks := object{}
	for _, t := range collab.EventTypes() {
		hooks = append(hooks, member(string(t), object{{Key: "post", Value: event(schemas, t, payloads[t])}}))
	}
	failure := schemas.Answer(reflect.TypeFor[collab.FieldError]())
	paths := object{}
	for _, e := range endpoints {
		of := slices.DeleteFunc(slices.Clone(examples), func(x Example) bool { return x.Path != e.Path })
		paths = append(paths, member(e.Path, object{{Key: "post", Value: operation(e, schemas.Request(e.Operation.Request), answers[e.Path], of)}}))
	}
	document := object{
		{Key: "openapi", Value: "3.1.0"},
		{Key: "info", Value: object{
			{Key: "title", Value: "Collaboration data service"},
			{Key: "version", Value: "2"},
			{Key: "summary", Value: "Comment threads, notifications and webhooks for other people's products"},
			{Key: "description", Value: strings.TrimSpace(introduction)},
			{Key: "license", Value: object{{Key: "name", Value: "Apache-2.0"}, {Key: "identifier", Value: "Apache-2.0"}}},
		}},
		{Key: "servers", Value: []object{{{Key: "url", Value: "http://127.0.0.1:8080"}, {Key: "description", Value: "make run"}}}},
		{Key: "security", Value: []object{{{Key: "apiKey", Value: []string{}}, {Key: "authToken", Value: []string{}}}}},
		{Key: "tags", Value: tags()},
		{Key: "paths", Value: paths},
		{Key: "webhooks", Value: hooks},
		{Key: "components", Value: object{
			{Key: "schemas", Value: schemas.Components()},
			{Key: "responses", Value: refusals(failure)},
			{Key: "parameters", Value: object{{Key: "IdempotencyKey", Value: idempotencyKey()}}},
			{Key: "headers", Value: object{{Key: "RetryAfter", Value: object{
				{Key: "description", Value: "Seconds to wait before the request is sent again"},
				{Key: "schema", Value: object{{Key: "type", Value: "integer"}, {Key: "minimum", Value: 1}}},
			}}}},
			{Key: "securitySchemes", Value: object{
				{Key: "apiKey", Value: credential(auth.KeyHeader, "The API key of the account.")},
				{Key: "authToken", Value: credential(auth.TokenHeader, "A token of the API key. A revoked one works for up to a minute.")},
			}},
		}},
	}
	if fields := schemas.Undescribed(); len(fields) > 0 {
		return nil, fmt.Errorf("these fields have no description: %s", strings.Join(fields, ", "))
	}
	text, err := document.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func member(key string, value any) rpc.Member[any] { return rpc.Member[any]{Key: key, Value: value} }

func tags() []object {
	var list []object
	for _, t := range []struct{ name, description string }{
		{"commentannotations", "Threads of comments on documents"},
		{"organizations", "Organizations and their folders"},
		{"notifications", "What people are told in the app and by mail, and what they want to be told"},
		{"webhooks", "Endpoints to which events are posted, and what became of that"},
	} {
		list = append(list, object{{Key: "name", Value: t.name}, {Key: "description", Value: t.description}})
	}
	return list
}

func credential(header, description string) object {
	return object{
		{Key: "type", Value: "apiKey"}, {Key: "in", Value: "header"}, {Key: "name", Value: header}, {Key: "description", Value: description},
	}
}

func idempotencyKey() object {
	return object{
		{Key: "name", Value: "Idempotency-Key"},
		{Key: "in", Value: "header"},
		{Key: "description", Value: strings.TrimSpace(keyRules)},
		{Key: "schema", Value: object{
			{Key: "type", Value: "string"}, {Key: "maxLength", Value: 255}, {Key: "pattern", Value: `^[\x20-\x7e]*$`},
		}},
		{Key: "example", Value: "5f1c8f2e-7d0a-4c83-9b4e-2f6d7f6a1c11"},
	}
}

// operation is the endpoint's POST.
func operation(e api.Endpoint, request, answer rpc.Schema, examples []Example) object {
	words := strings.Split(strings.TrimPrefix(e.Path, "/"), "/")
	id := words[0]
	for _, w := range words[1:] {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	requests, answers := object{}, object{}
	for i, x := range examples {
		name := fmt.Sprintf("example%d", i+1)
		requests = append(requests, member(name, object{{Key: "summary", Value: x.Title}, {Key: "value", Value: x.Request}}))
		answers = append(answers, member(name, object{{Key: "summary", Value: x.Title}, {Key: "value", Value: x.Answer}}))
	}
	description := strings.TrimSpace(e.Description)
	if e.Requires != "" {
		description += fmt.Sprintf("\n\nFAILED_PRECONDITION where the setting %q of the account is off.", e.Requires)
	}
	op := object{
		{Key: "operationId", Value: id},
		{Key: "tags", Value: []string{words[1]}},
		{Key: "summary", Value: e.Summary},
		{Key: "description", Value: description},
	}
	if e.Idempotent() {
		op = append(op, member("parameters", []object{{{Key: "$ref", Value: "#/components/parameters/IdempotencyKey"}}}))
	}
	responses := object{member("200", object{
		{Key: "description", Value: "Success"},
		{Key: "content", Value: object{member(jsonType, object{{Key: "schema", Value: result(answer, hasField(e, "pageToken"))}, {Key: "examples", Value: answers}})}},
	})}
	for _, r := range refusalTable {
		if r.status == http.StatusNotFound && !hasField(e, "organizationId") && !hasField(e, "webhookId") || r.status == http.StatusConflict && !e.Idempotent() {
			continue
		}
		responses = append(responses, member(fmt.Sprint(r.status), object{{Key: "$ref", Value: "#/components/responses/" + r.name}}))
	}
	body := rpc.Schema{
		{Key: "type", Value: "object"}, {Key: "properties", Value: object{member("data", request)}},
		{Key: "required", Value: []string{"data"}}, {Key: "additionalProperties", Value: false},
	}
	return append(op,
		member("requestBody", object{
			{Key: "required", Value: true},
			{Key: "content", Value: object{member(jsonType, object{{Key: "schema", Value: body}, {Key: "examples", Value: requests}})}},
		}),
		member("responses", responses))
}

// hasField reports whether the data of an endpoint's request have a field.
func hasField(e api.Endpoint, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(e.Operation.Request), func(f reflect.StructField) bool {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return tag == name
	})
}

// result is the envelope of a success.
func result(data rpc.Schema, paged bool) object {
	text := func(description string) object {
		return object{{Key: "type", Value: "string"}, {Key: "minLength", Value: 1}, {Key: "description", Value: description}}
	}
	properties := object{
		member("status", object{{Key: "const", Value: "success"}}),
		member("message", text("What was done, for people")),
		member("data", data),
	}
	if paged {
		properties = append(properties, member("nextPageToken", text("Asks for the next page; absent on the last")))
	}
	inner := object{
		{Key: "type", Value: "object"}, {Key: "properties", Value: properties}, {Key: "required", Value: []string{"status", "message", "data"}},
	}
	return object{{Key: "type", Value: "object"}, {Key: "properties", Value: object{member("result", inner)}}, {Key: "required", Value: []string{"result"}}}
}

// event is the post of a webhook.
func event(schemas *rpc.Schemas, t collab.EventType, example json.RawMessage) object {
	all := []string{"organizationId", "documentId", "annotationId", "commentId", "truncated"}
	schema := rpc.Schema{
		{Key: "type", Value: "object"},
		{Key: "properties", Value: object{
			member("type", object{{Key: "const", Value: t}}),
			member("timestamp", object{{Key: "$ref", Value: "#/components/schemas/Timestamp"}, {Key: "description", Value: "When it happened"}}),
			member("data", schemas.Fields(reflect.TypeFor[webhook.EventData](), append(all, webhook.Fields(t)...)...)),
		}},
		{Key: "required", Value: []string{"type", "timestamp", "data"}},
	}
	header := func(name, description string) object {
		return object{
			{Key: "name", Value: name}, {Key: "in", Value: "header"}, {Key: "required", Value: true}, {Key: "description", Value: description},
			{Key: "schema", Value: object{{Key: "type", Value: "string"}}},
		}
	}
	return object{
		{Key: "tags", Value: []string{"webhooks"}},
		{Key: "summary", Value: occasions[t]},
		{Key: "description", Value: strings.TrimSpace(deliveryRules)},
		{Key: "security", Value: []object{}},
		{Key: "parameters", Value: []object{
			header("webhook-id", "The event's id, the same at every attempt: keep it to tell repeats"),
			header("webhook-timestamp", "When this attempt was made, in seconds since epoch"),
			header("webhook-signature", "v1, and a base64 HMAC-SHA256; one for each secret that signs, with spaces between them"),
		}},
		{Key: "requestBody", Value: object{
			{Key: "required", Value: true},
			{Key: "content", Value: object{member(jsonType, object{
				{Key: "schema", Value: schema}, {Key: "examples", Value: object{member("example1", object{{Key: "summary", Value: occasions[t]}, {Key: "value", Value: example}})}},
			})}},
		}},
		{Key: "responses", Value: object{
			member("2XX", object{{Key: "description", Value: "The event is delivered"}}),
			member("410", object{{Key: "description", Value: "The endpoint is disabled"}}),
			member("429", object{{Key: "description", Value: "The event is posted again, not before Retry-After; so for 503"}}),
			member("default", object{{Key: "description", Value: "The event is posted again"}}),
		}},
	}
}
