package apitest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/testing/must"
)

// RunHostile takes the longest successful request of each endpoint's scripts, and sends it with
// each value removed or replaced by invalid ones. Every response must be in the envelope, and none
// a fault of the service.
func RunHostile(t *testing.T, target Target) {
	list, err := all()
	must.Do(t, err)
	for _, e := range api.Endpoints() {
		if e.Public {
			continue // a page, outside the envelope
		}
		t.Run(e.Path, func(t *testing.T) {
			t.Parallel()
			s, last := longest(list, e.Path)
			if last == nil {
				t.Fatal("no script has it answer with success")
			}
			vars := variables{}
			s.begin(t, target, vars)
			for _, step := range s.steps[:slices.Index(s.steps, last)] {
				if problems, err := step.await(t.Context(), target, vars); err != nil || problems != "" {
					t.Fatal(step.title, problems, err)
				}
			}
			request, err := vars.expandJSON(last.body)
			must.Do(t, err)
			var body any
			must.Do(t, json.Unmarshal([]byte(request), &body))
			sent := 0
			distort("", body, map[string]bool{}, func(v any) { body = v }, func() {
				last.post(t, target, vars, compact(body))
				sent++
			})
			if sent < 30 {
				t.Errorf("only %d requests were sent", sent)
			}
		})
	}
}

// longest returns the longest successful request to a path, and its script.
func longest(list []*script, path string) (in *script, request *step) {
	for _, s := range list {
		for _, step := range s.steps {
			if step.path == path && step.answer.status < 300 && (request == nil || len(step.body) > len(request.body)) {
				in, request = s, step
			}
		}
	}
	return in, request
}

// post sends another body in the step's request, and checks the response's form.
func (s *step) post(t *testing.T, target Target, vars variables, body string) {
	t.Helper()
	changed := *s
	changed.body = body
	req, sent, err := changed.request(t.Context(), target.BaseURL, vars)
	must.Do(t, err)
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must.Do(t, err)
	d, err := described()
	must.Do(t, err)
	if res.StatusCode != http.StatusBadRequest { // only the form of other statuses is checked below
		for _, problem := range d.check(req, sent, res, text) {
			t.Errorf("%s\n%s\nis answered with %d %s", problem, body, res.StatusCode, text)
		}
	}
	answer, err := parseJSON(text)
	failure := answer.member("error")
	switch {
	case err != nil:
		t.Errorf("%s\nis answered with %d %s", body, res.StatusCode, text)
	case res.StatusCode < 300 && answer.member("result").member("status").text == "success":
	case res.StatusCode >= 500 || failure.member("status").text == "" || failure.member("message").text == "" || strings.Contains(string(text), "INTERNAL"):
		t.Errorf("%s\nis answered with %d %s", body, res.StatusCode, text)
	}
}

// distort calls try with each value within v, and v itself, removed or replaced. set replaces v. It
// handles values at the same path, ignoring indexes, once.
func distort(path string, v any, seen map[string]bool, set func(any), try func()) {
	if !seen[path] {
		seen[path] = true
		for _, hostile := range []any{
			nil, true, -1, 1.5, 1e300, 1 << 53, "", "\x00", strings.Repeat("€", 300), []any{}, []any{nil}, map[string]any{}, map[string]any{"%#": nil},
		} {
			set(hostile)
			try()
		}
		set(v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value := v[key]
			if !seen[path+"."+key] {
				delete(v, key)
				try()
			}
			distort(path+"."+key, value, seen, func(other any) { v[key] = other }, try)
			v[key] = value
		}
	case []any:
		for i, item := range v {
			distort(path+"[]", item, seen, func(other any) { v[i] = other }, try)
		}
	}
}
