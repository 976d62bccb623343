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

// obj returns an object of keys and values by turns.
func obj(members ...any) object { return with(nil, members...) }

// with returns the object with further members.
func with(o object, members ...any) object {
	for i := 0; i < len(members); i += 2 {
		o = append(o, rpc.Member[any]{Key: members[i].(string), Value: members[i+1]})
	}
	return o
}

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
	paths, hooks := object{}, object{}
	for _, t := range collab.EventTypes() {
		hooks = with(hooks, string(t), obj("post", event(schemas, t, payloads[t])))
	}
	mistake := schemas.Answer(reflect.TypeFor[collab.FieldError]())
	for _, e := range endpoints {
		of := slices.DeleteFunc(slices.Clone(examples), func(x Example) bool { return x.Path != e.Path })
		paths = with(paths, e.Path, obj("post", operation(e, schemas.Request(e.Operation.Request), answers[e.Path], of)))
	}
	if fields := schemas.Undescribed(); len(fields) > 0 {
		return nil, fmt.Errorf("these fields have no description: %s", strings.Join(fields, ", "))
	}
	text := rpc.JSON(obj(
		"openapi", "3.1.0",
		"info", obj(
			"title", "Collaboration data service",
			"version", "2",
			"summary", "Comment threads, notifications and webhooks for other people's products",
			"description", strings.TrimSpace(introduction),
			"license", obj("name", "Apache-2.0", "identifier", "Apache-2.0"),
		),
		"servers", []object{obj("url", "http://127.0.0.1:8080", "description", "make run")},
		"security", []object{obj("apiKey", []string{}, "authToken", []string{})},
		"tags", []object{
			obj("name", "commentannotations", "description", "Threads of comments on documents"),
			obj("name", "organizations", "description", "Organizations and their folders"),
			obj("name", "notifications", "description", "What people are told in the app and by mail, and what they want to be told"),
			obj("name", "webhooks", "description", "Endpoints to which events are posted, and what became of that"),
		},
		"paths", paths,
		"webhooks", hooks,
		"components", obj(
			"schemas", schemas.Components(),
			"responses", refusals(mistake),
			"parameters", obj("IdempotencyKey", obj(
				"name", "Idempotency-Key",
				"in", "header",
				"description", strings.TrimSpace(keyRules),
				"schema", obj("type", "string", "maxLength", 255, "pattern", `^[\x20-\x7e]*$`),
				"example", "5f1c8f2e-7d0a-4c83-9b4e-2f6d7f6a1c11",
			)),
			"headers", obj("RetryAfter", obj(
				"description", "Seconds to wait before the request is sent again",
				"schema", obj("type", "integer", "minimum", 1),
			)),
			"securitySchemes", obj(
				"apiKey", obj("type", "apiKey", "in", "header", "name", auth.KeyHeader, "description", "The API key of the account."),
				"authToken", obj("type", "apiKey", "in", "header", "name", auth.TokenHeader,
					"description", "A token of the API key. A revoked one works for up to a minute."),
			),
		),
	))
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// schemaOf is the schema of an object.
func schemaOf(properties object, required ...string) object {
	return obj("type", "object", "properties", properties, "required", required)
}

func text(description string) object {
	return obj("type", "string", "minLength", 1, "description", description)
}

// content is a body in JSON. The key is that of its example or examples.
func content(schema object, key string, examples object) object {
	return obj("application/json", obj("schema", schema, key, examples))
}

func ref(component string) object { return obj("$ref", "#/components/"+component) }

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
		requests = with(requests, name, obj("summary", x.Title, "value", x.Request))
		answers = with(answers, name, obj("summary", x.Title, "value", x.Answer))
	}
	description := strings.TrimSpace(e.Description)
	if e.Requires != "" {
		description += fmt.Sprintf("\n\nFAILED_PRECONDITION where the setting %q of the account is off.", e.Requires)
	}
	op := obj("operationId", id, "tags", []string{words[1]}, "summary", e.Summary, "description", description)
	if e.Idempotent() {
		op = with(op, "parameters", []object{ref("parameters/IdempotencyKey")})
	}
	responses := obj("200", obj("description", "Success", "content", content(result(answer, hasField(e, "pageToken")), "examples", answers)))
	for _, r := range refusalTable {
		if r.status == http.StatusNotFound && !hasField(e, "organizationId") && !hasField(e, "webhookId") || r.status == http.StatusConflict && !e.Idempotent() {
			continue
		}
		responses = with(responses, fmt.Sprint(r.status), ref("responses/"+r.name))
	}
	body := with(schemaOf(obj("data", request), "data"), "additionalProperties", false)
	return with(op, "requestBody", obj("required", true, "content", content(body, "examples", requests)), "responses", responses)
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
	properties := obj("status", obj("const", "success"), "message", text("What was done, for people"), "data", data)
	if paged {
		properties = with(properties, "nextPageToken", text("Asks for the next page; absent on the last"))
	}
	return schemaOf(obj("result", schemaOf(properties, "status", "message", "data")), "result")
}

// event is the post of a webhook.
func event(schemas *rpc.Schemas, t collab.EventType, example json.RawMessage) object {
	fields := append([]string{"organizationId", "documentId", "annotationId", "commentId", "truncated"}, webhook.Fields(t)...)
	schema := schemaOf(obj(
		"type", obj("const", t),
		"timestamp", with(ref("schemas/Timestamp"), "description", "When it happened"),
		"data", schemas.Fields(reflect.TypeFor[webhook.EventData](), fields...),
	), "type", "timestamp", "data")
	header := func(name, description string) object {
		return obj("name", name, "in", "header", "required", true, "description", description, "schema", obj("type", "string"))
	}
	return obj(
		"tags", []string{"webhooks"},
		"summary", occasions[t],
		"description", strings.TrimSpace(deliveryRules),
		"security", []object{},
		"parameters", []object{
			header("webhook-id", "The event's id, the same at every attempt: keep it to tell repeats"),
			header("webhook-timestamp", "When this attempt was made, in seconds since epoch"),
			header("webhook-signature", "v1, and a base64 HMAC-SHA256; one for each secret that signs, with spaces between them"),
		},
		"requestBody", obj(
			"required", true, "content", content(schema, "examples", obj("example1", obj("summary", occasions[t], "value", example))),
		),
		"responses", obj(
			"2XX", obj("description", "The event is delivered"),
			"410", obj("description", "The endpoint is disabled"),
			"429", obj("description", "The event is posted again, not before Retry-After; so for 503"),
			"default", obj("description", "The event is posted again"),
		),
	)
}
