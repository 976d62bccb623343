package stack_test

import (
	"errors"
	"testing"
	"time"

	"collabdata/infra/stack"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

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
	must.Do(t, made.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, time.Minute))
	got, err := stack.Outputs(t.Context(), cfg, name)
	must.Do(t, err)
	if diff := cmp.Diff(map[string]string{"TableName": "t", "BaseUrl": "https://x/prod"}, got); diff != "" {
		t.Error(diff)
	}
}
