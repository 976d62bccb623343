package main

import (
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/testing/localstacktest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	mail "github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

func TestConcurrency(t *testing.T) {
	n, err := concurrencyOf(t.Context(), localstacktest.Config(localstacktest.MiniStack(t)))
	if err != nil || n < 1 || n > 1000 {
		t.Errorf("%d, %v; want as many as the local cloud runs, 1000 at most", n, err)
	}
	if said := fewFunctions(400, "eu-west-1"); said != "" {
		t.Errorf("of 400 is said %s", said)
	}
	if said := fewFunctions(10, "eu-west-1"); !strings.Contains(said, "at most 10 concurrent functions") ||
		!strings.Contains(said, "--region eu-west-1") {
		t.Errorf("of 10 is said %s", said)
	}
}

// A region has one role for gateway logs: a stack creates it if there is none, and keeps its own.
func TestGatewayLogRole(t *testing.T) {
	server, err := localstack.StartMiniStack(t.Context(), localstack.MiniStackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	cfg := localstacktest.Config(server.URL)
	for _, test := range []struct{ role, want string }{
		{"", "create"},
		{"arn:aws:iam::000000000000:role/collabdata-test-ApiCloudWatchRole73EC6FC4-x", "create"},
		{"arn:aws:iam::000000000000:role/other", "existing"},
	} {
		if test.role != "" {
			if _, err := apigateway.NewFromConfig(cfg).UpdateAccount(t.Context(), &apigateway.UpdateAccountInput{PatchOperations: []types.PatchOperation{
				{Op: types.OpReplace, Path: aws.String("/cloudwatchRoleArn"), Value: &test.role},
			}}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := gatewayLogRole(t.Context(), cfg, "collabdata-test"); err != nil || got != test.want {
			t.Errorf("of %q: %q, %v; want %q", test.role, got, err, test.want)
		}
	}
}

func TestFewMails(t *testing.T) {
	server, err := localstack.StartMiniStack(t.Context(), localstack.MiniStackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	cfg := localstacktest.Config(server.URL)
	for production, want := range map[bool]string{true: "", false: "SES is in its sandbox in us-east-1"} {
		if _, err := sesv2.NewFromConfig(cfg).PutAccountDetails(t.Context(), &sesv2.PutAccountDetailsInput{
			MailType: "TRANSACTIONAL", WebsiteURL: aws.String("https://collab.example"), ProductionAccessEnabled: &production,
		}); err != nil {
			t.Fatal(err)
		}
		if said, err := fewMails(t.Context(), cfg); err != nil || (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("in production %v: %q, %v; want %q", production, said, err, want)
		}
	}
}

// In production, too, a quota may be small.
func TestOfQuota(t *testing.T) {
	for most, want := range map[float64]string{200: "SES sends 200 emails in 24 hours in eu-west-1", 50_000: ""} {
		said := ofQuota("eu-west-1", true, mail.SendQuota{Max24HourSend: most})
		if (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("of %v emails: %q, want %q", most, said, want)
		}
	}
}
