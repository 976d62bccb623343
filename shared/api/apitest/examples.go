package apitest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// examplesName is the script of the examples.
const examplesName = "general/examples"

// Example is a request that a script sends, and its answer, with samples for what differs from one run to the next.
type Example struct {
	Path    string
	Title   string
	Request json.RawMessage
	Answer  json.RawMessage
}

// samples of each kind, for variables that the script has none for.
var samples = map[string]value{
	"id":      textValue("06bq2x9a4000000000000000"),
	"text":    textValue("…"),
	"integer": {kind: '0', text: "1772366400000001"},
	"time":    textValue("2026-03-01T12:00:00.000Z"),
}

// Examples returns an example of each endpoint, in an order in which they work.
func Examples() ([]Example, error) {
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
	var examples []Example
	for _, step := range s.steps {
		answer, err := vars.sample(step.answer.body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.title, err)
		}
		examples = append(examples, Example{step.path, step.title, json.RawMessage(step.body), json.RawMessage(answer.String())})
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
