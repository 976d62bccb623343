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

// localStage is the stage for a local cloud: its data goes with it, and functions may call back to this machine.
const localStage = "local"

// Settings are the operator's choices, each a CDK context value of its name: `cdk deploy -c stage=test`, or "context" in cdk.json.
type Settings struct {
	Stage        string // stage: which deployment this is; part of the stack's name and of the API's URL
	Arch         string // arch: arm64 or x86_64, as the functions were built
	MailFrom     string // mailFrom: sender of mail; "" sends none
	MailIdentity string // mailIdentity: create or existing: whether the stack makes the SES identity of mailFrom's domain
	// mailFromName: the sender's name; "" for none. This and the next two an account's own settings may replace
	MailFromName string
	MailProduct  string // mailProduct: what the mails are about, as they name it; "" for nothing
	// mailLink: URL to a thread, with {organizationId}, {documentId}, {annotationId} and {commentId}; "" for none
	MailLink string
	// apiKeyHeader and authTokenHeader: the headers that carry the credentials, where callers know others
	Headers        credentials.Headers
	CustomDomain   string // customDomain: host name of the API; "" leaves it at the gateway's own
	CertificateARN string // certificateArn: certificate of customDomain, in the stack's region
	GatewayAddress string // gatewayAddress: open or closed: whether the gateway's own address works beside customDomain
	// stageRate: requests per second that the stage takes of all callers together; twice as many for a moment
	StageRate           int
	GatewayLogRole      string // gatewayLogRole: create or existing: whether the stack makes the role by which API Gateway writes logs
	Firewall            bool   // firewall: on or off: whether there is one, with the two limits that follow
	WAFRateLimit        int    // wafRateLimit: requests of an address with one API key in any five minutes
	WAFAddressRateLimit int    // wafAddressRateLimit: requests of an address in any five minutes
	Alarms              bool   // alarms: on or off
	AlarmMail           string // alarmMail: the address that alarms are mailed to, once its owner has agreed; "" for none
	Dashboard           bool   // dashboard: on or off
	Live                bool   // live: on or off: whether pages are told of changes; off where Concurrency is below liveConcurrency
	Tracing             bool   // tracing: on or off: whether X-Ray traces requests
	Writes              bool   // writes: on or off: whether functions may write the table
	Concurrency         int    // concurrency: functions that the AWS account runs in the region at the same time, of all stages
	// allowedPrivateCidrs: private networks that webhooks and permission providers may be in; stage local only
	AllowedPrivateCIDRs []netip.Prefix
	LogRetentionDays    int    // logRetentionDays: how long logs are kept
	RestoredTable       string // restoredTable: a table restored from backup that the functions use instead of the stack's own
	RestoredStream      string // restoredStream: the ARN of its stream; "" for none, then live is off
	Version             string // version: what is deployed, as the output Version says
}

// Local reports whether the stack goes to a local cloud.
func (s Settings) Local() bool { return s.Stage == localStage }

// StackName is the CloudFormation stack of the stage.
func (s Settings) StackName() string { return "collabdata-" + s.Stage }

// ReadSettings reads every setting from the context, in which the CDK has values of its own too. The error names each setting that breaks
// its rule, and the rule, and each that there is not: a misspelt stage must not deploy to the default one.
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
		GatewayAddress: r.text("gatewayAddress", "open", `open|closed`, "open, or closed where customDomain is the only address"),
		Headers: credentials.Headers{
			Key:   strings.ToLower(r.text("apiKeyHeader", "", `.*`, "a name")),
			Token: strings.ToLower(r.text("authTokenHeader", "", `.*`, "a name")),
		},
		StageRate: r.number(
			"stageRate", 1000, func(n int) bool { return 1 <= n && n <= 100_000 }, "a number of requests per second from 1 to 100000",
		),
		GatewayLogRole: r.text(
			"gatewayLogRole", "create", `create|existing`, "create, or existing where API Gateway has a role for its logs in the region",
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
		r.errs = append(r.errs, errors.New("setting restoredStream: there is no restoredTable"))
	}
	s.AllowedPrivateCIDRs = r.networks("allowedPrivateCidrs", s.Local())
	if s.GatewayAddress == "closed" && s.CustomDomain == "" {
		r.errs = append(r.errs, errors.New("setting gatewayAddress: closed needs customDomain, as there is no other address"))
	}
	if (s.CustomDomain == "") != (s.CertificateARN == "") {
		r.errs = append(r.errs, errors.New("customDomain and certificateArn: give both or neither"))
	}
	r.refuseUnknown()
	return s, errors.Join(r.errs...)
}

// reader collects every mistake, so that one run names them all.
type reader struct {
	context map[string]any
	names   map[string]bool // of the settings, as they are read
	errs    []error
}

// refuseUnknown refuses what is named like a setting, and is none. The CDK's own names have other characters than letters.
func (r *reader) refuseUnknown() {
	for _, name := range slices.Sorted(maps.Keys(r.context)) {
		if !r.names[name] && regexp.MustCompile(`^[A-Za-z]+$`).MatchString(name) {
			r.errs = append(
				r.errs, fmt.Errorf("there is no setting %s: the settings are %s", name, strings.Join(slices.Sorted(maps.Keys(r.names)), ", ")),
			)
		}
	}
}

func (r *reader) refuse(name, value, rule string) {
	r.errs = append(r.errs, fmt.Errorf("setting %s is %q; it must be %s", name, value, rule))
}

// value is the setting as text, and whether it was given; an empty text is as not given. JSON's numbers arrive as float64.
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

// checked is a text; the error of check says its rule.
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

// wafRate reports whether the firewall takes n as a limit.
func wafRate(n int) bool { return 10 <= n && n <= 2_000_000_000 }

const wafRateRule = "a number of requests from 10 to 2000000000"

// networks reads a comma-separated list. On AWS no function is in a VPC, so that no private network can be reached from there.
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

// retentions are the retention times that CloudWatch offers, in days.
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

// removal says what becomes of things that hold data, or serve others too, when they leave the stack.
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

// writes says off as the functions read it, "" for their own default.
func (s Settings) writes() string {
	if s.Writes {
		return ""
	}
	return "off"
}

// live says whether there is what tells pages of changes.
func (s Settings) live() bool { return s.Live && (s.RestoredTable == "" || s.RestoredStream != "") }

const (
	usualConcurrency = 1000 // functions that an AWS account runs at the same time, unless it is new
	liveConcurrency  = 100  // below this, live is off unless it is asked for
	maxRuns          = 1000 // of a function at the same time for one queue
)

// share is the part of the AWS account's concurrency that is runs of the usual one: from 2 to 1,000, as Lambda takes it for a queue.
func (s Settings) share(runs int) int {
	return max(2, min(maxRuns, runs*s.Concurrency/usualConcurrency))
}

// allowedPrivateCIDRs is the list as the functions read it.
func (s Settings) allowedPrivateCIDRs() string {
	var texts []string
	for _, p := range s.AllowedPrivateCIDRs {
		texts = append(texts, p.String())
	}
	return strings.Join(texts, ",")
}
