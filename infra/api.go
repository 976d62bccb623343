package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/platform"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// functionSeconds is the timeout of an endpoint's function. It is shorter than the gateway's, so
// that the function reports its own timeout.
const functionSeconds = float64(platform.FunctionTime / time.Second)

// addAPI adds the gateway and the functions of the endpoints, and returns the functions by path.
// Each endpoint takes three resources.
func (s *service) addAPI(endpoints []rpc.Endpoint) (awsapigateway.RestApiBase, map[string]awslambda.Function) {
	functions := map[string]awslambda.Function{}
	for _, e := range endpoints {
		f := function{
			name: strings.TrimPrefix(e.Path, "/"), program: "api", does: "POST " + e.Path, timeout: functionSeconds, memoryMB: 512,
			rights: s.rights(e.Grants),
		}
		if !e.Public {
			f.rights = append(f.rights, s.allowItems([]string{"dynamodb:GetItem", "dynamodb:BatchGetItem"}, apiKeys, accountItems, signingKeys))
		}
		if e.Grants&rpc.AddTickets != 0 && s.settings.Writes {
			f.environment = map[string]*string{"LIVE_URL": s.liveURL}
		}
		if e.Grants&rpc.WriteAudit != 0 && s.settings.AuditDays != collab.DefaultAuditDays {
			f.environment = map[string]*string{"AUDIT_DAYS": jsii.String(strconv.Itoa(s.settings.AuditDays))}
		}
		functions[e.Path] = s.addFunction(f)
	}

	gateway := awsapigateway.NewSpecRestApi(s.stack, jsii.String("Api"), s.gatewayProps(s.definition(endpoints, functions)))
	gateway.Node().TryRemoveChild(jsii.String("Endpoint")) // the output BaseUrl replaces it
	requireTLS(gateway)
	if s.settings.CustomDomain != "" {
		requireTLS(gateway.DomainName())
	}
	// If this log did not exist, the gateway would create it without an expiry.
	errorLog := s.addLogGroup(s.stack, "ErrorLog", "API-Gateway-Execution-Logs_"+*gateway.RestApiId()+"/"+s.settings.Stage)
	gateway.DeploymentStage().Node().AddDependency(errorLog)
	// LocalStack ignores those in the definition and deploys only existing ones
	if s.settings.Local() {
		for _, e := range gatewayErrors(s.settings.Headers) {
			gateway.LatestDeployment().Node().AddDependency(gateway.AddGatewayResponse(jsii.String(e.kind), e.resource()))
		}
	}
	s.addFirewall(gateway)
	s.url = s.baseURL(gateway)
	s.output("BaseUrl", "The {base_url} of the interface", s.url)
	suppress(gateway, "AwsSolutions-APIG2", "The functions check every request, and name all its mistakes in our envelope.")
	if account := gateway.Node().TryFindChild(jsii.String("Account")); account != nil && s.live != nil {
		s.live.Node().AddDependency(account) // provides the role for logs
	}
	if role := gateway.Node().TryFindChild(jsii.String("CloudWatchRole")); role != nil {
		suppress(role, "AwsSolutions-IAM4", "The managed policy is the one that API Gateway documents for writing its logs.")
	}
	return gateway, functions
}

const (
	securityPolicy = "SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09" // TLS 1.3, and TLS 1.2 with forward secrecy
	accessMode     = "STRICT"                                  // requests with a matching host name
)

// requireTLS limits the gateway's address or custom domain to securityPolicy and accessMode. By
// default, the gateway's address accepts TLS 1.0. This version of the CDK has no properties for it.
func requireTLS(address constructs.IConstruct) {
	resource := address.Node().DefaultChild().(awscdk.CfnResource)
	resource.AddPropertyOverride(jsii.String("SecurityPolicy"), jsii.String(securityPolicy))
	resource.AddPropertyOverride(jsii.String("EndpointAccessMode"), jsii.String(accessMode))
}

func (s *service) gatewayProps(definition map[string]any) *awsapigateway.SpecRestApiProps {
	s.access = s.addLogGroup(s.stack, "Logs", s.logGroupName("access"))
	props := &awsapigateway.SpecRestApiProps{
		ApiDefinition: awsapigateway.ApiDefinition_FromInline(definition),
		Mode:          awsapigateway.RestApiMode_OVERWRITE, // removes deleted paths
		// The gateway compresses responses if the caller accepts it.
		MinCompressionSize: awscdk.Size_Bytes(jsii.Number(minCompression)),
		RestApiName:        s.stack.StackName(),
		Description:        s.stack.TemplateOptions().Description(),
		EndpointTypes:      &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		CloudWatchRole:     jsii.Bool(s.settings.GatewayLogRole == "create"),

		DeployOptions: &awsapigateway.StageOptions{
			StageName:            jsii.String(s.settings.Stage),
			ThrottlingRateLimit:  jsii.Number(s.settings.StageRate),
			ThrottlingBurstLimit: jsii.Number(2 * s.settings.StageRate),
			TracingEnabled:       jsii.Bool(s.settings.Tracing),
			LoggingLevel:         awsapigateway.MethodLoggingLevel_ERROR,
			DataTraceEnabled:     jsii.Bool(false), // data traces contain credentials and bodies
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(s.access),
			AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLogFormat())),
		},
	}
	if *props.CloudWatchRole { // all APIs of the AWS account in a region share it
		props.CloudWatchRoleRemovalPolicy = s.settings.removal()
	}
	props.DisableExecuteApiEndpoint = s.gatewayClosed()
	if s.settings.CustomDomain != "" {
		props.DomainName = &awsapigateway.DomainNameOptions{
			DomainName: jsii.String(s.settings.CustomDomain),
			Certificate: awscertificatemanager.Certificate_FromCertificateArn(
				s.stack, jsii.String("Certificate"), jsii.String(s.settings.CertificateARN),
			),
			EndpointType: awsapigateway.EndpointType_REGIONAL,
		}
	}
	return props
}

// accessLogFormat omits headers and bodies, which contain credentials and content.
func accessLogFormat() string {
	format, err := json.Marshal(map[string]string{
		"requestId":          "$context.requestId",
		"time":               "$context.requestTime",
		"ip":                 "$context.identity.sourceIp",
		"method":             "$context.httpMethod",
		"resource":           "$context.resourcePath",
		"status":             "$context.status",
		"error":              "$context.error.responseType",
		"latency":            "$context.responseLatency",
		"integrationLatency": "$context.integration.latency",
		"requestLength":      "$context.requestLength",
		"responseLength":     "$context.responseLength",
		"waf":                "$context.waf.status",
		"trace":              "$context.xrayTraceId",
	})
	if err != nil {
		panic(err) // always encodes
	}
	return string(format)
}

// gatewayClosed reports whether a gateway's own address is closed; nil without a custom domain.
func (s *service) gatewayClosed() *bool {
	if s.settings.CustomDomain == "" {
		return nil
	}
	return jsii.Bool(s.settings.GatewayAddress == "closed")
}

func (s *service) baseURL(gateway awsapigateway.RestApiBase) *string {
	if s.settings.CustomDomain != "" {
		s.output(
			"CustomDomainTarget", "Point the DNS record of "+s.settings.CustomDomain+" here", gateway.DomainName().DomainNameAliasDomainName(),
		)
		return jsii.String("https://" + s.settings.CustomDomain)
	}
	// Url ends with a slash; {base_url} has none.
	return awscdk.Fn_Join(
		jsii.String(""),
		jsii.Strings("https://", *gateway.RestApiId(), ".execute-api.", *s.stack.Region(), ".", *s.stack.UrlSuffix(),
			"/", *gateway.DeploymentStage().StageName()),
	)
}
