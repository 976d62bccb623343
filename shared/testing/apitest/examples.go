package apitest

import (
	"encoding/json"
	"fmt"
	"slices"

	"collabdata/shared/api/openapi"
)

// examplesName is the script of the examples.
const examplesName = "general/examples"

// samples of each kind, for variables that the script has none for.
var samples = map[string]value{
	"id":      textValue("06bq2x9a4000000000000000"),
	"text":    textValue("…"),
	"integer": {kind: '0', text: "1772366400000001"},
	"time":    textValue("2026-03-01T12:00:00.000Z"),
}

// Examples returns an example of each endpoint, in an order in which they work.
func Examples() ([]openapi.Example, error) {
	list, err := load(scripts)
	if err != nil {
		return nil, err
	}
	s := list[slices.IndexFunc(list, func(s *script) bool { return s.name == examplesName })]
	vars := variables{}
	for name, text := range s.samples {
		if vars[name], err = parseJSON(text); err != nil {
			return nil, err
		}
	}
	var examples []openapi.Example
	for _, step := range s.steps {
		answer, err := vars.sample(step.answer.body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.title, err)
		}
		examples = append(examples, openapi.Example{
			Path: step.path, Title: step.title, Request: json.RawMessage(step.body), Answer: json.RawMessage(answer.String()),
		})
	}
	return examples, nil
}

// sample returns an expected answer with a sample in the place of each variable.
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
	known, ok := vars[whole[1]]
	if !ok {
		known, ok = samples[whole[2]]
	}
	switch {
	case !ok:
		return v, fmt.Errorf("there is no sample for %s", v.text)
	case whole[0] == v.text:
		return known, nil
	}
	filled.text = place.ReplaceAllLiteralString(v.text, known.text)
	return filled, nil
}
