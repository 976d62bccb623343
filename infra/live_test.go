package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/keys"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

// TestStream holds how the table's stream is taken: soon, by its filters alone, and without a batch that fails standing in the way.
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
			"StartingPosition": "LATEST",
		}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return
	}
	t.Error("nothing takes the stream")
}

// TestLiveOff holds that there is nothing of live where it is off, or the table is restored and its stream not named, and that no ticket is
// given while nothing may write.
func TestLiveOff(t *testing.T) {
	endpoints := slices.DeleteFunc(api.Endpoints(), func(e rpc.Endpoint) bool { return e.Path != "/v2/live/tickets/add" })
	const stream = "arn:aws:dynamodb:eu-west-1:123456789012:table/restored/stream/2026-11-23T07:00:00.000"
	for _, test := range []struct {
		context     map[string]any
		on, tickets bool
	}{
		{map[string]any{"live": "off"}, false, false},
		{map[string]any{"restoredTable": "restored"}, false, false},
		{map[string]any{"restoredTable": "restored", "restoredStream": stream}, true, true},
		{map[string]any{"writes": "off"}, true, false},
	} {
		m := synthesize(t, test.context, endpoints)
		n := len(m.ofType("AWS::ApiGatewayV2::Api")) + len(m.ofType("AWS::ApiGatewayV2::Stage"))
		if on := n == 2; on != test.on || !on && n > 0 || len(m.roles(t)) != map[bool]int{true: 6, false: 4}[on] {
			t.Errorf("%v: %d parts of an API for connections, %d functions", test.context, n, len(m.roles(t)))
		}
		for _, f := range m.ofType("AWS::Lambda::Function") {
			url := at(f.Properties, "Environment.Variables.LIVE_URL")
			if f.Properties["Description"] == "POST /v2/live/tickets/add" && (url != nil) != test.tickets {
				t.Errorf("%v: tickets are for %v", test.context, url)
			}
		}
		stream := at(m.only(t, "AWS::DynamoDB::Table").Properties, "StreamSpecification")
		if off := test.context["live"] == "off"; off != (stream == nil) {
			t.Errorf("%v: the table has the stream %v", test.context, stream)
		}
	}
}
