package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"collabdata/infra/stack"
	"collabdata/localstack"
	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/platform"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

const localStack = "collabdata-local"

// Credentials of the account on the local cloud.
const (
	devAccount = "dev"
	devKey     = "dev-key"
	devToken   = "dev-token"
)

// localEndpoint returns the address of the local cloud. port is not empty if this program must
// start it.
func localEndpoint() (endpoint, port string) {
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		return strings.TrimSuffix(endpoint, "/"), ""
	}
	port = cmp.Or(os.Getenv("PORT"), "4566")
	return "http://127.0.0.1:" + port, port
}

// reachLocal configures this process and its children for the local cloud, with its credentials.
func reachLocal(ctx context.Context, endpoint string) (aws.Config, error) {
	err := errors.Join(os.Unsetenv("AWS_PROFILE"), os.Unsetenv("AWS_SESSION_TOKEN"))
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": localstack.Region, "AWS_DEFAULT_REGION": localstack.Region,
		"AWS_ACCESS_KEY_ID": localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY": localstack.SecretAccessKey, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err != nil {
		return aws.Config{}, err
	}
	return platform.LoadAWS(ctx)
}

func (d *deployment) toLocal(ctx context.Context) error {
	start := time.Now()
	endpoint, port := localEndpoint()
	if !answers(ctx, endpoint) {
		if port == "" {
			return fmt.Errorf("no server responds at %s, from AWS_ENDPOINT_URL: start it, or unset the variable", endpoint)
		}
		err := d.step("Starting LocalStack at "+endpoint, func() error { return localstack.StartLocalStack(ctx, port, d.progress) })
		if err != nil {
			return err
		}
	}
	cfg, err := reachLocal(ctx, endpoint)
	if err != nil {
		return err
	}
	d.args = append(localstack.CloudSettings(), d.args...)
	c, err := d.newCDK(ctx, contextArguments(d.args)["arch"], d.root)
	if err != nil {
		return err
	}
	if err := c.bootstrapLocal(ctx, cfg); err != nil {
		return err
	}
	err = d.step("Deploying to "+endpoint, func() error {
		return quietly(ctx, c.onStack(ctx, "deploy", "--require-approval", "never"))
	})
	if err != nil {
		return err
	}
	outputs, err := stack.Outputs(ctx, cfg, localStack)
	if err != nil {
		return err
	}
	if err := addDevAccount(ctx, cfg, outputs["TableName"]); err != nil {
		return err
	}
	url := localURL(endpoint, outputs["BaseUrl"])
	if err := d.step("Sending a request to "+url, func() error { return tryOut(ctx, url) }); err != nil {
		return err
	}
	fmt.Fprintf(d.progress, `
The service is up on the local cloud after %.0f s. Try:

  curl -s %s/v2/commentannotations/add \
    -H 'x-service-api-key: %s' -H 'x-service-auth-token: %s' -H 'Content-Type: application/json' \
    -d '{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
         "commentAnnotations": [{"commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}}'

The operator's commands, among them members, settings and pending work:

  make admin
  AWS_ENDPOINT_URL=%s AWS_REGION=%s AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s \
    .local/bin/admin --stack %s --help

make destroy-local removes it.
`, time.Since(start).Seconds(), url, devKey, devToken, endpoint, localstack.Region, localstack.AccessKeyID, localstack.SecretAccessKey, localStack)
	return nil
}

// localURL converts the address of a stage on AWS,
// https://<api>.execute-api.<region>.amazonaws.com/<stage>, to its address on the local cloud.
func localURL(endpoint, onAWS string) string {
	host, stage, _ := strings.Cut(strings.TrimPrefix(onAWS, "https://"), "/")
	api, _, _ := strings.Cut(host, ".")
	return endpoint + "/_aws/execute-api/" + api + "/" + stage
}

// bootstrapLocal prepares the local cloud for the CDK.
func (c cdk) bootstrapLocal(ctx context.Context, cfg aws.Config) error {
	ready, err := stackThere(ctx, cfg, bootstrapStack)
	if err != nil || ready {
		return err
	}
	return c.step("Preparing the local cloud for the CDK", func() error {
		caller, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
		if err != nil {
			return err
		}
		return quietly(ctx, c.command(ctx, "bootstrap", "--no-notices", "aws://"+aws.ToString(caller.Account)+"/"+cfg.Region))
	})
}

// addDevAccount adds the account. It does not change an existing one.
func addDevAccount(ctx context.Context, cfg aws.Config, table string) error {
	now := time.Now().UnixMilli()
	return accounts.New(store.New(cfg, table, time.Now, rand.Reader)).
		EnsureAccount(ctx, collab.Account{ID: devAccount, Name: devAccount, CreatedAt: now, Settings: collab.Settings{AllowedOrigins: collab.LoopbackOrigins()}},
			devKey, []collab.Token{{Hash: collab.HashToken(devToken), CreatedAt: now}})
}

// tryOut sends a read request to check the service.
func tryOut(ctx context.Context, url string) error {
	const path = "/v2/organizations/get"
	c := client.New(client.Config{BaseURL: url, APIKey: devKey, AuthToken: devToken})
	answer, err := c.Send(ctx, http.MethodPost, path, nil, []byte(`{"data": {}}`))
	if err != nil {
		return err
	}
	if answer.Status != http.StatusOK {
		return fmt.Errorf("%s is answered %d %.300s\nEither functions do not run there, which LocalStack's containers need Docker for, "+
			"or they do not reach the table: see the log of the local cloud", path, answer.Status, answer.Body)
	}
	return nil
}

// destroyLocal stops the LocalStack that toLocal started, which loses the stack. From another local
// cloud, it removes the stack.
func (d *deployment) destroyLocal(ctx context.Context) error {
	endpoint, port := localEndpoint()
	if port != "" {
		return localstack.StopLocalStack(ctx, port)
	}
	if _, err := reachLocal(ctx, endpoint); err != nil {
		return err
	}
	path, err := localstack.CDK(ctx, d.progress)
	if err != nil {
		return err
	}
	return d.step("Removing the stack from "+endpoint, func() error {
		return quietly(ctx, cdk{d, path, d.root}.command(ctx, "destroy", "--force", "--app", ".local/cdk.out", localStack))
	})
}

// answers reports whether an HTTP server responds at the address.
func answers(ctx context.Context, endpoint string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, endpoint, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return true
}
