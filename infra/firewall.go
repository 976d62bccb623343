package main

import (
	"strings"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awswafv2"
	"github.com/aws/jsii-runtime-go"
)

const (
	firewallWindow     = 300  // counting window in seconds
	personRateLimit    = 900  // requests per token in the window: 10 reads and 20 writes in 10 s
	firewallRetryAfter = "60" // approximate seconds to detect that a caller slowed down
)

// addFirewall limits the requests per address, per address and API key, and per personal token. No
// rule counts only a key: the firewall cannot verify the token, so anyone who knows a key could use
// up its owner's share.
func (s *service) addFirewall(gateway awsapigateway.RestApiBase) {
	if !s.settings.Firewall {
		suppress(gateway.DeploymentStage(), "AwsSolutions-APIG3", "The setting firewall is off.")
		return
	}
	if s.settings.WebACL != "" {
		s.associate(gateway, &s.settings.WebACL)
		return
	}
	key, _ := s.settings.Headers.Names()
	firewall := awswafv2.NewCfnWebACL(s.stack, jsii.String("Firewall"), &awswafv2.CfnWebACLProps{
		Scope:            jsii.String("REGIONAL"),
		DefaultAction:    &awswafv2.CfnWebACL_DefaultActionProperty{Allow: &awswafv2.CfnWebACL_AllowActionProperty{}},
		VisibilityConfig: visible(*s.stack.StackName()),
		CustomResponseBodies: map[string]any{"throttled": &awswafv2.CfnWebACL_CustomResponseBodyProperty{
			ContentType: jsii.String("APPLICATION_JSON"),
			Content:     jsii.String(envelope(collab.ResourceExhausted, throttled)),
		}},
		Rules: s.rules(
			rateRule(0, "rate-per-address", s.settings.WAFAddressRateLimit),
			rateRule(1, "rate-per-address-and-api-key", s.settings.WAFRateLimit, &awswafv2.CfnWebACL_RateBasedStatementCustomKeyProperty{
				Ip: map[string]any{},
			}, &awswafv2.CfnWebACL_RateBasedStatementCustomKeyProperty{
				Header: &awswafv2.CfnWebACL_RateLimitHeaderProperty{
					Name:                jsii.String(key),
					TextTransformations: &[]*awswafv2.CfnWebACL_TextTransformationProperty{{Priority: jsii.Number(0), Type: jsii.String("NONE")}},
				},
			}),
			// The scheme is case-insensitive.
			rateRule(2, "rate-per-person", personRateLimit, &awswafv2.CfnWebACL_RateBasedStatementCustomKeyProperty{
				Header: &awswafv2.CfnWebACL_RateLimitHeaderProperty{
					Name:                jsii.String("authorization"),
					TextTransformations: &[]*awswafv2.CfnWebACL_TextTransformationProperty{{Priority: jsii.Number(0), Type: jsii.String("LOWERCASE")}},
				},
			}),
		),
	})
	s.associate(gateway, firewall.AttrArn())
}

func (s *service) associate(gateway awsapigateway.RestApiBase, firewall *string) {
	awswafv2.NewCfnWebACLAssociation(s.stack, jsii.String("FirewallAssociation"), &awswafv2.CfnWebACLAssociationProps{
		ResourceArn: gateway.DeploymentStage().StageArn(),
		WebAclArn:   firewall,
	})
}

// rules returns the rules of the rates, followed by the managed ones and that of allowed networks.
// It counts matches of two managed rules only: bodies have more than 8 KB, and HTML in comments.
func (s *service) rules(rules ...*awswafv2.CfnWebACL_RuleProperty) *[]*awswafv2.CfnWebACL_RuleProperty {
	for name := range strings.SplitSeq(s.settings.ManagedRules, ",") {
		if name == "" {
			continue
		}
		var counted []*awswafv2.CfnWebACL_RuleActionOverrideProperty
		if name == "AWSManagedRulesCommonRuleSet" {
			for _, rule := range []string{"SizeRestrictions_BODY", "CrossSiteScripting_BODY"} {
				counted = append(counted, &awswafv2.CfnWebACL_RuleActionOverrideProperty{
					Name: &rule, ActionToUse: &awswafv2.CfnWebACL_RuleActionProperty{Count: &awswafv2.CfnWebACL_CountActionProperty{}},
				})
			}
		}
		group := &awswafv2.CfnWebACL_ManagedRuleGroupStatementProperty{VendorName: jsii.String("AWS"), Name: &name}
		if counted != nil {
			group.RuleActionOverrides = &counted
		}
		rules = append(rules, &awswafv2.CfnWebACL_RuleProperty{
			Name: &name, Priority: jsii.Number(len(rules)), VisibilityConfig: visible(name),
			Statement:      &awswafv2.CfnWebACL_StatementProperty{ManagedRuleGroupStatement: group},
			OverrideAction: &awswafv2.CfnWebACL_OverrideActionProperty{None: map[string]any{}},
		})
	}
	var allowed []any
	for _, version := range []string{"IPV4", "IPV6"} {
		var networks []string
		for _, p := range s.settings.AllowedNetworks {
			if p.Addr().Is4() == (version == "IPV4") {
				networks = append(networks, p.String())
			}
		}
		if networks != nil {
			set := awswafv2.NewCfnIPSet(s.stack, jsii.String("Allowed"+version), &awswafv2.CfnIPSetProps{
				Scope: jsii.String("REGIONAL"), IpAddressVersion: &version, Addresses: jsii.Strings(networks...),
			})
			allowed = append(allowed, &awswafv2.CfnWebACL_StatementProperty{
				IpSetReferenceStatement: map[string]any{"arn": set.AttrArn()},
			})
		}
	}
	if allowed == nil {
		return &rules
	}
	inside := allowed[0]
	if len(allowed) > 1 {
		inside = &awswafv2.CfnWebACL_StatementProperty{OrStatement: &awswafv2.CfnWebACL_OrStatementProperty{Statements: allowed}}
	}
	rules = append(rules, &awswafv2.CfnWebACL_RuleProperty{
		Name: jsii.String("allowed-networks"), Priority: jsii.Number(len(rules)), VisibilityConfig: visible("allowed-networks"),
		Statement: &awswafv2.CfnWebACL_StatementProperty{NotStatement: &awswafv2.CfnWebACL_NotStatementProperty{Statement: inside}},
		Action:    &awswafv2.CfnWebACL_RuleActionProperty{Block: &awswafv2.CfnWebACL_BlockActionProperty{}},
	})
	return &rules
}

// rateRule responds with 429, in the service's envelope, to requests above a limit in the
// firewall's window: per address, or per value of the keys.
func rateRule(
	priority float64, name string, limit int, keys ...*awswafv2.CfnWebACL_RateBasedStatementCustomKeyProperty,
) *awswafv2.CfnWebACL_RuleProperty {
	rate := &awswafv2.CfnWebACL_RateBasedStatementProperty{
		AggregateKeyType:    jsii.String("IP"),
		EvaluationWindowSec: jsii.Number(firewallWindow),
		Limit:               jsii.Number(limit),
	}
	if len(keys) > 0 {
		rate.AggregateKeyType, rate.CustomKeys = jsii.String("CUSTOM_KEYS"), &keys
	}
	return &awswafv2.CfnWebACL_RuleProperty{
		Name:      jsii.String(name),
		Priority:  &priority,
		Statement: &awswafv2.CfnWebACL_StatementProperty{RateBasedStatement: rate},
		Action: &awswafv2.CfnWebACL_RuleActionProperty{Block: &awswafv2.CfnWebACL_BlockActionProperty{
			CustomResponse: &awswafv2.CfnWebACL_CustomResponseProperty{
				ResponseCode:          jsii.Number(429),
				CustomResponseBodyKey: jsii.String("throttled"),
				ResponseHeaders: &[]*awswafv2.CfnWebACL_CustomHTTPHeaderProperty{
					{Name: jsii.String("Retry-After"), Value: jsii.String(firewallRetryAfter)},
					{Name: jsii.String("Access-Control-Allow-Origin"), Value: jsii.String("*")},
					{Name: jsii.String("Access-Control-Expose-Headers"), Value: jsii.String(rpc.Exposed)},
				},
			},
		}},
		VisibilityConfig: visible(name),
	}
}

// visible creates a metric for a rule. It keeps no request samples, because headers contain
// credentials.
func visible(metric string) *awswafv2.CfnWebACL_VisibilityConfigProperty {
	return &awswafv2.CfnWebACL_VisibilityConfigProperty{
		CloudWatchMetricsEnabled: jsii.Bool(true), MetricName: &metric, SampledRequestsEnabled: jsii.Bool(false),
	}
}
