package store

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestTooHot holds which refusals say that an index is too hot.
func TestTooHot(t *testing.T) {
	const hot, arn = "IndexWriteKeyRangeThroughputExceeded", "arn:aws:dynamodb:eu-west-1:123456789012:table/t"
	reasons := func(reason string, resource *string) []types.ThrottlingReason {
		return []types.ThrottlingReason{{Reason: aws.String("TableReadAccountLimitExceeded")}, {Reason: &reason, Resource: resource}}
	}
	cancelled := func(code, message string) error {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("None")}, {Code: &code, Message: &message},
		}}
	}
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"the index", &types.ThrottlingException{ThrottlingReasons: reasons(hot, aws.String(arn+"/index/index-org"))}, true},
		{"the index, told in the older form", &types.ProvisionedThroughputExceededException{ThrottlingReasons: reasons(hot, aws.String(arn+"/index/index-org"))}, true},
		{"an index", &types.ThrottlingException{ThrottlingReasons: reasons(hot, nil)}, true},
		{"another index", &types.ThrottlingException{ThrottlingReasons: reasons(hot, aws.String(arn+"/index/index-st"))}, false},
		{"the table", &types.ThrottlingException{ThrottlingReasons: reasons("TableWriteKeyRangeThroughputExceeded", aws.String(arn))}, false},
		{"the account", &types.ThrottlingException{ThrottlingReasons: reasons("IndexWriteAccountLimitExceeded", aws.String(arn+"/index/index-org"))}, false},
		{"no reason", &types.ThrottlingException{}, false},
		{"a transaction, table or index", cancelled("ThrottlingError", "Throughput exceeds the current capacity of your table or index. "), true},
		{"a transaction, an index", cancelled("ThrottlingError", "Throughput exceeds the current capacity for one or more global secondary indexes. "), true},
		{"a transaction, the table", cancelled("ThrottlingError", "Throughput exceeds the current capacity of your table. "), false},
		{"a transaction, a condition", cancelled("ConditionalCheckFailed", "The conditional request failed"), false},
		{"something else", errors.New("index"), false},
	} {
		if got := tooHot(tt.err, "index-org"); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
