package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/platform"
)

// errUnauthorized is the one text that the gateway answers with its UNAUTHORIZED response.
var errUnauthorized = errors.New("Unauthorized")

// Authorizer returns the gateway's REQUEST authorizer. Its policy covers the whole stage, as the gateway keeps it for every path that
// the same credentials are sent to. Missing credentials are the gateway's UNAUTHORIZED, wrong ones a Deny; a failure to check them,
// which is logged, is its AUTHORIZER_FAILURE.
func Authorizer(
	c *credentials.Checker, log *slog.Logger,
) func(context.Context, events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
	return func(ctx context.Context, event events.APIGatewayCustomAuthorizerRequestTypeRequest) (events.APIGatewayCustomAuthorizerResponse, error) {
		ctx, cancel := ending(ctx, platform.AnswerTime)
		defer cancel()
		answer, err := authorize(ctx, c, event)
		if err != nil && err != errUnauthorized {
			log.LogAttrs(ctx, slog.LevelError, "authorizer", slog.Any("cause", err))
		}
		return answer, err
	}
}

func authorize(
	ctx context.Context, c *credentials.Checker, event events.APIGatewayCustomAuthorizerRequestTypeRequest,
) (events.APIGatewayCustomAuthorizerResponse, error) {
	var none events.APIGatewayCustomAuthorizerResponse
	stage, err := stageARN(event.MethodArn)
	if err != nil {
		return none, err
	}
	identity, err := c.Check(ctx, headerOf(event.Headers, event.MultiValueHeaders))
	switch collab.CodeOf(err) {
	case "":
	case collab.Unauthenticated:
		return none, errUnauthorized
	case collab.PermissionDenied:
		return policy("nobody", "Deny", stage), nil
	default:
		return none, err
	}
	settings, err := json.Marshal(identity.Settings)
	if err != nil {
		return none, err
	}
	answer := policy(identity.Account, "Allow", stage)
	answer.Context = map[string]any{
		accountKey:  identity.Account,
		apiKeyKey:   identity.APIKey,
		settingsKey: string(settings),
	}
	return answer, nil
}

// stageARN returns the ARN of everything in the stage that a method's ARN (arn:…:api/stage/METHOD/path) lies in.
func stageARN(methodARN string) (string, error) {
	parts := strings.SplitN(methodARN, "/", 3)
	if len(parts) < 3 || !strings.HasPrefix(methodARN, "arn:") {
		return "", fmt.Errorf("the event's methodArn %q is not that of a method", methodARN)
	}
	return parts[0] + "/" + parts[1] + "/*", nil
}

func policy(principal, effect, resource string) events.APIGatewayCustomAuthorizerResponse {
	return events.APIGatewayCustomAuthorizerResponse{
		PrincipalID: principal,
		PolicyDocument: events.APIGatewayCustomAuthorizerPolicy{
			Version:   "2012-10-17",
			Statement: []events.IAMPolicyStatement{{Action: []string{"execute-api:Invoke"}, Effect: effect, Resource: []string{resource}}},
		},
	}
}
