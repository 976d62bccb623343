package main

import (
	"encoding/json"
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"
)

// gatewayError is an answer that the gateway makes itself, in the envelope that package rpc writes for all others.
type gatewayError struct {
	kind       string // API Gateway's name for the response type
	status     string
	code       collab.Code
	message    string
	retryAfter string // seconds; "" where a repetition does not help
}

// requestID stands for the id of the request where the gateway fills in a text.
const requestID = "$context.requestId"

// body is the answer's, and names the request where package rpc does.
func (e gatewayError) body() string {
	message := e.message
	if e.status >= "500" {
		message += " (request " + requestID + ")"
	}
	return envelope(e.code, message)
}

// headers are the answer's, as the gateway takes them.
func (e gatewayError) headers() map[string]string {
	headers := map[string]string{
		collab.RequestIDHeader:          strings.TrimPrefix(requestID, "$"),
		"Access-Control-Allow-Origin":   "'*'", // pages of persons may read why
		"Access-Control-Expose-Headers": "'" + rpc.Exposed + "'",
	}
	if e.retryAfter != "" {
		headers["Retry-After"] = "'" + e.retryAfter + "'"
	}
	return headers
}

// definition is the answer in the gateway's definition.
func (e gatewayError) definition() map[string]any {
	headers := map[string]any{}
	for name, value := range e.headers() {
		headers["gatewayresponse.header."+name] = value
	}
	return map[string]any{
		"statusCode":         e.status,
		"responseParameters": headers,
		"responseTemplates":  map[string]any{"application/json": e.body()},
	}
}

// resource is the answer as a resource of its own.
func (e gatewayError) resource() *awsapigateway.GatewayResponseOptions {
	headers := map[string]*string{}
	for name, value := range e.headers() {
		headers[name] = &value
	}
	return &awsapigateway.GatewayResponseOptions{
		Type:            awsapigateway.ResponseType_Of(jsii.String(e.kind)),
		StatusCode:      jsii.String(e.status),
		ResponseHeaders: &headers,
		Templates:       &map[string]*string{"application/json": jsii.String(e.body())},
	}
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

// throttled is the message for a caller above one of the rates.
const throttled = "too many requests; try again later"

// gatewayErrors are all the response types that a REST API has; headers are those that carry the credentials.
func gatewayErrors(headers credentials.Headers) []gatewayError {
	const (
		denied      = "the credentials are not valid"
		internal    = "internal error"
		unavailable = "the service does not answer; try again"
	)
	return []gatewayError{
		{"UNAUTHORIZED", "401", collab.Unauthenticated, headers.Required(), ""},
		{"ACCESS_DENIED", "403", collab.PermissionDenied, denied, ""},
		{"INVALID_API_KEY", "403", collab.PermissionDenied, denied, ""},
		{"INVALID_SIGNATURE", "403", collab.PermissionDenied, denied, ""},
		{"EXPIRED_TOKEN", "403", collab.PermissionDenied, denied, ""},
		{"MISSING_AUTHENTICATION_TOKEN", "404", collab.NotFound, rpc.NoOperation, ""}, // API Gateway's name for a path or method it does not have
		{"RESOURCE_NOT_FOUND", "404", collab.NotFound, rpc.NoOperation, ""},
		{"BAD_REQUEST_BODY", "400", collab.InvalidArgument, "the body is not valid", ""},
		{"BAD_REQUEST_PARAMETERS", "400", collab.InvalidArgument, "the parameters are not valid", ""},
		{"REQUEST_TOO_LARGE", "413", collab.InvalidArgument, rpc.BodyRule, ""},
		{"UNSUPPORTED_MEDIA_TYPE", "415", collab.InvalidArgument, "the content type must be application/json", ""},
		{"THROTTLED", "429", collab.ResourceExhausted, throttled, "1"},
		{"QUOTA_EXCEEDED", "429", collab.ResourceExhausted, throttled, "1"},
		{"WAF_FILTERED", "429", collab.ResourceExhausted, throttled, firewallRetryAfter}, // all that the firewall refuses is a rate
		{"AUTHORIZER_FAILURE", "503", collab.Unavailable, unavailable, "1"},
		{"AUTHORIZER_CONFIGURATION_ERROR", "503", collab.Unavailable, unavailable, "1"},
		{"INTEGRATION_FAILURE", "503", collab.Unavailable, unavailable, "1"},
		{"INTEGRATION_TIMEOUT", "504", collab.DeadlineExceeded, "the request took too long", ""},
		{"API_CONFIGURATION_ERROR", "500", collab.Internal, internal, ""},
		{"DEFAULT_4XX", "400", collab.InvalidArgument, "the request is not valid", ""},
		{"DEFAULT_5XX", "500", collab.Internal, internal, ""},
	}
}
