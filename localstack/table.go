package localstack

import (
	"context"
	"errors"
	"slices"
	"time"

	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable creates the table defined by package keys, without a stream, and waits until it is
// active. It does not change an existing table. On AWS, the CDK app creates the table.
//
// The emulator scans all earlier stream records at each write, so writes with a stream slow down.
func CreateTable(ctx context.Context, cfg aws.Config, name string) error {
	db := dynamodb.NewFromConfig(cfg)
	in := &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(keys.PK, keys.SK),
	}
	attributes := []string{keys.PK, keys.SK}
	for _, ix := range keys.Indexes() {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &ix.Name,
			KeySchema: keySchema(ix.PartitionKey, ix.SortKey),
			Projection: &types.Projection{
				ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: ix.Projected,
			},
		})
		attributes = append(attributes, ix.PartitionKey, ix.SortKey)
	}
	for _, a := range slices.Compact(slices.Sorted(slices.Values(attributes))) {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &a, AttributeType: types.ScalarAttributeTypeS})
	}
	_, err := db.CreateTable(ctx, in)
	_, exists := errors.AsType[*types.ResourceInUseException](err)
	if err != nil && !exists {
		return err
	}
	err = dynamodb.NewTableExistsWaiter(db).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute)
	if err != nil || exists {
		return err
	}
	_, err = db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(keys.Expires), Enabled: aws.Bool(true)},
	})
	return err
}

func keySchema(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: &partition, KeyType: types.KeyTypeHash},
		{AttributeName: &sort, KeyType: types.KeyTypeRange},
	}
}
