package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/openapi"
	"collabdata/shared/testing/must"
)

// examplesName is the script with the examples. Other endpoints use the first request of their own
// scripts.
const examplesName = "general/examples"

// samples are values of each kind, for variables without a sample in the script.
var samples = map[string]value{
	"id":      textValue("06bq2x9a4000000000000000"),
	"text":    textValue("…"),
	"integer": {kind: '0', text: "1772366400000001"},
	"time":    textValue("2026-03-01T12:00:00.000Z"),
}

// Examples returns an example of each endpoint: those of the examples' script in working order,
// then the others.
func Examples() ([]openapi.Example, error) {
	list, err := all()
	if err != nil {
		return nil, err
	}
	var examples []openapi.Example
	add := func(s *script, steps ...*step) error {
		vars := variables{}
		for name, text := range s.samples {
			if vars[name], err = parseJSON(text); err != nil {
				return err
			}
		}
		for _, step := range steps {
			answer, err := vars.sample(step.answer.body)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", s.name, step.title, err)
			}
			request, err := vars.expandJSON(step.body)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", s.name, step.title, err)
			}
			examples = append(examples, openapi.Example{
				Path: step.path, Title: step.title, Request: json.RawMessage(request), Answer: json.RawMessage(answer.String()),
			})
		}
		return nil
	}
	story := list[slices.IndexFunc(list, func(s *script) bool { return s.name == examplesName })]
	if err := add(story, story.steps...); err != nil {
		return nil, err
	}
	for _, e := range api.Endpoints() {
		if slices.ContainsFunc(examples, func(x openapi.Example) bool { return x.Path == e.Path }) {
			continue
		}
		if s, n := first(list, e.Path); s != nil {
			if err := add(s, s.steps[n]); err != nil {
				return nil, err
			}
		}
	}
	return examples, nil
}

// startExamples creates the data of the examples, and returns the job id for openapi.StartJob.
func startExamples(t *testing.T, target Target, vars variables) (job string) {
	t.Helper()
	list, err := openapi.Start("https://hooks.example.com/collab")
	must.Do(t, err)
	for _, r := range list {
		job = succeed(t, target, vars, r.Path, fmt.Sprintf(`{"data": %s}`, r.Data)).member("jobId").text
	}
	return job
}

// succeed sends a request that must succeed, and returns the result.
func succeed(t *testing.T, target Target, vars variables, path, body string) value {
	t.Helper()
	s := &step{method: http.MethodPost, path: path, body: body, answer: answer{
		status: http.StatusOK, body: value{kind: '{', keys: []string{"result"}, items: []value{textValue("${result:any}")}},
	}}
	for _, e := range api.Endpoints() {
		if e.Path == path {
			s.answer.accept(e)
		}
	}
	problems, err := s.run(t.Context(), target, vars)
	if err != nil || problems != "" {
		t.Errorf("%s: %s%v", path, problems, err)
	}
	return vars["result"]
}

// RunExamples sends each example to an account with the data of openapi.Start, in reverse order. So
// no example may need another one, and none may fail unless its documented response is a failure.
func RunExamples(t *testing.T, target Target) {
	examples, err := Examples()
	must.Do(t, err)
	vars := variables{}
	(&script{}).account(t, target.Seeder, Account{}, vars, "key", "token")
	job := startExamples(t, target, vars)
	for _, x := range slices.Backward(examples) {
		got := succeed(t, target, vars, x.Path, strings.ReplaceAll(string(x.Request), openapi.StartJob, job)).String()
		const failed = `"success":false`
		if strings.Count(got, failed) != strings.Count(string(x.Answer), failed) {
			t.Errorf("%s: the answer is %s, documented is %s", x.Path, got, x.Answer)
		}
	}
}

// first returns the first successful request of an endpoint's scripts, or nil.
func first(list []*script, endpoint string) (in *script, step int) {
	for _, s := range list {
		for n, step := range s.steps {
			if s.folder == endpoint && step.path == endpoint && step.answer.status < 300 {
				return s, n
			}
		}
	}
	return nil, 0
}

// Prepare runs the endpoint's scripts up to their first successful request, for tests that send
// that request. It returns the account and the data of the request.
func Prepare(t *testing.T, target Target, endpoint string) (account string, data json.RawMessage) {
	t.Helper()
	list, err := all()
	must.Do(t, err)
	s, n := first(list, endpoint)
	if s == nil {
		t.Fatalf("no script has %s answer with success", endpoint)
	}
	vars := variables{}
	account = s.begin(t, target, vars)
	for _, step := range s.steps[:n] {
		if problems, err := step.await(t.Context(), target, vars); err != nil || problems != "" {
			t.Fatal(step.title, problems, err)
		}
	}
	text, err := vars.expandJSON(s.steps[n].body)
	must.Do(t, err)
	var body struct{ Data json.RawMessage }
	must.Do(t, json.Unmarshal([]byte(text), &body))
	return account, body.Data
}

// sample replaces the variables of an expected response by samples.
func (vars variables) sample(v value) (value, error) {
	filled := v
	filled.items = nil
	for _, item := range v.items {
		item, err := vars.sample(item)
		if err != nil {
			return v, err
		}
		filled.items = append(filled.items, item)
	}
	if v.kind != '"' {
		return filled, nil
	}
	whole := place.FindStringSubmatch(v.text)
	if whole == nil {
		return filled, nil
	}
	value, ok := vars[whole[1]]
	if !ok {
		value, ok = samples[whole[2]]
	}
	switch {
	case !ok:
		return v, fmt.Errorf("no sample for %s", v.text)
	case whole[0] == v.text:
		return value, nil
	}
	filled.text = place.ReplaceAllLiteralString(v.text, value.text)
	return filled, nil
}
