package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"collabdata/infra/stack"
	"collabdata/shared/awsconfig"

	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func (d *deployment) toAWS(ctx context.Context) error {
	settings, err := d.settings()
	if err != nil {
		return err
	}
	if settings["stage"] == "local" {
		return errors.New("stage local is for local clouds: run make deploy-local, or choose another stage")
	}
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		return errors.New("no AWS region is chosen: set AWS_REGION")
	}
	caller, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
	if err != nil {
		return fmt.Errorf("AWS does not accept the environment's credentials: run aws login or aws configure, or set AWS_PROFILE (%w)", err)
	}
	where := fmt.Sprintf("account %s, region %s", *caller.Account, cfg.Region)
	fmt.Fprintf(d.progress, "Deploying stage %s to %s\n", settings["stage"], where)

	c, err := d.newCDK(ctx, settings["arch"], filepath.Join(d.root, "infra"), os.Environ())
	if err != nil {
		return err
	}
	ready, err := stackThere(ctx, cfg, bootstrapStack)
	if err != nil {
		return fmt.Errorf("is the account bootstrapped for the CDK? %w", err)
	}
	if !ready {
		fmt.Fprintf(d.progress, "%s has not been used with the CDK yet: preparing it with cdk bootstrap\n", where)
		if err := attached(c.command(ctx, "bootstrap", fmt.Sprintf("aws://%s/%s", *caller.Account, cfg.Region))); err != nil {
			return err
		}
	}
	if err := attached(c.onStack(ctx, "deploy")); err != nil {
		return err
	}
	name := "collabdata-" + settings["stage"]
	outputs, err := stack.Outputs(ctx, cfg, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.progress, `
The service answers at %s

Make the first account, whose token is shown once:
  go run ./scripts/admin --stack %s account create ID
`, outputs["BaseUrl"], name)
	if topic := outputs["AlarmTopicArn"]; topic != "" {
		fmt.Fprintf(d.progress, `
Be told of alarms:
  aws sns subscribe --topic-arn %s --protocol email --notification-endpoint YOU@EXAMPLE.COM
`, topic)
	}
	return nil
}

// attached runs cdk on this terminal: it shows what it does, and asks before it grants rights.
func attached(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cdk %s: %w", cmd.Args[1], err)
	}
	return nil
}
