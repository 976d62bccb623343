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
	gatewayMilliseconds = (functionSeconds + 1) * 1_000 // how long the gateway waits for a function
)

// definition is the gateway's API in OpenAPI with API Gateway's extensions, which it is made of in one piece: CloudFormation's own
// resources for paths, methods and gateway responses would be two more for each endpoint, of 500 that a stack may have, and
// of an API that is defined in one piece each deployment would take the gateway responses away.
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
		if e.Public { // a page for people
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
	definition := map[string]any{
		"openapi": "3.0.1",
		// An update by a definition takes name and description from it, whatever the API's properties say.
		"info":                                  map[string]any{"title": s.stack.StackName(), "description": s.stack.TemplateOptions().Description(), "version": "2"},
		"paths":                                 paths,
		"x-amazon-apigateway-gateway-responses": responses,
	}
	if s.settings.CustomDomain != "" { // as the API's property says: an update by a definition may reset what that leaves out
		definition["servers"] = []any{map[string]any{
			"x-amazon-apigateway-endpoint-configuration": map[string]any{"disableExecuteApiEndpoint": true},
		}}
	}
	return definition
}

// preflight is the operation by which the gateway answers a browser that asks whether a page of another origin may call: the function then
// answers for the origins of the token's account.
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

// invocation is the URI by which the gateway calls a function.
func (s *service) invocation(f awslambda.Function) *string {
	return s.stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("apigateway"), Account: jsii.String("lambda"), Resource: jsii.String("path"),
		ResourceName: jsii.String("2015-03-31/functions/" + *f.FunctionArn() + "/invocations"),
	})
}

// noun is what an endpoint is about, such as commentannotations.
func noun(e rpc.Endpoint) string { return strings.Split(e.Path, "/")[2] }

// addInvokers adds the roles by which the gateway calls the functions of each noun, and those alone, and returns them by noun. A permission
// on each function would be one more resource for each, and the functions' names in one role would soon be more than the 10,240 characters
// that a role may have.
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
