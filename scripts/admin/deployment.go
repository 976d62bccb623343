package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"collabdata/infra/stack"
	"collabdata/shared/app"
	"collabdata/shared/app/operate"
	"collabdata/shared/collab"
	"collabdata/shared/platform"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

// deployment locates the service. Flags override the stack's outputs.
type deployment struct {
	Stack               string `placeholder:"NAME" help:"CloudFormation stack of the deployment, such as collabdata-prod. It provides the names below."`
	Table               string `env:"TABLE_NAME" placeholder:"NAME" help:"Name of its table."`
	EventsQueueURL      string `env:"EVENTS_QUEUE_URL" placeholder:"URL" help:"Its queue of events."`
	AllowedPrivateCIDRs string `name:"allowed-private-cidrs" env:"ALLOWED_PRIVATE_CIDRS" placeholder:"LIST" help:"Private networks of its permission providers, as in its setting allowedPrivateCidrs."`
}

// loadAWS returns the configuration of AWS clients with a region.
func loadAWS(ctx context.Context) (aws.Config, error) {
	cfg, err := platform.LoadAWS(ctx)
	if err == nil && cfg.Region == "" {
		err = errors.New("no AWS region is chosen: set AWS_REGION")
	}
	return cfg, err
}

// connect returns the configuration of the deployment. If a stack is given, it reads missing names
// from its outputs.
func (d *deployment) connect(ctx context.Context, stderr io.Writer) (c operate.Config, err error) {
	cfg, err := loadAWS(ctx)
	if err != nil {
		return c, err
	}
	auditDays := 0
	if d.Stack != "" {
		outputs, err := stack.Outputs(ctx, cfg, d.Stack)
		if errors.Is(err, stack.ErrNone) {
			return c, fmt.Errorf("stack %s does not exist in region %s: check --stack, AWS_PROFILE and AWS_REGION", d.Stack, cfg.Region)
		}
		if err != nil {
			return c, fmt.Errorf("reading the outputs of the stack %s: %w", d.Stack, err)
		}
		d.Table = cmp.Or(d.Table, outputs["TableName"])
		auditDays, _ = strconv.Atoi(outputs["AuditDays"]) // absent in earlier versions
		d.EventsQueueURL = cmp.Or(d.EventsQueueURL, outputs["EventsQueueUrl"])
	}
	if d.Table == "" {
		return c, collab.Errorf(
			collab.InvalidArgument, "no deployment: give --stack NAME, such as collabdata-prod, or --table NAME",
		)
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ranges, _ := webhook.ParseRanges(d.AllowedPrivateCIDRs) // checkURL reports the error
	return operate.Config{
		App:      app.Config{DynamoDB: cfg, SQS: cfg, Table: d.Table, EventsURL: d.EventsQueueURL, PrivateRanges: ranges, AuditDays: auditDays, Log: log},
		CheckURL: d.checkURL,
		Identity: func(ctx context.Context) (string, error) {
			caller, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
			if err != nil {
				return "", err
			}
			return aws.ToString(caller.Arn), nil
		},
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
		err = fmt.Errorf("%w; for a private network of the deployment, give its --allowed-private-cidrs", err)
	}
	return err
}

// explain describes an error and its fix.
func (d *deployment) explain(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "interrupted; you can repeat the command"
	}
	text := operate.Cause(err)
	api, refused := errors.AsType[smithy.APIError](err)
	where := "AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL select the AWS account, region or local cloud"
	switch {
	case refused && api.ErrorCode() == "ResourceNotFoundException":
		return fmt.Sprintf("table %s does not exist: check --table or --stack; %s", d.Table, where)
	case refused && strings.HasSuffix(api.ErrorCode(), "QueueDoesNotExist"), refused && strings.HasSuffix(api.ErrorCode(), "NonExistentQueue"):
		return fmt.Sprintf("the queue does not exist: check its URL, or --stack; %s", where)
	case refused && strings.Contains(api.ErrorCode(), "AccessDenied"):
		return text + "\nThe credentials lack the rights: use those of an administrator (AWS_PROFILE)"
	case strings.Contains(err.Error(), "failed to refresh cached credentials"), strings.Contains(err.Error(), "get credentials"):
		return "no AWS credentials were found: run aws login or aws configure, or set AWS_PROFILE; " +
			"for a local cloud set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to test"
	case strings.Contains(err.Error(), "connection refused"), strings.Contains(err.Error(), "no such host"):
		return fmt.Sprintf("no server responds: %v\n%s", err, where)
	case collab.CodeOf(err) == collab.Aborted:
		return "conflict with another change: nothing was changed; try again"
	}
	return text
}
