package openapi_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/api"
	"collabdata/shared/api/openapi"
	"collabdata/shared/collab"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

func describe(t *testing.T) *openapi.Interface {
	t.Helper()
	examples, err := apitest.Examples()
	must.Do(t, err)
	payloads := map[collab.EventType]json.RawMessage{}
	for _, e := range collab.EventTypes() {
		payloads[e], err = os.ReadFile(filepath.Join("..", "..", "webhook", "testdata", "payloads", string(e)+".json"))
		must.Do(t, err)
	}
	d, err := openapi.Describe(examples, payloads)
	must.Do(t, err)
	return d
}

func document(t *testing.T) string {
	t.Helper()
	text, err := describe(t).Document()
	must.Do(t, err)
	return string(text)
}

// TestDocument checks the generated document. With -update it writes openapi-clients.json, too.
func TestDocument(t *testing.T) {
	text := document(t)
	golden.Check(t, "../openapi.json", text)
	if golden.Updating() {
		clients, err := openapi.ForClients([]byte(text))
		if err == nil {
			err = os.WriteFile("../openapi-clients.json", clients, 0o644)
		}
		must.Do(t, err)
	}
}

// TestEvents checks that the introduction lists every event with its occasion, and no other.
func TestEvents(t *testing.T) {
	var d struct {
		Info     struct{ Description string }
		Webhooks map[collab.EventType]struct{ Post struct{ Summary string } }
	}
	must.Do(t, json.Unmarshal([]byte(document(t)), &d))
	_, list, _ := strings.Cut(d.Info.Description, "| event | occasion |\n|---|---|\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var want []string
	for _, e := range collab.EventTypes() {
		if d.Webhooks[e].Post.Summary == "" {
			t.Errorf("%s has no occasion", e)
		}
		want = append(want, fmt.Sprintf("| `%s` | %s |", e, d.Webhooks[e].Post.Summary))
	}
	if diff := gocmp.Diff(want, strings.Split(list, "\n")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestGoClient checks the generated Go client.
func TestGoClient(t *testing.T) {
	text, err := describe(t).GoClient()
	must.Do(t, err)
	golden.Check(t, "../../client/generated.go", string(text))
}

// TestValid checks that the document is OpenAPI 3.1, and its examples match it.
func TestValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(document(t)))
	must.Do(t, err)
	must.Do(t, doc.Validate(t.Context(), openapi3.EnableExamplesValidation()))
	for _, e := range api.Endpoints() {
		if e.Public {
			continue
		}
		op := doc.Paths.Value(e.Path).Post
		if op.Summary == "" || op.Description == "" || len(op.RequestBody.Value.Content["application/json"].Examples) == 0 {
			t.Errorf("%s lacks a summary, a description or an example", e.Path)
		}
	}
}

// TestReadme checks the table of endpoints in README.md of package api, which is between two
// comments.
func TestReadme(t *testing.T) {
	const file, begin, end = "../README.md", "<!-- endpoints: go test ./shared/api/openapi -update writes this table -->\n", "<!-- end of endpoints -->\n"
	readme, err := os.ReadFile(file)
	must.Do(t, err)
	before, rest, found := strings.Cut(string(readme), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table of endpoints:\n%s%s", file, begin, end)
	}
	table := "| endpoint | title |\n|---|---|\n"
	for _, e := range api.Endpoints() {
		summary, _ := e.Summary()
		table += "| `" + e.Path + "` | " + summary + " |\n"
	}
	golden.Check(t, file, before+begin+table+end+after)
}

// TestNumbers checks the format of each number in the documents for people and for generators:
// int64 for an integer, unless its maximum or its only value fits in 32 bits, else double.
func TestNumbers(t *testing.T) {
	clients, err := openapi.ForClients([]byte(document(t)))
	must.Do(t, err)
	for name, text := range map[string][]byte{"openapi.json": []byte(document(t)), "openapi-clients.json": clients} {
		var all any
		must.Do(t, json.Unmarshal(text, &all))
		count := map[string]int{}
		var check func(path string, value any)
		check = func(path string, value any) {
			switch value := value.(type) {
			case map[string]any:
				var want any
				switch kind := strings.Trim(strings.TrimSuffix(fmt.Sprint(value["type"]), " null]"), "["); kind {
				case "integer":
					if limit, limited := cmp.Or(value["maximum"], value["const"]).(float64); !limited || limit >= 1<<31 {
						want = "int64"
					}
					count[kind]++
				case "number":
					want = "double"
					count[kind]++
				default:
					want = value["format"]
				}
				if value["format"] != want {
					t.Errorf("%s: %s has the format %v, want %v", name, path, value["format"], want)
				}
				for key, member := range value {
					check(path+"/"+key, member)
				}
			case []any:
				for i, item := range value {
					check(fmt.Sprint(path, "/", i), item)
				}
			}
		}
		if check("", all); count["integer"] < 50 || count["number"] < 10 {
			t.Errorf("%s has %v", name, count)
		}
	}
}
