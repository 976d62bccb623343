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
	"github.com/google/go-cmp/cmp"
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

// TestRollbackAlarms checks that the template has the alarms of README.md that undo a deployment.
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

// TestKeyRights checks that the rights of each role to the key are exactly the needs of its rights
// to the table and the queues. The key is one of the stack, or another.
func TestKeyRights(t *testing.T) {
	const own = "arn:aws:kms:eu-west-1:123456789012:key/0a1b-2c"
	for _, kmsKey := range []string{"create", own} {
		s := allSettings()
		s["kmsKey"] = kmsKey
		m, users := synthesize(t, s, api.Endpoints()), 0
		for id, role := range m.ofType("AWS::IAM::Role") {
			want, got := map[string]bool{}, map[string]bool{}
			policies, _ := role.Properties["Policies"].([]any)
			for _, p := range policies {
				for _, s := range list(at(p, "PolicyDocument.Statement")) {
					for _, action := range list(at(s, "Action")) {
						switch service, verb, _ := strings.Cut(action.(string), ":"); service {
						case "kms":
							key, by := value(t, at(s, "Resource")), value(t, at(s, "Condition.StringEquals.kms:ViaService"))
							if kmsKey == own && key != own || kmsKey != own && !strings.HasPrefix(key, "Key") {
								t.Errorf("%s may %s on %s", id, action, key)
							}
							for _, service := range []string{"dynamodb", "sqs"} {
								if strings.Contains(by, `"`+service+`.",{"Ref":"AWS::Region"},".amazonaws.com"`) {
									got[service+" "+verb] = true
								}
							}
							if by == "" {
								t.Errorf("%s may %s without a service", id, action)
							}
						case "dynamodb":
							want["dynamodb Decrypt"], want["dynamodb DescribeKey"] = true, true
							if regexp.MustCompile(`Put|Update|Delete|Write|ConditionCheck`).MatchString(verb) {
								for _, verb := range []string{"Encrypt", "GenerateDataKey", "ReEncryptFrom", "ReEncryptTo"} {
									want["dynamodb "+verb] = true
								}
							}
						case "sqs":
							switch verb {
							case "SendMessage":
								want["sqs Decrypt"], want["sqs GenerateDataKey"] = true, true
							case "ReceiveMessage":
								want["sqs Decrypt"] = true
							}
						}
					}
				}
			}
			if len(want) > 0 {
				users++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", kmsKey, id, diff)
			}
		}
		if users < len(api.Endpoints()) {
			t.Errorf("%d roles use the key", users)
		}
	}
}

// TestKeyPolicyIsDocumented checks that README.md names each service in the policy of the stack's
// key. The owner of another key must allow it as well.
func TestKeyPolicyIsDocumented(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must.Do(t, err)
	_, table, _ := strings.Cut(string(readme), "| principal | actions | condition |")
	table, _, _ = strings.Cut(table, "\n\n")
	services := 0
	for _, s := range synthesize(t, allSettings(), api.Endpoints()[:1]).only(t, "AWS::KMS::Key").Properties["KeyPolicy"].(map[string]any)["Statement"].([]any) {
		service := at(s, "Principal.Service")
		if service == nil {
			continue
		}
		services++
		name := regexp.MustCompile(`[a-z]+\.`).FindString(value(t, service))
		if !strings.Contains(table, "| `"+name) {
			t.Errorf("the table of README.md lacks %v", value(t, service))
		}
	}
	if services != 3 {
		t.Errorf("the policy allows %d services", services)
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
