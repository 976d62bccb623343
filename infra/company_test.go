package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// TestPermissionsBoundary checks that every role has the permissions boundary of the CDK's context.
func TestPermissionsBoundary(t *testing.T) {
	settings, err := ReadSettings(allSettings())
	must.Do(t, err)
	context := *features()
	context["@aws-cdk/core:permissionsBoundary"] = map[string]any{"name": "company"}
	app := awscdk.NewApp(&awscdk.AppProps{Context: &context, Outdir: jsii.String(t.TempDir())})
	folder := t.TempDir()
	must.Do(t, os.WriteFile(folder+"/bootstrap", nil, 0o755))
	programs := map[string]Program{}
	for _, name := range programNames {
		programs[name] = Program{folder, "0"}
	}
	template := assertions.Template_FromStack(NewStack(app, settings, api.Endpoints(), programs), nil)
	roles := *template.FindResources(jsii.String("AWS::IAM::Role"), nil)
	for id, role := range roles {
		boundary, err := json.Marshal(at(*role, "Properties.PermissionsBoundary"))
		must.Do(t, err)
		if !strings.Contains(string(boundary), ":policy/company") {
			t.Errorf("the boundary of %s is %s", id, boundary)
		}
	}
	if len(roles) < len(api.Endpoints()) {
		t.Errorf("there are %d roles", len(roles))
	}
}

// TestQueriesAreDocumented checks that README.md has the name of each saved query.
func TestQueriesAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must.Do(t, err)
	for _, query := range production(t).ofType("AWS::Logs::QueryDefinition") {
		name, _, _ := strings.Cut(strings.TrimPrefix(query.Properties["Name"].(string), "collabdata-prod/"), ", part ")
		if !strings.Contains(string(readme), "*"+name+"*") {
			t.Errorf("README.md does not name the query %q", name)
		}
	}
}

// TestRollbackAlarms checks that the alarms of README.md that undo a deployment are in the template.
func TestRollbackAlarms(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must.Do(t, err)
	names := map[string]bool{}
	for _, alarm := range production(t).ofType("AWS::CloudWatch::Alarm") {
		names[alarm.Properties["AlarmName"].(string)] = true
	}
	found := regexp.MustCompile(`ACCOUNT:alarm:([\w-]+)`).FindAllSubmatch(readme, -1)
	for _, alarm := range found {
		if !names[string(alarm[1])] {
			t.Errorf("the template has no alarm %s", alarm[1])
		}
	}
	if len(found) != 2 {
		t.Errorf("README.md names %q", found)
	}
}

// TestFirewallActions checks that each rule of the firewall has an action, and that rules have
// distinct priorities.
func TestFirewallActions(t *testing.T) {
	rules := synthesize(t, allSettings(), api.Endpoints()[:1]).only(t, "AWS::WAFv2::WebACL").Properties["Rules"].([]any)
	for i, r := range rules {
		_, blocks := at(r, "Action.Block").(map[string]any)
		_, group := at(r, "OverrideAction.None").(map[string]any)
		if blocks == group || at(r, "Priority") != float64(i) {
			t.Errorf("rule %d: %v", i, r)
		}
	}
	if len(rules) != 5 {
		t.Errorf("there are %d rules", len(rules))
	}
}

// TestBootstrapPolicy checks that the policy for CloudFormation's execution allows the services of
// the resources, and no others.
func TestBootstrapPolicy(t *testing.T) {
	text, err := os.ReadFile("bootstrap-policy.json")
	must.Do(t, err)
	var policy struct {
		Statement []struct{ Action, Resource any }
	}
	must.Do(t, json.Unmarshal(text, &policy))
	allowed := map[string]bool{"s3": false, "ssm": false} // for assets
	for _, s := range policy.Statement {
		for _, action := range list(s.Action) {
			service, _, _ := strings.Cut(action.(string), ":")
			if _, ok := allowed[service]; !ok {
				allowed[service] = true
			}
			if everything := slices.Contains(list(s.Resource), any("*")); everything && strings.HasSuffix(action.(string), ":*") && service != "apigateway" {
				t.Errorf("%s is allowed on everything", action)
			}
		}
	}
	needed := map[string]string{ // service by the second part of a type
		"ApiGateway": "apigateway", "ApiGatewayV2": "apigateway", "Budgets": "budgets", "CloudWatch": "cloudwatch", "DynamoDB": "dynamodb",
		"Events": "events", "IAM": "iam", "KMS": "kms", "Lambda": "lambda", "Logs": "logs", "SES": "ses", "SNS": "sns", "SQS": "sqs", "WAFv2": "wafv2",
	}
	used := map[string]bool{}
	for _, r := range synthesize(t, allSettings(), api.Endpoints()[:1]).resources {
		part := strings.Split(r.Type, "::")[1]
		if used[needed[part]] = true; !allowed[needed[part]] {
			t.Errorf("the policy does not allow %s", r.Type)
		}
	}
	for service, forResources := range allowed {
		if forResources && !used[service] {
			t.Errorf("the policy allows %s, and no resource needs it", service)
		}
	}
	if compact := strings.Join(strings.Fields(string(text)), ""); len(compact) > 6_144 {
		t.Errorf("the policy has %d characters, the limit of a managed policy is 6,144", len(compact))
	}
}
