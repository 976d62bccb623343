package main

import (
	"strings"

	"collabdata/shared/api/rpc"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

const (
	gatewayMilliseconds = (functionSeconds + 1) * 1_000 // gateway's timeout for a function
	minCompression      = 1_000                         // bytes of a response; smaller ones hardly shrink
)

// definition returns the API as OpenAPI with API Gateway's extensions. Separate CloudFormation
// resources for paths, methods and responses would add two resources per endpoint, to at most 500
// in a stack. The definition must include the gateway responses, because each deployment of a
// definition removes others.
func (s *service) definition(
	endpoints []rpc.Endpoint, functions map[string]awslambda.Function,
) map[string]any {
	invokers := s.addInvokers(endpoints, functions)
	paths := map[string]any{}
	for _, e := range endpoints {
		operation := map[string]any{
			"responses": map[string]any{},
			"x-amazon-apigateway-integration": map[string]any{
				"type":            "aws_proxy",
				"httpMethod":      "POST",
				"uri":             s.invocation(functions[e.Path]),
				"credentials":     invokers[noun(e)].RoleArn(),
				"timeoutInMillis": gatewayMilliseconds,
			},
		}
		methods := map[string]any{"post": operation}
		if e.Public { // an HTML page
			methods["get"] = operation
		}
		if e.Person != rpc.BackEnd {
			methods["options"] = preflight()
		}
		paths[e.Path] = methods
	}
	responses := map[string]any{}
	for _, e := range gatewayErrors(s.settings.Headers) {
		responses[e.kind] = e.definition()
	}
	// This repeats properties of the API, because an update may reset them otherwise.
	definition := map[string]any{
		"openapi": "3.0.1",
		// Updates take the name and description from here, not from the API's properties.
		"info":  map[string]any{"title": s.stack.StackName(), "description": s.stack.TemplateOptions().Description(), "version": "2"},
		"paths": paths,
		"x-amazon-apigateway-minimum-compression-size": minCompression,
		"x-amazon-apigateway-security-policy":          securityPolicy,
		"x-amazon-apigateway-endpoint-access-mode":     accessMode,
		"x-amazon-apigateway-gateway-responses":        responses,
	}
	if s.settings.CustomDomain != "" {
		definition["servers"] = []any{map[string]any{
			"x-amazon-apigateway-endpoint-configuration": map[string]any{"disableExecuteApiEndpoint": s.settings.GatewayAddress == "closed"},
		}}
	}
	return definition
}

// preflight returns the operation for CORS preflight requests. The function then checks the allowed
// origins of the token's account.
func preflight() map[string]any {
	parameters, headers := map[string]any{}, map[string]any{}
	for name, value := range rpc.Preflight {
		parameters["method.response.header."+name] = "'" + value + "'"
		headers[name] = map[string]any{"schema": map[string]any{"type": "string"}}
	}
	return map[string]any{
		"responses": map[string]any{"204": map[string]any{"headers": headers}},
		"x-amazon-apigateway-integration": map[string]any{
			"type":             "mock",
			"requestTemplates": map[string]any{"application/json": `{"statusCode": 204}`},
			"responses":        map[string]any{"default": map[string]any{"statusCode": "204", "responseParameters": parameters}},
		},
	}
}

// invocation returns the URI of a function for the gateway.
func (s *service) invocation(f awslambda.Function) *string {
	return s.stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("apigateway"), Account: jsii.String("lambda"), Resource: jsii.String("path"),
		ResourceName: jsii.String("2015-03-31/functions/" + *f.FunctionArn() + "/invocations"),
	})
}

// noun returns an endpoint's resource, such as commentannotations.
func noun(e rpc.Endpoint) string { return strings.Split(e.Path, "/")[2] }

// addInvokers adds one role per noun that allows the gateway to call its functions, and returns the
// roles by noun. A permission per function would add a resource each, and a single role would
// exceed 10,240 characters.
func (s *service) addInvokers(
	endpoints []rpc.Endpoint, functions map[string]awslambda.Function,
) map[string]awsiam.IRole {
	var nouns []string
	invoked := map[string][]string{}
	for _, e := range endpoints {
		if invoked[noun(e)] == nil {
			nouns = append(nouns, noun(e))
		}
		invoked[noun(e)] = append(invoked[noun(e)], *functions[e.Path].FunctionArn())
	}
	roles := map[string]awsiam.IRole{}
	for _, n := range nouns {
		roles[n] = s.addRole(s.stack, "Gateway-"+n, "apigateway.amazonaws.com",
			[]awsiam.PolicyStatement{allow([]string{"lambda:InvokeFunction"}, invoked[n]...)}).WithoutPolicyUpdates(nil)
	}
	return roles
}
