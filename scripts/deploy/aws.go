package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"collabdata/infra/stack"
	"collabdata/shared/platform"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
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
	name := stackOf(settings["stage"])
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

func stackOf(stage string) string { return "collabdata-" + stage }

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

// lookAround checks the AWS account for resources of the stage, prints missing ones, and completes
// the settings.
func (d *deployment) lookAround(ctx context.Context, cfg aws.Config, stack string, settings map[string]string) error {
	if settings["concurrency"] == "" {
		concurrency, err := concurrencyOf(ctx, cfg)
		if err != nil {
			return fmt.Errorf("asking Lambda for the limit of concurrent functions (the setting concurrency overrides it): %w", err)
		}
		fmt.Fprint(d.progress, fewFunctions(concurrency, cfg.Region))
		d.args = append(d.args, "-c", "concurrency="+strconv.Itoa(concurrency))
	}
	if settings["gatewayLogRole"] == "" {
		role, err := gatewayLogRole(ctx, cfg, stack)
		if err != nil {
			return fmt.Errorf("asking API Gateway for its role for logs (the setting gatewayLogRole overrides it): %w", err)
		}
		fmt.Fprintf(d.progress, "API Gateway in %s %s\n", cfg.Region, map[string]string{
			"create":   "uses a role of this stack for all its logs. The role stays when the stack is destroyed",
			"existing": "already has a role for its logs: it is unchanged",
		}[role])
		d.args = append(d.args, "-c", "gatewayLogRole="+role)
	}
	if settings["mailFrom"] != "" {
		text, err := fewMails(ctx, cfg)
		if err != nil {
			return fmt.Errorf("asking SES in %s for its quota (AWS does not have SES in every region): %w", cfg.Region, err)
		}
		fmt.Fprint(d.progress, text)
	}
	return nil
}

// gatewayLogRole returns the setting of that name: existing if API Gateway has a role in the region
// that another stack owns.
func gatewayLogRole(ctx context.Context, cfg aws.Config, stack string) (string, error) {
	account, err := apigateway.NewFromConfig(cfg).GetAccount(ctx, nil)
	if err != nil {
		return "", err
	}
	role := aws.ToString(account.CloudwatchRoleArn)
	if role == "" || strings.Contains(role, ":role/"+stack+"-") {
		return "create", nil
	}
	return "existing", nil
}

// enoughMails is the minimum daily quota of emails for a stage with email.
const enoughMails = 1_000

// fewMails returns a warning about the quota of emails, or "".
func fewMails(ctx context.Context, cfg aws.Config) (string, error) {
	account, err := sesv2.NewFromConfig(cfg).GetAccount(ctx, nil)
	if err != nil || account.SendQuota == nil {
		return "", err
	}
	return ofQuota(cfg.Region, account.ProductionAccessEnabled, *account.SendQuota), nil
}

// ofQuota is fewMails for the quota of a region, in production or in the sandbox.
func ofQuota(region string, production bool, quota types.SendQuota) string {
	switch {
	case !production:
		return fmt.Sprintf(`
SES is in its sandbox in %s: it only sends to verified addresses, %.0f emails in 24 hours and %.0f per second. Ask AWS to move it out:
  aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL --website-url URL --region %[1]s

`, region, quota.Max24HourSend, quota.MaxSendRate)
	case quota.Max24HourSend < enoughMails:
		return fmt.Sprintf(`
SES sends %.0f emails in 24 hours in %s: others wait. Ask AWS for more:
  aws service-quotas request-service-quota-increase --service-code ses --quota-code L-804C8AE8 --desired-value 50000 --region %[2]s

`, quota.Max24HourSend, region)
	}
	return ""
}

// enoughFunctions is the minimum concurrency for a stage under load: deliver takes 60, and each
// other function handles about ten requests a second.
const enoughFunctions = 400

// concurrencyOf returns this account's concurrency in the region, without reservations of other
// functions.
func concurrencyOf(ctx context.Context, cfg aws.Config) (int, error) {
	account, err := lambda.NewFromConfig(cfg).GetAccountSettings(ctx, nil)
	if err != nil {
		return 0, err
	}
	return int(aws.ToInt32(account.AccountLimit.UnreservedConcurrentExecutions)), nil
}

// fewFunctions returns a warning about the concurrency, or "".
func fewFunctions(concurrency int, region string) string {
	if concurrency >= enoughFunctions {
		return ""
	}
	return fmt.Sprintf(`
Lambda runs at most %d concurrent functions for this AWS account in %s, and returns 429 above that. A stage in production needs %d or
more, and AWS grants 1,000 without a charge. Ask for it, and deploy again when it is granted:
  aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000 --region %s

`, concurrency, region, enoughFunctions, region)
}

// attached runs cdk on this terminal. cdk shows its progress, and asks before it grants rights.
func attached(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cdk %s: %w", cmd.Args[1], err)
	}
	return nil
}
