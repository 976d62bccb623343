package store

import (
	"context"

	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ScanPage reads on through the whole table after a key, the zero one for the beginning: at most 1 MB, of which it returns the items that
// may belong to an account. next is where to go on, the zero key at the end. It costs half a unit for each 4 KB, whomever they belong
// to. Eventually consistent.
func (t *Table) ScanPage(ctx context.Context, acct string, after keys.Key) (items []Item, next keys.Key, err error) {
	filter := "contains(#pk, :within) OR begins_with(#sk, :begin) OR #owner = :owner"
	in := &dynamodb.ScanInput{
		TableName: &t.name, FilterExpression: &filter, ReturnConsumedCapacity: consumed,
		ExpressionAttributeNames: map[string]string{"#pk": keys.PK, "#sk": keys.SK, "#owner": keys.Owner},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":within": Text("#" + keys.Escape(acct)), ":begin": Text(keys.Escape(acct) + "#"), ":owner": Text(acct),
		},
	}
	if after != (keys.Key{}) {
		in.ExclusiveStartKey = NewItem(after)
	}
	out, err := t.db.Scan(ctx, in)
	if err != nil {
		return nil, next, Fail(ctx, err)
	}
	for _, it := range out.Items {
		items = append(items, it)
	}
	if out.LastEvaluatedKey != nil {
		next = Item(out.LastEvaluatedKey).Key()
	}
	return items, next, nil
}
