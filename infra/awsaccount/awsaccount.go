// Package awsaccount finds the settings of a stack that depend on the AWS account and its region.
// It does not need the stack.
package awsaccount

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// Finding is a fact about an AWS account.
type Finding struct {
	Setting, Value string // of the stack; "" if the fact requires no setting
	Text           string // paragraphs for the operator
}

// Look returns findings for a stack. It omits those about settings with a value, and those about
// email if mailFrom has none. Its errors name the AWS service and the setting that avoids the call.
func Look(ctx context.Context, cfg aws.Config, stack string, settings map[string]string) ([]Finding, error) {
	var findings []Finding
	if settings["concurrency"] == "" {
		n, err := concurrency(ctx, cfg)
		if err != nil {
			return nil, fmt.Errorf("asking Lambda for the limit of concurrent functions (the setting concurrency overrides it): %w", err)
		}
		findings = append(findings, Finding{"concurrency", strconv.Itoa(n), ofConcurrency(n, cfg.Region)})
	}
	if settings["gatewayLogRole"] == "" {
		role, err := gatewayLogRole(ctx, cfg, stack)
		if err != nil {
			return nil, fmt.Errorf("asking API Gateway for its role for logs (the setting gatewayLogRole overrides it): %w", err)
		}
		findings = append(findings, Finding{"gatewayLogRole", role, fmt.Sprintf("API Gateway in %s %s.", cfg.Region, map[string]string{
			"create":   "uses a role of this stack for all its logs. The role stays when the stack is destroyed",
			"existing": "already has a role for its logs: it is unchanged",
		}[role])})
	}
	if settings["mailFrom"] != "" {
		account, err := sesv2.NewFromConfig(cfg).GetAccount(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("asking SES in %s for its quota (AWS does not have SES in every region): %w", cfg.Region, err)
		}
		if account.SendQuota != nil {
			findings = append(findings, Finding{Text: ofMails(cfg.Region, account.ProductionAccessEnabled, *account.SendQuota)})
		}
	}
	return findings, nil
}

// concurrency returns the AWS account's concurrent functions in the region, without reservations of
// other functions.
func concurrency(ctx context.Context, cfg aws.Config) (int, error) {
	account, err := lambda.NewFromConfig(cfg).GetAccountSettings(ctx, nil)
	if err != nil {
		return 0, err
	}
	return int(aws.ToInt32(account.AccountLimit.UnreservedConcurrentExecutions)), nil
}

// enoughFunctions is the minimum concurrency for a stage under load: deliver takes 120, and each
// other function handles about ten requests a second.
const enoughFunctions = 400

func ofConcurrency(n int, region string) string {
	limit := fmt.Sprintf("Lambda runs at most %d concurrent functions for this AWS account in %s", n, region)
	if n >= enoughFunctions {
		return limit + "."
	}
	return fmt.Sprintf(`%s, and returns 429 above that. A stage in
production needs %d or more, and AWS grants 1,000 without a charge. Ask for it, and deploy again when it is granted:
  aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000 --region %s`,
		limit, enoughFunctions, region)
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

func ofMails(region string, production bool, quota types.SendQuota) string {
	limit := fmt.Sprintf("%.0f emails in 24 hours and %.0f per second", quota.Max24HourSend, quota.MaxSendRate)
	switch {
	case !production:
		return fmt.Sprintf(`SES is in its sandbox in %s: it only sends to verified addresses, %s. Ask AWS to move it out:
  aws sesv2 put-account-details --production-access-enabled --mail-type TRANSACTIONAL --website-url URL --region %[1]s`, region, limit)
	case quota.Max24HourSend < enoughMails:
		return fmt.Sprintf(`SES in %s sends %s: others wait. Ask AWS for more:
  aws service-quotas request-service-quota-increase --service-code ses --quota-code L-804C8AE8 --desired-value 50000 --region %[1]s`,
			region, limit)
	}
	return fmt.Sprintf("SES in %s sends %s.", region, limit)
}
