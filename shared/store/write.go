package store

import (
	"context"
	"errors"
	"math"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is what becomes of one item: see Table.Write.
type Write = types.TransactWriteItem

// What one transaction takes, a tenth or so below DynamoDB's limits.
const (
	MaxWrites     = 100       // items
	MaxWriteBytes = 3_500_000 // of all items together
)

const ifNew = "attribute_not_exists(" + table.PK + ")"

// Replace puts an item whatever was there.
func (t *Table) Replace(it Item) Write {
	return Write{Put: &types.Put{TableName: &t.name, Item: it}}
}

// Create puts an item unless one with its key is there.
func (t *Table) Create(it Item) Write {
	return Write{Put: &types.Put{
		TableName: &t.name, Item: it, ConditionExpression: aws.String(ifNew),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// Remove deletes what is at a key.
func (t *Table) Remove(k table.Key) Write {
	return Write{Delete: &types.Delete{TableName: &t.name, Key: NewItem(k)}}
}

// RemoveExisting deletes an item, on condition that it is there.
func (t *Table) RemoveExisting(k table.Key) Write { return t.RemoveIf(k, Item{table.PK: Text(k.PK)}) }

// RemoveIf deletes an item, on condition that it has these attributes.
func (t *Table) RemoveIf(k table.Key, has Item) Write {
	condition, names, values := equal(has)
	return Write{Delete: &types.Delete{
		TableName: &t.name, Key: NewItem(k), ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// equal is the condition that an item has attributes.
func equal(has Item) (condition string, names map[string]string, values Item) {
	var terms []string
	names, values = map[string]string{}, Item{}
	for name, v := range has {
		terms = append(terms, "#"+name+" = :"+name)
		names["#"+name], values[":"+name] = name, v
	}
	return strings.Join(terms, " AND "), names, values
}

// Update changes the item of a key, or makes it, where all conditions hold. It panics for an update of nothing.
func (t *Table) Update(k table.Key, update expression.UpdateBuilder, conditions ...expression.ConditionBuilder) Write {
	b := expression.NewBuilder().WithUpdate(update)
	if len(conditions) > 0 {
		all := conditions[0]
		for _, c := range conditions[1:] {
			all = all.And(c)
		}
		b = b.WithCondition(all)
	}
	e, err := b.Build()
	if err != nil {
		panic(err)
	}
	return t.UpdateText(k, e.Update(), e.Condition(), e.Names(), e.Values())
}

// UpdateText is Update for an update and a condition, nil for none, that are written already. names and values are those of both.
func (t *Table) UpdateText(k table.Key, update, condition *string, names map[string]string, values map[string]types.AttributeValue) Write {
	return Write{Update: &types.Update{
		TableName: &t.name, Key: NewItem(k), UpdateExpression: update, ConditionExpression: condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// Require is the condition that an item is there.
func (t *Table) Require(k table.Key) Write {
	return Write{ConditionCheck: &types.ConditionCheck{
		TableName: &t.name, Key: NewItem(k), ConditionExpression: aws.String("attribute_exists(" + table.PK + ")"),
	}}
}

// Refusal says which conditions of a write did not hold.
type Refusal struct {
	Of []Refused // by write
	// Lost says that an answer was lost before: the write may have been carried out, and others may have written since. A transaction's
	// never is, as its repeats are known by their token.
	Lost bool
}

// Refused says whether a write's condition did not hold, and what was there; nil for nothing.
type Refused struct {
	Refused bool
	There   Item
}

// By reports whether the last writer of an item that stood in the way has the mark: then it was this write, whose answer was lost.
func (r *Refusal) By(mark string) bool {
	for _, of := range r.Of {
		if of.There != nil && of.There.Text(table.Writer) == mark {
			return true
		}
	}
	return false
}

// Write carries out all writes or none: one by itself, several as a transaction of at most MaxWrites. refused is not nil where a
// condition did not hold; then nothing was written. After an error it is not known whether the items were.
func (t *Table) Write(ctx context.Context, writes ...Write) (refused *Refusal, err error) {
	if len(writes) == 1 && writes[0].ConditionCheck == nil {
		_, refused, err = t.WriteOne(ctx, writes[0], types.ReturnValueNone)
		return refused, err
	}
	_, err = t.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes, ReturnConsumedCapacity: consumed})
	if err == nil {
		return nil, nil
	}
	if isPassing(err) || reason(err, "ConditionalCheckFailed") < 0 {
		return nil, Fail(ctx, err)
	}
	refused = &Refusal{Of: make([]Refused, len(writes))}
	defer func() { countRefused(ctx, writes, refused) }()
	for i, r := range cancellation(err) {
		refused.Of[i] = Refused{aws.ToString(r.Code) == "ConditionalCheckFailed", r.Item}
	}
	return refused, nil
}

// WriteOne carries out one write, and returns of the item what values asks for: it as it was, or as it is then.
func (t *Table) WriteOne(ctx context.Context, w Write, values types.ReturnValue) (it Item, refused *Refusal, err error) {
	lost := false
	ctx = onFailure(ctx, func(err error) { lost = lost || isLost(err) })
	switch {
	case w.Put != nil:
		var out *dynamodb.PutItemOutput
		out, err = t.db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: w.Put.TableName, Item: w.Put.Item, ConditionExpression: w.Put.ConditionExpression, ReturnValues: values,
			ExpressionAttributeNames: w.Put.ExpressionAttributeNames, ExpressionAttributeValues: w.Put.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: w.Put.ReturnValuesOnConditionCheckFailure, ReturnConsumedCapacity: consumed,
		})
		if err == nil {
			it = out.Attributes
		}
	case w.Delete != nil:
		var out *dynamodb.DeleteItemOutput
		out, err = t.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: w.Delete.TableName, Key: w.Delete.Key, ConditionExpression: w.Delete.ConditionExpression, ReturnValues: values,
			ExpressionAttributeNames: w.Delete.ExpressionAttributeNames, ExpressionAttributeValues: w.Delete.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: w.Delete.ReturnValuesOnConditionCheckFailure, ReturnConsumedCapacity: consumed,
		})
		if err == nil {
			it = out.Attributes
		}
	default:
		var out *dynamodb.UpdateItemOutput
		out, err = t.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: w.Update.TableName, Key: w.Update.Key, UpdateExpression: w.Update.UpdateExpression, ReturnValues: values,
			ConditionExpression: w.Update.ConditionExpression, ExpressionAttributeNames: w.Update.ExpressionAttributeNames,
			ExpressionAttributeValues:           w.Update.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: w.Update.ReturnValuesOnConditionCheckFailure, ReturnConsumedCapacity: consumed,
		})
		if err == nil {
			it = out.Attributes
		}
	}
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		refused = &Refusal{Of: []Refused{{true, failed.Item}}, Lost: lost}
		countRefused(ctx, []Write{w}, refused)
		return nil, refused, nil
	}
	return it, nil, Fail(ctx, err)
}

// countRefused counts the capacity that a refused write consumed, which DynamoDB does not tell: that of the items that were to be written, or
// that were there, and twice that in a transaction. What indexes would have taken is not consumed.
func countRefused(ctx context.Context, writes []Write, refused *Refusal) {
	units := 0.0
	for i, w := range writes {
		size := refused.Of[i].There.Size()
		if w.Put != nil {
			size = max(size, Item(w.Put.Item).Size())
		}
		units += math.Ceil(float64(max(size, 1)) / 1024)
	}
	if len(writes) > 1 {
		units *= 2
	}
	collab.UsageOf(ctx).Refused(units)
}

// Put puts an item whatever was there.
func (t *Table) Put(ctx context.Context, it Item) error {
	_, err := t.Write(ctx, t.Replace(it))
	return err
}

// PutNew puts an item unless there is one with its key, which it then returns.
func (t *Table) PutNew(ctx context.Context, it Item) (there Item, err error) {
	refused, err := t.Write(ctx, t.Create(it))
	if err != nil || refused == nil {
		return nil, err
	}
	return refused.Of[0].There, nil
}

// Delete deletes what is at a key.
func (t *Table) Delete(ctx context.Context, k table.Key) error {
	_, err := t.Write(ctx, t.Remove(k))
	return err
}
