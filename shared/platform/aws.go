// Package platform is what every program of the service stands on: how it reaches AWS, the time that a request has, and its version.
package platform

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

// LoadAWS returns how to reach AWS, as the SDK's own variables and files and the options say.
func LoadAWS(ctx context.Context, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, append([]func(*config.LoadOptions) error{config.WithHTTPClient(connections())}, options...)...)
	if err != nil {
		return aws.Config{}, err
	}
	cfg.HTTPClient = AWSClient{Next: cfg.HTTPClient}
	return cfg, nil
}

// AWSAt returns how to reach one endpoint, whatever the environment says.
func AWSAt(endpoint, region string, credentials aws.CredentialsProvider) aws.Config {
	return aws.Config{BaseEndpoint: &endpoint, Region: region, Credentials: credentials, HTTPClient: AWSClient{Next: connections()}}
}

// connections returns a client that keeps as many connections open as the store has calls under way. The SDK's own keeps ten, and dials
// anew for the others.
func connections() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = t.MaxIdleConns })
}
