// Package functions_test runs a program of functions as Lambda does.
package functions_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/testing/must"
)

// build compiles a main for Lambda and returns the path of the program.
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

// lambdaRuntime is the runtime API of Lambda, with one invocation.
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

// invoke runs a program as Lambda does, with one event and environment variables, and returns its
// answer and its log.
func invoke(t *testing.T, program string, event any, variables ...string) (answer, log string) {
	t.Helper()
	text, err := json.Marshal(event)
	must.Do(t, err)
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
	must.Do(t, cmd.Start())
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
	variables := []string{"_HANDLER=v2/organizations/get", "STAGE=test", "TABLE_NAME=table", "EVENTS_QUEUE_URL=http://127.0.0.1:1/events"}
	endpoint := build(t, "api")
	event := map[string]any{
		"resource": "/v2/organizations/get", "httpMethod": "POST", "body": `{"data": {"organisationIds": []}}`,
		"headers": map[string]string{"content-type": "application/json"},
		"requestContext": map[string]any{
			"requestId": "gateway-1",
		},
	}
	answer, log := invoke(t, endpoint, event, variables...)
	var got struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.StatusCode != 401 ||
		!strings.Contains(got.Body, "x-service-api-key and x-service-auth-token are required") {
		t.Errorf("the answer is %s, %v", answer, err)
	}
	for _, want := range []string{`"requestId":"gateway-1"`, `"invocationId":"request-1"`, `"path":"/v2/organizations/get"`, `"cold_start":true`} {
		if strings.Count(log, "\n") != 1 || !strings.Contains(log, want) {
			t.Errorf("logged %s, want one line with %s", log, want)
		}
	}

	for _, handler := range []string{"", "bootstrap", "/v2/organizations/get"} {
		answer, log := invoke(t, endpoint, event, append(variables[1:], "_HANDLER="+handler)...)
		if want := "must be the path of an endpoint, not "; answer != "" || !strings.Contains(log, want) {
			t.Errorf("with the handler %q the answer is %s, it logged %s, want %q", handler, answer, log, want)
		}
	}

	for i := 1; i < len(variables); i++ {
		answer, log := invoke(t, endpoint, event, slices.Delete(slices.Clone(variables), i, i+1)...)
		name, _, _ := strings.Cut(variables[i], "=")
		if answer != "" || !strings.Contains(log, "the environment variable "+name+" is missing") {
			t.Errorf("without %s the answer is %s, it logged %s", name, answer, log)
		}
	}
}
