// Package awsconfig says how the SDK reaches AWS.
package awsconfig

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

// Load returns how to reach AWS, as the SDK's own variables and files and the options say.
func Load(ctx context.Context, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, append([]func(*config.LoadOptions) error{config.WithHTTPClient(connections())}, options...)...)
	if err != nil {
		return aws.Config{}, err
	}
	cfg.HTTPClient = Client{Next: cfg.HTTPClient}
	return cfg, nil
}

// New returns how to reach one endpoint, whatever the environment says.
func New(endpoint, region string, credentials aws.CredentialsProvider) aws.Config {
	return aws.Config{BaseEndpoint: &endpoint, Region: region, Credentials: credentials, HTTPClient: Client{Next: connections()}}
}

// connections returns a client that keeps as many connections open as the store has calls under way. The SDK's own keeps ten, and dials
// anew for the others.
func connections() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = t.MaxIdleConns })
}
