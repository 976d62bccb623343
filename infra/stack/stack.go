// Package stack reads and deletes the CloudFormation stacks of deployments.
package stack

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/smithy-go"
)

// ErrNone is the error of a stack that does not exist.
var ErrNone = errors.New("there is no such stack")

// Outputs returns the outputs of a stack.
func Outputs(ctx context.Context, cfg aws.Config, name string) (map[string]string, error) {
	described, err := cloudformation.NewFromConfig(cfg).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	// CloudFormation has no code of its own for it.
	if refused, ok := errors.AsType[smithy.APIError](err); ok && strings.Contains(refused.ErrorMessage(), "does not exist") {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	outputs := map[string]string{}
	for _, s := range described.Stacks {
		for _, o := range s.Outputs {
			outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	return outputs, nil
}

// Delete deletes a stack, and returns once it is gone, after half an hour at most.
func Delete(ctx context.Context, cfg aws.Config, name string) error {
	client := cloudformation.NewFromConfig(cfg)
	if _, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		return err
	}
	gone := cloudformation.NewStackDeleteCompleteWaiter(client, func(o *cloudformation.StackDeleteCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, 5*time.Second
	})
	return gone.Wait(ctx, &cloudformation.DescribeStacksInput{StackName: &name}, 30*time.Minute)
}
