package awsaccount

import (
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	mail "github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// cloud returns the configuration of a local cloud of this test alone, whose state it changes.
func cloud(t *testing.T) aws.Config {
	t.Helper()
	server, err := localstack.StartMiniStack(t.Context(), localstack.MiniStackOptions{})
	must.Do(t, err)
	t.Cleanup(func() { server.Stop() })
	return localstacktest.Config(server.URL)
}

// TestLook checks that findings are about the settings without a value.
func TestLook(t *testing.T) {
	cfg := cloud(t)
	for _, test := range []struct {
		settings map[string]string
		want     string
	}{
		{nil, "concurrency gatewayLogRole"},
		{map[string]string{"concurrency": "400"}, "gatewayLogRole"},
		{map[string]string{"gatewayLogRole": "existing", "mailFrom": "no-reply@example.com"}, "concurrency "},
	} {
		findings, err := Look(t.Context(), cfg, "collabdata-test", test.settings)
		must.Do(t, err)
		var names []string
		for _, f := range findings {
			names = append(names, f.Setting)
			if (f.Setting == "") != (f.Value == "") || f.Text == "" {
				t.Errorf("%+v", f)
			}
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("for %v, findings about %q, want %q", test.settings, got, test.want)
		}
	}
}

func TestConcurrency(t *testing.T) {
	n, err := concurrency(t.Context(), localstacktest.Config(localstacktest.MiniStack(t)))
	if err != nil || n < 1 || n > 1000 {
		t.Errorf("%d, %v; want as many as the local cloud runs, 1000 at most", n, err)
	}
	if said := ofConcurrency(400, "eu-west-1"); strings.Contains(said, "Ask") || !strings.Contains(said, "at most 400 concurrent functions") {
		t.Errorf("of 400 is said %s", said)
	}
	if said := ofConcurrency(10, "eu-west-1"); !strings.Contains(said, "at most 10 concurrent functions") ||
		!strings.Contains(said, "--region eu-west-1") {
		t.Errorf("of 10 is said %s", said)
	}
}

// A region has one role for gateway logs: a stack creates it if there is none, and keeps its own.
func TestGatewayLogRole(t *testing.T) {
	cfg := cloud(t)
	for _, test := range []struct{ role, want string }{
		{"", "create"},
		{"arn:aws:iam::000000000000:role/collabdata-test-ApiCloudWatchRole73EC6FC4-x", "create"},
		{"arn:aws:iam::000000000000:role/other", "existing"},
	} {
		if test.role != "" {
			_, err := apigateway.NewFromConfig(cfg).UpdateAccount(t.Context(), &apigateway.UpdateAccountInput{PatchOperations: []types.PatchOperation{
				{Op: types.OpReplace, Path: aws.String("/cloudwatchRoleArn"), Value: &test.role},
			}})
			must.Do(t, err)
		}
		if got, err := gatewayLogRole(t.Context(), cfg, "collabdata-test"); err != nil || got != test.want {
			t.Errorf("of %q: %q, %v; want %q", test.role, got, err, test.want)
		}
	}
}

// TestSandbox checks that SES in its sandbox is a finding.
func TestSandbox(t *testing.T) {
	cfg := cloud(t)
	settings := map[string]string{"concurrency": "400", "gatewayLogRole": "create", "mailFrom": "no-reply@example.com"}
	for production, want := range map[bool]string{true: "SES in us-east-1 sends ", false: "SES is in its sandbox in us-east-1"} {
		_, err := sesv2.NewFromConfig(cfg).PutAccountDetails(t.Context(), &sesv2.PutAccountDetailsInput{
			MailType: "TRANSACTIONAL", WebsiteURL: aws.String("https://collab.example"), ProductionAccessEnabled: &production,
		})
		must.Do(t, err)
		findings, err := Look(t.Context(), cfg, "collabdata-test", settings)
		if err != nil || len(findings) != 1 || !strings.HasPrefix(findings[0].Text, want) {
			t.Errorf("in production %v: %v, %v; want %q", production, findings, err, want)
		}
	}
}

// In production, too, a quota may be small.
func TestMails(t *testing.T) {
	for most, few := range map[float64]bool{200: true, 50_000: false} {
		said := ofMails("eu-west-1", true, mail.SendQuota{Max24HourSend: most, MaxSendRate: 14})
		if strings.Contains(said, "Ask AWS for more") != few || !strings.Contains(said, "14 per second") {
			t.Errorf("of %v emails: %q", most, said)
		}
	}
}
