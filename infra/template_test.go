package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collabdata/shared/keys"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"

	"github.com/google/go-cmp/cmp"
)

// telling lists properties with values in the golden file, by resource type. Other tests check
// rights, the table, the gateway's definition, the firewall, and the retention of logs.
var telling = map[string][]string{
	"AWS::ApiGateway::Account":       {"CloudWatchRoleArn"},
	"AWS::ApiGateway::Deployment":    {"RestApiId"},
	"AWS::ApiGateway::RestApi":       {"Name", "EndpointConfiguration.Types.0", "MinimumCompressionSize", "SecurityPolicy", "EndpointAccessMode"},
	"AWS::ApiGateway::Stage":         {"StageName", "TracingEnabled", "MethodSettings.0.ThrottlingRateLimit", "MethodSettings.0.ThrottlingBurstLimit"},
	"AWS::ApiGatewayV2::Api":         {"ProtocolType", "RouteSelectionExpression"},
	"AWS::ApiGatewayV2::Integration": {"IntegrationType", "CredentialsArn", "TemplateSelectionExpression", "RequestTemplates"},
	"AWS::ApiGatewayV2::IntegrationResponse": {
		"IntegrationId", "IntegrationResponseKey", "TemplateSelectionExpression", "ResponseTemplates",
	},
	"AWS::ApiGatewayV2::Route":         {"RouteKey", "AuthorizationType", "Target", "RouteResponseSelectionExpression"},
	"AWS::ApiGatewayV2::RouteResponse": {"RouteId", "RouteResponseKey"},
	"AWS::ApiGatewayV2::Stage": {
		"StageName", "AutoDeploy", "DefaultRouteSettings.ThrottlingRateLimit", "DefaultRouteSettings.ThrottlingBurstLimit", "RouteSettings",
	},
	"AWS::Budgets::Budget": {"Budget.BudgetLimit.Amount", "NotificationsWithSubscribers"},
	"AWS::CloudWatch::Alarm": {
		"Namespace", "MetricName", "Statistic", "ExtendedStatistic", "Threshold", "Period", "DatapointsToAlarm", "EvaluationPeriods",
		"TreatMissingData",
	},
	"AWS::CloudWatch::Dashboard": {"DashboardName"},
	"AWS::DynamoDB::Table": {
		"BillingMode", "DeletionProtectionEnabled", "StreamSpecification.StreamViewType", "SSESpecification", "PointInTimeRecoverySpecification",
	},
	"AWS::Events::Rule":               {"ScheduleExpression", "State", "Targets.0.Arn", "Targets.0.RetryPolicy"},
	"AWS::IAM::Role":                  {"AssumeRolePolicyDocument.Statement.0.Principal.Service"},
	"AWS::Lambda::EventInvokeConfig":  {"FunctionName", "MaximumRetryAttempts", "MaximumEventAgeInSeconds"},
	"AWS::Lambda::EventSourceMapping": {"EventSourceArn", "BatchSize", "ScalingConfig.MaximumConcurrency"},
	"AWS::Lambda::Function":           {"MemorySize", "Timeout", "RecursiveLoop"},
	"AWS::Lambda::Permission":         {"FunctionName", "Principal", "SourceArn"},
	"AWS::Logs::LogGroup":             {"RetentionInDays"},
	"AWS::Logs::MetricFilter":         {"LogGroupName", "FilterPattern"},
	"AWS::Logs::QueryDefinition":      {"Name"},
	"AWS::SNS::Subscription":          {"Endpoint"},
	"AWS::SNS::Topic":                 {},
	"AWS::SNS::TopicPolicy":           {"Topics.0"},
	"AWS::SQS::Queue": {
		"VisibilityTimeout", "MessageRetentionPeriod", "RedrivePolicy.deadLetterTargetArn", "RedrivePolicy.maxReceiveCount",
	},
	"AWS::SQS::QueuePolicy":         {"Queues.0", "PolicyDocument.Statement.0.Condition"},
	"AWS::WAFv2::WebACL":            {"Scope", "Rules"},
	"AWS::WAFv2::WebACLAssociation": {"WebACLArn"},
}

// lines returns the resources and outputs of a stack, one per line.
func (m made) lines(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(m.resources)) {
		r := m.resources[id]
		properties, known := telling[r.Type]
		if !known {
			t.Errorf("resources of type %s have no telling properties", r.Type)
		}
		if r.Type == "AWS::ApiGateway::Deployment" {
			id = "ApiDeployment…" // followed by a hash of the definition
		}
		line := []string{id, strings.TrimPrefix(r.Type, "AWS::")}
		if r.DeletionPolicy != "" {
			line = append(line, r.DeletionPolicy)
		}
		for _, path := range properties {
			if v := at(r.Properties, path); v != nil {
				line = append(line, value(t, v))
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	for _, name := range slices.Sorted(maps.Keys(m.outputs)) {
		lines = append(lines, "output "+name)
	}
	return lines
}

// at returns a nested value, or nil.
func at(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch inner := v.(type) {
		case map[string]any:
			v = inner[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(inner) {
				return nil
			}
			v = inner[i]
		default:
			return nil
		}
	}
	return v
}

var (
	reference = regexp.MustCompile(`^{"(?:Ref|Fn::GetAtt)":\[?"(\w+)"(?:,"Arn"\])?}$`)
	word      = regexp.MustCompile(`^"(\S+)"$`)
)

// value formats a value, with references as logical ids.
func value(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must.Do(t, err)
	return word.ReplaceAllString(reference.ReplaceAllString(string(text), "$1"), "$1")
}

// TestTemplate checks the resources with their logical ids. A changed id would delete and recreate
// a resource.
func TestTemplate(t *testing.T) {
	golden.Check(t, "testdata/resources.txt", strings.Join(production(t).lines(t), "\n")+"\n")
}

// TestTable checks that the table matches package keys.
func TestTable(t *testing.T) {
	table := production(t).only(t, "AWS::DynamoDB::Table").Properties
	pair := func(of any) (partition, sort string) {
		if at(of, "KeySchema.0.KeyType") != "HASH" || at(of, "KeySchema.1.KeyType") != "RANGE" {
			t.Errorf("key types of %v", of)
		}
		return fmt.Sprint(at(of, "KeySchema.0.AttributeName")), fmt.Sprint(at(of, "KeySchema.1.AttributeName"))
	}
	var got []keys.Index
	for _, ix := range table["GlobalSecondaryIndexes"].([]any) {
		made := keys.Index{Name: fmt.Sprint(at(ix, "IndexName"))}
		made.PartitionKey, made.SortKey = pair(ix)
		for _, name := range at(ix, "Projection.NonKeyAttributes").([]any) {
			made.Projected = append(made.Projected, fmt.Sprint(name))
		}
		if kind := at(ix, "Projection.ProjectionType"); kind != "INCLUDE" {
			t.Errorf("%s projects %v", made.Name, kind)
		}
		got = append(got, made)
	}
	if diff := cmp.Diff(keys.Indexes(), got); diff != "" {
		t.Errorf("indexes (-keys +template):\n%s", diff)
	}
	if pk, sk := pair(table); pk != keys.PK || sk != keys.SK {
		t.Errorf("the keys are %s and %s", pk, sk)
	}
	expiry := map[string]any{"AttributeName": keys.Expires, "Enabled": true}
	if diff := cmp.Diff(expiry, table["TimeToLiveSpecification"]); diff != "" {
		t.Errorf("expiry (-want +got):\n%s", diff)
	}
	for _, a := range table["AttributeDefinitions"].([]any) {
		if kind := at(a, "AttributeType"); kind != "S" {
			t.Errorf("%v is of type %v", at(a, "AttributeName"), kind)
		}
	}
}

// TestDeadLetters checks that a dead-letter queue keeps messages for two weeks after five failures.
func TestDeadLetters(t *testing.T) {
	m := production(t)
	dead := map[string]bool{}
	for id, q := range m.ofType("AWS::SQS::Queue") {
		target := at(q.Properties, "RedrivePolicy.deadLetterTargetArn")
		if target == nil {
			if kept := q.Properties["MessageRetentionPeriod"]; kept != 14*24*3600.0 {
				t.Errorf("dead letters in %s are kept for %v s", id, kept)
			}
			continue
		}
		name := value(t, target)
		if dead[name] || m.resources[name].Type != "AWS::SQS::Queue" || at(q.Properties, "RedrivePolicy.maxReceiveCount") != 5.0 {
			t.Errorf("%s: %v", id, q.Properties["RedrivePolicy"])
		}
		dead[name] = true
	}
	for id, source := range m.polls() {
		if got := at(source.Properties, "FunctionResponseTypes.0"); got != "ReportBatchItemFailures" {
			t.Errorf("%s: one message that fails brings back all of its batch: %v", id, got)
		}
	}
	if len(dead) != 2 {
		t.Errorf("queues of dead letters: %v", dead)
	}
}
