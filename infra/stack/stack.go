// Package stack names and reads the CloudFormation stacks of deployments.
package stack

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// Name returns the name of a stage's stack.
func Name(stage string) string { return "collabdata-" + stage }

// ErrNone means that a stack does not exist.
var ErrNone = errors.New("the stack does not exist")

// Outputs returns the outputs of a stack. It returns ErrNone if the stack does not exist.
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

func describe(ctx context.Context, cfg aws.Config, name string) (types.Stack, error) {
	described, err := cloudformation.NewFromConfig(cfg).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	// CloudFormation has no error code for a missing stack.
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
