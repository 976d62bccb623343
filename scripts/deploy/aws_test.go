package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/infra/stack"
	"collabdata/localstack"
	"collabdata/shared/testing/localstacktest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sesv2"
	mail "github.com/aws/aws-sdk-go-v2/service/sesv2/types"
)

// A stage is removed by who types its name, and its table stays.
func TestDestroy(t *testing.T) {
	endpoint := localstacktest.MiniStack(t)
	cfg := localstacktest.Config(endpoint)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": localstack.Region,
		"AWS_ACCESS_KEY_ID": localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY": localstack.SecretAccessKey,
	} {
		t.Setenv(name, value)
	}
	const name = "collabdata-gone"
	client := cloudformation.NewFromConfig(cfg)
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String(name), EnableTerminationProtection: aws.Bool(true), TemplateBody: aws.String(`{"Resources": {
			"Table": {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", "Properties": {"BillingMode": "PAY_PER_REQUEST",
				"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}}}}`),
	}); err != nil {
		t.Fatal(err)
	}
	created := cloudformation.NewStackCreateCompleteWaiter(client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second
	})
	if err := created.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String(name)}, time.Minute); err != nil {
		t.Fatal(err)
	}
	made, err := stack.Tables(t.Context(), cfg, name)
	if err != nil || len(made) != 1 {
		t.Fatalf("tables %q, error %v", made, err)
	}
	for _, test := range []struct {
		args   []string
		answer string
		wrong  string // in the error
	}{
		{nil, "gone", "which stage"},
		{[]string{"-c", "stage=local"}, "local", "make destroy-local"},
		{[]string{"-c", "stage=other"}, "other", "there is no stack collabdata-other in account 000000000000, region us-east-1"},
		{[]string{"-c", "stage=gone"}, "", "nothing was removed"},
		{[]string{"-c", "stage=gone"}, "yes\n", "nothing was removed"},
		{[]string{"-c", "stage=gone"}, "gone\n", ""},
	} {
		var said bytes.Buffer
		d := &deployment{args: test.args, progress: &said}
		err := d.destroy(t.Context(), strings.NewReader(test.answer))
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%q answered %q: error %v, want %q", test.args, test.answer, err, test.wrong)
		}
		if slices.Equal(test.args, []string{"-c", "stage=gone"}) && !strings.Contains(said.String(), "delete-table --table-name "+made[0]) {
			t.Errorf("said %s", &said)
		}
		if there, err := stackThere(t.Context(), cfg, name); err != nil || there != (test.wrong != "") {
			t.Errorf("%q answered %q: the stack is there: %v, %v", test.args, test.answer, there, err)
		}
	}
	if _, err := dynamodb.NewFromConfig(cfg).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &made[0]}); err != nil {
		t.Errorf("the table has gone with its stack: %v", err)
	}
}

func TestConcurrency(t *testing.T) {
	n, err := concurrencyOf(t.Context(), localstacktest.Config(localstacktest.MiniStack(t)))
	if err != nil || n < 1 || n > 1000 {
		t.Errorf("%d, %v; want as many as the local cloud runs, 1000 at most", n, err)
	}
	if said := fewFunctions(400, "eu-west-1"); said != "" {
		t.Errorf("of 400 is said %s", said)
	}
	if said := fewFunctions(10, "eu-west-1"); !strings.Contains(said, "at most 10 functions") ||
		!strings.Contains(said, "--region eu-west-1") {
		t.Errorf("of 10 is said %s", said)
	}
}

// The role by which API Gateway writes logs is the region's: a stack makes it where there is none, and keeps its own.
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
	for most, want := range map[float64]string{200: "SES takes 200 mails in 24 hours in eu-west-1", 50_000: ""} {
		said := ofQuota("eu-west-1", true, mail.SendQuota{Max24HourSend: most})
		if (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("of %v mails: %q, want %q", most, said, want)
		}
	}
}
