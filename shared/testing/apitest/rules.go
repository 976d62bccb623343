package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
)

// rulesOfAll returns scripts of rules for all endpoints, generated from the table of endpoints and
// their examples.
func rulesOfAll(list []*script) ([]*script, error) {
	i := slices.IndexFunc(list, func(s *script) bool { return s.name == examplesName })
	if i < 0 {
		return nil, fmt.Errorf("script %s does not exist", examplesName)
	}
	examples := list[i]
	endpoints := make(map[string]rpc.Endpoint)
	for _, e := range api.Endpoints() {
		endpoints[e.Path] = e
	}
	missing := &script{name: "general/missing_organization"}
	disabled := &script{name: "general/disabled_organization"}
	disabled.seed.Organizations = []Organization{{ID: "closed", Disabled: true}}
	disabled.seed.Documents = []Document{{Organization: "closed", ID: "plan"}}
	keys := &script{name: "general/keys", seed: examples.seed}
	scripts := []*script{missing, disabled, keys}
	off := map[collab.Feature]*script{}
	for feature, settings := range map[collab.Feature]collab.Settings{
		collab.AdvancedQueries:         {AdvancedQueriesOff: true},
		collab.NotificationPreferences: {NotificationPreferencesOff: true},
	} {
		s := &script{name: "general/" + strings.ReplaceAll(string(feature), " ", "_") + "_off"}
		s.seed.Settings = settings
		off[feature] = s
		scripts = append(scripts, s)
	}
	for _, example := range examples.steps {
		e := endpoints[example.path]
		if has(e.Operation.Request, "organizationId") && !strings.Contains(example.body, "${") {
			nowhere, err := example.with("organizationId", "nowhere")
			if err != nil {
				return nil, err
			}
			missing.refused(nowhere, collab.NotFound, "${:text}")
			closed, err := example.with("organizationId", "closed")
			if err == nil && has(e.Operation.Request, "createOrganization") {
				closed, err = closed.with("createOrganization", true)
			}
			if err != nil {
				return nil, err
			}
			if !goesOn(e.Path) {
				disabled.refused(closed, collab.FailedPrecondition, "${:text}")
			}
		}
		if e.Requires != "" {
			off[e.Requires].refused(example, collab.FailedPrecondition, fmt.Sprintf("the setting %q of the account is off", e.Requires))
		}
		keys.twice(example, e, fmt.Sprint(len(keys.steps)))
	}
	for _, s := range scripts {
		s.folder = general("general")
		if len(s.steps) == 0 {
			return nil, fmt.Errorf("%s is of no endpoint", s.name)
		}
	}
	return scripts, nil
}

// goesOn reports whether an operation works in a disabled organization.
func goesOn(path string) bool {
	return strings.HasPrefix(path, "/v2/organizations/folders/") || strings.HasPrefix(path, "/v2/users/data/")
}

func has(request reflect.Type, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(request), func(f reflect.StructField) bool { return f.Tag.Get("json") == name })
}

// with returns the step with another value in a field of its data.
func (s *step) with(field string, value any) (*step, error) {
	var body struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal([]byte(s.body), &body); err != nil {
		return nil, fmt.Errorf("%s: %w", s.title, err)
	}
	body.Data[field] = value
	changed := *s
	changed.body = compact(body)
	return &changed, nil
}

// refused adds the request of an example, which is refused.
func (s *script) refused(example *step, code collab.Code, message string) {
	status := http.StatusBadRequest
	if code == collab.NotFound {
		status = http.StatusNotFound
	}
	s.steps = append(s.steps, &step{
		title: example.path, method: example.method, path: example.path, body: example.body,
		answer: answer{status: status, body: failure(code, message)},
	})
}

func failure(code collab.Code, message string) value {
	return value{kind: '{', keys: []string{"error"}, items: []value{{
		kind: '{', keys: []string{"status", "message"}, items: []value{textValue(string(code)), textValue(message)},
	}}}
}

// accept sets the success response of an endpoint: see rpc.Endpoint.Status.
func (a *answer) accept(e rpc.Endpoint) {
	if a.status = e.Status(); e.Accepted {
		for _, key := range []string{"status", "message", "data", "statusCode"} {
			a.body.keys, a.body.items = append(a.body.keys, key), append(a.body.items, textValue("${:any}"))
		}
	}
}

// twice sends an example twice with an Idempotency-Key, and once more with another body. It sends a
// read once, because reads ignore the key.
func (s *script) twice(example *step, e rpc.Endpoint, name string) {
	send := func(title, body, result string, status int) {
		sent := *example
		sent.title, sent.body = example.path+title, body
		sent.header = []header{{name: "Idempotency-Key", value: "one"}}
		sent.answer = answer{status: status, body: value{kind: '{', keys: []string{"result"}, items: []value{textValue(result)}}}
		if status == http.StatusBadRequest {
			sent.answer.body = failure(collab.InvalidArgument, "the Idempotency-Key was already used with another body")
		} else {
			sent.answer.accept(e)
		}
		s.steps = append(s.steps, &sent)
	}
	if !e.Idempotent() {
		if !strings.Contains(example.body, "${") { // set by an earlier response
			s.steps = append(s.steps, example)
		}
		return
	}
	send("", example.body, "${answer"+name+":any}", http.StatusOK)
	again := "${answer" + name + "}"
	if e.Path == "/v2/auth/generate_token" {
		again = "${:any}" // secrets are not stored, and a later token differs
	}
	send(", again", example.body, again, http.StatusOK)
	send(", another body", example.body+" ", "", http.StatusBadRequest)
}
