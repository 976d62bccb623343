// Package platform contains the common parts of programs: AWS clients, the time limits of a
// request, and the version.
package platform

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

// LoadAWS returns the AWS configuration of the SDK's variables and files, and of the options.
func LoadAWS(ctx context.Context, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, append([]func(*config.LoadOptions) error{config.WithHTTPClient(connections())}, options...)...)
	if err != nil {
		return aws.Config{}, err
	}
	cfg.HTTPClient = AWSClient{Next: cfg.HTTPClient}
	return cfg, nil
}

// AWSAt returns the configuration of one endpoint, independent of the environment.
func AWSAt(endpoint, region string, credentials aws.CredentialsProvider) aws.Config {
	return aws.Config{BaseEndpoint: &endpoint, Region: region, Credentials: credentials, HTTPClient: AWSClient{Next: connections()}}
}

// connections returns a client that keeps as many idle connections as the store makes concurrent
// calls. The SDK's client keeps ten.
func connections() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = t.MaxIdleConns })
}
