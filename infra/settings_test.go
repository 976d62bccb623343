package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/api"
	"collabdata/shared/api/rpc"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
)

const acl = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/company/0a1b-2c"

func TestReadSettings(t *testing.T) {
	const certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b-2c"
	for _, tt := range []struct {
		name    string
		context map[string]any
		want    []string // parts of the error; nil means success
	}{
		{"defaults", nil, nil},
		{"all", map[string]any{"stage": "test2", "arch": "x86_64", "mailFrom": "no-reply@mail.example.com", "mailIdentity": "existing",
			"mailFromName": "Collab & Co", "mailProduct": "Collab", "mailLink": "https://example.com/{documentId}",
			"customDomain": "collab.example.com", "certificateArn": certificate, "wafRateLimit": "10", "logRetentionDays": "365",
			"stageRate": "1", "wafAddressRateLimit": "2000000000", "firewall": "off", "alarms": "on", "alarmMail": "ops@example.com", "gatewayLogRole": "existing", "dashboard": "on", "live": "off",
			"tracing": "on", "writes": "off", "apiKeyHeader": "X-Key", "authTokenHeader": "x-token", "concurrency": "10", "restoredTable": "collabdata-2", "version": "0.1.0+5dbdd280c1f4.modified"}, nil},
		{"numbers of cdk.json", map[string]any{"wafRateLimit": 2_000_000.0, "logRetentionDays": 7.0}, nil},
		{"empty is not given", map[string]any{"stage": "", "mailFrom": " ", "wafRateLimit": "", "allowedPrivateCidrs": ""}, nil},
		{"local may list loopback", map[string]any{"stage": "local", "allowedPrivateCidrs": "127.0.0.0/8,169.254.0.0/16"}, nil},

		{"stage", map[string]any{"stage": "Prod"}, []string{"stage", `"Prod"`, "lower-case"}},
		{"stage too long", map[string]any{"stage": strings.Repeat("a", 17)}, []string{"stage"}},
		{"arch", map[string]any{"arch": "amd64"}, []string{"arch", "arm64 or x86_64"}},
		{"mailFrom with a name", map[string]any{"mailFrom": "Us <no-reply@example.com>"}, []string{"mailFrom", "plain address"}},
		{"mailFrom without a domain", map[string]any{"mailFrom": "no-reply"}, []string{"mailFrom"}},
		{"mailIdentity", map[string]any{"mailIdentity": "yes"}, []string{"mailIdentity", "existing"}},
		{"mailLink without a host", map[string]any{"mailLink": "example.com"}, []string{"mailLink", "https or http URL"}},
		{"mailFromName on two lines", map[string]any{"mailFromName": "a\nb"}, []string{"mailFromName", "without line ends"}},
		{"customDomain with a scheme", map[string]any{"customDomain": "https://collab.example.com", "certificateArn": certificate}, []string{"customDomain", "host name"}},
		{"customDomain alone", map[string]any{"customDomain": "collab.example.com"}, []string{"customDomain and certificateArn"}},
		{"gatewayAddress without customDomain", map[string]any{"gatewayAddress": "closed"}, []string{"gatewayAddress", "customDomain"}},
		{"certificateArn alone", map[string]any{"certificateArn": certificate}, []string{"customDomain and certificateArn"}},
		{"certificateArn of something else", map[string]any{"certificateArn": "arn:aws:iam::1:role/x", "customDomain": "a.example.com"}, []string{"certificateArn", "ACM"}},
		{"wafRateLimit too low", map[string]any{"wafRateLimit": "9"}, []string{"wafRateLimit", "from 10 to 2000000000"}},
		{"wafRateLimit no number", map[string]any{"wafRateLimit": "many"}, []string{"wafRateLimit"}},
		{"wafRateLimit with a fraction", map[string]any{"wafRateLimit": 10.5}, []string{"wafRateLimit"}},
		{"wafAddressRateLimit", map[string]any{"wafAddressRateLimit": "2000000001"}, []string{"wafAddressRateLimit", "from 10 to 2000000000"}},
		{"stageRate", map[string]any{"stageRate": "0"}, []string{"stageRate", "from 1 to 100000"}},
		{"connectRate", map[string]any{"connectRate": "0"}, []string{"connectRate", "connections per second"}},
		{"firewall", map[string]any{"firewall": "no"}, []string{"firewall", "on or off"}},
		{"alarms", map[string]any{"alarms": true}, []string{"alarms", "on or off"}},
		{"gatewayLogRole", map[string]any{"gatewayLogRole": "none"}, []string{"gatewayLogRole", "existing"}},
		{"alarmMail", map[string]any{"alarmMail": "ops"}, []string{"alarmMail", "plain address"}},
		{"alarmMail without alarms", map[string]any{"alarmMail": "ops@example.com", "alarms": "off"}, []string{"alarmMail", "alarms is off"}},
		{"monthlyBudget", map[string]any{"monthlyBudget": "0", "alarmMail": "ops@example.com"}, []string{"monthlyBudget", "from 1 to 10000000"}},
		{"monthlyBudget without alarmMail", map[string]any{"monthlyBudget": "50"}, []string{"monthlyBudget", "requires alarmMail"}},
		{"maxReadUnits", map[string]any{"maxReadUnits": "many"}, []string{"maxReadUnits", "read units per second"}},
		{"maxWriteUnits", map[string]any{"maxWriteUnits": "-1"}, []string{"maxWriteUnits", "from 1 to 10000000"}},
		{"logRetentionDays", map[string]any{"logRetentionDays": "31"}, []string{"logRetentionDays", "1, 3, 5, 7"}},
		{"restoredTable", map[string]any{"restoredTable": "a b"}, []string{"restoredTable"}},
		{"writes", map[string]any{"writes": "no"}, []string{"writes", "on or off"}},
		{"headers", map[string]any{"apiKeyHeader": "x key"}, []string{"apiKeyHeader", `"x key" must be 1 to 64 small letters`}},
		{"a header with a meaning", map[string]any{"authTokenHeader": "Content-Type"}, []string{`"content-type" must be`}},
		{"one header for both", map[string]any{"authTokenHeader": "x-service-api-key"}, []string{"different names"}},
		{"concurrency", map[string]any{"concurrency": "0"}, []string{"concurrency", "from 1"}},
		{"version", map[string]any{"version": "0.1 beta"}, []string{"version", "letters"}},
		{"networks on AWS", map[string]any{"allowedPrivateCidrs": "10.0.0.0/8"}, []string{"allowedPrivateCidrs", "in no VPC"}},
		{"networks: no network", map[string]any{"stage": "local", "allowedPrivateCidrs": "10.0.0.1"}, []string{"allowedPrivateCidrs", `"10.0.0.1"`}},
		{"networks: host bits", map[string]any{"stage": "local", "allowedPrivateCidrs": "10.0.0.1/8"}, []string{"allowedPrivateCidrs", "without host bits"}},
		{"networks: empty part", map[string]any{"stage": "local", "allowedPrivateCidrs": "10.0.0.0/8,"}, []string{"allowedPrivateCidrs"}},
		{"kmsKey", map[string]any{"kmsKey": "alias/mine"}, []string{"kmsKey", "create, or the ARN"}},
		{"webAcl", map[string]any{"webAcl": "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/0b"}, []string{"webAcl", "regional"}},
		{"webAcl without a firewall", map[string]any{"firewall": "off", "webAcl": acl}, []string{"webAcl", "firewall is off"}},
		{"webAcl and rules", map[string]any{"webAcl": acl, "managedRules": "AWSManagedRulesCommonRuleSet"}, []string{"managedRules", "own firewall"}},
		{"managedRules", map[string]any{"managedRules": "Mine"}, []string{"managedRules", "AWSManagedRulesCommonRuleSet"}},
		{"allowedNetworks", map[string]any{"allowedNetworks": "10.0.0.1/8"}, []string{"allowedNetworks", "without host bits"}},
		{"logs", map[string]any{"logs": "keep"}, []string{"logs", "retain"}},
		{"tags", map[string]any{"tags": "team"}, []string{"tags", "cost-center=42"}},
		{"tags of AWS", map[string]any{"tags": "team=a,AWS:x=y"}, []string{"tags", "aws:"}},
		{"warmThroughput", map[string]any{"warmThroughput": "4000"}, []string{"warmThroughput", "from 4001"}},
		{"auditDays", map[string]any{"auditDays": "0"}, []string{"auditDays", "from 1 to 3650"}},
		{"misspelt", map[string]any{"stag": "test"}, []string{"setting stag does not exist", "restoredTable, stage, stageRate, tags, tracing, version, wafAddressRateLimit, wafRateLimit, warmThroughput, webAcl, writes"}},
		{"the CDK's own", map[string]any{"@aws-cdk/core:x": true, "aws:cdk:y": true, "cdk-migrate": true}, nil},
		{"several at once", map[string]any{"arch": "mips", "wafRateLimit": "0", "stage": "-"}, []string{"arch", "wafRateLimit", "stage"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadSettings(tt.context)
			if len(tt.want) == 0 && err != nil {
				t.Fatal(err)
			}
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v lacks %q", err, part)
				}
			}
		})
	}
}

func TestSettingsAreDocumented(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	must.Do(t, err)
	_, err = ReadSettings(map[string]any{"unknown": "x"})
	_, names, ok := strings.Cut(err.Error(), "the settings are ")
	if !ok {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(names, ", ") {
		if !regexp.MustCompile("(?m)^\\| .*`" + name + "`.* \\|").Match(readme) {
			t.Errorf("README.md says nothing of the setting %s", name)
		}
	}
}

// TestSettings checks the resources and properties that each setting adds to or removes from the
// stack of two endpoints, one of which is in the audit log.
func TestSettings(t *testing.T) {
	endpoints := slices.DeleteFunc(api.Endpoints(), func(e rpc.Endpoint) bool {
		return e.Path != "/v2/live/tickets/add" && e.Path != "/v2/auth/permissions/remove"
	})
	const stream = "arn:aws:dynamodb:eu-west-1:123456789012:table/restored/stream/2026-11-23T07:00:00.000"
	usual := synthesize(t, established(nil), endpoints).leaves(t)
	got := ""
	for _, context := range []map[string]any{
		{"writes": "off"}, {"tracing": "on"}, {"firewall": "off"}, {"alarms": "off"}, {"dashboard": "off"}, {"live": "off"},
		{"gatewayLogRole": "existing"}, {"alarmMail": "ops@example.com"}, {"logRetentionDays": "7"}, {"stageRate": "50"}, {"connectRate": "400"},
		{"auditDays": "90"}, {"kmsKey": "create"},
		{"kmsKey": "arn:aws:kms:eu-west-1:123456789012:key/0a1b-2c"}, {"webAcl": acl}, {"logs": "retain"}, {"warmThroughput": "40000"},
		{"managedRules": "AWSManagedRulesCommonRuleSet,AWSManagedRulesKnownBadInputsRuleSet", "allowedNetworks": "192.0.2.0/24,2001:db8::/32"},
		{"tags": "team=docs,cost-center=4 2"}, {"maxReadUnits": "5000", "maxWriteUnits": "1000"}, {"alarmMail": "ops@example.com", "monthlyBudget": "50"},
		{"wafRateLimit": "500", "wafAddressRateLimit": "900"}, {"apiKeyHeader": "X-Other-Key", "authTokenHeader": "x-other-token"},
		{"mailFrom": "no-reply@example.com"}, {"restoredTable": "restored"}, {"restoredTable": "restored", "restoredStream": stream},
		{"concurrency": "2000"}, {"concurrency": "400"}, {"concurrency": "100"}, {"concurrency": "10"},
		{"concurrency": "50", "live": "on"},
		{"customDomain": "collab.example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b"},
		{"customDomain": "collab.example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b", "gatewayAddress": "closed"},
	} {
		m := synthesize(t, established(context), endpoints)
		if len(m.findings) > 0 {
			t.Errorf("%v: findings %v", context, m.findings)
		}
		got += string(rpc.JSON(context)) + "\n"
		leaves := m.leaves(t)
		paths := maps.Clone(usual)
		maps.Copy(paths, leaves)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			was, is := usual[path], leaves[path]
			id, _, within := strings.Cut(path, ".")
			if was == is || within && usual[id] != leaves[id] && leaves[id] == "" {
				continue // one line for a removed resource
			}
			got += fmt.Sprintf("  %s: %s -> %s\n", path, was, is)
		}
	}
	golden.Check(t, "testdata/settings.txt", got)
}

// leaves returns the properties of the resources, and the outputs, by path.
func (m made) leaves(t *testing.T) map[string]string {
	leaves := map[string]string{}
	var add func(path string, v any)
	add = func(path string, v any) {
		inner, ok := v.(map[string]any)
		for name, v := range inner {
			if strings.HasPrefix(name, "Fn::") || name == "Ref" {
				ok = false
				break
			}
			add(path+"."+name, v)
		}
		if l, isList := v.([]any); isList && len(value(t, v)) > 160 {
			for i, v := range l {
				add(fmt.Sprint(path, ".", i), v)
			}
		} else if !ok {
			leaves[path] = value(t, v)
		}
	}
	for id, r := range m.resources {
		if r.Type == "AWS::ApiGateway::Deployment" {
			continue // its id contains a hash of the definition
		}
		delete(r.Properties, "DeploymentId")
		for _, long := range []string{"Tags", "DashboardBody", "LogGroupNames"} {
			delete(r.Properties, long)
		}
		leaves[id] = strings.TrimSpace(r.Type + " " + r.DeletionPolicy)
		add(id, r.Properties)
	}
	for name, output := range m.outputs {
		add("output "+name, output.Value)
	}
	return leaves
}

// TestLocal checks that removing a local stage deletes its data, and that LocalStack supports all
// its resources.
func TestLocal(t *testing.T) {
	m := synthesize(t, map[string]any{"stage": "local", "arch": "x86_64"}, api.Endpoints()[:1])
	table := m.only(t, "AWS::DynamoDB::Table")
	strange := len(m.ofType("AWS::Logs::QueryDefinition"))
	if table.DeletionPolicy != "Delete" || table.Properties["DeletionProtectionEnabled"] != false || strange > 0 {
		t.Errorf("%s, %v, %d resources", table.DeletionPolicy, table.Properties["DeletionProtectionEnabled"], strange)
	}
	for id, f := range m.ofType("AWS::Lambda::Function") {
		if got := value(t, f.Properties["Architectures"]); got != `["x86_64"]` {
			t.Errorf("%s is for %s", id, got)
		}
	}
}
