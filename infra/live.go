package main

import (
	"collabdata/shared/keys"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambdaeventsources"
	"github.com/aws/jsii-runtime-go"
)

// addLive adds the gateway of the pages' connections with its function, and the function that reads
// the table's stream.
func (s *service) addLive() {
	if !s.settings.live() {
		return
	}
	gateway := awsapigatewayv2.NewCfnApi(s.stack, jsii.String("Live"), &awsapigatewayv2.CfnApiProps{
		Name: jsii.String(*s.stack.StackName() + "-live"), ProtocolType: jsii.String("WEBSOCKET"),
		// Pings are {"ping": true}, whose value is compared as text; other messages take $default.
		RouteSelectionExpression:  jsii.String("$request.body.ping"),
		DisableExecuteApiEndpoint: s.gatewayClosed(),
	})
	s.liveURL = awscdk.Fn_Join(jsii.String(""), jsii.Strings(
		"https://", *gateway.Ref(), ".execute-api.", *s.stack.Region(), ".", *s.stack.UrlSuffix(), "/", s.settings.Stage,
	))
	if s.settings.CustomDomain != "" {
		s.liveURL = jsii.String("https://" + s.settings.liveDomain()) // a closed gateway accepts posts only here
	}
	environment := map[string]*string{"LIVE_URL": s.liveURL}
	connection := func(method string) string {
		return *s.stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("execute-api"), Resource: gateway.Ref(),
			ResourceName: jsii.String(s.settings.Stage + "/" + method + "/@connections/*"),
		})
	}
	routes := s.addFunction(function{
		name: "live", does: "Starts and ends the connections of pages", timeout: 15, memoryMB: 256, environment: environment,
		rights: []awsiam.PolicyStatement{
			s.allowItems(readItems, dataItems, liveItems, connections, accountItems, signingKeys, providerItems),
			allow([]string{"execute-api:ManageConnections"}, connection("DELETE")),
			s.allowItems(changeItems, liveItems, connections), s.allowItems([]string{"dynamodb:DeleteItem"}, tickets),
		},
	})
	s.addRoutes(gateway, routes)

	stream := *s.table.TableStreamArn()
	s.hints = s.addFunction(function{
		name: "hints", does: "Sends hints about changes to pages, and ends connections without access", timeout: 30, memoryMB: 256, environment: environment,
		rights: []awsiam.PolicyStatement{
			allow([]string{"execute-api:ManageConnections"}, connection("POST"), connection("DELETE")),
			s.allowItems(readItems, dataItems, liveItems, connections, accountItems, providerItems),
			s.allowItems([]string{"dynamodb:DeleteItem", "dynamodb:UpdateItem"}, liveItems, connections),
			allow([]string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"}, stream),
			allow([]string{"dynamodb:ListStreams"}, "*"),
		},
	})
	var filters []*map[string]any
	for _, f := range keys.ChangeFilters() {
		key := map[string]any{}
		for name, patterns := range f {
			key[name] = map[string]any{"S": patterns}
		}
		filters = append(filters, awslambda.FilterCriteria_Filter(&map[string]any{"dynamodb": map[string]any{"Keys": key}}))
	}
	// After three failures, a batch is dropped and does not delay others: pages poll as well.
	// Writes of one document stay in order, even with concurrent runs.
	s.hints.AddEventSource(awslambdaeventsources.NewDynamoEventSource(s.table, &awslambdaeventsources.DynamoEventSourceProps{
		StartingPosition:      awslambda.StartingPosition_TRIM_HORIZON,
		BatchSize:             jsii.Number(500),
		ParallelizationFactor: jsii.Number(max(1, min(10, 10*s.settings.Concurrency/usualConcurrency))),
		RetryAttempts:         jsii.Number(2),
		MaxRecordAge:          awscdk.Duration_Minutes(jsii.Number(1)),
		Enabled:               jsii.Bool(s.settings.Writes),
		Filters:               &filters,
	}))
	for _, f := range []awslambda.Function{routes, s.hints} {
		role := f.Node().Scope().Node().FindChild(jsii.String("Role"))
		suppress(role, "AwsSolutions-IAM5", "Connections have no names before they start; streams are listed without one.")
	}
}

// addRoutes allows the gateway to call the function. The function checks the ticket of a
// connection.
func (s *service) addRoutes(gateway awsapigatewayv2.CfnApi, routes awslambda.Function) {
	invoker := s.addRole(s.stack, "Gateway-live-routes", "apigateway.amazonaws.com",
		[]awsiam.PolicyStatement{allow([]string{"lambda:InvokeFunction"}, *routes.FunctionArn())}).WithoutPolicyUpdates(nil)
	integration := awsapigatewayv2.NewCfnIntegration(s.stack, jsii.String("LiveIntegration"), &awsapigatewayv2.CfnIntegrationProps{
		ApiId: gateway.Ref(), IntegrationType: jsii.String("AWS_PROXY"), IntegrationUri: s.invocation(routes), CredentialsArn: invoker.RoleArn(),
	})
	connects := min(s.settings.ConnectRate, s.settings.StageRate)
	s.connects = s.addLogGroup(s.stack, "LiveLogs", s.logGroupName("live-access"))
	s.live = awsapigatewayv2.NewCfnStage(s.stack, jsii.String("LiveStage"), &awsapigatewayv2.CfnStageProps{
		ApiId: gateway.Ref(), StageName: jsii.String(s.settings.Stage), AutoDeploy: jsii.Bool(true),
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{
			ThrottlingRateLimit: jsii.Number(s.settings.StageRate), ThrottlingBurstLimit: jsii.Number(2 * s.settings.StageRate),
			DataTraceEnabled: jsii.Bool(false), // data traces contain tickets
		},
		RouteSettings: map[string]any{"$connect": map[string]any{
			"ThrottlingRateLimit": connects, "ThrottlingBurstLimit": 2 * connects,
		}},
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
			DestinationArn: s.connects.LogGroupArn(),
			Format: jsii.String(`{"stage":"$context.stage","requestId":"$context.requestId","time":"$context.requestTime",` +
				`"ip":"$context.identity.sourceIp","connection":"$context.connectionId","event":"$context.eventType","status":"$context.status"}`),
		},
	})
	s.addPings(gateway)
	for name, id := range map[string]string{"$connect": "LiveConnect", "$disconnect": "LiveDisconnect", "$default": "LiveMessage"} {
		route := awsapigatewayv2.NewCfnRoute(s.stack, &id, &awsapigatewayv2.CfnRouteProps{
			ApiId: gateway.Ref(), RouteKey: jsii.String(name), AuthorizationType: jsii.String("NONE"),
			Target: jsii.String("integrations/" + *integration.Ref()),
		})
		if name == "$connect" {
			s.live.AddDependency(route) // it configures them
		}
		suppress(route, "AwsSolutions-APIG4", "A connection requires a ticket, which the function checks.")
	}
	if s.settings.CustomDomain != "" {
		s.addLiveDomain(gateway)
	}
}

// addLiveDomain maps a domain of its own to the stage of connections. AWS allows no WebSocket API
// at the domain of a REST API, and no newer policy than TLS_1_2.
func (s *service) addLiveDomain(gateway awsapigatewayv2.CfnApi) {
	domain := awsapigatewayv2.NewCfnDomainName(s.stack, jsii.String("LiveDomain"), &awsapigatewayv2.CfnDomainNameProps{
		DomainName: jsii.String(s.settings.liveDomain()),
		DomainNameConfigurations: []*awsapigatewayv2.CfnDomainName_DomainNameConfigurationProperty{{
			CertificateArn: &s.settings.CertificateARN, EndpointType: jsii.String("REGIONAL"), SecurityPolicy: jsii.String("TLS_1_2"),
		}},
	})
	awsapigatewayv2.NewCfnApiMapping(s.stack, jsii.String("LiveMapping"), &awsapigatewayv2.CfnApiMappingProps{
		ApiId: gateway.Ref(), DomainName: domain.Ref(), Stage: s.live.Ref(),
	})
	s.output("LiveDomainTarget", "Point the DNS record of "+s.settings.liveDomain()+" here", domain.AttrRegionalDomainName())
}

// addPings has the gateway itself answer the pings of pages.
func (s *service) addPings(gateway awsapigatewayv2.CfnApi) {
	const template = "200" // the name of both templates
	integration := awsapigatewayv2.NewCfnIntegration(s.stack, jsii.String("LivePingIntegration"), &awsapigatewayv2.CfnIntegrationProps{
		ApiId: gateway.Ref(), IntegrationType: jsii.String("MOCK"),
		TemplateSelectionExpression: jsii.String(template), RequestTemplates: map[string]string{template: `{"statusCode":200}`},
	})
	awsapigatewayv2.NewCfnIntegrationResponse(s.stack, jsii.String("LivePong"), &awsapigatewayv2.CfnIntegrationResponseProps{
		ApiId: gateway.Ref(), IntegrationId: integration.Ref(), IntegrationResponseKey: jsii.String("$default"),
		TemplateSelectionExpression: jsii.String(template), ResponseTemplates: map[string]string{template: `{"pong":true}`},
	})
	route := awsapigatewayv2.NewCfnRoute(s.stack, jsii.String("LivePing"), &awsapigatewayv2.CfnRouteProps{
		ApiId: gateway.Ref(), RouteKey: jsii.String("true"), AuthorizationType: jsii.String("NONE"),
		Target: jsii.String("integrations/" + *integration.Ref()), RouteResponseSelectionExpression: jsii.String("$default"),
	})
	awsapigatewayv2.NewCfnRouteResponse(s.stack, jsii.String("LivePongResponse"), &awsapigatewayv2.CfnRouteResponseProps{
		ApiId: gateway.Ref(), RouteId: route.Ref(), RouteResponseKey: jsii.String("$default"),
	})
	suppress(route, "AwsSolutions-APIG4", "Only the pages of open connections send messages.")
}
