package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"collabdata/shared/api"
)

// description is the OpenAPI document, by which requests and answers are judged.
type description struct{ document *openapi3.T }

// described is the document, whose answers here may have no members but those it names.
var described = sync.OnceValues(func() (*description, error) {
	var document any
	if err := json.Unmarshal([]byte(api.OpenAPI()), &document); err != nil {
		return nil, err
	}
	closeObjects(document)
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	loaded, err := openapi3.NewLoader().LoadFromData(text)
	return &description{loaded}, err
})

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

// check returns what the document says against an exchange: against the request where it was accepted, against the answer always. A request
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
	if endpoint := slices.ContainsFunc(api.Endpoints(), func(e api.Endpoint) bool { return e.Path == path }); item == nil && endpoint {
		return []string{"openapi.json does not know " + path + ": see package openapi"}
	}
	if item == nil || req.Method != http.MethodPost {
		return d.judge("the error", d.document.Components.Responses["Other"].Value, string(body))
	}
	if res.StatusCode == http.StatusOK {
		content := item.Post.RequestBody.Value.Content.Get("application/json")
		wrong = append(wrong, visit("the accepted request", content, sent)...)
	}
	answer := item.Post.Responses.Value(strconv.Itoa(res.StatusCode))
	if answer == nil {
		return append(wrong, fmt.Sprintf("the document has no status %d", res.StatusCode))
	}
	if retry := res.Header.Get("Retry-After"); retry != "" && answer.Value.Headers["Retry-After"] == nil {
		wrong = append(wrong, "the document has no Retry-After there")
	}
	return append(wrong, d.judge("the answer", answer.Value, string(body))...)
}

func (d *description) judge(what string, response *openapi3.Response, body string) []string {
	return visit(what, response.Content.Get("application/json"), body)
}

func visit(what string, content *openapi3.MediaType, text string) []string {
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return []string{fmt.Sprintf("%s is not JSON: %v", what, err)}
	}
	if err := content.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		return []string{fmt.Sprintf("%s is not as the OpenAPI document says: %v", what, err)}
	}
	return nil
}
