package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"collabdata/shared/keys"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

// TestStream checks that the function reads the table's stream with short delays, only with its
// filters, and that a failing batch blocks nothing.
func TestStream(t *testing.T) {
	for id, source := range production(t).ofType("AWS::Lambda::EventSourceMapping") {
		if !strings.HasPrefix(id, "hints") {
			continue
		}
		var patterns []any
		for _, f := range at(source.Properties, "FilterCriteria.Filters").([]any) {
			var pattern any
			must.Do(t, json.Unmarshal([]byte(at(f, "Pattern").(string)), &pattern))
			patterns = append(patterns, pattern)
		}
		var want []any
		for _, f := range keys.ChangeFilters() {
			key := map[string]any{}
			for name, of := range f {
				key[name] = map[string]any{"S": of}
			}
			want = append(want, map[string]any{"dynamodb": map[string]any{"Keys": key}})
		}
		text, err := json.Marshal(want)
		if err == nil {
			want = nil
			err = json.Unmarshal(text, &want)
		}
		if diff := cmp.Diff(want, patterns); err != nil || diff != "" {
			t.Errorf("filters: %v\n%s", err, diff)
		}
		got := maps.Clone(source.Properties)
		for _, name := range []string{"FilterCriteria", "FunctionName", "EventSourceArn", "Tags"} {
			delete(got, name)
		}
		if diff := cmp.Diff(map[string]any{
			"BatchSize": 500.0, "Enabled": true, "MaximumRecordAgeInSeconds": 60.0, "MaximumRetryAttempts": 2.0, "ParallelizationFactor": 10.0,
			"StartingPosition": "TRIM_HORIZON",
		}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return
	}
	t.Error("nothing takes the stream")
}
