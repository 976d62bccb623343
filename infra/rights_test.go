package main

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/api"

	"github.com/google/go-cmp/cmp"
)

// grants returns all that a role's policies allow, as texts `action on target if partitions`.
func (m made) grants(t *testing.T, roleID string) []string {
	t.Helper()
	role, ok := m.resources[roleID]
	if !ok || role.Type != "AWS::IAM::Role" {
		t.Fatalf("no role %s", roleID)
	}
	if managed := role.Properties["ManagedPolicyArns"]; managed != nil {
		t.Errorf("%s has managed policies: %v", roleID, managed)
	}
	var grants []string
	for _, p := range role.Properties["Policies"].([]any) {
		for _, s := range list(p.(map[string]any)["PolicyDocument"].(map[string]any)["Statement"]) {
			statement := s.(map[string]any)
			if statement["Effect"] != "Allow" {
				t.Fatalf("%s: unexpected statement %v", roleID, statement)
			}
			condition := ""
			if c := statement["Condition"]; c != nil {
				keys := c.(map[string]any)["ForAllValues:StringLike"].(map[string]any)["dynamodb:LeadingKeys"]
				for _, k := range list(keys) {
					condition += " " + k.(string)
				}
				condition = " if" + condition
			}
			for _, action := range list(statement["Action"]) {
				for _, target := range list(statement["Resource"]) {
					grants = append(grants, action.(string)+" on "+m.describe(t, target)+condition)
				}
			}
		}
	}
	slices.Sort(grants)
	return grants
}

// list is the value as a list: CloudFormation writes a list of one as the one.
func list(v any) []any {
	if l, ok := v.([]any); ok {
		return l
	}
	return []any{v}
}

// describe names a resource of a policy by its logical id without CDK's hash, such as Table or Table/index/index-in.
func (m made) describe(t *testing.T, target any) string {
	t.Helper()
	text, err := json.Marshal(target)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"Fn::GetAtt":\["(\w+?)[0-9A-F]{8}","Arn"\]`).FindStringSubmatch(string(text))
	suffix := regexp.MustCompile(`"(/index/[\w-]+)"`).FindStringSubmatch(string(text))
	switch {
	case names == nil:
		return string(text)
	case suffix != nil:
		return names[1] + suffix[1]
	default:
		return names[1]
	}
}

// roles returns the role of each function, by the function's description.
func (m made) roles(t *testing.T) map[string]string {
	t.Helper()
	roles := map[string]string{}
	for _, f := range m.ofType("AWS::Lambda::Function") {
		role := f.Properties["Role"].(map[string]any)["Fn::GetAtt"].([]any)[0].(string)
		if slices.Contains(slices.Collect(maps.Values(roles)), role) {
			t.Errorf("two functions share the role %s", role)
		}
		roles[f.Properties["Description"].(string)] = role
	}
	return roles
}

// own is what every function may do: write its own log and traces.
func own(grants []string) (rest []string, complete bool) {
	want := map[string]bool{"logs:CreateLogStream": false, "logs:PutLogEvents": false, "xray:PutTelemetryRecords": false, "xray:PutTraceSegments": false}
	for _, g := range grants {
		action, target, _ := strings.Cut(g, " on ")
		if _, ok := want[action]; ok && (strings.HasSuffix(target, "Logs") || target == `"*"`) {
			want[action] = true
			continue
		}
		rest = append(rest, g)
	}
	for _, seen := range want {
		if !seen {
			return rest, false
		}
	}
	return rest, true
}

const (
	data       = " if A#*"
	dataAndDue = " if A#* DUE#*"
	everyPart  = " if A#* DUE#* BACKLOG"
)

// The grants that each word of the table of endpoints stands for, written out: what is not here, no endpoint may do.
var touchGrants = map[api.Touch][]string{
	api.ReadTable: {"dynamodb:BatchGetItem on Table" + data, "dynamodb:GetItem on Table" + data, "dynamodb:Query on Table" + data},
	api.ReadIndexes: {
		"dynamodb:Query on Table/index/index-by", "dynamodb:Query on Table/index/index-in", "dynamodb:Query on Table/index/index-org",
		"dynamodb:Query on Table/index/index-st", "dynamodb:Query on Table/index/index-upd",
	},
	api.WriteTable: {
		"dynamodb:BatchWriteItem on Table" + dataAndDue, "dynamodb:ConditionCheckItem on Table" + dataAndDue, "dynamodb:DeleteItem on Table" + dataAndDue,
		"dynamodb:PutItem on Table" + dataAndDue, "dynamodb:UpdateItem on Table" + dataAndDue,
	},
	api.SendEvents: {"sqs:SendMessage on Events"},
}

func TestEndpointRights(t *testing.T) {
	m := production(t)
	roles := m.roles(t)
	for _, e := range api.Endpoints() {
		var want []string
		for touch, grants := range touchGrants {
			if e.Touches&touch != 0 {
				want = append(want, grants...)
			}
		}
		slices.Sort(want)
		got, complete := own(m.grants(t, roles["POST "+e.Path]))
		if !complete {
			t.Errorf("%s cannot write its own log or traces", e.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s may (-row +role):\n%s", e.Path, diff)
		}
	}
}

func TestWorkerRights(t *testing.T) {
	m := synthesize(t, map[string]any{"mailFrom": "no-reply@example.com"}, api.Endpoints())
	roles := m.roles(t)
	if got, want := len(roles), len(api.Endpoints())+3; got != want {
		t.Errorf("%d functions, want %d", got, want)
	}
	const identities = `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":ses:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":identity/`
	for function, want := range map[string][]string{
		"Checks the credentials of a request": {"dynamodb:GetItem on Table if KEY#* A#*"},
		"Takes events and webhook deliveries from their queues": append([]string{
			"dynamodb:DeleteItem on Table" + dataAndDue, "dynamodb:PutItem on Table" + dataAndDue, "dynamodb:UpdateItem on Table" + dataAndDue,
			"ses:SendEmail on " + identities + `example.com"]]}`,
			"ses:SendEmail on " + identities + `no-reply@example.com"]]}`,
			"sqs:ChangeMessageVisibility on Events", "sqs:ChangeMessageVisibility on Webhooks",
			"sqs:DeleteMessage on Events", "sqs:DeleteMessage on Webhooks",
			"sqs:GetQueueAttributes on Events", "sqs:GetQueueAttributes on Webhooks",
			"sqs:ReceiveMessage on Events", "sqs:ReceiveMessage on Webhooks",
			"sqs:SendMessage on Events", "sqs:SendMessage on Webhooks",
		}, touchGrants[api.ReadTable]...),
		"Sends pending work to the queues again": {
			"dynamodb:DeleteItem on Table" + everyPart, "dynamodb:PutItem on Table" + everyPart, "dynamodb:UpdateItem on Table" + everyPart,
			"dynamodb:GetItem on Table if DUE#*", "dynamodb:Query on Table if DUE#*",
			"sqs:GetQueueAttributes on Events", "sqs:GetQueueAttributes on Webhooks",
			"sqs:SendMessage on Events", "sqs:SendMessage on Webhooks",
		},
	} {
		slices.Sort(want)
		got, complete := own(m.grants(t, roles[function]))
		if !complete {
			t.Errorf("%q cannot write its own log or traces", function)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q may (-want +role):\n%s", function, diff)
		}
	}
}

// No role may do more on a wildcard than send traces, and none is open to another service than its own.
func TestRolesAreNarrow(t *testing.T) {
	m := production(t)
	for id, role := range m.ofType("AWS::IAM::Role") {
		text, err := json.Marshal(role.Properties["Policies"])
		if err != nil {
			t.Fatal(err)
		}
		for _, wild := range regexp.MustCompile(`"\w+:[^"]*\*"`).FindAllString(string(text), -1) {
			t.Errorf("%s may do %s", id, wild)
		}
		trust, err := json.Marshal(role.Properties["AssumeRolePolicyDocument"])
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`"Principal":\{"Service":"(lambda|apigateway)\.amazonaws\.com"\}`).Match(trust) {
			t.Errorf("%s trusts %s", id, trust)
		}
	}
	if got := len(m.ofType("AWS::IAM::Policy")) + len(m.ofType("AWS::IAM::ManagedPolicy")); got != 0 {
		t.Errorf("%d policies beside the roles' inline ones", got)
	}
	for _, p := range m.ofType("AWS::Lambda::Permission") {
		if p.Properties["Principal"] != "events.amazonaws.com" || p.Properties["SourceArn"] == nil {
			t.Errorf("a function is open to %v", p.Properties)
		}
	}
}
