package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
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

// localConfig reaches the local cloud, whatever credentials the environment has: they are not for it.
func localConfig(ctx context.Context) (aws.Config, error) {
	return platform.LoadAWS(ctx,
		config.WithRegion(localstack.Region), config.WithBaseEndpoint(localEndpoint()), config.WithSharedConfigProfile(""),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(localstack.AccessKeyID, localstack.SecretAccessKey, "")))
}

// localCDK is cdk as newCDK returns it, for the local cloud and with its settings.
func (d *deployment) localCDK(ctx context.Context) (cdk, error) {
	d.args = append(localSettings(), d.args...)
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AWS_PROFILE=") && !strings.HasPrefix(variable, "AWS_SESSION_TOKEN=") {
			env = append(env, variable)
		}
	}
	env = append(env, "AWS_ENDPOINT_URL="+localEndpoint(), "AWS_REGION="+localstack.Region, "AWS_DEFAULT_REGION="+localstack.Region,
		"AWS_ACCESS_KEY_ID="+localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+localstack.SecretAccessKey, "AWS_EC2_METADATA_DISABLED=true")
	if s3 := s3Endpoint(localEndpoint()); s3 != "" && os.Getenv("AWS_ENDPOINT_URL_S3") == "" {
		env = append(env, "AWS_ENDPOINT_URL_S3="+s3)
	}
	return d.newCDK(ctx, contextArguments(d.args)["arch"], d.root, env)
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

// cloud is what a local cloud says of itself.
type cloud struct {
	name     string            // "unknown" where it does not say
	services map[string]string // what each is: available, running, disabled …; nil where it does not say
}

// askCloud asks the local cloud what it is.
func askCloud(ctx context.Context) cloud {
	if localstack.Answers(ctx, localEndpoint()+"/_ministack/health") {
		return cloud{name: "MiniStack"}
	}
	unknown := cloud{name: "unknown"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, localEndpoint()+"/_localstack/health", nil)
	if err != nil {
		return unknown
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return unknown
	}
	defer res.Body.Close()
	var health struct {
		Edition, Version string
		Services         map[string]string
	}
	if json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&health) != nil || health.Version == "" {
		return unknown
	}
	return cloud{strings.TrimSpace("LocalStack " + health.Version + " " + health.Edition), health.Services}
}

// needed are the services that a deployment to a local cloud uses, by LocalStack's names.
func needed(settings map[string]string) []string {
	list := []string{
		"apigateway", "cloudformation", "cloudwatch", "dynamodb", "events", "iam", "lambda", "logs", "s3", "sns", "sqs", "ssm", "sts",
	}
	if settings["firewall"] == "on" {
		list = append(list, "wafv2")
	}
	if settings["live"] == "on" {
		list = append(list, "apigatewayv2")
	}
	if settings["mailFrom"] != "" {
		list = append(list, "sesv2")
	}
	return list
}

// untried says what is known of a cloud, and what it misses of what the settings ask for; "" for all.
func (c cloud) untried(settings map[string]string) string {
	if c.name == "MiniStack" {
		return ""
	}
	text := "The whole was never deployed there: localstack/README.md says what is known.\n"
	for _, service := range needed(settings) {
		switch state := c.services[service]; {
		case state != "available" && state != "running" && c.services != nil:
			text += fmt.Sprintf("It has no %s, or has it switched off.\n", service)
		case c.services == nil && service == "wafv2":
			text += "firewall=on needs WAFv2, which LocalStack has in its plan Ultimate.\n"
		case c.services == nil && service == "apigatewayv2":
			text += "live=on needs WebSocket APIs, which LocalStack has from its plan Base on.\n"
		case c.services == nil && service == "sesv2":
			text += "mailFrom needs SES v2, which LocalStack has from its plan Base on.\n"
		}
	}
	return text
}

func (d *deployment) toLocal(ctx context.Context) error {
	start := time.Now()
	if !answers(ctx) {
		if err := d.startCloud(ctx); err != nil {
			return err
		}
	}
	c, err := d.localCDK(ctx)
	if err != nil {
		return err
	}
	cfg, err := localConfig(ctx)
	if err != nil {
		return err
	}
	at := askCloud(ctx)
	fmt.Fprintf(d.progress, "At %s is: %s\n%s", localEndpoint(), at.name, at.untried(contextArguments(d.args)))
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

func (d *deployment) destroyLocal(ctx context.Context) error {
	if answers(ctx) {
		if err := d.step("Destroying the stack at "+localEndpoint(), func() error { return deleteStack(ctx) }); err != nil {
			return err
		}
	}
	if localEndpoint() != cloudURL {
		return nil // it was started by someone else
	}
	return d.stopCloud(ctx)
}

// deleteStack deletes the stack, and returns once it is gone.
func deleteStack(ctx context.Context) error {
	cfg, err := localConfig(ctx)
	if err != nil {
		return err
	}
	return stack.Delete(ctx, cfg, localStack)
}

// diffLocal fails when the deployed stack differs from a fresh build.
func (d *deployment) diffLocal(ctx context.Context) error {
	c, err := d.localCDK(ctx)
	if err != nil {
		return err
	}
	return d.step("Comparing with "+localEndpoint(), func() error {
		return quietly(ctx, c.onStack(ctx, "diff", "--fail"))
	})
}

// answers reports whether a local cloud is there: something that says who calls it, whatever it is.
func answers(ctx context.Context) bool {
	cfg, err := localConfig(ctx)
	if err != nil {
		return false
	}
	_, err = sts.NewFromConfig(cfg, func(o *sts.Options) { o.RetryMaxAttempts = 1 }).GetCallerIdentity(ctx, nil)
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

// stopCloud stops the local cloud that startCloud started, and returns once it is gone.
func (d *deployment) stopCloud(ctx context.Context) error {
	if _, err := os.Stat(d.cloud()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return d.step("Stopping the local cloud", func() error { return localstack.StopDetached(ctx, d.cloud()) })
}
