package main

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"collabdata/shared/api/rpc"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// service is a stage's stack under construction.
type service struct {
	stack    awscdk.Stack
	settings Settings
	programs map[string]Program

	key      awskms.IKey // nil for keys of AWS
	table    awsdynamodb.ITable
	events   queue
	calls    queue
	logs     []awslogs.LogGroup       // of the functions
	access   awslogs.LogGroup         // of the gateway
	connects awslogs.LogGroup         // of the gateway of connections
	live     awsapigatewayv2.CfnStage // nil if live is off
	url      *string                  // the {base_url} of the interface
	liveURL  *string                  // of connections; "" for none
	hints    awslambda.Function       // nil if live is off
}

// Program is a compiled program of functions.
type Program struct {
	Folder string // that contains it as bootstrap
	Hash   string // for the function's log
}

// programNames are the folders below functions/. Program api serves every endpoint.
var programNames = []string{"api", "deliver", "relay", "live", "hints"}

// NewStack adds the service to the scope. programs must contain all programNames.
func NewStack(scope constructs.Construct, settings Settings, endpoints []rpc.Endpoint, programs map[string]Program) awscdk.Stack {
	stack := awscdk.NewStack(scope, jsii.String(settings.StackName()), &awscdk.StackProps{
		Description:                 jsii.String("Collaboration data service, stage " + settings.Stage),
		Synthesizer:                 settings.synthesizer,
		SuppressTemplateIndentation: jsii.Bool(true), // the limit for a template is 1 MB
	})
	awscdk.Tags_Of(stack).Add(jsii.String("service"), jsii.String("collabdata"), nil)
	awscdk.Tags_Of(stack).Add(jsii.String("stage"), jsii.String(settings.Stage), nil)
	for tag := range strings.SplitSeq(settings.Tags, ",") {
		if name, value, found := strings.Cut(tag, "="); found {
			awscdk.Tags_Of(stack).Add(&name, &value, nil)
		}
	}

	s := &service{stack: stack, settings: settings, programs: programs, liveURL: jsii.String("")}
	s.addKey()
	s.addTable()
	s.addQueues()
	s.addLive()
	gateway, functions := s.addAPI(endpoints)
	deliver := s.addDelivery()
	s.addMonitoring(gateway, deliver, functions)
	s.addQueries()
	s.output("AuditDays", "Days that the audit log stores acts", jsii.String(strconv.Itoa(settings.AuditDays)))
	s.output("Version", "Deployed version", &settings.Version)
	return stack
}

// function is a Lambda function with its own role and log group.
type function struct {
	name     string // of its log
	program  string // name if ""
	does     string
	timeout  float64 // seconds
	memoryMB float64
	rights   []awsiam.PolicyStatement // besides writing its log and traces
	loops    bool                     // sends messages to itself; disables Lambda's loop detection

	environment map[string]*string // added to the common variables; omits ""
}

// addFunction adds three resources: log group, role and function.
func (s *service) addFunction(f function) awslambda.Function {
	program := s.programs[cmp.Or(f.program, f.name)]
	scope := constructs.NewConstruct(s.stack, jsii.String(strings.ReplaceAll(f.name, "/", "-")))
	logs := s.addLogGroup(scope, "Logs", s.logGroupName(f.name))
	s.logs = append(s.logs, logs)
	rights := append([]awsiam.PolicyStatement{allow([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, *logs.LogGroupArn())}, f.rights...)
	rights = append(rights, s.keyRights(f.rights)...)
	tracing := awslambda.Tracing_DISABLED
	if s.settings.Tracing {
		tracing = awslambda.Tracing_ACTIVE
		rights = append(rights, allow([]string{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, "*"))
	}
	role := s.addRole(scope, "Role", "lambda.amazonaws.com", rights)
	if s.settings.Tracing {
		suppress(role, "AwsSolutions-IAM5", "X-Ray has no resources to name.", "Resource::*")
	}
	loop := awslambda.RecursiveLoop_TERMINATE
	if f.loops {
		loop = awslambda.RecursiveLoop_ALLOW
	}

	environment := map[string]*string{
		"STAGE":                 jsii.String(s.settings.Stage),
		"TABLE_NAME":            s.table.TableName(),
		"EVENTS_QUEUE_URL":      s.events.live.QueueUrl(),
		"ALLOWED_PRIVATE_CIDRS": jsii.String(s.settings.allowedPrivateCIDRs()),
		"WRITES":                jsii.String(s.settings.writes()),
		"API_KEY_HEADER":        jsii.String(s.settings.Headers.Key),
		"AUTH_TOKEN_HEADER":     jsii.String(s.settings.Headers.Token),
		"CODE":                  &program.Hash,
	}
	maps.Copy(environment, f.environment)
	for name, value := range environment {
		if *value == "" {
			delete(environment, name)
		}
	}
	return awslambda.NewFunction(scope, jsii.String("Function"), &awslambda.FunctionProps{
		Description:  jsii.String(f.does),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: s.settings.architecture(),
		Handler:      &f.name,
		Code:         awslambda.Code_FromAsset(&program.Folder, nil),
		Timeout:      awscdk.Duration_Seconds(jsii.Number(f.timeout)),
		MemorySize:   jsii.Number(f.memoryMB),
		Environment:  &environment,
		LogGroup:     logs,
		Tracing:      tracing,

		RecursiveLoop: loop,
		Role:          role.WithoutPolicyUpdates(nil), // only the rights above
	})
}

// addRole adds a role for an AWS service with inline rights. A separate policy would be another
// resource for each role.
func (s *service) addRole(scope constructs.Construct, id, service string, rights []awsiam.PolicyStatement) awsiam.Role {
	return awsiam.NewRole(scope, &id, &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(&service, nil),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"rights": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &rights}),
		},
	})
}

func (s *service) logGroupName(name string) string { return "/" + s.settings.StackName() + "/" + name }

// addLogGroup adds a log, encrypted with CloudWatch's own key unless kmsKey is set. Logs contain
// ids and numbers, but no content or credentials.
func (s *service) addLogGroup(scope constructs.Construct, id, name string) awslogs.LogGroup {
	removal := awscdk.RemovalPolicy_DESTROY
	if s.settings.Logs == "retain" {
		removal = awscdk.RemovalPolicy_RETAIN
	}
	return awslogs.NewLogGroup(scope, &id, &awslogs.LogGroupProps{
		LogGroupName:  &name,
		Retention:     retentions[s.settings.LogRetentionDays],
		RemovalPolicy: removal,
		EncryptionKey: s.key,
	})
}

func (s *service) output(name, does string, value *string) {
	awscdk.NewCfnOutput(s.stack, jsii.String(name), &awscdk.CfnOutputProps{Description: jsii.String(does), Value: value})
}

func allow(actions []string, resources ...string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions: jsii.Strings(actions...), Resources: jsii.Strings(resources...),
	})
}

// suppress suppresses a rule of cdk-nag for the construct; if findings are given, only those.
func suppress(c constructs.IConstruct, rule, reason string, findings ...any) {
	s := &cdknag.NagPackSuppression{Id: jsii.String(rule), Reason: jsii.String(reason)}
	if len(findings) > 0 {
		s.AppliesTo = &findings
	}
	cdknag.NagSuppressions_AddResourceSuppressions(c, &[]*cdknag.NagPackSuppression{s}, nil)
}
