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

// description is the OpenAPI document, by which requests and answers are checked.
type description struct {
	document *openapi3.T

	mu      sync.Mutex
	schemas *jsonschema.Compiler // compiles each schema of the document once, where kin-openapi does for each value
}

// described is the document, whose answers here may have only members that it names.
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

// closeObjects refuses unnamed members in all schemas that do not speak of them.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, said := v["additionalProperties"]; v["type"] == "object" && v["properties"] != nil && !said {
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

// check returns what the document says against an exchange: against the request where it was accepted as it is, against the answer always. A request
// that the document does not know must be answered with an error.
func (d *description) check(req *http.Request, sent string, res *http.Response, body []byte) []string {
	var wrong []string
	path := "/" + strings.Trim(req.URL.Path, "/")
	for prefix := path; d.document.Paths.Value(path) == nil && strings.Contains(prefix[1:], "/"); { // {base_url} may end with a stage
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

// against says how a body is not as the document describes at a place.
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
		return []string{fmt.Sprintf("%s is not as the OpenAPI document says: %v", what, err)}
	}
	return nil
}
