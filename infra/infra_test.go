package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/keys"
	"collabdata/shared/metrics"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close() // the node process that all tests share
	os.Exit(code)
}

// made is a synthesized stack.
type made struct {
	resources map[string]resource
	outputs   map[string]struct{ Value any }
	text      []byte   // the template as JSON, indented, hashes of assets masked
	findings  []string // of cdk-nag
	protected bool     // from being deleted
}

type resource struct {
	Type           string
	Properties     map[string]any
	DeletionPolicy string
	DependsOn      []string
}

// synthesize makes the stack with the given settings, else the defaults, for the endpoints. All functions have one program, but for those
// that are named changed.
func synthesize(t *testing.T, context map[string]any, endpoints []rpc.Endpoint, changed ...string) made {
	t.Helper()
	settings, err := ReadSettings(context)
	must.Do(t, err)
	app := awscdk.NewApp(&awscdk.AppProps{Context: features(), Outdir: jsii.String(t.TempDir())})
	program := func(text string) Program {
		folder := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(folder, "bootstrap"), []byte(text), 0o755))
		return Program{folder, hashOf([]byte(text))}
	}
	programs := map[string]Program{}
	usual, other := program("placeholder"), program("another")
	for _, f := range Functions(endpoints) {
		programs[f] = usual
		if slices.Contains(changed, f) {
			programs[f] = other
		}
	}
	stack := NewStack(app, settings, endpoints, programs)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)

	m := made{protected: *stack.TerminationProtection()}
	text, err := json.MarshalIndent(assertions.Template_FromStack(stack, nil).ToJSON(), "", "  ")
	must.Do(t, err)
	m.text = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAll(text, []byte("<hash>"))
	var parsed struct {
		Resources map[string]resource
		Outputs   map[string]struct{ Value any }
	}
	must.Do(t, json.Unmarshal(text, &parsed))
	m.resources, m.outputs = parsed.Resources, parsed.Outputs
	annotations := assertions.Annotations_FromStack(stack)
	matchAll := assertions.Match_StringLikeRegexp(jsii.String("AwsSolutions-.*"))
	for _, found := range append(*annotations.FindError(jsii.String("*"), matchAll), *annotations.FindWarning(jsii.String("*"), matchAll)...) {
		m.findings = append(m.findings, fmt.Sprintf("%s: %v", *found.Id, found.Entry.Data))
	}
	return m
}

// polls are the mappings of the queues to the functions that take their messages.
func (m made) polls() map[string]resource {
	polls := m.ofType("AWS::Lambda::EventSourceMapping")
	maps.DeleteFunc(polls, func(_ string, r resource) bool { return r.Properties["StartingPosition"] != nil }) // the table's stream
	return polls
}

// production is the stack with default settings, made once.
func production(t *testing.T) made {
	t.Helper()
	productionOnce.Do(func() { productionMade = synthesize(t, nil, api.Endpoints()) })
	return productionMade
}

var (
	productionOnce sync.Once
	productionMade made
)

// varied is a stack of one endpoint with other settings than the default ones, made once.
func varied(t *testing.T) made {
	t.Helper()
	variedOnce.Do(func() {
		variedMade = synthesize(t, map[string]any{
			"logRetentionDays": "7", "stageRate": "50", "wafRateLimit": "500", "wafAddressRateLimit": "900", "mailFrom": "no-reply@example.com",
			"apiKeyHeader": "X-Other-Key", "authTokenHeader": "x-other-token",
		}, api.Endpoints()[:1])
	})
	return variedMade
}

var (
	variedOnce sync.Once
	variedMade made
)

// ofType returns the resources of a type by their logical id.
func (m made) ofType(name string) map[string]resource {
	found := map[string]resource{}
	for id, r := range m.resources {
		if r.Type == name {
			found[id] = r
		}
	}
	return found
}

// only returns the single resource of a type.
func (m made) only(t *testing.T, name string) resource {
	t.Helper()
	found := m.ofType(name)
	if len(found) != 1 {
		t.Fatalf("%d resources of type %s, want 1", len(found), name)
	}
	return found[slices.Collect(maps.Keys(found))[0]]
}

// definition is what a test reads of the gateway's definition.
type definition struct {
	Servers []map[string]map[string]bool
	Paths   map[string]map[string]struct {
		Security    []map[string][]string
		Integration struct {
			URI, Credentials any
			TimeoutInMillis  int
		} `json:"x-amazon-apigateway-integration"`
	}
	Components struct {
		SecuritySchemes map[string]struct {
			Authorizer struct {
				IdentitySource        string
				AuthorizerCredentials any
			} `json:"x-amazon-apigateway-authorizer"`
		}
	}
	Responses map[string]struct {
		StatusCode                            string
		ResponseParameters, ResponseTemplates map[string]string
	} `json:"x-amazon-apigateway-gateway-responses"`
}

// definition returns that of the stack's API.
func (m made) definition(t *testing.T) (d definition) {
	t.Helper()
	text, err := json.Marshal(m.only(t, "AWS::ApiGateway::RestApi").Properties["Body"])
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	must.Do(t, err)
	return d
}

// Each path calls its own function, by the role that may call it, and the function gives up before the gateway does.
func TestIntegrations(t *testing.T) {
	m := production(t)
	d := m.definition(t)
	for _, e := range api.Endpoints() {
		i := d.Paths[e.Path]["post"].Integration
		uri, err := json.Marshal(i.URI)
		must.Do(t, err)
		called := regexp.MustCompile(`"Fn::GetAtt":\["(\w+)","Arn"\]`).FindStringSubmatch(string(uri))
		if called == nil {
			t.Fatalf("%s calls %s", e.Path, uri)
		}
		if f := m.resources[called[1]]; f.Properties["Description"] != "POST "+e.Path ||
			f.Properties["Timeout"].(float64)*1000 >= float64(i.TimeoutInMillis) {
			t.Errorf("%s calls, for %d ms, %v", e.Path, i.TimeoutInMillis, f.Properties)
		}
		role := i.Credentials.(map[string]any)["Fn::GetAtt"].([]any)[0].(string)
		if rights := m.grants(t, role); !slices.Contains(rights, "lambda:InvokeFunction on "+called[1][:len(called[1])-8]) {
			t.Errorf("%s calls its function as %s, which may %q", e.Path, role, rights)
		}
	}
	if source := d.Components.SecuritySchemes["Credentials"].Authorizer.IdentitySource; source != "method.request.header.x-service-api-key, method.request.header.x-service-auth-token" {
		t.Errorf("the authorizer is asked, and its verdict remembered, by %s", source)
	}
}

// The names of the headers that carry the credentials are where the gateway, the authorizer and the firewall have them.
func TestHeaders(t *testing.T) {
	m := varied(t)
	body := string(rpc.JSON(m.only(t, "AWS::ApiGateway::RestApi").Properties["Body"]))
	for _, want := range []string{
		"method.request.header.x-other-key, method.request.header.x-other-token", "the headers x-other-key and x-other-token are required",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the definition has no %q", want)
		}
	}
	if strings.Contains(body, "x-service-") {
		t.Error("the definition has the usual names")
	}
	for id, f := range m.ofType("AWS::Lambda::Function") {
		if f.Properties["Description"] == "Checks the credentials of a request" && !strings.Contains(string(rpc.JSON(f.Properties["Environment"])), `"API_KEY_HEADER":"x-other-key","AUTH_TOKEN_HEADER":"x-other-token"`) {
			t.Errorf("%s has %v", id, f.Properties["Environment"])
		}
	}
}

// A stage serves what was deployed: another definition must be another deployment.
func TestDeploymentFollowsDefinition(t *testing.T) {
	ids := func(endpoints int) []string {
		return slices.Collect(maps.Keys(synthesize(t, nil, api.Endpoints()[:endpoints]).ofType("AWS::ApiGateway::Deployment")))
	}
	if one, two := ids(1), ids(2); len(one) != 1 || len(two) != 1 || one[0] == two[0] || !slices.Equal(ids(1), one) {
		t.Errorf("deployments %q and %q", one, two)
	}
}

// allSettings are settings with which the stack has every part that it can have.
func allSettings() map[string]any {
	return map[string]any{
		"mailFrom": "no-reply@example.com", "mailProduct": "Collab", "customDomain": "collab.example.com",
		"certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b", "tracing": "on", "alarmMail": "ops@example.com",
	}
}

func TestNag(t *testing.T) {
	for name, m := range map[string]made{"defaults": production(t), "everything": synthesize(t, allSettings(), api.Endpoints()[:1])} {
		for _, finding := range m.findings {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

// A stack may have 500 resources and 1 MB of template, and the table of endpoints is to grow to 80 and beyond.
func TestHundredEndpoints(t *testing.T) {
	const nouns, added = 20, 99
	var endpoints []rpc.Endpoint
	for noun := range nouns {
		for _, verb := range []string{"add", "get", "update", "delete", "comments/reactions/remove"} {
			endpoints = append(endpoints, rpc.Endpoint{
				Path:   fmt.Sprintf("/v2/commentannotations%d/%s", noun, verb),
				Grants: rpc.ReadTable | rpc.ReadIndexes | rpc.WriteTable | rpc.SendEvents,
			})
		}
	}
	with, without := synthesize(t, nil, endpoints), synthesize(t, nil, endpoints[:1])
	if got := len(with.resources); got > 420 {
		t.Errorf("%d resources with 100 endpoints, want 420 at most", got)
	}
	var template bytes.Buffer
	must.Do(t, json.Compact(&template, with.text))
	if got := template.Len(); got > 1_000_000 {
		t.Errorf("a template of %d bytes, CloudFormation takes 1,000,000", got)
	}
	queries := len(with.ofType("AWS::Logs::QueryDefinition")) - len(without.ofType("AWS::Logs::QueryDefinition"))
	if got := len(with.resources) - len(without.resources) - (nouns - 1) - queries; got > 3*added {
		t.Errorf("%d endpoints add %d resources without the role of each noun and the queries, want 3 each at most", added, got)
	}
	t.Logf("%d resources, %d bytes of template", len(with.resources), template.Len())
	for id, role := range with.ofType("AWS::IAM::Role") {
		policies, err := json.Marshal(role.Properties["Policies"])
		must.Do(t, err)
		// References stand for about 110 characters each once deployed; IAM takes 10,240 in a role's inline policies.
		if size := len(policies) + 60*bytes.Count(policies, []byte(`"Fn::GetAtt"`)); size > 10_240 {
			t.Errorf("role %s: inline policies of about %d characters", id, size)
		}
	}
}

func TestNothingShowsCredentials(t *testing.T) {
	stage := production(t).only(t, "AWS::ApiGateway::Stage").Properties
	settings := stage["MethodSettings"].([]any)[0].(map[string]any)
	if settings["DataTraceEnabled"] != false || settings["LoggingLevel"] != "ERROR" {
		t.Errorf("execution log: %v; data trace would print tokens", settings)
	}
	format := stage["AccessLogSetting"].(map[string]any)["Format"].(string)
	for variable := range strings.SplitSeq(format, `"`) {
		for _, secret := range []string{"header", "authorizer.apikey", "identity.apikey", "principalid", "querystring", "$context.path"} {
			if strings.Contains(strings.ToLower(variable), secret) {
				t.Errorf("access log has %s", variable)
			}
		}
	}
}

// Nothing is logged where it is kept for ever: not by the functions, and not by the gateway, which makes the log of its own errors when it
// finds none.
func TestRetention(t *testing.T) {
	m := varied(t)
	logs := m.ofType("AWS::Logs::LogGroup")
	if functions := len(m.ofType("AWS::Lambda::Function")); len(logs) != functions+2 {
		t.Errorf("%d log groups for %d functions, want one each, and two of the gateway", len(logs), functions)
	}
	gateways := ""
	for id, group := range logs {
		if got := group.Properties["RetentionInDays"]; got != 7.0 {
			t.Errorf("%s keeps its logs for %v days", id, got)
		}
		name, err := json.Marshal(group.Properties["LogGroupName"])
		must.Do(t, err)
		if regexp.MustCompile(`^{"Fn::Join":\["",\["API-Gateway-Execution-Logs_",{"Ref":"\w+"},"/prod"\]\]}$`).Match(name) {
			gateways = id
		}
	}
	if stage := m.only(t, "AWS::ApiGateway::Stage"); !slices.Contains(stage.DependsOn, gateways) {
		t.Errorf("the stage, made after %v, may find no log group %q for its errors", stage.DependsOn, gateways)
	}
}

// A queue shows a message again no earlier than AWS advises: six times the time-out of the function that takes it.
func TestVisibilityTimeout(t *testing.T) {
	m := production(t)
	for id, source := range m.polls() {
		q := m.resources[source.Properties["EventSourceArn"].(map[string]any)["Fn::GetAtt"].([]any)[0].(string)]
		f := m.resources[source.Properties["FunctionName"].(map[string]any)["Ref"].(string)]
		if again, timeout := q.Properties["VisibilityTimeout"].(float64), f.Properties["Timeout"].(float64); again < 6*timeout {
			t.Errorf("%s: a message is shown again after %v s, while the function has %v s", id, again, timeout)
		}
		if most := source.Properties["ScalingConfig"].(map[string]any)["MaximumConcurrency"].(float64); most < 2 || most > 1000 {
			t.Errorf("%s: concurrency %v, Lambda takes 2 to 1000", id, most)
		}
	}
}

// Deliver sends messages to itself, and no other function does.
func TestLoops(t *testing.T) {
	for id, f := range production(t).ofType("AWS::Lambda::Function") {
		want := "Terminate"
		if f.Properties["Description"] == "Takes events and webhook deliveries from their queues" {
			want = "Allow"
		}
		if got := f.Properties["RecursiveLoop"]; got != want {
			t.Errorf("%s: recursive loops: %v, want %s", id, got, want)
		}
	}
}

// The endpoints keep most of what the AWS account runs at the same time, however little that is.
func TestDeliverLeavesRoom(t *testing.T) {
	for concurrency, want := range map[string]float64{"": 150, "2000": 150, "400": 60, "100": 15, "10": 4} {
		m := production(t)
		if concurrency != "" {
			m = synthesize(t, map[string]any{"concurrency": concurrency}, api.Endpoints()[:1])
		}
		sum := 0.0
		for _, source := range m.polls() {
			sum += source.Properties["ScalingConfig"].(map[string]any)["MaximumConcurrency"].(float64)
		}
		if sum != want {
			t.Errorf("of %q runs deliver may take %v, want %v", concurrency, sum, want)
		}
	}
}

// Relay runs each minute: a run that comes late, or again, would only add to the next.
func TestRelayIsNotRepeated(t *testing.T) {
	m := production(t)
	invoke := m.only(t, "AWS::Lambda::EventInvokeConfig").Properties
	if f := m.resources[invoke["FunctionName"].(map[string]any)["Ref"].(string)]; f.Properties["Description"] != "Sends pending work to the queues again" {
		t.Errorf("it is %v that is not repeated", f.Properties["Description"])
	}
	target := m.only(t, "AWS::Events::Rule").Properties["Targets"].([]any)[0].(map[string]any)["RetryPolicy"].(map[string]any)
	for name, got := range map[string][]any{
		"invocation": {invoke["MaximumRetryAttempts"], invoke["MaximumEventAgeInSeconds"]},
		"event":      {target["MaximumRetryAttempts"], target["MaximumEventAgeInSeconds"]},
	} {
		if !slices.Equal(got, []any{0.0, 60.0}) {
			t.Errorf("%s: repeated %v times within %v s", name, got[0], got[1])
		}
	}
}

// With writes off nothing but the operator writes: endpoints refuse, deliver gets no messages, relay is not started.
func TestWritesOff(t *testing.T) {
	off := synthesize(t, map[string]any{"writes": "off"}, api.Endpoints()[:1])
	for id, f := range off.ofType("AWS::Lambda::Function") {
		if got := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)["WRITES"]; got != "off" {
			t.Errorf("%s has WRITES %v", id, got)
		}
	}
	for want, m := range map[string]made{"false DISABLED": off, "true ENABLED": production(t)} {
		for id, source := range m.ofType("AWS::Lambda::EventSourceMapping") {
			if got := fmt.Sprint(source.Properties["Enabled"], " ", m.only(t, "AWS::Events::Rule").Properties["State"]); got != want {
				t.Errorf("%s and the rule: %s, want %s", id, got, want)
			}
		}
	}
}

// Tracing is asked for, and no function has its rights otherwise.
func TestTracing(t *testing.T) {
	for want, m := range map[bool]made{false: production(t), true: synthesize(t, map[string]any{"tracing": "on"}, api.Endpoints()[:1])} {
		if got := m.only(t, "AWS::ApiGateway::Stage").Properties["TracingEnabled"]; got != want {
			t.Errorf("the stage traces: %v, want %v", got, want)
		}
		for id, f := range m.ofType("AWS::Lambda::Function") {
			_, traced := f.Properties["TracingConfig"]
			role := f.Properties["Role"].(map[string]any)["Fn::GetAtt"].([]any)[0].(string)
			if may := slices.Contains(m.grants(t, role), `xray:PutTraceSegments on "*"`); traced != want || may != want {
				t.Errorf("%s is traced: %v, may trace: %v, want %v", id, traced, may, want)
			}
		}
	}
}

// The queries that are shipped name logs that are there, no more than a query takes, and fields that are logged.
func TestQueries(t *testing.T) {
	var endpoints []rpc.Endpoint
	for n := range 60 {
		endpoints = append(endpoints, rpc.Endpoint{Path: fmt.Sprintf("/v2/noun/get%d", n), Grants: rpc.ReadTable})
	}
	m := synthesize(t, nil, endpoints)
	read := map[string]int{} // by log
	for id, q := range m.ofType("AWS::Logs::QueryDefinition") {
		logs := q.Properties["LogGroupNames"].([]any)
		if len(logs) < 1 || len(logs) > 50 {
			t.Errorf("%s reads %d logs, Logs Insights 1 to 50", id, len(logs))
		}
		for _, l := range logs {
			ref := l.(map[string]any)["Ref"].(string)
			if m.resources[ref].Type != "AWS::Logs::LogGroup" {
				t.Errorf("%s reads %s", id, ref)
			}
			read[ref]++
		}
	}
	if got, want := len(read), len(m.ofType("AWS::Logs::LogGroup"))-1; got != want {
		t.Errorf("%d logs are read by queries, want %d: all but that of the gateway's own errors", got, want)
	}
	fields := accessLogFormat()
	for _, field := range []string{"integrationLatency", "status", "requestLength", "responseLength", "account"} {
		if !strings.Contains(fields, `"`+field+`"`) {
			t.Errorf("the access log has no %s", field)
		}
	}
}

// TestRelease holds that a release changes what changed: a version alone is an output, the program of an operation is its function.
func TestRelease(t *testing.T) {
	endpoints := api.Endpoints()[:2]
	first := synthesize(t, map[string]any{"version": "1.2.3+abc"}, endpoints)
	for _, test := range []struct {
		name    string
		changed []string
		want    []string // types of the resources that differ
	}{
		{"version alone", nil, nil},
		{"one operation", []string{strings.TrimPrefix(endpoints[0].Path, "/")}, []string{"AWS::Lambda::Function"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			second := synthesize(t, map[string]any{"version": "1.2.4"}, endpoints, test.changed...)
			var got []string
			for id, r := range second.resources {
				if !cmp.Equal(first.resources[id], r) {
					got = append(got, r.Type)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || len(first.resources) != len(second.resources) {
				t.Errorf("%d and %d resources; those that differ (-want +got):\n%s", len(first.resources), len(second.resources), diff)
			}
			for name, output := range second.outputs {
				if cmp.Equal(first.outputs[name], output) == (name == "Version") {
					t.Errorf("output %s was %v, and is %v", name, first.outputs[name].Value, output.Value)
				}
			}
		})
	}
	for id, f := range first.ofType("AWS::Lambda::Function") {
		if got := at(f.Properties, "Environment.Variables.CODE"); got != hashOf([]byte("placeholder")) {
			t.Errorf("%s logs %v as the hash of its program", id, got)
		}
	}
}

func TestAlarms(t *testing.T) {
	m := production(t)
	allowed := ""
	for _, s := range m.only(t, "AWS::SNS::TopicPolicy").Properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
		if statement := s.(map[string]any); statement["Effect"] == "Allow" {
			text, err := json.Marshal(statement)
			must.Do(t, err)
			allowed += string(text)
		}
	}
	for _, part := range []string{`"sns:Publish"`, `{"Service":"cloudwatch.amazonaws.com"}`, `":alarm:collabdata-prod-*"`} {
		if !strings.Contains(allowed, part) {
			t.Errorf("CloudWatch may not tell the topic of alarms: its policy allows %s, want %s in it", allowed, part)
		}
	}
	runbook, err := os.ReadFile("README.md")
	must.Do(t, err)
	throttled, alarmed := map[string]bool{}, map[string]bool{}
	for id, alarm := range m.ofType("AWS::CloudWatch::Alarm") {
		if name := strings.TrimPrefix(alarm.Properties["AlarmName"].(string), "collabdata-prod-"); !regexp.MustCompile(`(?m)^\| .*\b` + name + `\b.* \|`).
			Match(runbook) {
			t.Errorf("the runbook says nothing of %s", name)
		}
		if alarm.Properties["Namespace"] == metrics.Namespace {
			alarmed[alarm.Properties["MetricName"].(string)] = true
		}
		if alarm.Properties["AlarmActions"] == nil || !strings.HasPrefix(alarm.Properties["AlarmName"].(string), "collabdata-prod-") {
			t.Errorf("%s notifies nobody", id)
		}
		if alarm.Properties["MetricName"] == "WriteThrottleEvents" {
			for _, d := range alarm.Properties["Dimensions"].([]any) {
				if dimension := d.(map[string]any); dimension["Name"] == "GlobalSecondaryIndexName" {
					throttled[dimension["Value"].(string)] = true
				}
			}
		}
	}
	// CloudWatch counts what an index refuses apart from what its table refuses.
	if !throttled[keys.IndexOrg] {
		t.Errorf("no alarm when %s refuses writes", keys.IndexOrg)
	}
	if want := map[string]bool{metrics.MailsHeld: true, metrics.PendingEventAge: true, metrics.EventsFailed: true}; !maps.Equal(alarmed, want) {
		t.Errorf("alarms on our own metrics %v, want %v", alarmed, want)
	}
	dashboard, err := json.Marshal(m.only(t, "AWS::CloudWatch::Dashboard").Properties["DashboardBody"])
	must.Do(t, err)
	for _, figure := range []string{
		metrics.Events, metrics.Deliveries, metrics.DeliveryRetries, metrics.DeliveryFailures, metrics.WebhooksDisabled, metrics.MailsHeld,
		metrics.Unreadable, metrics.EventsFailed, metrics.PendingEventAge,
	} {
		if !strings.Contains(string(dashboard), `\"`+figure+`\"`) {
			t.Errorf("%s is not on the dashboard", figure)
		}
	}
}

// TestAlarmsOfMail holds that a stage that sends mail rings before SES looks into the AWS account, and tells an address.
func TestAlarmsOfMail(t *testing.T) {
	m := synthesize(t, map[string]any{"mailFrom": "no-reply@example.com", "alarmMail": "ops@example.com"}, api.Endpoints()[:1])
	got := map[any]any{}
	for _, alarm := range m.ofType("AWS::CloudWatch::Alarm") {
		if alarm.Properties["Namespace"] == "AWS/SES" {
			got[alarm.Properties["MetricName"]] = alarm.Properties["Threshold"]
		}
	}
	if diff := cmp.Diff(map[any]any{"Reputation.BounceRate": 0.03, "Reputation.ComplaintRate": 0.0005}, got); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
	told := m.only(t, "AWS::SNS::Subscription").Properties
	if told["Endpoint"] != "ops@example.com" || told["Protocol"] != "email" {
		t.Errorf("alarms are sent to %v", told)
	}
}

// TestGatewayLogRole holds that a stack leaves the region's role alone where it is said to exist.
func TestGatewayLogRole(t *testing.T) {
	if got := len(production(t).ofType("AWS::ApiGateway::Account")); got != 1 {
		t.Errorf("by default a stack has %d", got)
	}
	m := synthesize(t, map[string]any{"gatewayLogRole": "existing"}, api.Endpoints()[:1])
	for id := range m.ofType("AWS::ApiGateway::Account") {
		t.Errorf("the stack has %s", id)
	}
}

func TestGatewayErrors(t *testing.T) {
	// Every response type of a REST API, as its documentation lists them.
	all := strings.Fields(`ACCESS_DENIED API_CONFIGURATION_ERROR AUTHORIZER_CONFIGURATION_ERROR AUTHORIZER_FAILURE BAD_REQUEST_BODY
		BAD_REQUEST_PARAMETERS DEFAULT_4XX DEFAULT_5XX EXPIRED_TOKEN INTEGRATION_FAILURE INTEGRATION_TIMEOUT INVALID_API_KEY
		INVALID_SIGNATURE MISSING_AUTHENTICATION_TOKEN QUOTA_EXCEEDED REQUEST_TOO_LARGE RESOURCE_NOT_FOUND THROTTLED UNAUTHORIZED
		UNSUPPORTED_MEDIA_TYPE WAF_FILTERED`)
	statuses := map[string]string{
		"400": "INVALID_ARGUMENT", "401": "UNAUTHENTICATED", "403": "PERMISSION_DENIED", "404": "NOT_FOUND", "413": "INVALID_ARGUMENT",
		"415": "INVALID_ARGUMENT", "429": "RESOURCE_EXHAUSTED", "500": "INTERNAL", "503": "UNAVAILABLE", "504": "DEADLINE_EXCEEDED",
	}
	type answer struct{ status, template string }
	got := map[string]answer{}
	for name, r := range production(t).definition(t).Responses {
		got[name] = answer{r.StatusCode, r.ResponseTemplates["application/json"]}
		if id := r.ResponseParameters["gatewayresponse.header.X-Request-Id"]; id != "context.requestId" {
			t.Errorf("%s has the request id %q", name, id)
		}
		if names := strings.Contains(got[name].template, "$context.requestId"); names != (r.StatusCode >= "500") {
			t.Errorf("%s says %s", name, got[name].template)
		}
	}
	if diff := cmp.Diff(all, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("response types (-want +got):\n%s", diff)
	}
	firewall := production(t).only(t, "AWS::WAFv2::WebACL").Properties
	throttled := firewall["CustomResponseBodies"].(map[string]any)["throttled"].(map[string]any)["Content"].(string)
	got["the firewall"] = answer{"429", throttled}

	for name, a := range got {
		var body map[string]map[string]string
		if err := json.Unmarshal([]byte(a.template), &body); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := map[string]map[string]string{"error": {"message": body["error"]["message"], "status": statuses[a.status]}}
		if diff := cmp.Diff(want, body); diff != "" || body["error"]["message"] == "" {
			t.Errorf("%s answers %s with (-want +got):\n%s", name, a.status, diff)
		}
	}
	want := map[string]string{"UNAUTHORIZED": "401", "ACCESS_DENIED": "403", "MISSING_AUTHENTICATION_TOKEN": "404", "REQUEST_TOO_LARGE": "413",
		"UNSUPPORTED_MEDIA_TYPE": "415", "THROTTLED": "429", "AUTHORIZER_FAILURE": "503", "INTEGRATION_TIMEOUT": "504", "DEFAULT_5XX": "500"}
	for name, status := range want {
		if got[name].status != status {
			t.Errorf("%s answers %s, want %s", name, got[name].status, status)
		}
	}
}

func TestProtection(t *testing.T) {
	protected := production(t).only(t, "AWS::DynamoDB::Table")
	local := synthesize(t, map[string]any{"stage": "local", "arch": "x86_64", "mailFrom": "no-reply@example.com"}, api.Endpoints()[:1])
	loose := local.only(t, "AWS::DynamoDB::Table")
	if protected.DeletionPolicy != "Retain" || protected.Properties["DeletionProtectionEnabled"] != true {
		t.Errorf("the table can be lost: %s, %v", protected.DeletionPolicy, protected.Properties["DeletionProtectionEnabled"])
	}
	if loose.DeletionPolicy != "Delete" || loose.Properties["DeletionProtectionEnabled"] != false {
		t.Errorf("the local table cannot be deleted: %s, %v", loose.DeletionPolicy, loose.Properties["DeletionProtectionEnabled"])
	}
	if !production(t).protected || !local.protected {
		t.Error("a stack can be deleted")
	}
	if key := protected.Properties["SSESpecification"].(map[string]any); key["SSEEnabled"] != false { // then by a key that AWS owns
		t.Errorf("the table has a key of the account's, whose use is billed: %v", key)
	}
	recovery := protected.Properties["PointInTimeRecoverySpecification"].(map[string]any)
	if recovery["PointInTimeRecoveryEnabled"] != true {
		t.Errorf("point-in-time recovery: %v", recovery)
	}
	if got := len(production(t).ofType("AWS::WAFv2::WebACLAssociation")); got != 1 {
		t.Errorf("%d associations of the firewall, want 1", got)
	}
	// The one is unknown to local clouds, the other would refuse their plain HTTP.
	for _, kind := range []string{"AWS::WAFv2::WebACLAssociation", "AWS::SQS::QueuePolicy"} {
		for id := range local.ofType(kind) {
			t.Errorf("stage local has %s %s", kind, id)
		}
	}
	for id, f := range local.ofType("AWS::Lambda::Function") {
		if got := f.Properties["Architectures"]; !slices.Equal(got.([]any), []any{"x86_64"}) {
			t.Errorf("%s is for %v", id, got)
		}
	}
}

func TestCustomDomain(t *testing.T) {
	m := synthesize(t, map[string]any{
		"customDomain": "collab.example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b",
	}, api.Endpoints()[:1])
	if got := m.outputs["BaseUrl"].Value; got != "https://collab.example.com" {
		t.Errorf("BaseUrl is %v", got)
	}
	if m.only(t, "AWS::ApiGateway::RestApi").Properties["DisableExecuteApiEndpoint"] != true {
		t.Error("the gateway's own address stays open, though there is a custom domain")
	}
	if s := m.definition(t).Servers; len(s) != 1 || !s[0]["x-amazon-apigateway-endpoint-configuration"]["disableExecuteApiEndpoint"] {
		t.Errorf("the definition opens the gateway's own address: %v", s)
	}
	checkTLS(t, m.only(t, "AWS::ApiGateway::DomainName"))
}

// checkTLS reports an address of the gateway that takes less than TLS 1.2, or requests that were meant for another host.
func checkTLS(t *testing.T, address resource) {
	t.Helper()
	policy, mode := address.Properties["SecurityPolicy"], address.Properties["EndpointAccessMode"]
	if policy != "SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09" || mode != "STRICT" {
		t.Errorf("%s: security policy %v, access mode %v", address.Type, policy, mode)
	}
}

func TestGateway(t *testing.T) {
	checkTLS(t, production(t).only(t, "AWS::ApiGateway::RestApi"))
	stage := varied(t).only(t, "AWS::ApiGateway::Stage").Properties
	settings := stage["MethodSettings"].([]any)[0].(map[string]any)
	if settings["ThrottlingRateLimit"] != 50.0 || settings["ThrottlingBurstLimit"] != 100.0 {
		t.Errorf("throttled by %v", settings)
	}
}

// A page for people has no authorizer, and nothing else is without one.
func TestPublic(t *testing.T) {
	page := rpc.Endpoint{Path: "/v2/pages/show", Grants: rpc.ReadTable, Public: true}
	m := synthesize(t, nil, []rpc.Endpoint{api.Endpoints()[0], page})
	got := map[string][]map[string][]string{}
	for path, methods := range m.definition(t).Paths {
		for method, operation := range methods {
			got[method+" "+path] = operation.Security
		}
	}
	want := map[string][]map[string][]string{
		"post " + api.Endpoints()[0].Path: {{"Credentials": {}}}, "get /v2/pages/show": {}, "post /v2/pages/show": {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("security of methods (-want +got):\n%s", diff)
	}
	if len(m.findings) > 0 {
		t.Errorf("findings of cdk-nag: %v", m.findings)
	}
}

// Who knows a key may not use up its owner's share from elsewhere, and keys that do not exist must count too.
func TestFirewall(t *testing.T) {
	m := varied(t)
	type rule struct {
		Limit float64
		By    string
		Keys  any
	}
	var got []rule
	for _, r := range m.only(t, "AWS::WAFv2::WebACL").Properties["Rules"].([]any) {
		if r.(map[string]any)["Action"].(map[string]any)["Block"] == nil {
			t.Errorf("%v blocks nothing", r)
		}
		rate := r.(map[string]any)["Statement"].(map[string]any)["RateBasedStatement"].(map[string]any)
		got = append(got, rule{rate["Limit"].(float64), rate["AggregateKeyType"].(string), rate["CustomKeys"]})
	}
	want := []rule{
		{900, "IP", nil},
		{500, "CUSTOM_KEYS", []any{
			map[string]any{"IP": map[string]any{}},
			map[string]any{"Header": map[string]any{
				"Name": "x-other-key", "TextTransformations": []any{map[string]any{"Priority": 0.0, "Type": "NONE"}},
			}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// What costs money though nobody calls can be left out.
func TestSwitchedOff(t *testing.T) {
	m := synthesize(t, map[string]any{"firewall": "off", "alarms": "off", "dashboard": "off"}, api.Endpoints()[:1])
	for id, r := range m.resources {
		for _, service := range []string{"AWS::WAFv2::", "AWS::CloudWatch::", "AWS::SNS::"} {
			if strings.HasPrefix(r.Type, service) {
				t.Errorf("there is %s %s", r.Type, id)
			}
		}
	}
	if len(m.findings) > 0 {
		t.Errorf("findings of cdk-nag: %v", m.findings)
	}
	for _, kind := range []string{"AWS::WAFv2::WebACLAssociation", "AWS::CloudWatch::Dashboard", "AWS::SNS::Topic"} {
		production(t).only(t, kind)
	}
}

func TestMail(t *testing.T) {
	m := varied(t)
	set := m.only(t, "AWS::SES::ConfigurationSet").Properties
	want := map[string]any{"SuppressedReasons": []any{"BOUNCE", "COMPLAINT"}}
	if diff := cmp.Diff(want, set["SuppressionOptions"]); diff != "" {
		t.Errorf("suppression (-want +got):\n%s", diff)
	}
	for id, f := range m.ofType("AWS::Lambda::Function") {
		variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
		sends := f.Properties["Description"] == "Takes events and webhook deliveries from their queues"
		for _, name := range []string{"MAIL_CONFIGURATION_SET", "MAIL_FROM", "MAIL_UNSUBSCRIBE"} {
			if (variables[name] != nil) != sends {
				t.Errorf("%s has %v", id, variables)
			}
		}
	}
}

func TestVariables(t *testing.T) {
	m := synthesize(t, map[string]any{"restoredTable": "collabdata-restored"}, api.Endpoints()[:1])
	for id, f := range m.ofType("AWS::Lambda::Function") {
		variables := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
		if variables["TABLE_NAME"] != "collabdata-restored" {
			t.Errorf("%s has %v", id, variables)
		}
	}
	m.only(t, "AWS::DynamoDB::Table") // the stack's own stays
}
