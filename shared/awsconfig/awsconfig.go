// Package awsconfig says how the SDK reaches AWS.
package awsconfig

import (
	"context"
	"io"
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
	cfg.HTTPClient = Client{cfg.HTTPClient}
	return cfg, nil
}

// New returns how to reach one endpoint, whatever the environment says.
func New(endpoint, region string, credentials aws.CredentialsProvider) aws.Config {
	return aws.Config{BaseEndpoint: &endpoint, Region: region, Credentials: credentials, HTTPClient: Client{connections()}}
}

// connections returns a client that keeps as many connections open as the store has calls under way. The SDK's own keeps ten, and dials
// anew for the others.
func connections() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = t.MaxIdleConns })
}

// Client sends the SDK's requests by another client, each with a body that can be read to its end after it was closed.
//
// The SDK closes a request's body as soon as its answer begins. When an answer is quick, net/http may not have looked for the body's end
// yet: it then meets an error of the SDK's body (smithy-go 1.28, WriteTo after Close), drops the connection, the answer with it, and the
// SDK repeats a request that was carried out. Read meets none.
type Client struct{ Next aws.HTTPClient }

// Do sends the request.
func (c Client) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		plain := *r
		plain.Body = struct{ io.ReadCloser }{r.Body}
		r = &plain
	}
	return c.Next.Do(r)
}
