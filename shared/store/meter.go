package store

import (
	"context"

	"collabdata/shared/collab"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

const consumed = types.ReturnConsumedCapacityTotal

// addMeter adds the consumed capacity of each call to the context's collab.Usage.
func addMeter(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Meter", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, meta, err := next.HandleInitialize(ctx, in)
		var read, write float64
		switch r := out.Result.(type) {
		case *dynamodb.GetItemOutput:
			read = units(r.ConsumedCapacity)
		case *dynamodb.BatchGetItemOutput:
			read = sum(r.ConsumedCapacity)
		case *dynamodb.QueryOutput:
			read = units(r.ConsumedCapacity)
		case *dynamodb.PutItemOutput:
			write = units(r.ConsumedCapacity)
		case *dynamodb.UpdateItemOutput:
			write = units(r.ConsumedCapacity)
		case *dynamodb.DeleteItemOutput:
			write = units(r.ConsumedCapacity)
		case *dynamodb.TransactWriteItemsOutput:
			write = sum(r.ConsumedCapacity)
		}
		collab.UsageOf(ctx).Add(read, write)
		return out, meta, err
	}), middleware.Before)
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}

func sum(list []types.ConsumedCapacity) (n float64) {
	for i := range list {
		n += units(&list[i])
	}
	return n
}
