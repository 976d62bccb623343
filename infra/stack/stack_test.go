package stack_test

import (
	"errors"
	"testing"
	"time"

	"collabdata/infra/stack"
	"collabdata/localstack/localstacktest"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"
)

func TestStack(t *testing.T) {
	cfg := localstacktest.Config(localstacktest.MiniStack(t))
	name, template := "stack-test", `{"Resources": {"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"}},
		"Outputs": {"TableName": {"Value": "t"}, "BaseUrl": {"Value": "https://x/prod"}}}`
	if _, err := stack.Outputs(t.Context(), cfg, name); !errors.Is(err, stack.ErrNone) {
		t.Errorf("before: error %v, want ErrNone", err)
	}
	client := cloudformation.NewFromConfig(cfg)
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &template}); err != nil {
		t.Fatal(err)
	}
	made := cloudformation.NewStackCreateCompleteWaiter(client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second
	})
	if err := made.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, time.Minute); err != nil {
		t.Fatal(err)
	}
	got, err := stack.Outputs(t.Context(), cfg, name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"TableName": "t", "BaseUrl": "https://x/prod"}, got); diff != "" {
		t.Error(diff)
	}
	if err := stack.Delete(t.Context(), cfg, name); err != nil {
		t.Fatal(err)
	}
	if _, err := stack.Outputs(t.Context(), cfg, name); !errors.Is(err, stack.ErrNone) {
		t.Errorf("after: error %v, want ErrNone", err)
	}
}
