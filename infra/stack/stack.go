// Package stack reads and deletes the CloudFormation stacks of deployments.
package stack

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// ErrNone is the error of a stack that does not exist.
var ErrNone = errors.New("there is no such stack")

// Outputs returns the outputs of a stack.
func Outputs(ctx context.Context, cfg aws.Config, name string) (map[string]string, error) {
	described, err := describe(ctx, cfg, name)
	if err != nil {
		return nil, err
	}
	outputs := map[string]string{}
	for _, o := range described.Outputs {
		outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return outputs, nil
}

// Unfinished reports whether a stack is what is left of a first deployment that failed. Nothing has ever worked in it.
func Unfinished(ctx context.Context, cfg aws.Config, name string) (bool, error) {
	described, err := describe(ctx, cfg, name)
	if errors.Is(err, ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch described.StackStatus {
	case types.StackStatusCreateFailed, types.StackStatusRollbackComplete, types.StackStatusRollbackFailed:
		return true, nil
	}
	return false, nil
}

// Unprotect lifts the termination protection of a stack.
func Unprotect(ctx context.Context, cfg aws.Config, name string) error {
	_, err := cloudformation.NewFromConfig(cfg).UpdateTerminationProtection(ctx, &cloudformation.UpdateTerminationProtectionInput{
		StackName: &name, EnableTerminationProtection: aws.Bool(false),
	})
	return err
}

// Tables returns the names of the DynamoDB tables that a stack made, also when its making was undone and they stayed.
func Tables(ctx context.Context, cfg aws.Config, name string) ([]string, error) {
	made, err := cloudformation.NewFromConfig(cfg).DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &name})
	if err != nil {
		return nil, err
	}
	var tables []string
	for _, r := range made.StackResources {
		if aws.ToString(r.ResourceType) == "AWS::DynamoDB::Table" && r.ResourceStatus != types.ResourceStatusDeleteComplete &&
			r.PhysicalResourceId != nil {
			tables = append(tables, *r.PhysicalResourceId)
		}
	}
	return tables, nil
}

// Delete deletes a stack, protected or not, and returns once it is gone, after half an hour at most.
func Delete(ctx context.Context, cfg aws.Config, name string) error {
	if _, err := describe(ctx, cfg, name); errors.Is(err, ErrNone) {
		return nil
	}
	if err := Unprotect(ctx, cfg, name); err != nil {
		return err
	}
	client := cloudformation.NewFromConfig(cfg)
	if _, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		return err
	}
	gone := cloudformation.NewStackDeleteCompleteWaiter(client, func(o *cloudformation.StackDeleteCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, 5*time.Second
	})
	return gone.Wait(ctx, &cloudformation.DescribeStacksInput{StackName: &name}, 30*time.Minute)
}

// describe returns a stack, or ErrNone.
func describe(ctx context.Context, cfg aws.Config, name string) (types.Stack, error) {
	described, err := cloudformation.NewFromConfig(cfg).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	// CloudFormation has no code of its own for it.
	if refused, ok := errors.AsType[smithy.APIError](err); ok && strings.Contains(refused.ErrorMessage(), "does not exist") {
		return types.Stack{}, ErrNone
	}
	if err != nil {
		return types.Stack{}, err
	}
	if len(described.Stacks) == 0 {
		return types.Stack{}, ErrNone
	}
	return described.Stacks[0], nil
}
