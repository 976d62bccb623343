package apitest_test

import (
	"collabdata/shared/collab"
	"collabdata/shared/testing/golden"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// errorTexts are errors in responses to scripts, as `path code-or-field: text`.
type errorTexts map[string]bool

// generated matches indexes and ids.
var generated = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|\[\d+\]|\b[0-9a-hjkmnp-tv-z]{26}\b|\b1\d{15}\b`)

// note adds the errors in a response: of the request, its fields and its items. It omits temporary
// errors, which depend on timing.
func (e errorTexts) note(path string, answer any) {
	switch answer := answer.(type) {
	case []any:
		for _, item := range answer {
			e.note(path, item)
		}
	case map[string]any:
		text, said := answer["message"].(string)
		for _, name := range []string{"status", "code", "field"} {
			if of, ok := answer[name].(string); ok && said && of != "success" && answer["details"] == nil && !collab.Code(of).MayRepeat() {
				e[path+" "+generated.ReplaceAllString(of+": "+text, "[]")] = true
			}
		}
		for _, item := range answer {
			e.note(path, item)
		}
	}
}

// check compares the errors with the golden file.
func (e errorTexts) check(t *testing.T) {
	const file = "testdata/errors.txt"
	got := strings.Join(slices.Sorted(maps.Keys(e)), "\n") + "\n"
	golden.Check(t, file, got)
}

// of adds the errors in a response of an operation.
func (e errorTexts) of(path string, body []byte) {
	var answer any
	if json.Unmarshal(body, &answer) == nil && !strings.Contains(string(body), "there is no such operation") {
		e.note(path, answer)
	}
}
