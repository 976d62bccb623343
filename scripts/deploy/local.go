package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"collabdata/infra/stack"
	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/platform"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// The local cloud that is started when none is named.
const (
	cloudPort = 4566
	cloudURL  = "http://127.0.0.1:4566"
)

const localStack = "collabdata-local"

// Credentials of the account that is made on the local cloud.
const (
	devAccount = "dev"
	devKey     = "dev-key"
	devToken   = "dev-token"
)

// localSettings are the context values of a deployment to a local cloud: with nothing that LocalStack has in its paid plans alone, and
// webhooks may call this machine.
func localSettings() []string {
	arch := "x86_64"
	if runtime.GOARCH == "arm64" {
		arch = "arm64"
	}
	return []string{"-c", "stage=local", "-c", "arch=" + arch, "-c", "firewall=off", "-c", "live=off", "-c", "allowedPrivateCidrs=127.0.0.0/8"}
}

// localEndpoint is where the local cloud is.
func localEndpoint() string {
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		return strings.TrimSuffix(endpoint, "/")
	}
	return cloudURL
}

// reachLocal makes this process and those that it starts reach the local cloud, whatever credentials the environment has: they are not
// for it.
func reachLocal(ctx context.Context) (aws.Config, error) {
	endpoint := localEndpoint()
	values := map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": localstack.Region, "AWS_DEFAULT_REGION": localstack.Region,
		"AWS_ACCESS_KEY_ID": localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY": localstack.SecretAccessKey, "AWS_EC2_METADATA_DISABLED": "true",
	}
	if s3 := s3Endpoint(endpoint); s3 != "" && os.Getenv("AWS_ENDPOINT_URL_S3") == "" {
		values["AWS_ENDPOINT_URL_S3"] = s3
	}
	err := errors.Join(os.Unsetenv("AWS_PROFILE"), os.Unsetenv("AWS_SESSION_TOKEN"))
	for name, value := range values {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err != nil {
		return aws.Config{}, err
	}
	return platform.LoadAWS(ctx)
}

// localCDK is cdk as newCDK returns it, with the settings for a local cloud.
func (d *deployment) localCDK(ctx context.Context) (cdk, error) {
	d.args = append(localSettings(), d.args...)
	return d.newCDK(ctx, contextArguments(d.args)["arch"], d.root)
}

// s3Endpoint is where S3 is at LocalStack's own host name, which knows a bucket's name before s3 alone; "" elsewhere.
func s3Endpoint(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() != "localhost.localstack.cloud" {
		return ""
	}
	u.Host = "s3." + u.Host
	return u.String()
}

func (d *deployment) toLocal(ctx context.Context) error {
	start := time.Now()
	cfg, err := reachLocal(ctx)
	if err != nil {
		return err
	}
	if !answers(ctx, cfg) {
		if err := d.startCloud(ctx); err != nil {
			return err
		}
	}
	c, err := d.localCDK(ctx)
	if err != nil {
		return err
	}
	if err := c.bootstrapLocal(ctx, cfg); err != nil {
		return err
	}
	if err := c.begin(ctx, cfg, localStack); err != nil {
		return err
	}
	err = d.step("Deploying to "+localEndpoint(), func() error {
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
`, time.Since(start).Seconds(), localURL(outputs["BaseUrl"]), devKey, devToken,
		localEndpoint(), localstack.Region, localstack.AccessKeyID, localstack.SecretAccessKey, localStack)
	return nil
}

// localURL is the address of a deployed stage on the local cloud, made from the address that it would have on AWS:
// https://<api>.execute-api.<region>.amazonaws.com/<stage>.
func localURL(onAWS string) string {
	host, stage, _ := strings.Cut(strings.TrimPrefix(onAWS, "https://"), "/")
	api, _, _ := strings.Cut(host, ".")
	return localEndpoint() + "/_aws/execute-api/" + api + "/" + stage
}

// bootstrapLocal prepares the local cloud for the CDK.
func (c cdk) bootstrapLocal(ctx context.Context, cfg aws.Config) error {
	ready, err := stackThere(ctx, cfg, bootstrapStack)
	if err != nil || ready {
		return err
	}
	caller, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
	if err != nil {
		return fmt.Errorf("asking %s for its account: %w", localEndpoint(), err)
	}
	account := aws.ToString(caller.Account)
	return c.step("Preparing the local cloud for the CDK", func() error {
		if err := quietly(ctx, c.command(ctx, "bootstrap", "--no-notices", "aws://"+account+"/"+cfg.Region)); err != nil {
			return err
		}
		// The bucket's policy refuses plain HTTP, which is what local clouds speak.
		bucket := "cdk-hnb659fds-assets-" + account + "-" + cfg.Region
		_, err := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }).
			DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: &bucket})
		return err
	})
}

// addDevAccount makes the account, unless an earlier deployment has: then its settings stay.
func addDevAccount(ctx context.Context, cfg aws.Config, table string) error {
	now := time.Now().UnixMilli()
	return accounts.New(store.New(cfg, table, time.Now, rand.Reader)).
		EnsureAccount(ctx, collab.Account{ID: devAccount, Name: devAccount, CreatedAt: now},
			devKey, []collab.Token{{Hash: collab.HashToken(devToken), CreatedAt: now}})
}

// destroyLocal removes the stack, and stops the local cloud if startCloud started it.
func (d *deployment) destroyLocal(ctx context.Context) error {
	cfg, err := reachLocal(ctx)
	if err != nil {
		return err
	}
	if answers(ctx, cfg) {
		err := d.step("Destroying the stack at "+localEndpoint(), func() error { return stack.Delete(ctx, cfg, localStack) })
		if err != nil {
			return err
		}
	}
	if _, err := os.Stat(d.cloud()); localEndpoint() != cloudURL || errors.Is(err, os.ErrNotExist) {
		return nil // it was started by someone else
	}
	return d.step("Stopping the local cloud", func() error { return localstack.StopDetached(ctx, d.cloud()) })
}

// diffLocal fails when the deployed stack differs from a fresh build.
func (d *deployment) diffLocal(ctx context.Context) error {
	if _, err := reachLocal(ctx); err != nil {
		return err
	}
	c, err := d.localCDK(ctx)
	if err != nil {
		return err
	}
	return d.step("Comparing with "+localEndpoint(), func() error { return quietly(ctx, c.onStack(ctx, "diff", "--fail")) })
}

// answers reports whether a local cloud is there: something that says who calls it, whatever it is.
func answers(ctx context.Context, cfg aws.Config) bool {
	_, err := sts.NewFromConfig(cfg, func(o *sts.Options) { o.RetryMaxAttempts = 1 }).GetCallerIdentity(ctx, nil)
	return err == nil
}

// cloud is the path by which the local cloud that startCloud started is stopped.
func (d *deployment) cloud() string { return filepath.Join(d.local, "cloud") }

// startCloud starts a local cloud that goes on after this program has ended, and returns once it answers.
func (d *deployment) startCloud(ctx context.Context) error {
	if localEndpoint() != cloudURL {
		return fmt.Errorf("nothing answers at %s, which AWS_ENDPOINT_URL names: start it, or unset the variable", localEndpoint())
	}
	return d.step("Starting the local cloud on port "+strconv.Itoa(cloudPort), func() error {
		_, err := localstack.StartMiniStack(ctx, localstack.MiniStackOptions{
			Port: cloudPort, EnforceIAM: true, Detach: d.cloud(), Log: d.progress,
		})
		return err
	})
}
