package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
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

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close() // the node process that all tests share
	os.Exit(code)
}

// TestQuiet checks that Node.js starts with the variables that omit jsii's warnings.
func TestQuiet(t *testing.T) {
	folder := t.TempDir()
	printed, node := filepath.Join(folder, "variables"), filepath.Join(folder, "node")
	must.Do(t, os.WriteFile(node, []byte("#!/bin/sh\nenv >'"+printed+"'\nexec node \"$@\"\n"), 0o755))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeploymentFollowsDefinition$")
	cmd.Env = append(os.Environ(), "JSII_NODE="+node)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	variables, err := os.ReadFile(printed)
	must.Do(t, err)
	if !strings.Contains(string(variables), "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=18,20\n") {
		t.Errorf("the variables are:\n%s", variables)
	}
}

type made struct {
	resources map[string]resource
	outputs   map[string]struct{ Value any }
	text      []byte   // the template as indented JSON, with masked hashes of assets
	findings  []string // of cdk-nag
}

type resource struct {
	Type           string
	Properties     map[string]any
	DeletionPolicy string
	DependsOn      []string
}

// synthesize creates the stack of the endpoints, with the given settings over the defaults. All
// programs are the same, except the changed ones.
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
	for _, name := range programNames {
		programs[name] = usual
		if slices.Contains(changed, name) {
			programs[name] = other
		}
	}
	stack := NewStack(app, settings, endpoints, programs)
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(nil), nil)

	var m made
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

// polls returns the mappings of the queues to their functions.
func (m made) polls() map[string]resource {
	polls := m.ofType("AWS::Lambda::EventSourceMapping")
	maps.DeleteFunc(polls, func(_ string, r resource) bool { return r.Properties["StartingPosition"] != nil }) // the table's stream
	return polls
}

// established returns the settings over those for an established AWS account.
func established(settings map[string]any) map[string]any {
	all := map[string]any{"concurrency": "1000"}
	maps.Copy(all, settings)
	return all
}

// production returns the stack of an established AWS account, created once.
func production(t *testing.T) made {
	t.Helper()
	productionOnce.Do(func() { productionMade = synthesize(t, established(nil), api.Endpoints()) })
	return productionMade
}

var (
	productionOnce sync.Once
	productionMade made
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

// idOf returns the logical id that starts with the name.
func (m made) idOf(t *testing.T, name string) string {
	t.Helper()
	for id := range m.resources {
		if strings.HasPrefix(id, name) {
			return id
		}
	}
	t.Fatalf("no resource is called %s", name)
	return ""
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

// definition is the tested part of the gateway's definition.
type definition struct {
	Servers []map[string]map[string]bool
	Paths   map[string]map[string]struct {
		Security    []map[string][]string
		Integration struct {
			URI, Credentials any
			TimeoutInMillis  int
		} `json:"x-amazon-apigateway-integration"`
	}
	Responses map[string]struct {
		StatusCode                            string
		ResponseParameters, ResponseTemplates map[string]string
	} `json:"x-amazon-apigateway-gateway-responses"`
}

func (m made) definition(t *testing.T) (d definition) {
	t.Helper()
	text, err := json.Marshal(m.only(t, "AWS::ApiGateway::RestApi").Properties["Body"])
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	must.Do(t, err)
	return d
}

// Each path calls its own function, with a role that may call it, and the function's timeout is
// shorter than the gateway's.
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
		if rights := m.rights(t, role); !strings.Contains(rights, "lambda:InvokeFunction on") || !strings.Contains(rights, called[1][:len(called[1])-8]) {
			t.Errorf("%s calls its function as %s, which may %q", e.Path, role, rights)
		}
	}
}

// An update of the API may reset the properties that its definition lacks.
func TestDefinitionRepeatsProperties(t *testing.T) {
	domain := allSettings()
	closed := maps.Clone(domain)
	closed["gatewayAddress"] = "closed"
	for _, context := range []map[string]any{nil, domain, closed} {
		api := synthesize(t, context, api.Endpoints()[:1]).only(t, "AWS::ApiGateway::RestApi").Properties
		for property, member := range map[string]string{
			"MinimumCompressionSize":    "x-amazon-apigateway-minimum-compression-size",
			"SecurityPolicy":            "x-amazon-apigateway-security-policy",
			"EndpointAccessMode":        "x-amazon-apigateway-endpoint-access-mode",
			"Name":                      "info.title",
			"DisableExecuteApiEndpoint": "servers.0.x-amazon-apigateway-endpoint-configuration.disableExecuteApiEndpoint",
		} {
			want, got := api[property], at(api["Body"], member)
			if !cmp.Equal(want, got) || want == nil && property != "DisableExecuteApiEndpoint" {
				t.Errorf("%v: the API's %s is %v, and %s of its definition is %v", context, property, want, member, got)
			}
		}
	}
}

// A stage serves its deployment, so another definition needs another deployment.
func TestDeploymentFollowsDefinition(t *testing.T) {
	ids := func(endpoints int) []string {
		return slices.Collect(maps.Keys(synthesize(t, nil, api.Endpoints()[:endpoints]).ofType("AWS::ApiGateway::Deployment")))
	}
	if one, two := ids(1), ids(2); len(one) != 1 || len(two) != 1 || one[0] == two[0] || !slices.Equal(ids(1), one) {
		t.Errorf("deployments %q and %q", one, two)
	}
}

// allSettings returns settings that enable every part of the stack.
func allSettings() map[string]any {
	return map[string]any{
		"concurrency": "1000", "mailFrom": "no-reply@example.com", "mailProduct": "Collab", "customDomain": "collab.example.com",
		"certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b", "tracing": "on", "alarmMail": "ops@example.com", "monthlyBudget": "50",
		"maxReadUnits": "5000", "maxWriteUnits": "1000", "kmsKey": "create", "warmThroughput": "40000", "logs": "retain", "tags": "team=docs",
		"managedRules": "AWSManagedRulesCommonRuleSet", "allowedNetworks": "192.0.2.0/24,2001:db8::/32",
	}
}

func TestNag(t *testing.T) {
	for name, m := range map[string]made{"production": production(t), "everything": synthesize(t, allSettings(), api.Endpoints()[:1])} {
		for _, finding := range m.findings {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

// The limits are 500 resources and a template of 1 MB. The table of endpoints will grow to 80 and
// more.
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
	with, without := synthesize(t, established(nil), endpoints), synthesize(t, established(nil), endpoints[:1])
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
		// A deployed reference takes about 110 characters. The limit for a role's inline policies
		// is 10,240.
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

// No log is kept forever: neither those of functions, nor the gateway's log of its own errors,
// which it would create.
func TestRetention(t *testing.T) {
	m := production(t)
	logs := m.ofType("AWS::Logs::LogGroup")
	if functions := len(m.ofType("AWS::Lambda::Function")); len(logs) != functions+3 {
		t.Errorf("%d log groups for %d functions, want one each, two of the gateway, and one of that of connections", len(logs), functions)
	}
	gateways := ""
	for id, group := range logs {
		if got := group.Properties["RetentionInDays"]; got != 30.0 {
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

// AWS advises a visibility timeout of at least six times the function's timeout.
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

// A new AWS account runs 10 concurrent functions, so that without settings, other functions than
// those of the endpoints take at most half of them.
func TestNewAccount(t *testing.T) {
	m := synthesize(t, nil, api.Endpoints()[:1])
	bounds := map[string]int{} // by the function's id
	for _, source := range m.ofType("AWS::Lambda::EventSourceMapping") {
		most, ok := at(source.Properties, "ScalingConfig.MaximumConcurrency").(float64)
		if !ok {
			t.Fatalf("a source has no limit of concurrent runs: %v", source.Properties)
		}
		bounds[at(source.Properties, "FunctionName.Ref").(string)] += int(most)
	}
	for _, rule := range m.ofType("AWS::Events::Rule") {
		id := list(at(rule.Properties, "Targets.0.Arn.Fn::GetAtt"))[0].(string)
		if every, timeout := rule.Properties["ScheduleExpression"], m.resources[id].Properties["Timeout"].(float64); every != "rate(1 minute)" || timeout >= 60 {
			t.Errorf("%s starts at %v, and may run for %v s", id, every, timeout)
		}
		bounds[id]++
	}
	most := 0
	for id, f := range m.ofType("AWS::Lambda::Function") {
		does := f.Properties["Description"].(string)
		if strings.HasPrefix(does, "POST ") {
			continue
		}
		if bounds[id] == 0 {
			t.Errorf("nothing limits the concurrent runs of %q", does)
		}
		most += bounds[id]
	}
	m.checkAlarmCosts(t, 2)
	if most < 1 || most > 5 {
		t.Errorf("besides the endpoints, %d functions may run concurrently: %v; want 5 at most", most, bounds)
	}
}

// The supplied queries name existing logs, no more than the maximum, and logged fields.
func TestQueries(t *testing.T) {
	var endpoints []rpc.Endpoint
	for n := range 60 {
		endpoints = append(endpoints, rpc.Endpoint{Path: fmt.Sprintf("/v2/noun/get%d", n), Grants: rpc.ReadTable})
	}
	m := synthesize(t, established(nil), endpoints)
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
	if got, want := len(read), len(m.ofType("AWS::Logs::LogGroup"))-2; got != want {
		t.Errorf("%d logs are read by queries, want %d: all except those of the gateway's errors and of connections", got, want)
	}
	fields := accessLogFormat()
	for _, field := range []string{"integrationLatency", "status", "requestLength", "responseLength", "resource"} {
		if !strings.Contains(fields, `"`+field+`"`) {
			t.Errorf("the access log has no %s", field)
		}
	}
}

// TestRelease checks that a release only changes affected resources: a version is only an output,
// and a program its functions.
func TestRelease(t *testing.T) {
	endpoints := api.Endpoints()[:2]
	first := synthesize(t, map[string]any{"version": "1.2.3+abc"}, endpoints)
	for _, test := range []struct {
		name    string
		changed []string
		want    []string // types of differing resources
	}{
		{"version alone", nil, nil},
		{"the program of the endpoints", []string{"api"}, []string{"AWS::Lambda::Function", "AWS::Lambda::Function"}},
		{"another program", []string{"relay"}, []string{"AWS::Lambda::Function"}},
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
		path, ok := strings.CutPrefix(f.Properties["Description"].(string), "POST /")
		if got := f.Properties["Handler"]; ok && got != path {
			t.Errorf("%s has the handler %v, want %s", id, got, path)
		}
	}
}

// checkAlarmCosts checks the price of the alarms in a column of README.md's table of an idle stage.
func (m made) checkAlarmCosts(t *testing.T, column int) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	must.Do(t, err)
	row := regexp.MustCompile(`(?m)^\| alarms \| \$([0-9.]+) \| \$([0-9.]+) \|`).FindStringSubmatch(string(readme))
	if n := len(m.ofType("AWS::CloudWatch::Alarm")); row == nil || row[column] != fmt.Sprintf("%.2f", 0.10*float64(n)) {
		t.Errorf("%d alarms at $0.10 are in README.md as %q", n, row)
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
	m.checkAlarmCosts(t, 1)
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
	// Other stages of the AWS account have firewalls too.
	firewall := at(m.only(t, "AWS::WAFv2::WebACL").Properties, "VisibilityConfig.MetricName")
	blocked := value(t, m.resources[m.idOf(t, "AlarmRequestsBlocked")].Properties["Dimensions"])
	if firewall != "collabdata-prod" || !strings.Contains(blocked, `{"Name":"WebACL","Value":"collabdata-prod"}`) {
		t.Errorf("the firewall's metric is %v, and its alarm looks at %s", firewall, blocked)
	}
	// CloudWatch counts throttles of indexes separately from those of tables.
	if !throttled[keys.IndexOrg] {
		t.Errorf("no alarm when %s refuses writes", keys.IndexOrg)
	}
	if want := map[string]bool{metrics.MailsHeld: true, metrics.TaskAge: true, metrics.TasksFailed: true, metrics.HintsAge: true, "ConnectionsRefused": true}; !maps.Equal(alarmed, want) {
		t.Errorf("alarms on our own metrics %v, want %v", alarmed, want)
	}
	dashboard, err := json.Marshal(m.only(t, "AWS::CloudWatch::Dashboard").Properties["DashboardBody"])
	must.Do(t, err)
	for _, figure := range []string{
		metrics.Events, metrics.Deliveries, metrics.DeliveryRetries, metrics.DeliveryFailures, metrics.WebhooksDisabled, metrics.MailsHeld,
		metrics.Unreadable, metrics.TasksFailed, metrics.TaskAge, metrics.Undeliverable, metrics.ReportsDropped,
	} {
		if !strings.Contains(string(dashboard), `\"`+figure+`\"`) {
			t.Errorf("%s is not on the dashboard", figure)
		}
	}
}

func TestGatewayErrors(t *testing.T) {
	// All response types of a REST API in its documentation.
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

// A page also accepts GET. Operations of persons answer preflight requests.
func TestPublic(t *testing.T) {
	page := rpc.Endpoint{Path: "/v2/pages/show", Grants: rpc.ReadTable, Public: true}
	back := rpc.Endpoint{Path: "/v2/things/get", Grants: rpc.ReadTable}
	m := synthesize(t, nil, []rpc.Endpoint{api.Endpoints()[0], page, back})
	got := map[string][]string{}
	for path, methods := range m.definition(t).Paths {
		got[path] = slices.Sorted(maps.Keys(methods))
	}
	want := map[string][]string{api.Endpoints()[0].Path: {"options", "post"}, "/v2/pages/show": {"get", "post"}, "/v2/things/get": {"post"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	if len(m.findings) > 0 {
		t.Errorf("findings of cdk-nag: %v", m.findings)
	}
}
