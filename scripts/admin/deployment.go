package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"collabdata/infra/stack"
	"collabdata/shared/awsconfig"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/directory"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
)

// deployment says where the service is. What is given wins over what the stack says.
type deployment struct {
	Stack               string `placeholder:"NAME" help:"CloudFormation stack of the deployment, such as collabdata-prod: the names below are read from it."`
	Table               string `env:"TABLE_NAME" placeholder:"NAME" help:"Name of its table."`
	EventsQueueURL      string `env:"EVENTS_QUEUE_URL" placeholder:"URL" help:"Its queue of events."`
	WebhooksQueueURL    string `env:"WEBHOOKS_QUEUE_URL" placeholder:"URL" help:"Its queue of webhook deliveries."`
	AllowedPrivateCIDRs string `name:"allowed-private-cidrs" env:"ALLOWED_PRIVATE_CIDRS" placeholder:"LIST" help:"Private networks that its permission providers may be in, as its setting allowedPrivateCidrs says."`
}

// connect returns how to reach AWS, with the names below read from the stack where one is named.
func (d *deployment) connect(ctx context.Context) (aws.Config, error) {
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return cfg, err
	}
	if cfg.Region == "" {
		return cfg, errors.New("no AWS region is chosen: set AWS_REGION")
	}
	if d.Stack == "" {
		return cfg, nil
	}
	outputs, err := stack.Outputs(ctx, cfg, d.Stack)
	if errors.Is(err, stack.ErrNone) {
		return cfg, fmt.Errorf("there is no stack %s in region %s: check --stack, AWS_PROFILE and AWS_REGION", d.Stack, cfg.Region)
	}
	if err != nil {
		return cfg, fmt.Errorf("reading the outputs of the stack %s: %w", d.Stack, err)
	}
	for output, name := range map[string]*string{
		"TableName": &d.Table, "EventsQueueUrl": &d.EventsQueueURL, "WebhooksQueueUrl": &d.WebhooksQueueURL,
	} {
		if *name == "" {
			*name = outputs[output]
		}
	}
	return cfg, nil
}

// directory returns the directory in the table of the deployment.
func (a *admin) directory(ctx context.Context) (*directory.Store, error) {
	d := a.deployment
	cfg, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	if d.Table == "" {
		return nil, wrongf("which deployment? Give --stack NAME, such as collabdata-prod, or --table NAME, as make deploy prints it")
	}
	return directory.New(store.New(cfg, d.Table, a.now, a.random)), nil
}

// queue returns a queue of the deployment by its name in package keys.
func (a *admin) queue(ctx context.Context, name string) (*queue.Queue, error) {
	d := a.deployment
	cfg, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	url := d.EventsQueueURL
	if name == keys.WebhooksQueue {
		url = d.WebhooksQueueURL
	}
	if url == "" {
		return nil, wrongf("which queue? Give --stack NAME, such as collabdata-prod, or --%s-queue-url URL", name)
	}
	return queue.New(cfg, url, slog.New(slog.NewTextHandler(a.stderr, nil))), nil
}

// checkURL reports the rule that the URL of a permission provider breaks.
func (d *deployment) checkURL(text string) error {
	ranges, err := webhook.ParseRanges(d.AllowedPrivateCIDRs)
	if err != nil {
		return fmt.Errorf("cannot be checked: --allowed-private-cidrs: %w", err)
	}
	err = webhook.NewGuard(ranges).CheckURL(text)
	if u, parseErr := url.Parse(text); err != nil && parseErr == nil && u.Scheme != "" && d.AllowedPrivateCIDRs == "" {
		err = fmt.Errorf("%w; for one in a private network of the deployment give --allowed-private-cidrs as the deployment has it", err)
	}
	return err
}

// explain says what went wrong and how to mend it.
func (d *deployment) explain(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "stopped before it was done; the command may be given again"
	}
	text := err.Error()
	if failure, ok := errors.AsType[*collab.Error](err); ok {
		text = failure.Message
		if failure.Code == collab.Internal && failure.Err != nil { // the operator may know the cause
			text = failure.Err.Error()
		}
	}
	api, refused := errors.AsType[smithy.APIError](err)
	where := "AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL say which AWS account, region or local cloud"
	switch {
	case refused && api.ErrorCode() == "ResourceNotFoundException":
		return fmt.Sprintf("there is no table %s: check --table or --stack; %s", d.Table, where)
	case refused && strings.HasSuffix(api.ErrorCode(), "QueueDoesNotExist"), refused && strings.HasSuffix(api.ErrorCode(), "NonExistentQueue"):
		return fmt.Sprintf("there is no such queue: check its URL, or --stack; %s", where)
	case refused && strings.Contains(api.ErrorCode(), "AccessDenied"):
		return text + "\nThe credentials may not do this: use those of an administrator (AWS_PROFILE)"
	case strings.Contains(err.Error(), "failed to refresh cached credentials"), strings.Contains(err.Error(), "get credentials"):
		return "no AWS credentials were found: run aws login or aws configure, or set AWS_PROFILE; " +
			"for a local cloud set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to test"
	case strings.Contains(err.Error(), "connection refused"), strings.Contains(err.Error(), "no such host"):
		return fmt.Sprintf("nothing answers there: %v\n%s", err, where)
	case collab.CodeOf(err) == collab.Aborted:
		return "someone else was changing the same thing: nothing was changed; try again"
	}
	return text
}
