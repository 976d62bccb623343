package store

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

// CreateTable creates the table as package keys defines it, and waits until it can be used. A table that exists stays as it is. On AWS the
// CDK app creates the table.
func (t *Table) CreateTable(ctx context.Context) error {
	in := &dynamodb.CreateTableInput{
		TableName:   &t.name,
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
	_, err := t.db.CreateTable(ctx, in)
	_, there := errors.AsType[*types.ResourceInUseException](err)
	if err != nil && !there {
		return Fail(ctx, err)
	}
	err = dynamodb.NewTableExistsWaiter(t.db).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.name}, time.Minute)
	if err != nil || there {
		return Fail(ctx, err)
	}
	_, err = t.db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &t.name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(keys.Expires), Enabled: aws.Bool(true)},
	})
	return Fail(ctx, err)
}

func keySchema(partition, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: &partition, KeyType: types.KeyTypeHash},
		{AttributeName: &sort, KeyType: types.KeyTypeRange},
	}
}
