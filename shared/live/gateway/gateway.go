// Package gateway posts to the connections of API Gateway.
package gateway

import (
	"context"
	"errors"

	"collabdata/shared/live"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi/types"
)

// Gateway is a WebSocket API. It is safe for concurrent use.
type Gateway struct {
	api *apigatewaymanagementapi.Client
}

// New returns the API with the URL of a stage. It tries each call twice.
func New(cfg aws.Config, url string) *Gateway {
	return &Gateway{apigatewaymanagementapi.NewFromConfig(cfg, func(o *apigatewaymanagementapi.Options) {
		o.BaseEndpoint, o.RetryMaxAttempts = &url, 2
	})}
}

// Post sends a text to a connection. It returns live.ErrGone if the connection has ended.
func (g *Gateway) Post(ctx context.Context, id, text string) error {
	_, err := g.api.PostToConnection(ctx, &apigatewaymanagementapi.PostToConnectionInput{ConnectionId: &id, Data: []byte(text)})
	return gone(err)
}

// Close ends a connection. It returns live.ErrGone if the connection has ended.
func (g *Gateway) Close(ctx context.Context, id string) error {
	_, err := g.api.DeleteConnection(ctx, &apigatewaymanagementapi.DeleteConnectionInput{ConnectionId: &id})
	return gone(err)
}

func gone(err error) error {
	if _, ended := errors.AsType[*types.GoneException](err); ended {
		return live.ErrGone
	}
	return err
}
