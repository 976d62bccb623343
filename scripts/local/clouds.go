package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"collabdata/localstack"
	"collabdata/shared/platform"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"golang.org/x/sync/errgroup"
)

// cloud is a stand-in for AWS.
type cloud struct {
	config aws.Config
	server *localstack.Server // nil if the environment names it
}

// ended returns a channel that is closed when a started server has ended.
func (c *cloud) ended() <-chan struct{} {
	if c.server == nil {
		return nil
	}
	return c.server.Done()
}

// url returns the address of the started server, or of the one that the environment names in the
// variable.
func (c *cloud) url(variable string) string {
	if c.server != nil {
		return c.server.URL
	}
	return cmp.Or(os.Getenv(variable), os.Getenv("AWS_ENDPOINT_URL"))
}

// clouds are the stand-ins of the service.
type clouds struct {
	dynamoDB, sqs cloud
	ses           *cloud // nil if there is none
}

// startClouds starts the stand-ins that the environment does not name. After an error, call stop to
// stop started ones.
func startClouds(ctx context.Context, data string, out io.Writer) (*clouds, error) {
	c := &clouds{}
	var g errgroup.Group
	g.Go(func() error {
		return c.dynamoDB.find(ctx, "AWS_ENDPOINT_URL_DYNAMODB", func() (*localstack.Server, error) {
			return localstack.StartDynamoDB(ctx, localstack.DynamoDBOptions{DataDir: filepath.Join(data, "dynamodb"), Log: out})
		})
	})
	g.Go(func() error {
		return c.sqs.find(ctx, "AWS_ENDPOINT_URL_SQS", func() (*localstack.Server, error) {
			return localstack.StartMiniStack(ctx, localstack.MiniStackOptions{DataDir: filepath.Join(data, "ministack"), Log: out})
		})
	})
	if err := g.Wait(); err != nil {
		return c, err
	}
	switch {
	case os.Getenv("AWS_ENDPOINT_URL_SESV2") != "" || os.Getenv("AWS_ENDPOINT_URL") != "":
		c.ses = &cloud{}
		return c, c.ses.find(ctx, "AWS_ENDPOINT_URL_SESV2", nil)
	case c.sqs.server != nil: // MiniStack serves both
		c.ses = &c.sqs
	}
	return c, nil
}

// stop stops the started stand-ins.
func (c *clouds) stop() error {
	var errs []error
	for _, s := range []*localstack.Server{c.dynamoDB.server, c.sqs.server} {
		if s != nil {
			errs = append(errs, s.Stop())
		}
	}
	return errors.Join(errs...)
}

// find connects to the endpoint in the variable or AWS_ENDPOINT_URL, with the credentials and
// region of the environment if set. If there is no endpoint, it starts a stand-in.
func (c *cloud) find(ctx context.Context, variable string, start func() (*localstack.Server, error)) (err error) {
	standIn := credentials.NewStaticCredentialsProvider(localstack.AccessKeyID, localstack.SecretAccessKey, "")
	for _, name := range []string{variable, "AWS_ENDPOINT_URL"} {
		if endpoint := os.Getenv(name); endpoint != "" {
			if err := reach(ctx, name, endpoint); err != nil {
				return err
			}
			options := []func(*config.LoadOptions) error{config.WithDefaultRegion(localstack.Region)}
			if os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
				options = append(options, config.WithCredentialsProvider(standIn))
			}
			c.config, err = platform.LoadAWS(ctx, options...)
			return err
		}
	}
	if c.server, err = start(); err != nil {
		return err
	}
	c.config = platform.AWSAt(c.server.URL, localstack.Region, standIn)
	return nil
}

// reach returns an error if no server listens at an endpoint.
func reach(ctx context.Context, variable, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%s is %q, which is no URL: write it like http://127.0.0.1:8000, or unset it", variable, endpoint)
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("nothing answers at %s, which %s names: start it, or unset the variable (%w)", endpoint, variable, err)
	}
	return conn.Close()
}
