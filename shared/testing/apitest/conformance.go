package apitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
)

// description is the OpenAPI document that requests and responses must match.
type description struct {
	document *openapi3.T

	mu sync.Mutex
	// compiles each schema once; kin-openapi compiles it for each value
	schemas *jsonschema.Compiler
}

// described is the document with closed schemas: responses may only have members that it names.
var described = sync.OnceValues(func() (*description, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(api.OpenAPI()))
	if err != nil {
		return nil, err
	}
	closeObjects(document)
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	d := &description{schemas: jsonschema.NewCompiler()}
	if d.document, err = openapi3.NewLoader().LoadFromData(text); err != nil {
		return nil, err
	}
	d.schemas.AssertFormat()
	return d, d.schemas.AddResource(documentURL, document)
})

const documentURL = "https://api.example/openapi.json"

// closeObjects disallows unnamed members in all schemas that do not mention them.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, limited := v["additionalProperties"]; v["type"] == "object" && v["properties"] != nil && !limited {
			v["additionalProperties"] = false
		}
		for _, item := range v {
			closeObjects(item)
		}
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	}
}

// check returns the problems of an exchange. It checks the response, and the request if the service
// accepted it unchanged. The response to an undocumented request must be an error.
func (d *description) check(req *http.Request, sent string, res *http.Response, body []byte) []string {
	var wrong []string
	path := "/" + strings.Trim(req.URL.Path, "/")
	// {base_url} may end with a stage
	for prefix := path; d.document.Paths.Value(path) == nil && strings.Contains(prefix[1:], "/"); {
		prefix = prefix[1+strings.Index(prefix[1:], "/"):]
		if d.document.Paths.Value(prefix) != nil {
			path = prefix
		}
	}
	item := d.document.Paths.Value(path)
	if endpoint := slices.ContainsFunc(api.Endpoints(), func(e rpc.Endpoint) bool { return e.Path == path }); item == nil && endpoint {
		return []string{"openapi.json does not know " + path + ": see package openapi"}
	}
	if item == nil || req.Method != http.MethodPost {
		return d.against("the error", "#/components/responses/NotFound", body)
	}
	post := "#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/post/"
	if res.StatusCode < 300 && res.Header.Get(rpc.DroppedFields) == "" {
		wrong = append(wrong, d.against("the accepted request", post+"requestBody", []byte(sent))...)
	}
	answer := item.Post.Responses.Value(strconv.Itoa(res.StatusCode))
	if answer == nil {
		return append(wrong, fmt.Sprintf("the document has no status %d", res.StatusCode))
	}
	if retry := res.Header.Get("Retry-After"); retry != "" && answer.Value.Headers["Retry-After"] == nil {
		wrong = append(wrong, "the document has no Retry-After there")
	}
	return append(wrong, d.against("the answer", cmp.Or(answer.Ref, post+"responses/"+strconv.Itoa(res.StatusCode)), body)...)
}

// against returns how a body differs from the document at a place.
func (d *description) against(what, place string, body []byte) []string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []string{fmt.Sprintf("%s is not JSON: %v", what, err)}
	}
	d.mu.Lock()
	schema, err := d.schemas.Compile(documentURL + place + "/content/application~1json/schema")
	d.mu.Unlock()
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return []string{fmt.Sprintf("%s does not match the OpenAPI document: %v", what, err)}
	}
	return nil
}
