package main

import (
	"encoding/json"
	"strings"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/auth"
	"collabdata/shared/deadline"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// authorizerSeconds is how long the gateway remembers a verdict of the authorizer: a revoked token works that much longer.
const authorizerSeconds = 60

// Seconds that the gateway waits for a function, and that a function has: the function gives up first and answers for itself.
const (
	gatewaySeconds  = functionSeconds + 1
	functionSeconds = float64(deadline.Function / time.Second)
)

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
	requireTLS(gateway)
	if s.settings.CustomDomain != "" {
		requireTLS(gateway.DomainName())
	}
	// The gateway makes the log of its own errors by this name where there is none, to be kept for ever.
	errorLog := s.addLogGroup(s.stack, "ErrorLog", "API-Gateway-Execution-Logs_"+*gateway.RestApiId()+"/"+s.settings.Stage)
	gateway.DeploymentStage().Node().AddDependency(errorLog)
	verdict := awsapigateway.NewRequestAuthorizer(s.stack, jsii.String("Credentials"), &awsapigateway.RequestAuthorizerProps{
		Handler:         authorizer,
		AssumeRole:      invoker,
		IdentitySources: jsii.Strings(header(auth.KeyHeader), header(auth.TokenHeader)),
		ResultsCacheTtl: awscdk.Duration_Seconds(jsii.Number(authorizerSeconds)),
	})
	for _, e := range endpoints {
		integration := awsapigateway.NewIntegration(&awsapigateway.IntegrationProps{
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
		})
		resource := gateway.Root().ResourceForPath(&e.Path)
		if e.Public {
			for _, method := range []string{"GET", "POST"} {
				m := resource.AddMethod(&method, integration, &awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_NONE})
				const reason = "A page for people who have no credentials: the function checks the token of its address."
				suppress(m, "AwsSolutions-APIG4", reason)
				suppress(m, "AwsSolutions-COG4", reason)
			}
			continue
		}
		method := resource.AddMethod(jsii.String("POST"), integration,
			&awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_CUSTOM, Authorizer: verdict})
		suppress(method, "AwsSolutions-COG4", "Callers are back ends with an API key and a token, which the authorizer checks; no users sign in.")
	}
	for _, e := range gatewayErrors() {
		gateway.AddGatewayResponse(jsii.String(e.kind), e.response())
	}
	s.addFirewall(gateway)
	s.url = s.baseURL(gateway)
	s.output("BaseUrl", "The {base_url} of the interface", s.url)
	suppress(gateway, "AwsSolutions-APIG2", "The functions check every request, and name all its mistakes in our envelope.")
	suppress(gateway.Node().FindChild(jsii.String("CloudWatchRole")), "AwsSolutions-IAM4",
		"The managed policy is the one that API Gateway documents for writing its logs.")
	return gateway, functions
}

// requireTLS lets an address of the gateway, its own or the custom domain, take TLS 1.2 with forward secrecy and TLS 1.3, from callers who
// mean this very host. The gateway's own would take TLS 1.0 otherwise. This version of the CDK has no properties for it.
func requireTLS(address constructs.IConstruct) {
	resource := address.Node().DefaultChild().(awscdk.CfnResource)
	resource.AddPropertyOverride(jsii.String("SecurityPolicy"), jsii.String("SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09"))
	resource.AddPropertyOverride(jsii.String("EndpointAccessMode"), jsii.String("STRICT"))
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
			ThrottlingRateLimit:  jsii.Number(s.settings.StageRate),
			ThrottlingBurstLimit: jsii.Number(2 * s.settings.StageRate),
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
			DomainName:   jsii.String(s.settings.CustomDomain),
			Certificate:  awscertificatemanager.Certificate_FromCertificateArn(s.stack, jsii.String("Certificate"), jsii.String(s.settings.CertificateARN)),
			EndpointType: awsapigateway.EndpointType_REGIONAL,
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
