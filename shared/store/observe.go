package store

import (
	"context"

	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Observe returns a configuration whose tables call wrote with the item keys after each successful
// write. The local server uses it in place of a stream. wrote must not block.
func Observe(cfg aws.Config, wrote func(...keys.Key)) aws.Config {
	cfg = cfg.Copy()
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Observe", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, meta, err := next.HandleInitialize(ctx, in)
			if err == nil {
				if written := written(in.Parameters); len(written) > 0 {
					wrote(written...)
				}
			}
			return out, meta, err
		}), middleware.Before)
	})
	return cfg
}

// written returns the keys of the items in the input of a write.
func written(parameters any) []keys.Key {
	switch in := parameters.(type) {
	case *dynamodb.PutItemInput:
		return []keys.Key{Item(in.Item).Key()}
	case *dynamodb.UpdateItemInput:
		return []keys.Key{Item(in.Key).Key()}
	case *dynamodb.DeleteItemInput:
		return []keys.Key{Item(in.Key).Key()}
	case *dynamodb.TransactWriteItemsInput:
		return collab.Map(in.TransactItems, keyOf)
	}
	return nil
}

func keyOf(w types.TransactWriteItem) keys.Key {
	switch {
	case w.Put != nil:
		return Item(w.Put.Item).Key()
	case w.Delete != nil:
		return Item(w.Delete.Key).Key()
	case w.Update != nil:
		return Item(w.Update.Key).Key()
	}
	return keys.Key{}
}
