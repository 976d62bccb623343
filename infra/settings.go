package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"collabdata/infra/stack"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/platform"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

// localStage is the stage for a local cloud: removing the stack removes its data, and functions may
// call this machine.
const localStage = "local"

// Settings are the operator's choices. The tag setting names a CDK context value: `cdk deploy -c
// stage=test`, or "context" in cdk.json. A text matches the tag pattern, and a number is in the tag
// range; the tag rule describes them in errors.
type Settings struct {
	Stage    string `setting:"stage" default:"prod" pattern:"[a-z][a-z0-9]{0,15}" rule:"a lower-case letter, then at most 15 letters and digits"`
	Arch     string `setting:"arch" default:"arm64" pattern:"arm64|x86_64" rule:"arm64 or x86_64"`
	MailFrom string `setting:"mailFrom" pattern:"[A-Za-z0-9!#$%&'*+/=?^_{|}~.-]+@([a-z0-9-]{1,63}[.])+[a-z]{2,63}" rule:"a plain address such as no-reply@example.com"`
	// Whether the stack creates the SES identity.
	MailIdentity string `setting:"mailIdentity" default:"create" pattern:"create|existing" rule:"create, or existing for a domain that SES has verified already"`
	// Accounts can override this setting and the next two.
	MailFromName string `setting:"mailFromName"`
	MailProduct  string `setting:"mailProduct"`
	// With {organizationId}, {documentId}, {annotationId} and {commentId}.
	MailLink        string `setting:"mailLink"`
	APIKeyHeader    string `setting:"apiKeyHeader"`
	AuthTokenHeader string `setting:"authTokenHeader"`
	CustomDomain    string `setting:"customDomain" pattern:"([a-z0-9-]{1,63}[.])+[a-z]{2,63}" rule:"a host name in lower case such as collab.example.com"`
	CertificateARN  string `setting:"certificateArn" pattern:"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+" rule:"the ARN of an ACM certificate in the stack's region"`
	GatewayAddress  string `setting:"gatewayAddress" default:"open" pattern:"open|closed" rule:"open, or closed if customDomain is the only address"`
	// The burst is twice as many.
	StageRate int `setting:"stageRate" default:"1000" range:"1-100000" rule:"a number of requests per second"`
	// New connections of pages; the burst is twice as many. By default, AWS allows 500 for all
	// WebSocket APIs of an account in a region.
	ConnectRate    int    `setting:"connectRate" default:"200" range:"1-100000" rule:"a number of connections per second"`
	GatewayLogRole string `setting:"gatewayLogRole" default:"create" pattern:"create|existing" rule:"create, or existing if API Gateway has a role for its logs in the region"`
	Firewall       bool   `setting:"firewall" default:"on"`
	// Replaces the stack's own firewall.
	WebACL string `setting:"webAcl" pattern:"arn:aws[a-z-]*:wafv2:[a-z0-9-]+:[0-9]{12}:regional/webacl/[A-Za-z0-9_-]+/[0-9a-f-]+" rule:"the ARN of a regional web ACL in the stack's region"`
	// Of the stack's own firewall.
	ManagedRules    string         `setting:"managedRules" pattern:"AWSManagedRules[A-Za-z0-9]+(,AWSManagedRules[A-Za-z0-9]+)*" rule:"a comma-separated list of AWS's managed rule groups, such as AWSManagedRulesCommonRuleSet"`
	AllowedNetworks []netip.Prefix `setting:"allowedNetworks"`
	// In five minutes: per address and API key, and per address.
	WAFRateLimit        int    `setting:"wafRateLimit" default:"30000" range:"10-2000000000" rule:"a number of requests"`
	WAFAddressRateLimit int    `setting:"wafAddressRateLimit" default:"60000" range:"10-2000000000" rule:"a number of requests"`
	Alarms              bool   `setting:"alarms" default:"on"`
	AlarmMail           string `setting:"alarmMail" pattern:"[A-Za-z0-9!#$%&'*+/=?^_{|}~.-]+@([a-z0-9-]{1,63}[.])+[a-z]{2,63}" rule:"a plain address such as no-reply@example.com"`
	Dashboard           bool   `setting:"dashboard" default:"on"`
	// Sends changes to pages; off by default if Concurrency is below liveConcurrency.
	Live    bool `setting:"live"`
	Tracing bool `setting:"tracing" default:"off"`
	// Whether functions may write the table.
	Writes bool `setting:"writes" default:"on"`
	// The AWS account's concurrent functions in the region, for all stages. The default is that of a
	// new AWS account.
	Concurrency int `setting:"concurrency" default:"10" range:"1-1000000" rule:"a number of functions"`
	// Of webhooks and permission providers.
	AllowedPrivateCIDRs []netip.Prefix `setting:"allowedPrivateCidrs"`
	LogRetentionDays    int            `setting:"logRetentionDays" default:"30"`
	// Encrypts the table, the queues, the logs and the topic.
	KMSKey string `setting:"kmsKey" pattern:"create|arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+" rule:"create, or the ARN of a KMS key in the stack's region"`
	// Whether the logs leave with the stack.
	Logs string `setting:"logs" default:"delete" pattern:"delete|retain" rule:"delete, or retain to keep them after the stack"`
	// Of all resources, as name=value.
	Tags string `setting:"tags" pattern:"[A-Za-z0-9_.:/+@-]+=[A-Za-z0-9 _.:/+@-]*(,[A-Za-z0-9_.:/+@-]+=[A-Za-z0-9 _.:/+@-]*)*" rule:"a comma-separated list of tags such as cost-center=42"`
	// Write units per second that the stack's own table and each index take at once.
	WarmThroughput int `setting:"warmThroughput" range:"4001-400000" rule:"a number of write units per second"`
	// That the audit log stores acts.
	AuditDays int `setting:"auditDays" default:"400" range:"1-3650" rule:"a number of days"`
	// Restored from backup, it replaces the stack's own. Without its stream, live is off.
	RestoredTable  string `setting:"restoredTable" pattern:"[A-Za-z0-9_.-]{3,255}" rule:"the name of a DynamoDB table"`
	RestoredStream string `setting:"restoredStream" pattern:"arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]+/stream/[0-9T:.-]+" rule:"the ARN of the stream of a DynamoDB table"`
	// Units per second of the stack's own table and of each index; 0 for no maximum.
	MaxReadUnits  int `setting:"maxReadUnits" range:"1-10000000" rule:"a number of read units per second"`
	MaxWriteUnits int `setting:"maxWriteUnits" range:"1-10000000" rule:"a number of write units per second"`
	// US dollars for all costs of the AWS account; 0 for no budget.
	MonthlyBudget int    `setting:"monthlyBudget" range:"1-10000000" rule:"a number of US dollars"`
	Version       string `setting:"version" pattern:"[A-Za-z0-9.+_-]{1,64}" rule:"1 to 64 letters, digits, ., +, _ and -"`

	Headers credentials.Headers // of APIKeyHeader and AuthTokenHeader

	synthesizer awscdk.IStackSynthesizer // nil for that of the CDK
}

// checks are further rules of settings by name.
var checks = map[string]func(string) error{
	"mailFromName": collab.CheckMailName, "mailProduct": collab.CheckMailName, "mailLink": collab.CheckMailLink,
	"logRetentionDays": checkRetention,
}

// Local reports whether the stack is for a local cloud.
func (s Settings) Local() bool { return s.Stage == localStage }

// StackName returns the name of the stage's CloudFormation stack.
func (s Settings) StackName() string { return stack.Name(s.Stage) }

// ReadSettings reads all settings from the context, which also has values of the CDK. It returns an
// error that names each invalid setting with its rule, and each unknown setting, so that a
// misspelled stage does not deploy to the default one.
func ReadSettings(context map[string]any) (Settings, error) {
	s := Settings{Version: platform.Version()}
	var errs []error
	names := map[string]bool{}
	v := reflect.ValueOf(&s).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, ok := f.Tag.Lookup("setting")
		if !ok {
			continue
		}
		names[name] = true
		if text := cmp.Or(textOf(context[name]), f.Tag.Get("default")); text != "" {
			if err := set(v.FieldByIndex(f.Index), f.Tag, text); err != nil {
				errs = append(errs, fmt.Errorf("setting %s is %q; it %w", name, text, err))
			}
		}
	}
	s.Headers = credentials.Headers{Key: strings.ToLower(s.APIKeyHeader), Token: strings.ToLower(s.AuthTokenHeader)}
	if textOf(context["live"]) == "" {
		s.Live = s.Concurrency >= liveConcurrency
	}
	if err := s.Headers.Check(); err != nil {
		errs = append(errs, fmt.Errorf("settings apiKeyHeader and authTokenHeader: %w", err))
	}
	if s.AlarmMail != "" && !s.Alarms {
		errs = append(errs, errors.New("setting alarmMail: alarms is off"))
	}
	if s.MonthlyBudget > 0 && s.AlarmMail == "" {
		errs = append(errs, errors.New("setting monthlyBudget: requires alarmMail"))
	}
	if s.RestoredStream != "" && s.RestoredTable == "" {
		errs = append(errs, errors.New("setting restoredStream: requires restoredTable"))
	}
	if s.AllowedPrivateCIDRs != nil && !s.Local() {
		errs = append(errs, fmt.Errorf(
			"setting allowedPrivateCidrs is for stage %s only: on AWS the functions are in no VPC, and reach no private network", localStage,
		))
	}
	if own := s.ManagedRules != "" || s.AllowedNetworks != nil; own && (!s.Firewall || s.WebACL != "") {
		errs = append(errs, errors.New("settings managedRules and allowedNetworks: require the stack's own firewall"))
	}
	if s.WebACL != "" && !s.Firewall {
		errs = append(errs, errors.New("setting webAcl: firewall is off"))
	}
	if strings.Contains(","+strings.ToLower(s.Tags), ",aws:") {
		errs = append(errs, errors.New("setting tags: names must not begin with aws:"))
	}
	if s.GatewayAddress == "closed" && s.CustomDomain == "" {
		errs = append(errs, errors.New("setting gatewayAddress: closed requires customDomain"))
	}
	if (s.CustomDomain == "") != (s.CertificateARN == "") {
		errs = append(errs, errors.New("customDomain and certificateArn: give both or neither"))
	}
	// The CDK's own names contain characters other than letters.
	for _, name := range slices.Sorted(maps.Keys(context)) {
		if !names[name] && regexp.MustCompile(`^[A-Za-z]+$`).MatchString(name) {
			errs = append(errs, fmt.Errorf("setting %s does not exist: the settings are %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", ")))
		}
	}
	return s, errors.Join(errs...)
}

// textOf returns a setting as text, "" if it is not set. JSON numbers arrive as float64.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return strings.TrimSpace(fmt.Sprint(v))
	}
}

// set sets the field of a setting. It returns the rule that the text breaks.
func set(v reflect.Value, tag reflect.StructTag, text string) error {
	rule := errors.New("must be " + tag.Get("rule"))
	if check := checks[tag.Get("setting")]; check != nil {
		if err := check(text); err != nil {
			return err
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		if text != "on" && text != "off" {
			return errors.New("must be on or off")
		}
		v.SetBool(text == "on")
	case reflect.Int:
		low, high := 0, math.MaxInt
		_, _ = fmt.Sscanf(tag.Get("range"), "%d-%d", &low, &high)
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("%w from %d to %d", rule, low, high)
		}
		v.SetInt(int64(n))
	case reflect.Slice:
		for part := range strings.SplitSeq(text, ",") {
			p, err := netip.ParsePrefix(strings.TrimSpace(part))
			if err != nil || p != p.Masked() {
				return errors.New("must be a comma-separated list of networks such as 127.0.0.0/8, without host bits")
			}
			v.Set(reflect.Append(v, reflect.ValueOf(p)))
		}
	default:
		v.SetString(text)
		if pattern := tag.Get("pattern"); pattern != "" && !regexp.MustCompile("^(?:"+pattern+")$").MatchString(text) {
			return rule
		}
	}
	return nil
}

// retentions are CloudWatch's retention times, in days.
var retentions = map[int]awslogs.RetentionDays{
	1: awslogs.RetentionDays_ONE_DAY, 3: awslogs.RetentionDays_THREE_DAYS, 5: awslogs.RetentionDays_FIVE_DAYS,
	7: awslogs.RetentionDays_ONE_WEEK, 14: awslogs.RetentionDays_TWO_WEEKS, 30: awslogs.RetentionDays_ONE_MONTH,
	60: awslogs.RetentionDays_TWO_MONTHS, 90: awslogs.RetentionDays_THREE_MONTHS, 120: awslogs.RetentionDays_FOUR_MONTHS,
	150: awslogs.RetentionDays_FIVE_MONTHS, 180: awslogs.RetentionDays_SIX_MONTHS, 365: awslogs.RetentionDays_ONE_YEAR,
	400: awslogs.RetentionDays_THIRTEEN_MONTHS, 545: awslogs.RetentionDays_EIGHTEEN_MONTHS, 731: awslogs.RetentionDays_TWO_YEARS,
	1096: awslogs.RetentionDays_THREE_YEARS, 1827: awslogs.RetentionDays_FIVE_YEARS, 2192: awslogs.RetentionDays_SIX_YEARS,
	2557: awslogs.RetentionDays_SEVEN_YEARS, 2922: awslogs.RetentionDays_EIGHT_YEARS, 3288: awslogs.RetentionDays_NINE_YEARS,
	3653: awslogs.RetentionDays_TEN_YEARS,
}

// checkRetention returns the rule that a number of days breaks.
func checkRetention(days string) error {
	n, _ := strconv.Atoi(days)
	if _, ok := retentions[n]; !ok {
		all := fmt.Sprint(slices.Sorted(maps.Keys(retentions)))
		return fmt.Errorf("must be a number of days that CloudWatch offers: %s", strings.Trim(strings.ReplaceAll(all, " ", ", "), "[]"))
	}
	return nil
}

// removal returns the policy that keeps data and shared resources when they leave the stack, except
// on stage local.
func (s Settings) removal() awscdk.RemovalPolicy {
	if s.Local() {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}

func (s Settings) architecture() awslambda.Architecture {
	if s.Arch == "x86_64" {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}

// writes returns the setting in the form of the functions' variable; "" for the default.
func (s Settings) writes() string {
	if s.Writes {
		return ""
	}
	return "off"
}

// liveDomain returns the custom domain of connections.
func (s Settings) liveDomain() string { return "live." + s.CustomDomain }

// live reports whether the stack sends changes to pages.
func (s Settings) live() bool { return s.Live && (s.RestoredTable == "" || s.RestoredStream != "") }

const (
	usualConcurrency = 1000 // concurrency of an established AWS account
	liveConcurrency  = 100  // live defaults to off below this
	maxRuns          = 1000 // concurrent runs of a function for one queue
)

// share scales runs from the usual concurrency to the AWS account's, to a number from 2 to 1,000,
// which Lambda requires.
func (s Settings) share(runs int) int {
	return max(2, min(maxRuns, runs*s.Concurrency/usualConcurrency))
}

// allowedPrivateCIDRs returns the list in the form of the functions' variable.
func (s Settings) allowedPrivateCIDRs() string {
	var texts []string
	for _, p := range s.AllowedPrivateCIDRs {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ",")
}
