package main

import (
	"strings"
	"testing"
)

func TestReadSettings(t *testing.T) {
	const certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/0a1b-2c"
	for _, tt := range []struct {
		name    string
		context map[string]any
		want    []string // parts of the error; none: it is accepted
	}{
		{"defaults", nil, nil},
		{"all", map[string]any{"stage": "test2", "arch": "x86_64", "mailFrom": "no-reply@mail.example.com", "mailIdentity": "existing",
			"mailFromName": "Collab & Co", "mailProduct": "Collab", "mailLink": "https://example.com/{documentId}",
			"customDomain": "collab.example.com", "certificateArn": certificate, "wafRateLimit": "10", "logRetentionDays": "365",
			"stageRate": "1", "wafAddressRateLimit": "2000000000", "firewall": "off", "alarms": "off", "dashboard": "on",
			"allowedPrivateCidrs": "10.1.0.0/16, 192.168.0.0/24,fc00:1::/32", "restoredTable": "collabdata-2"}, nil},
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
		{"certificateArn alone", map[string]any{"certificateArn": certificate}, []string{"customDomain and certificateArn"}},
		{"certificateArn of something else", map[string]any{"certificateArn": "arn:aws:iam::1:role/x", "customDomain": "a.example.com"}, []string{"certificateArn", "ACM"}},
		{"wafRateLimit too low", map[string]any{"wafRateLimit": "9"}, []string{"wafRateLimit", "from 10 to 2000000000"}},
		{"wafRateLimit no number", map[string]any{"wafRateLimit": "many"}, []string{"wafRateLimit"}},
		{"wafRateLimit with a fraction", map[string]any{"wafRateLimit": 10.5}, []string{"wafRateLimit"}},
		{"wafAddressRateLimit", map[string]any{"wafAddressRateLimit": "2000000001"}, []string{"wafAddressRateLimit", "from 10 to 2000000000"}},
		{"stageRate", map[string]any{"stageRate": "0"}, []string{"stageRate", "from 1 to 100000"}},
		{"firewall", map[string]any{"firewall": "no"}, []string{"firewall", "on or off"}},
		{"alarms", map[string]any{"alarms": true}, []string{"alarms", "on or off"}},
		{"logRetentionDays", map[string]any{"logRetentionDays": "31"}, []string{"logRetentionDays", "1, 3, 5, 7"}},
		{"restoredTable", map[string]any{"restoredTable": "a b"}, []string{"restoredTable"}},
		{"networks: no network", map[string]any{"allowedPrivateCidrs": "10.0.0.1"}, []string{"allowedPrivateCidrs", `"10.0.0.1"`}},
		{"networks: host bits", map[string]any{"allowedPrivateCidrs": "10.0.0.1/8"}, []string{"allowedPrivateCidrs", "without host bits"}},
		{"networks: empty part", map[string]any{"allowedPrivateCidrs": "10.0.0.0/8,"}, []string{"allowedPrivateCidrs"}},
		{"networks: more than a function's environment holds", map[string]any{"allowedPrivateCidrs": strings.Repeat("10.0.0.0/16,", 125) + "10.0.0.0/16"},
			[]string{"allowedPrivateCidrs", "1500 characters"}},
		{"misspelt", map[string]any{"stag": "test"}, []string{"no setting stag", "restoredTable, stage, stageRate, wafAddressRateLimit, wafRateLimit"}},
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

// Whoever may register a webhook must not reach this machine, the network's own addresses or an instance's credentials.
func TestPrivateNetworks(t *testing.T) {
	for network, allowed := range map[string]bool{
		"10.0.0.0/8": true, "10.200.0.0/16": true, "172.16.0.0/12": true, "192.168.1.0/24": true, "100.64.0.0/10": true, "fd12::/16": true,

		"127.0.0.0/8": false, "127.0.0.1/32": false, "169.254.0.0/16": false, "169.254.169.254/32": false, "169.254.170.2/32": false,
		"0.0.0.0/0": false, "0.0.0.0/8": false, "::1/128": false, "::/0": false, "fe80::/10": false, "fd00:ec2::254/128": false, "fd00::/8": false,
		"fc00::/7": false, "10.0.0.0/7": false, "172.0.0.0/8": false, "::ffff:127.0.0.1/128": false, "::ffff:10.0.0.0/104": false,
		"64:ff9b::/96": false, "2002:7f00::/24": false, "8.8.8.0/24": false, "224.0.0.0/4": false,
	} {
		_, err := ReadSettings(map[string]any{"allowedPrivateCidrs": network})
		if got := err == nil; got != allowed {
			t.Errorf("%s: allowed %t, want %t (%v)", network, got, allowed, err)
		}
		_, err = ReadSettings(map[string]any{"allowedPrivateCidrs": network, "stage": localStage})
		if err != nil {
			t.Errorf("%s, stage local: %v", network, err)
		}
	}
}
