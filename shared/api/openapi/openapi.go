// Package openapi describes the API from the table of endpoints: in OpenAPI, as openapi.json of
// package api, and as the Go client. A test writes and checks both.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/webhook"
)

// Example is a request to an endpoint and its response, as complete bodies.
type Example struct {
	Path    string
	Title   string
	Request json.RawMessage
	Answer  json.RawMessage
}

// object is a JSON object with ordered members.
type object = rpc.Keyed[any]

// obj returns an object of alternating keys and values.
func obj(members ...any) object { return with(nil, members...) }

func with(o object, members ...any) object {
	for i := 0; i < len(members); i += 2 {
		o = append(o, rpc.Member[any]{Key: members[i].(string), Value: members[i+1]})
	}
	return o
}

// Interface is the description of the API, from which documents and clients are generated.
type Interface struct {
	operations []operation
	events     object // by type, the schema of the posts
	schemas    *schemas
	payloads   map[collab.EventType]json.RawMessage
}

// operation is an endpoint with the schemas of its request and response.
type operation struct {
	rpc.Endpoint
	name          // of its types
	request       object
	data          object // of its response
	paged, listed bool   // the response can have a nextPageToken; its data are a list
	examples      []Example
}

// Describe returns the description, with the examples of each endpoint and each type of webhook
// event. It returns an error if a field has no description.
func Describe(examples []Example, payloads map[collab.EventType]json.RawMessage) (*Interface, error) {
	s := newSchemas(glossary, samples)
	d := &Interface{schemas: s, payloads: payloads}
	all := map[string]bool{}
	for _, e := range api.Endpoints() {
		all[e.Path] = true
	}
	for _, e := range api.Endpoints() {
		if e.Public {
			continue // a page for people
		}
		op := operation{Endpoint: e, name: nameOf(e.Path, all), paged: hasField(e, "pageToken")}
		if nouns[op.noun] == "" {
			return nil, fmt.Errorf("the noun %s of %s has no description", op.noun, e.Path)
		}
		op.data = s.answer(op.typeName()+"Data", e.Operation.Data)
		_, op.listed = reflect.Zero(e.Operation.Data).Interface().(interface{ ItemType() reflect.Type })
		op.examples = slices.DeleteFunc(slices.Clone(examples), func(x Example) bool { return x.Path != e.Path })
		d.operations = append(d.operations, op)
	}
	for _, t := range collab.EventTypes() {
		d.events = with(d.events, string(t), s.event(t))
	}
	for i := range d.operations { // after all responses: see schemas.request
		op := &d.operations[i]
		op.request = s.request(op.typeName()+"Request", op.Operation.Request)
	}
	s.failure()
	if fields := s.undescribed; len(fields) > 0 {
		return nil, fmt.Errorf("these fields have no description: %s", strings.Join(fields, ", "))
	}
	return d, nil
}

// Document returns the description in OpenAPI. Short objects and arrays are on one line, to keep
// diffs small.
func (d *Interface) Document() ([]byte, error) {
	paths := object{}
	for _, op := range d.operations {
		paths = with(paths, op.Path, obj("post", op.post(d.schemas)))
	}
	hooks := object{}
	for _, m := range d.events {
		t := collab.EventType(m.Key)
		hooks = with(hooks, m.Key, obj("post", hook(t, m.Value.(object), d.payloads[t])))
	}
	document := obj(
		"openapi", "3.1.0",
		"info", obj(
			"title", "Collaboration data service",
			"version", "2",
			"summary", "Comment threads, notifications and webhooks for your product",
			"description", introduce(),
			"contact", obj("name", "The operator of this deployment"),
			"license", obj("name", "Apache-2.0", "identifier", "Apache-2.0"),
		),
		"servers", []object{obj("url", "http://127.0.0.1:8080", "description", "make run")},
		"security", []object{obj("apiKey", []string{}, "authToken", []string{})},
		"tags", d.tags(),
		"paths", paths,
		"webhooks", hooks,
		"components", obj(
			"schemas", d.schemas.components,
			"responses", refusals(),
			"parameters", obj("IdempotencyKey", obj(
				"name", "Idempotency-Key",
				"in", "header",
				"description", markdown(keyRules),
				"schema", obj("type", "string", "maxLength", 255, "pattern", `^[\x20-\x7e]*$`),
				"example", "5f1c8f2e-7d0a-4c83-9b4e-2f6d7f6a1c11",
			)),
			"headers", obj("RetryAfter", obj(
				"description", "Seconds to wait before a retry",
				"schema", obj("type", "integer", "minimum", 1),
			)),
			"securitySchemes", obj(
				"apiKey", obj("type", "apiKey", "in", "header", "name", credentials.KeyHeader, "description", "The API key of the account."),
				"authToken", obj("type", "apiKey", "in", "header", "name", credentials.TokenHeader,
					"description", "A token of the API key. A revoked token works for up to a minute."),
			),
		),
	)
	var b bytes.Buffer
	if err := layout(&b, jsontext.Value(sized(rpc.JSON(document))), 0); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// sized returns a part of the document with the format int64 for each integer that may exceed 32
// bits, and double for each number: generators of many languages default to 32 bits.
func sized(part collab.JSON) collab.JSON {
	var list []collab.JSON
	if part[0] == '[' && json.Unmarshal(part, &list) == nil {
		return rpc.JSON(collab.Map(list, sized))
	}
	members := part.Object()
	format := ""
	switch string(members.Get("type")) {
	case `"integer"`, `["integer","null"]`:
		format = "int64"
	case `"number"`, `["number","null"]`:
		format = "double"
	}
	for _, name := range []string{"const", "maximum"} {
		if _, err := strconv.ParseInt(string(members.Get(name)), 10, 32); err == nil {
			format = ""
		}
	}
	var result collab.Object
	for _, m := range members {
		result.Set(m.Name, sized(m.Value))
		if m.Name == "type" && format != "" {
			result.Set("format", rpc.JSON(format))
		}
	}
	if result == nil {
		return part
	}
	return result.JSON()
}

// tags are the nouns of the operations, in order.
func (d *Interface) tags() []object {
	var list []object
	seen := map[string]bool{}
	for _, op := range d.operations {
		if !seen[op.noun] {
			list = append(list, obj("name", op.noun, "description", nouns[op.noun]))
		}
		seen[op.noun] = true
	}
	return list
}

func text(description string) object {
	return obj("type", "string", "minLength", 1, "description", description)
}

// marked finds the parts of a description to set in code font: text in single quotes, placeholders
// such as {{userId}}, names of fields, and codes. Text in code font already stays unchanged.
var marked = regexp.MustCompile("`[^`]*`|(^|[\\s(])'[^']+'|\\{\\{?\\w+\\}\\}?|\\b[a-z]+[A-Z]\\w*|\\b[A-Z]+_[A-Z_]+\\b|\\b(ABORTED|INTERNAL|UNAVAILABLE)\\b")

// markdown returns a description with code font.
func markdown(description string) string {
	return marked.ReplaceAllStringFunc(strings.TrimSpace(description), func(part string) string {
		switch before, quoted, found := strings.Cut(part, "'"); {
		case part[0] == '`':
			return part
		case found:
			return before + "`" + strings.TrimSuffix(quoted, "'") + "`"
		}
		return "`" + part + "`"
	})
}

// content is a JSON body. key is example or examples.
func content(schema object, key string, examples object) object {
	return obj("application/json", obj("schema", schema, key, examples))
}

func ref(component string) object { return obj("$ref", "#/components/"+component) }

// post is the endpoint's POST.
func (op *operation) post(s *schemas) object {
	name := op.typeName()
	requests, answers := object{}, object{}
	for i, x := range op.examples {
		key := fmt.Sprintf("example%d", i+1)
		requests = with(requests, key, obj("summary", x.Title, "value", x.Request))
		answers = with(answers, key, obj("summary", x.Title, "value", x.Answer))
	}
	summary, description := op.Summary()
	if op.Requires != "" {
		description = strings.TrimSpace(description + fmt.Sprintf("\n\nThe request fails with FAILED_PRECONDITION if the account's setting '%s' is off.", op.Requires))
	}
	description = markdown(description)
	if op.Person != rpc.BackEnd {
		description = strings.TrimSpace(description + "\n\n" + forPersons(op.Endpoint))
	}
	post := obj("operationId", lower(name), "tags", []string{op.noun}, "summary", summary, "description", description)
	if strings.HasPrefix(op.Path, "/v1/") {
		post = with(post, "x-badges", []object{obj("name", "version 1")}) // Scalar shows it
	}
	if op.Idempotent() {
		post = with(post, "parameters", []object{ref("parameters/IdempotencyKey")})
	}
	properties := obj("status", obj("type", "string", "const", "success"), "message", text("Outcome, for people"), "data", op.data)
	if op.paged {
		properties = with(properties, "nextPageToken", text("Token of the next page; absent on the last"),
			"pageToken", text("Same as nextPageToken, in lists of documents and users"))
	}
	if op.CountsUnread {
		properties = with(properties, "unreadCount", with(structure(obj(
			"count", obj("type", "integer", "minimum", 0, "maximum", 99, "description", "Unread notifications in the user's inbox"),
			"more", obj("type", "boolean", "description", "There are more than count"),
		), []string{"count"}), "description", "On the first page of a user"))
	}
	if op.LeavesJob {
		properties = with(properties, "jobId", text("The job that removes the rest; absent if nothing was deleted"))
	}
	result := s.named(name+"Result", structure(properties, []string{"status", "message", "data"}))
	members, required := obj("result", result), []string{"result"}
	if op.Accepted {
		members = with(members, "status", obj("type", "string", "const", "success", "description", "As in result"),
			"message", text("As in result"), "data", op.data, "statusCode", obj("type", "integer", "const", op.Status()))
		required = append(required, "status", "message", "data", "statusCode")
	}
	answer := s.named(name+"Response", structure(members, required))
	responses := obj(fmt.Sprint(op.Status()), obj("description", "Success", "content", content(answer, "examples", answers)))
	for _, r := range refusalTable {
		if r.status == http.StatusNotFound && !hasField(op.Endpoint, "organizationId") && !hasField(op.Endpoint, "webhookId") &&
			!hasField(op.Endpoint, "permissions") && !hasField(op.Endpoint, "jobId") && !op.Accepted ||
			r.status == http.StatusConflict && !op.Idempotent() {
			continue
		}
		responses = with(responses, fmt.Sprint(r.status), ref("responses/"+r.name))
	}
	body := s.named(name+"Body", with(structure(obj("data", op.request), []string{"data"}), "additionalProperties", false))
	return with(post, "requestBody", obj("required", true, "content", content(body, "examples", requests)), "responses", responses)
}

// forPersons describes the fields that a person can send and receive.
func forPersons(e rpc.Endpoint) string {
	answered, role := "the same response as a back end", ""
	if fields := rpc.Received(e.Operation.Data); fields != nil {
		answered = "`" + fields.String() + "`"
	}
	if e.Person == rpc.PersonWrites {
		role = ", if the token is an editor's"
	}
	return fmt.Sprintf("**A person** can send `%s`%s, and receives %s.", rpc.Sent(rpc.ShapeOf(e.Operation.Request)), role, answered)
}

func hasField(e rpc.Endpoint, name string) bool {
	return slices.ContainsFunc(rpc.ShapeOf(e.Operation.Request).Object.Fields, func(f rpc.Field) bool { return f.Name == name })
}

// event refers to the component of an event's body.
func (s *schemas) event(t collab.EventType) object {
	name := words(string(t)) + "Event"
	fields := append([]string{"organizationId", "documentId", "annotationId", "commentId"}, webhook.Fields(t)...)
	return s.named(name, structure(obj(
		"type", obj("type", "string", "const", t),
		"timestamp", with(ref("schemas/Timestamp"), "description", "When it happened"),
		"data", s.named(name+"Data", s.fields(name+"Data", reflect.TypeFor[webhook.EventData](), fields...)),
	), []string{"type", "timestamp", "data"}))
}

// introduce returns the introduction with a table of all events.
func introduce() string {
	var table strings.Builder
	table.WriteString("| event | occasion |\n|---|---|\n")
	for _, t := range collab.EventTypes() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", t, occasions[t])
	}
	return strings.TrimSpace(strings.Replace(introduction, "{events}\n", table.String(), 1))
}

// hook is the post of an event.
func hook(t collab.EventType, event object, example json.RawMessage) object {
	header := func(name, description string) object {
		return obj("name", name, "in", "header", "required", true, "description", description, "schema", obj("type", "string"))
	}
	return obj(
		"operationId", "on"+words(string(t)),
		"tags", []string{"webhooks"},
		"summary", occasions[t],
		"description", markdown(deliveryRules),
		"security", []object{},
		"parameters", []object{
			header("webhook-id", "The event's id, the same at every attempt: store it to detect duplicates"),
			header("webhook-timestamp", "Time of this attempt, in seconds since epoch"),
			header("webhook-signature", "v1, and a base64 HMAC-SHA256; one for each active secret, separated by spaces"),
		},
		"requestBody", obj(
			"required", true, "content", content(event, "examples", obj("example1", obj("summary", occasions[t], "value", example))),
		),
		"responses", obj(
			"2XX", obj("description", "The event is delivered"),
			"410", obj("description", "The endpoint is disabled"),
			"429", obj("description", "The event is posted again after Retry-After, as for 503"),
			"default", obj("description", "The event is posted again"),
		),
	)
}
