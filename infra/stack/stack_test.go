package stack_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"collabdata/infra/stack"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
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
	if left, err := stack.Unfinished(t.Context(), cfg, name); left || err != nil {
		t.Errorf("a stack that was made is unfinished: %v, %v", left, err)
	}
	protect(t, client, name)
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err == nil {
		t.Error("the local cloud deletes a protected stack")
	}
	must.Do(t, stack.Delete(t.Context(), cfg, name))
	if _, err := stack.Outputs(t.Context(), cfg, name); !errors.Is(err, stack.ErrNone) {
		t.Errorf("after: error %v, want ErrNone", err)
	}
}

func protect(t *testing.T, client *cloudformation.Client, name string) {
	t.Helper()
	if _, err := client.UpdateTerminationProtection(t.Context(), &cloudformation.UpdateTerminationProtectionInput{
		StackName: &name, EnableTerminationProtection: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
}

// A stack whose making failed is known as one, and can be let go of.
func TestUnfinished(t *testing.T) {
	cfg := localstacktest.Config(localstacktest.MiniStack(t))
	client := cloudformation.NewFromConfig(cfg)
	name, template := "unfinished-test", `{"Resources": {
		"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
		"Never": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": "1"}}}}`
	if left, err := stack.Unfinished(t.Context(), cfg, name); left || err != nil {
		t.Errorf("no stack is unfinished: %v, %v", left, err)
	}
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, EnableTerminationProtection: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	undone := cloudformation.NewStackRollbackCompleteWaiter(client, func(o *cloudformation.StackRollbackCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, time.Second
		o.Retryable = func(_ context.Context, _ *cloudformation.DescribeStacksInput, out *cloudformation.DescribeStacksOutput, err error) (bool, error) {
			return err == nil && out.Stacks[0].StackStatus != types.StackStatusRollbackComplete, err
		}
	})
	must.Do(t, undone.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, time.Minute))
	if left, err := stack.Unfinished(t.Context(), cfg, name); !left || err != nil {
		t.Errorf("what is left of a stack is unfinished: %v, %v", left, err)
	}
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err == nil {
		t.Error("the local cloud deletes a protected stack")
	}
	must.Do(t, stack.Unprotect(t.Context(), cfg, name))
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		t.Error(err)
	}
}
