package main

import (
	"encoding/json"
	"strings"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/collab"
	"collabdata/shared/deadline"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
	"github.com/aws/jsii-runtime-go"
)

// Requests per second that the stage takes of all callers together. Beyond it the gateway answers 429.
const (
	stageRate  = 1000
	stageBurst = 2000
)

// authorizerSeconds is how long the gateway remembers a verdict of the authorizer: a revoked token works that much longer.
const authorizerSeconds = 60

// Seconds that the gateway waits for a function, and that a function has: the function gives up first and answers for itself.
const (
	gatewaySeconds  = functionSeconds + 1
	functionSeconds = float64(deadline.Function / time.Second)
)

const apiKeyHeader = "x-service-api-key"

// addAPI adds the gateway and the function of each endpoint, five resources per endpoint, and returns the functions by their path.
func (s *service) addAPI(endpoints []api.Endpoint) (awsapigateway.RestApi, map[string]awslambda.Function) {
	authorizer := s.addFunction(function{
		name: "authorizer", does: "Checks the credentials of a request", timeout: 10, memoryMB: 512,
		rights: []awsiam.PolicyStatement{s.allowItems([]string{"dynamodb:GetItem"}, apiKeys, accountItems)},
	})
	functions := map[string]awslambda.Function{}
	invoked := []string{*authorizer.FunctionArn()}
	for _, e := range endpoints {
		f := s.addFunction(function{
			name: strings.TrimPrefix(e.Path, "/"), does: "POST " + e.Path, timeout: functionSeconds, memoryMB: 512,
			rights: s.rights(e.Grants),
		})
		functions[e.Path] = f
		invoked = append(invoked, *f.FunctionArn())
	}
	// One role for the gateway: a permission on each function would be one more resource for each.
	invoke := []awsiam.PolicyStatement{allow([]string{"lambda:InvokeFunction"}, invoked...)}
	invoker := s.addRole(s.stack, "GatewayRole", "apigateway.amazonaws.com", invoke).WithoutPolicyUpdates(nil)

	gateway := awsapigateway.NewRestApi(s.stack, jsii.String("Api"), s.gatewayProps())
	gateway.Node().TryRemoveChild(jsii.String("Endpoint")) // an output that BaseUrl says better
	// The gateway makes the log of its own errors by this name where there is none, to be kept for ever.
	errorLog := s.addLogGroup(s.stack, "ErrorLog", "API-Gateway-Execution-Logs_"+*gateway.RestApiId()+"/"+s.settings.Stage)
	gateway.DeploymentStage().Node().AddDependency(errorLog)
	verdict := awsapigateway.NewRequestAuthorizer(s.stack, jsii.String("Credentials"), &awsapigateway.RequestAuthorizerProps{
		Handler:         authorizer,
		AssumeRole:      invoker,
		IdentitySources: jsii.Strings(header(apiKeyHeader), header("x-service-auth-token")),
		ResultsCacheTtl: awscdk.Duration_Seconds(jsii.Number(authorizerSeconds)),
	})
	for _, e := range endpoints {
		method := gateway.Root().ResourceForPath(&e.Path).AddMethod(jsii.String("POST"),
			awsapigateway.NewIntegration(&awsapigateway.IntegrationProps{
				Type:                  awsapigateway.IntegrationType_AWS_PROXY,
				IntegrationHttpMethod: jsii.String("POST"),
				Uri: s.stack.FormatArn(&awscdk.ArnComponents{
					Service: jsii.String("apigateway"), Account: jsii.String("lambda"), Resource: jsii.String("path"),
					ResourceName: jsii.String("2015-03-31/functions/" + *functions[e.Path].FunctionArn() + "/invocations"),
				}),
				Options: &awsapigateway.IntegrationOptions{
					CredentialsRole: invoker,
					Timeout:         awscdk.Duration_Seconds(jsii.Number(gatewaySeconds)),
				},
			}),
			&awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_CUSTOM, Authorizer: verdict})
		suppress(method, "AwsSolutions-COG4", "Callers are back ends with an API key and a token, which the authorizer checks; no users sign in.")
	}
	for _, e := range gatewayErrors() {
		gateway.AddGatewayResponse(jsii.String(e.kind), e.response())
	}
	s.addFirewall(gateway)
	s.output("BaseUrl", "The {base_url} of the interface", s.baseURL(gateway))
	suppress(gateway, "AwsSolutions-APIG2", "The functions check every request, and name all its mistakes in our envelope.")
	suppress(gateway.Node().FindChild(jsii.String("CloudWatchRole")), "AwsSolutions-IAM4",
		"The managed policy is the one that API Gateway documents for writing its logs.")
	return gateway, functions
}

func header(name string) string { return "method.request.header." + name }

func (s *service) gatewayProps() *awsapigateway.RestApiProps {
	props := &awsapigateway.RestApiProps{
		RestApiName:    s.stack.StackName(),
		Description:    s.stack.TemplateOptions().Description(),
		EndpointTypes:  &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		CloudWatchRole: jsii.Bool(true),

		CloudWatchRoleRemovalPolicy: s.settings.removal(), // other APIs of the AWS account log through it too
		DeployOptions: &awsapigateway.StageOptions{
			StageName:            jsii.String(s.settings.Stage),
			ThrottlingRateLimit:  jsii.Number(stageRate),
			ThrottlingBurstLimit: jsii.Number(stageBurst),
			TracingEnabled:       jsii.Bool(true),
			LoggingLevel:         awsapigateway.MethodLoggingLevel_ERROR,
			DataTraceEnabled:     jsii.Bool(false), // it would print credentials and bodies
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(s.addLogGroup(s.stack, "Logs", s.logGroupName("access"))),
			AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLogFormat())),
		},
	}
	if s.settings.CustomDomain != "" {
		props.DisableExecuteApiEndpoint = jsii.Bool(true)
		props.DomainName = &awsapigateway.DomainNameOptions{
			DomainName:     jsii.String(s.settings.CustomDomain),
			Certificate:    awscertificatemanager.Certificate_FromCertificateArn(s.stack, jsii.String("Certificate"), jsii.String(s.settings.CertificateARN)),
			EndpointType:   awsapigateway.EndpointType_REGIONAL,
			SecurityPolicy: awsapigateway.SecurityPolicy_TLS_1_2,
		}
	}
	return props
}

// accessLogFormat names no header and no body: credentials are in the one, users' content in the other.
func accessLogFormat() string {
	format, err := json.Marshal(map[string]string{
		"requestId":          "$context.requestId",
		"time":               "$context.requestTime",
		"ip":                 "$context.identity.sourceIp",
		"method":             "$context.httpMethod",
		"resource":           "$context.resourcePath",
		"status":             "$context.status",
		"error":              "$context.error.responseType",
		"account":            "$context.authorizer.accountId",
		"latency":            "$context.responseLatency",
		"integrationLatency": "$context.integration.latency",
		"authorizerLatency":  "$context.authorizer.latency",
		"requestLength":      "$context.requestLength",
		"responseLength":     "$context.responseLength",
		"waf":                "$context.waf.status",
		"trace":              "$context.xrayTraceId",
	})
	if err != nil {
		panic(err) // a map of strings always has a JSON form
	}
	return string(format)
}

func (s *service) baseURL(gateway awsapigateway.RestApi) *string {
	if s.settings.CustomDomain != "" {
		s.output("CustomDomainTarget", "Point the DNS record of "+s.settings.CustomDomain+" here", gateway.DomainName().DomainNameAliasDomainName())
		return jsii.String("https://" + s.settings.CustomDomain)
	}
	// Url ends with a slash, and {base_url} is followed by one.
	return awscdk.Fn_Join(jsii.String(""), jsii.Strings("https://", *gateway.RestApiId(), ".execute-api.", *s.stack.Region(), ".", *s.stack.UrlSuffix(),
		"/", *gateway.DeploymentStage().StageName()))
}

// gatewayError is an answer that the gateway makes itself, in the envelope that package rpc writes for all others.
type gatewayError struct {
	kind       string // API Gateway's name for the response type
	status     string
	code       collab.Code
	message    string
	retryAfter string // seconds; "" where a repetition does not help
}

func (e gatewayError) response() *awsapigateway.GatewayResponseOptions {
	options := &awsapigateway.GatewayResponseOptions{
		Type:       awsapigateway.ResponseType_Of(jsii.String(e.kind)),
		StatusCode: jsii.String(e.status),
		Templates:  &map[string]*string{"application/json": jsii.String(envelope(e.code, e.message))},
	}
	if e.retryAfter != "" {
		options.ResponseHeaders = &map[string]*string{"Retry-After": jsii.String("'" + e.retryAfter + "'")}
	}
	return options
}

func envelope(code collab.Code, message string) string {
	var body struct {
		Error struct {
			Message string      `json:"message"`
			Status  collab.Code `json:"status"`
		} `json:"error"`
	}
	body.Error.Message, body.Error.Status = message, code
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // two texts always have a JSON form
	}
	return string(text)
}

// gatewayErrors are all the response types that a REST API has.
func gatewayErrors() []gatewayError {
	const (
		denied      = "the credentials are not valid"
		notFound    = "there is no such operation; every operation is a POST"
		internal    = "internal error"
		unavailable = "the service does not answer; try again"
		throttled   = "too many requests; try again later"
	)
	return []gatewayError{
		{"UNAUTHORIZED", "401", collab.Unauthenticated, "the headers x-service-api-key and x-service-auth-token are required", ""},
		{"ACCESS_DENIED", "403", collab.PermissionDenied, denied, ""},
		{"INVALID_API_KEY", "403", collab.PermissionDenied, denied, ""},
		{"INVALID_SIGNATURE", "403", collab.PermissionDenied, denied, ""},
		{"EXPIRED_TOKEN", "403", collab.PermissionDenied, denied, ""},
		{"MISSING_AUTHENTICATION_TOKEN", "404", collab.NotFound, notFound, ""}, // API Gateway's name for a path or method it does not have
		{"RESOURCE_NOT_FOUND", "404", collab.NotFound, notFound, ""},
		{"BAD_REQUEST_BODY", "400", collab.InvalidArgument, "the body is not valid", ""},
		{"BAD_REQUEST_PARAMETERS", "400", collab.InvalidArgument, "the parameters are not valid", ""},
		{"REQUEST_TOO_LARGE", "413", collab.InvalidArgument, "the body is larger than 5000000 bytes", ""},
		{"UNSUPPORTED_MEDIA_TYPE", "415", collab.InvalidArgument, "the content type must be application/json", ""},
		{"THROTTLED", "429", collab.ResourceExhausted, throttled, "1"},
		{"QUOTA_EXCEEDED", "429", collab.ResourceExhausted, throttled, "1"},
		{"WAF_FILTERED", "429", collab.ResourceExhausted, throttled, firewallRetryAfter}, // the firewall's only rule is the rate
		{"AUTHORIZER_FAILURE", "503", collab.Unavailable, unavailable, "1"},
		{"AUTHORIZER_CONFIGURATION_ERROR", "503", collab.Unavailable, unavailable, "1"},
		{"INTEGRATION_FAILURE", "503", collab.Unavailable, unavailable, "1"},
		{"INTEGRATION_TIMEOUT", "504", collab.DeadlineExceeded, "the request took too long", ""},
		{"API_CONFIGURATION_ERROR", "500", collab.Internal, internal, ""},
		{"DEFAULT_4XX", "400", collab.InvalidArgument, "the request is not valid", ""},
		{"DEFAULT_5XX", "500", collab.Internal, internal, ""},
	}
}

// firewallRetryAfter is about how long the firewall takes to notice that a key has slowed down, in seconds.
const firewallRetryAfter = "60"

// addFirewall limits the requests of each API key. A local cloud has no firewall to attach: it only gets the rule.
func (s *service) addFirewall(gateway awsapigateway.RestApi) {
	visible := func(metric string) *awswafv2.CfnWebACL_VisibilityConfigProperty {
		return &awswafv2.CfnWebACL_VisibilityConfigProperty{
			CloudWatchMetricsEnabled: jsii.Bool(true), MetricName: jsii.String(metric), SampledRequestsEnabled: jsii.Bool(false),
		}
	}
	firewall := awswafv2.NewCfnWebACL(s.stack, jsii.String("Firewall"), &awswafv2.CfnWebACLProps{
		Scope:            jsii.String("REGIONAL"),
		DefaultAction:    &awswafv2.CfnWebACL_DefaultActionProperty{Allow: &awswafv2.CfnWebACL_AllowActionProperty{}},
		VisibilityConfig: visible("firewall"),
		CustomResponseBodies: map[string]any{"throttled": &awswafv2.CfnWebACL_CustomResponseBodyProperty{
			ContentType: jsii.String("APPLICATION_JSON"),
			Content:     jsii.String(envelope(collab.ResourceExhausted, "too many requests with this API key; try again later")),
		}},
		Rules: &[]*awswafv2.CfnWebACL_RuleProperty{{
			Name:     jsii.String("rate-per-api-key"),
			Priority: jsii.Number(0),
			Statement: &awswafv2.CfnWebACL_StatementProperty{RateBasedStatement: &awswafv2.CfnWebACL_RateBasedStatementProperty{
				AggregateKeyType:    jsii.String("CUSTOM_KEYS"),
				EvaluationWindowSec: jsii.Number(300),
				Limit:               jsii.Number(s.settings.WAFRateLimit),
				CustomKeys: &[]*awswafv2.CfnWebACL_RateBasedStatementCustomKeyProperty{{
					Header: &awswafv2.CfnWebACL_RateLimitHeaderProperty{
						Name:                jsii.String(apiKeyHeader),
						TextTransformations: &[]*awswafv2.CfnWebACL_TextTransformationProperty{{Priority: jsii.Number(0), Type: jsii.String("NONE")}},
					},
				}},
			}},
			Action: &awswafv2.CfnWebACL_RuleActionProperty{Block: &awswafv2.CfnWebACL_BlockActionProperty{
				CustomResponse: &awswafv2.CfnWebACL_CustomResponseProperty{
					ResponseCode:          jsii.Number(429),
					CustomResponseBodyKey: jsii.String("throttled"),
					ResponseHeaders: &[]*awswafv2.CfnWebACL_CustomHTTPHeaderProperty{{
						Name: jsii.String("Retry-After"), Value: jsii.String(firewallRetryAfter),
					}},
				},
			}},
			VisibilityConfig: visible("rate-per-api-key"),
		}},
	})
	if s.settings.Local() {
		suppress(gateway, "AwsSolutions-APIG3", "A local cloud has no association of a firewall.")
		return
	}
	awswafv2.NewCfnWebACLAssociation(s.stack, jsii.String("FirewallAssociation"), &awswafv2.CfnWebACLAssociationProps{
		ResourceArn: gateway.DeploymentStage().StageArn(),
		WebAclArn:   firewall.AttrArn(),
	})
}
