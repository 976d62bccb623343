// Command bare is the least that a function with the same clients can be: what the service's own functions are measured against.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		os.Exit(1)
	}
	table, queue := dynamodb.NewFromConfig(cfg), sqs.NewFromConfig(cfg)
	lambda.Start(func(ctx context.Context) error {
		if _, err := table.GetItem(ctx, nil); err != nil {
			return err
		}
		_, err := queue.SendMessage(ctx, nil)
		return err
	})
}
