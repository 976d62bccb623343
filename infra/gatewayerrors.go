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

// gatewayError is an error response of the gateway, in the envelope of package rpc.
type gatewayError struct {
	kind       string // API Gateway's name for the response type
	status     string
	code       collab.Code
	message    string
	retryAfter string // seconds; "" if a retry is useless
}

// requestID is the gateway's variable for the request id.
const requestID = "$context.requestId"

// body returns the response's body, with the request id as in package rpc.
func (e gatewayError) body() string {
	message := e.message
	if e.status >= "500" {
		message += " (request " + requestID + ")"
	}
	return envelope(e.code, message)
}

// headers returns the response's headers in the gateway's form.
func (e gatewayError) headers() map[string]string {
	headers := map[string]string{
		collab.RequestIDHeader:          strings.TrimPrefix(requestID, "$"),
		"Access-Control-Allow-Origin":   "'*'", // lets browsers read the error
		"Access-Control-Expose-Headers": "'" + rpc.Exposed + "'",
	}
	if e.retryAfter != "" {
		headers["Retry-After"] = "'" + e.retryAfter + "'"
	}
	return headers
}

// definition returns the response for the gateway's definition.
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

// resource returns the response as a separate resource.
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
		panic(err) // two texts always encode
	}
	return string(text)
}

// throttled is the message for a caller above a rate.
const throttled = "too many requests; try again later"

// gatewayErrors returns all response types of a REST API. headers are the headers of credentials.
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
		// API Gateway's name for an unknown path or method
		{"MISSING_AUTHENTICATION_TOKEN", "404", collab.NotFound, rpc.NoOperation, ""},
		{"RESOURCE_NOT_FOUND", "404", collab.NotFound, rpc.NoOperation, ""},
		{"BAD_REQUEST_BODY", "400", collab.InvalidArgument, "the body is not valid", ""},
		{"BAD_REQUEST_PARAMETERS", "400", collab.InvalidArgument, "the parameters are not valid", ""},
		{"REQUEST_TOO_LARGE", "413", collab.InvalidArgument, rpc.BodyRule, ""},
		{"UNSUPPORTED_MEDIA_TYPE", "415", collab.InvalidArgument, rpc.MediaRule, ""},
		{"THROTTLED", "429", collab.ResourceExhausted, throttled, "1"},
		{"QUOTA_EXCEEDED", "429", collab.ResourceExhausted, throttled, "1"},
		// all rules of the firewall are rates
		{"WAF_FILTERED", "429", collab.ResourceExhausted, throttled, firewallRetryAfter},
		{"AUTHORIZER_FAILURE", "503", collab.Unavailable, unavailable, "1"},
		{"AUTHORIZER_CONFIGURATION_ERROR", "503", collab.Unavailable, unavailable, "1"},
		{"INTEGRATION_FAILURE", "503", collab.Unavailable, unavailable, "1"},
		{"INTEGRATION_TIMEOUT", "504", collab.DeadlineExceeded, "the request took too long", ""},
		{"API_CONFIGURATION_ERROR", "500", collab.Internal, internal, ""},
		{"DEFAULT_4XX", "400", collab.InvalidArgument, "the request is not valid", ""},
		{"DEFAULT_5XX", "500", collab.Internal, internal, ""},
	}
}
