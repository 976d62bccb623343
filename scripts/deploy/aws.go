package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"collabdata/infra/awsaccount"
	"collabdata/infra/stack"
	"collabdata/shared/platform"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func (d *deployment) toAWS(ctx context.Context) error {
	settings, err := d.settings()
	if err != nil {
		return err
	}
	cfg, where, err := d.reachAWS(ctx, settings["stage"])
	if err != nil {
		return err
	}
	fmt.Fprintf(d.progress, "Deploying stage %s to %s\n", settings["stage"], where)
	name := stack.Name(settings["stage"])
	if err := d.lookAround(ctx, cfg, name, settings); err != nil {
		return err
	}
	c, err := d.newCDK(ctx, settings["arch"], filepath.Join(d.root, "infra"))
	if err != nil {
		return err
	}
	ready, err := stackThere(ctx, cfg, bootstrapStack)
	if err != nil {
		return fmt.Errorf("is the account bootstrapped for the CDK? %w", err)
	}
	if !ready {
		fmt.Fprintf(d.progress, "%s has not been used with the CDK yet: preparing it with cdk bootstrap\n", where)
		if err := attached(c.command(ctx, "bootstrap", fmt.Sprintf("aws://%s/%s", where.account, cfg.Region))); err != nil {
			return err
		}
	}
	if err := attached(c.onStack(ctx, "deploy")); err != nil {
		return err
	}
	outputs, err := stack.Outputs(ctx, cfg, name)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.progress, `
The service answers at %s

Make the first account, whose token is shown once:
  make admin && .local/bin/admin --stack %s accounts add ID
`, outputs["BaseUrl"], name)
	if outputs["AlarmTopicArn"] != "" && settings["alarmMail"] == "" {
		fmt.Fprintf(d.progress, `
Get alarms by mail:
  make deploy ARGS='--built -c stage=%s -c alarmMail=YOU@EXAMPLE.COM'
`, settings["stage"])
	}
	return nil
}

// place is an AWS account and region.
type place struct{ account, region string }

func (p place) String() string { return fmt.Sprintf("account %s, region %s", p.account, p.region) }

// reachAWS returns the configuration of AWS and its account and region. It does not accept the
// local stage.
func (d *deployment) reachAWS(ctx context.Context, stage string) (aws.Config, place, error) {
	if stage == "local" {
		return aws.Config{}, place{}, errors.New(
			"stage local is for local clouds: use make deploy-local and make destroy-local, or choose another stage",
		)
	}
	cfg, err := platform.LoadAWS(ctx)
	if err != nil {
		return cfg, place{}, err
	}
	if cfg.Region == "" {
		return cfg, place{}, errors.New("no AWS region is chosen: set AWS_REGION")
	}
	caller, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, nil)
	if err != nil {
		return cfg, place{}, fmt.Errorf(
			"AWS does not accept the environment's credentials: run aws login or aws configure, or set AWS_PROFILE (%w)", err,
		)
	}
	return cfg, place{*caller.Account, cfg.Region}, nil
}

// lookAround prints facts about the AWS account that matter for the stack, and completes the
// settings.
func (d *deployment) lookAround(ctx context.Context, cfg aws.Config, stack string, settings map[string]string) error {
	findings, err := awsaccount.Look(ctx, cfg, stack, settings)
	for _, f := range findings {
		fmt.Fprintf(d.progress, "%s\n", f.Text)
		if f.Setting != "" {
			d.args = append(d.args, "-c", f.Setting+"="+f.Value)
		}
	}
	return err
}

// attached runs cdk on this terminal. cdk shows its progress, and asks before it grants rights.
func attached(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cdk %s: %w", cmd.Args[1], err)
	}
	return nil
}
