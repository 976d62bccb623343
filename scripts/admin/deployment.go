package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"collabdata/infra/stack"
	"collabdata/shared/app"
	"collabdata/shared/app/operator"
	"collabdata/shared/collab"
	"collabdata/shared/platform"
	"collabdata/shared/webhook"

	"github.com/aws/smithy-go"
)

// deployment locates the service. Flags override the stack's outputs.
type deployment struct {
	Stack               string `placeholder:"NAME" help:"CloudFormation stack of the deployment, such as collabdata-prod: the names below are read from it."`
	Table               string `env:"TABLE_NAME" placeholder:"NAME" help:"Name of its table."`
	EventsQueueURL      string `env:"EVENTS_QUEUE_URL" placeholder:"URL" help:"Its queue of events."`
	AllowedPrivateCIDRs string `name:"allowed-private-cidrs" env:"ALLOWED_PRIVATE_CIDRS" placeholder:"LIST" help:"Private networks that its permission providers may be in, as its setting allowedPrivateCidrs says."`
}

// connect returns the configuration of the deployment. If a stack is given, it reads missing names
// from its outputs.
func (d *deployment) connect(ctx context.Context, stderr io.Writer) (c operator.Config, err error) {
	cfg, err := platform.LoadAWS(ctx)
	if err != nil {
		return c, err
	}
	if cfg.Region == "" {
		return c, errors.New("no AWS region is chosen: set AWS_REGION")
	}
	if d.Stack != "" {
		outputs, err := stack.Outputs(ctx, cfg, d.Stack)
		if errors.Is(err, stack.ErrNone) {
			return c, fmt.Errorf("there is no stack %s in region %s: check --stack, AWS_PROFILE and AWS_REGION", d.Stack, cfg.Region)
		}
		if err != nil {
			return c, fmt.Errorf("reading the outputs of the stack %s: %w", d.Stack, err)
		}
		d.Table = cmp.Or(d.Table, outputs["TableName"])
		d.EventsQueueURL = cmp.Or(d.EventsQueueURL, outputs["EventsQueueUrl"])
	}
	if d.Table == "" {
		return c, collab.Errorf(
			collab.InvalidArgument, "which deployment? Give --stack NAME, such as collabdata-prod, or --table NAME, as make deploy prints it",
		)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ranges, _ := webhook.ParseRanges(d.AllowedPrivateCIDRs) // checkURL reports the error
	return operator.Config{
		App:      app.Config{DynamoDB: cfg, SQS: cfg, Table: d.Table, EventsURL: d.EventsQueueURL, PrivateRanges: ranges, Log: log},
		CheckURL: d.checkURL,
	}, nil
}

// checkURL returns an error if the URL of a permission provider breaks a rule.
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

// explain describes an error and its fix.
func (d *deployment) explain(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "stopped before it was done; the command may be given again"
	}
	text := operator.Cause(err)
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
