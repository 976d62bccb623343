package main

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// Settings are the operator's choices. Each is a CDK context value of its name: `cdk deploy -c
// stage=test`, or "context" in cdk.json.
type Settings struct {
	// stage: name of the deployment, in the names of the stack and the API's URL
	Stage    string
	Arch     string // arch: arm64 or x86_64, as the functions were built
	MailFrom string // mailFrom: sender of emails; "" sends none
	// mailIdentity: create or existing: whether the stack creates the SES identity
	MailIdentity string
	// mailFromName: name of the sender; "" for none. Accounts can override this setting and the
	// next two.
	MailFromName string
	MailProduct  string // mailProduct: name of the product in emails; "" for none
	// mailLink: URL of a thread, with {organizationId}, {documentId}, {annotationId} and
	// {commentId}; "" for none
	MailLink string
	// apiKeyHeader and authTokenHeader: names of the headers with the credentials
	Headers        credentials.Headers
	CustomDomain   string // customDomain: host name of the API; "" uses the gateway's own
	CertificateARN string // certificateArn: certificate of customDomain, in the stack's region
	// gatewayAddress: open or closed: whether the gateway's own address also works
	GatewayAddress string
	// stageRate: requests per second of all callers; the burst is twice as many
	StageRate int
	// gatewayLogRole: create or existing: whether the stack creates the role for gateway logs
	GatewayLogRole      string
	Firewall            bool // firewall: on or off, with the next two limits
	WAFRateLimit        int  // wafRateLimit: requests per address and API key in five minutes
	WAFAddressRateLimit int  // wafAddressRateLimit: requests per address in five minutes
	Alarms              bool // alarms: on or off
	// alarmMail: address for alarms, after its owner confirms; "" for none
	AlarmMail string
	Dashboard bool // dashboard: on or off
	// live: on or off: sends changes to pages; off if Concurrency is below liveConcurrency
	Live    bool
	Tracing bool // tracing: on or off: traces requests with X-Ray
	Writes  bool // writes: on or off: whether functions may write the table
	// concurrency: the AWS account's concurrent functions in the region, for all stages
	Concurrency int
	// allowedPrivateCidrs: private networks of webhooks and permission providers; stage local only
	AllowedPrivateCIDRs []netip.Prefix
	LogRetentionDays    int // logRetentionDays: retention of logs
	// restoredTable: a table restored from backup, which replaces the stack's own
	RestoredTable  string
	RestoredStream string // restoredStream: the ARN of its stream; "" turns live off
	Version        string // version: deployed version, for the output Version
}

// Local reports whether the stack is for a local cloud.
func (s Settings) Local() bool { return s.Stage == localStage }

// StackName returns the name of the stage's CloudFormation stack.
func (s Settings) StackName() string { return "collabdata-" + s.Stage }

// ReadSettings reads all settings from the context, which also has values of the CDK. It returns an
// error that names each invalid setting with its rule, and each unknown setting, so that a
// misspelled stage does not deploy to the default one.
func ReadSettings(context map[string]any) (Settings, error) {
	r := reader{context: context, names: map[string]bool{}}
	s := Settings{
		Stage:    r.text("stage", "prod", `[a-z][a-z0-9]{0,15}`, "a lower-case letter, then at most 15 letters and digits"),
		Arch:     r.text("arch", "arm64", `arm64|x86_64`, "arm64 or x86_64"),
		MailFrom: r.text("mailFrom", "", mailAddress, mailAddressRule),
		MailIdentity: r.text(
			"mailIdentity", "create", `create|existing`, "create, or existing for a domain that SES has verified already",
		),
		MailFromName: r.checked("mailFromName", collab.CheckMailName),
		MailProduct:  r.checked("mailProduct", collab.CheckMailName),
		MailLink:     r.checked("mailLink", collab.CheckMailLink),
		CustomDomain: r.text(
			"customDomain", "", `([a-z0-9-]{1,63}\.)+[a-z]{2,63}`, "a host name in lower case such as collab.example.com",
		),
		CertificateARN: r.text(
			"certificateArn", "", `arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+`,
			"the ARN of an ACM certificate in the stack's region",
		),
		GatewayAddress: r.text("gatewayAddress", "open", `open|closed`, "open, or closed if customDomain is the only address"),
		Headers: credentials.Headers{
			Key:   strings.ToLower(r.text("apiKeyHeader", "", `.*`, "a name")),
			Token: strings.ToLower(r.text("authTokenHeader", "", `.*`, "a name")),
		},
		StageRate: r.number(
			"stageRate", 1000, func(n int) bool { return 1 <= n && n <= 100_000 }, "a number of requests per second from 1 to 100000",
		),
		GatewayLogRole: r.text(
			"gatewayLogRole", "create", `create|existing`, "create, or existing if API Gateway has a role for its logs in the region",
		),
		Firewall:            r.toggle("firewall", true),
		WAFRateLimit:        r.number("wafRateLimit", 30_000, wafRate, wafRateRule),
		WAFAddressRateLimit: r.number("wafAddressRateLimit", 60_000, wafRate, wafRateRule),
		Alarms:              r.toggle("alarms", true),
		AlarmMail:           r.text("alarmMail", "", mailAddress, mailAddressRule),
		Dashboard:           r.toggle("dashboard", true),
		Tracing:             r.toggle("tracing", false),
		Writes:              r.toggle("writes", true),
		Concurrency: r.number(
			"concurrency", usualConcurrency, func(n int) bool { return 1 <= n && n <= 1_000_000 }, "a number of functions from 1 to 1000000",
		),
		LogRetentionDays: r.number(
			"logRetentionDays", 30, func(n int) bool { _, ok := retentions[n]; return ok },
			"a number of days that CloudWatch offers: "+retentionDays(),
		),
		RestoredTable: r.text("restoredTable", "", `[A-Za-z0-9_.-]{3,255}`, "the name of a DynamoDB table"),
		RestoredStream: r.text(
			"restoredStream", "", `arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]+/stream/[0-9T:.-]+`,
			"the ARN of the stream of a DynamoDB table",
		),
		Version: r.text("version", platform.Version(), `[A-Za-z0-9.+_-]{1,64}`, "1 to 64 letters, digits, ., +, _ and -"),
	}
	s.Live = r.toggle("live", s.Concurrency >= liveConcurrency)
	if err := s.Headers.Check(); err != nil {
		r.errs = append(r.errs, fmt.Errorf("settings apiKeyHeader and authTokenHeader: %w", err))
	}
	if s.AlarmMail != "" && !s.Alarms {
		r.errs = append(r.errs, errors.New("setting alarmMail: alarms is off"))
	}
	if s.RestoredStream != "" && s.RestoredTable == "" {
		r.errs = append(r.errs, errors.New("setting restoredStream: requires restoredTable"))
	}
	s.AllowedPrivateCIDRs = r.networks("allowedPrivateCidrs", s.Local())
	if s.GatewayAddress == "closed" && s.CustomDomain == "" {
		r.errs = append(r.errs, errors.New("setting gatewayAddress: closed requires customDomain"))
	}
	if (s.CustomDomain == "") != (s.CertificateARN == "") {
		r.errs = append(r.errs, errors.New("customDomain and certificateArn: give both or neither"))
	}
	r.refuseUnknown()
	return s, errors.Join(r.errs...)
}

// reader collects all mistakes, so that one run reports them all.
type reader struct {
	context map[string]any
	names   map[string]bool // of settings read so far
	errs    []error
}

// refuseUnknown reports unknown settings. The CDK's own names contain characters other than
// letters.
func (r *reader) refuseUnknown() {
	for _, name := range slices.Sorted(maps.Keys(r.context)) {
		if !r.names[name] && regexp.MustCompile(`^[A-Za-z]+$`).MatchString(name) {
			r.errs = append(
				r.errs, fmt.Errorf("setting %s does not exist: the settings are %s", name, strings.Join(slices.Sorted(maps.Keys(r.names)), ", ")),
			)
		}
	}
}

func (r *reader) refuse(name, value, rule string) {
	r.errs = append(r.errs, fmt.Errorf("setting %s is %q; it must be %s", name, value, rule))
}

// value returns the setting as text, and whether it is set. An empty text counts as unset. JSON
// numbers arrive as float64.
func (r *reader) value(name string) (string, bool) {
	r.names[name] = true
	switch v := r.context[name].(type) {
	case nil:
		return "", false
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		text := strings.TrimSpace(fmt.Sprint(v))
		return text, text != ""
	}
}

func (r *reader) text(name, fallback, pattern, rule string) string {
	v, ok := r.value(name)
	if !ok {
		return fallback
	}
	if !regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(v) {
		r.refuse(name, v, rule)
	}
	return v
}

// checked returns a text. If check fails, its error states the rule.
func (r *reader) checked(name string, check func(string) error) string {
	v, _ := r.value(name)
	if err := check(v); err != nil {
		r.errs = append(r.errs, fmt.Errorf("setting %s is %q; it %w", name, v, err))
	}
	return v
}

func (r *reader) number(name string, fallback int, valid func(int) bool, rule string) int {
	v, ok := r.value(name)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || !valid(n) {
		r.refuse(name, v, rule)
	}
	return n
}

// toggle reads a setting that is on or off.
func (r *reader) toggle(name string, fallback bool) bool {
	word := map[bool]string{true: "on", false: "off"}[fallback]
	return r.text(name, word, `on|off`, "on or off") == "on"
}

const (
	mailAddress     = `[A-Za-z0-9!#$%&'*+/=?^_{|}~.-]+@([a-z0-9-]{1,63}\.)+[a-z]{2,63}`
	mailAddressRule = "a plain address such as no-reply@example.com"
)

// wafRate reports whether the firewall supports the limit n.
func wafRate(n int) bool { return 10 <= n && n <= 2_000_000_000 }

const wafRateRule = "a number of requests from 10 to 2000000000"

// networks parses a comma-separated list. It must be empty on AWS: functions are in no VPC and
// cannot reach private networks.
func (r *reader) networks(name string, local bool) []netip.Prefix {
	v, ok := r.value(name)
	if !ok {
		return nil
	}
	if !local {
		r.errs = append(
			r.errs,
			fmt.Errorf("setting %s is for stage %s only: on AWS the functions are in no VPC, and reach no private network", name, localStage),
		)
		return nil
	}
	var networks []netip.Prefix
	for text := range strings.SplitSeq(v, ",") {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if err != nil || p != p.Masked() {
			r.refuse(name, text, "a comma-separated list of networks such as 127.0.0.0/8, without host bits")
		}
		networks = append(networks, p)
	}
	return networks
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

func retentionDays() string {
	var days []int
	for d := range retentions {
		days = append(days, d)
	}
	slices.Sort(days)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(days), " ", ", "), "[]")
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
