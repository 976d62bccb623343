// Package functions_test holds the mains of the functions against the table of endpoints.
package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"collabdata/localstack"
	"collabdata/shared/api"
)

// The mains: of an endpoint, and of each function that is none.
const (
	serve = `package main

import (
	"collabdata/shared/api"
	"collabdata/shared/app"
)

func main() { app.Serve(api.%s()) }
`
	authorizer = `package main

import "collabdata/shared/app"

func main() { app.Authorize() }
`
	deliver = `package main

import "collabdata/shared/app/deliver"

func main() { deliver.Serve() }
`
	relay = `package main

import "collabdata/shared/app/relay"

func main() { relay.Serve() }
`
)

// TestMains holds that every endpoint has its main, which serves its own path, and that there is no other main.
func TestMains(t *testing.T) {
	want := map[string]string{"authorizer/main.go": authorizer, "deliver/main.go": deliver, "relay/main.go": relay}
	for _, e := range api.Endpoints() {
		row := ""
		for word := range strings.SplitSeq(e.Path[1:], "/") {
			row += strings.ToUpper(word[:1]) + word[1:]
		}
		want[e.Path[1:]+"/main.go"] = fmt.Sprintf(serve, row)
	}
	got := make(map[string]string)
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || file == "functions_test.go" {
			return err
		}
		text, err := os.ReadFile(file)
		got[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions (- want, + got):\n%s", diff)
	}
}

// build builds a main as it is deployed, and returns the program's path.
func build(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", program, "./"+folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// lambdaRuntime is the runtime API of Lambda: it has one invocation for the function and takes its answer.
type lambdaRuntime struct {
	event  string
	answer chan string // the answer, or the error that the function reports
}

func (l *lambdaRuntime) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const api = "/2018-06-01/runtime/"
	switch path := strings.TrimPrefix(r.URL.Path, api); {
	case path == "invocation/next" && l.event != "":
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request-1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", "253402300799999")
		io.WriteString(w, l.event)
		l.event = ""
	case path == "invocation/next":
		<-r.Context().Done()
	case strings.HasPrefix(path, "invocation/request-1/"):
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		w.WriteHeader(http.StatusAccepted)
		l.answer <- string(body)
	default:
		http.NotFound(w, r)
	}
}

// invoke starts a program as Lambda does, gives it one event, and returns its answer and what it logged. Further variables are for its
// environment.
func invoke(t *testing.T, program string, event any, variables ...string) (answer, log string) {
	t.Helper()
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	runtime := &lambdaRuntime{event: string(text), answer: make(chan string, 1)}
	server := httptest.NewServer(runtime)
	var output bytes.Buffer
	cmd := exec.Command(program)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(server.URL, "http://"),
		"AWS_REGION=" + localstack.Region,
		"AWS_ACCESS_KEY_ID=" + localstack.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + localstack.SecretAccessKey,
	}, variables...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case answer = <-runtime.answer:
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ended
	case <-ended:
	}
	server.Close()
	return answer, output.String()
}

// TestInvoke runs functions as Lambda does, up to where they would touch the table.
func TestInvoke(t *testing.T) {
	variables := []string{"TABLE_NAME=table", "EVENTS_QUEUE_URL=http://127.0.0.1:1/events"}
	endpoint := build(t, "v2/organizations/get")
	event := map[string]any{
		"resource": "/v2/organizations/get", "httpMethod": "POST", "body": `{"data": {"organisationIds": []}}`,
		"headers": map[string]string{"content-type": "application/json"},
		"requestContext": map[string]any{
			"requestId":  "gateway-1",
			"authorizer": map[string]any{"accountId": "acme", "apiKey": "key", "settings": "{}"},
		},
	}
	answer, log := invoke(t, endpoint, event, variables...)
	var got struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.StatusCode != 400 ||
		!strings.Contains(got.Body, `"data.organisationIds is not a known field"`) {
		t.Errorf("the answer is %s, %v", answer, err)
	}
	for _, want := range []string{`"requestId":"gateway-1"`, `"invocationId":"request-1"`, `"path":"/v2/organizations/get"`, `"account":"acme"`, `"cold_start":true`} {
		if strings.Count(log, "\n") != 1 || !strings.Contains(log, want) {
			t.Errorf("logged %s, want one line with %s", log, want)
		}
	}

	program, err := os.ReadFile(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte("organizations.(*Service).Get")) || bytes.Contains(program, []byte("commentannotations.(*Service)")) {
		t.Error("the program does not hold its own operation alone: a change of another would change it")
	}

	answer, log = invoke(t, build(t, "authorizer"), map[string]any{
		"type": "REQUEST", "methodArn": "arn:aws:execute-api:us-east-1:000000000000:api/prod/POST/v2/organizations/get",
		"headers": map[string]string{"x-service-api-key": "key"},
	}, variables...)
	if !strings.Contains(answer, `"errorMessage":"Unauthorized"`) {
		t.Errorf("the authorizer's answer is %s, it logged %s", answer, log)
	}

	for i := range variables {
		answer, log := invoke(t, endpoint, event, slices.Delete(slices.Clone(variables), i, i+1)...)
		name, _, _ := strings.Cut(variables[i], "=")
		if answer != "" || !strings.Contains(log, "the environment variable "+name+" is missing") {
			t.Errorf("without %s the answer is %s, it logged %s", name, answer, log)
		}
	}
}
