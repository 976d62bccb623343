package store

import (
	"context"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Write is the change of one item: see Table.Write.
type Write = types.TransactWriteItem

// Limits of one transaction, slightly below DynamoDB's.
const (
	MaxWrites     = 100
	MaxWriteBytes = 3_500_000 // in total
)

// writersKept is the number of marks that an item keeps, so that a retry after a lost answer
// recognizes its own write even if other requests have written since.
const writersKept = 4

// Put writes an item unconditionally.
func Put(it Item) Write { return Write{Put: &types.Put{Item: it}} }

// Delete deletes the item with a key.
func Delete(k keys.Key) Write { return Write{Delete: &types.Delete{Key: NewItem(k)}} }

// Create writes an item if its key is free.
func Create(it Item) Write {
	return Write{Put: &types.Put{Item: it, ConditionExpression: aws.String("attribute_not_exists(" + keys.PK + ")")}}
}

// Change updates before to after if the attributes in same (default rev) are unchanged. A nil
// before creates the item. It increments rev if same contains rev. Attributes that neither item has
// are kept.
func Change(before, after Item, mark string, same ...string) Write {
	after = maps.Clone(after)
	after[keys.Writer] = Text(before.Writers(mark))
	if same == nil {
		same = []string{keys.Rev}
	}
	if slices.Contains(same, keys.Rev) {
		after[keys.Rev] = Number(before.Number(keys.Rev) + 1)
	}
	if before == nil {
		return Create(after)
	}
	condition, names, values := unchanged(before, same)
	var set, remove []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if name != keys.PK && name != keys.SK && !reflect.DeepEqual(before[name], after[name]) {
			set = append(set, "#"+name+" = :"+name)
			names["#"+name], values[":"+name] = name, after[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == nil {
			remove = append(remove, "#"+name)
			names["#"+name] = name
		}
	}
	update := "SET " + strings.Join(set, ", ")
	if remove != nil {
		update += " REMOVE " + strings.Join(remove, ", ")
	}
	return Write{Update: &types.Update{
		Key: NewItem(before.Key()), UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}}
}

// DeleteRead deletes an item if it exists and its attributes in same are unchanged since it was
// read.
func DeleteRead(it Item, same ...string) Write {
	condition, names, values := unchanged(it, same)
	if len(values) == 0 {
		values = nil
	}
	return Write{Delete: &types.Delete{
		Key: NewItem(it.Key()), ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}}
}

// Replace puts an item in place of one with its key, if the attributes in same are unchanged since
// that was read.
func Replace(read, it Item, same ...string) Write {
	condition, names, values := unchanged(read, same)
	return Write{Put: &types.Put{Item: it, ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values}}
}

// Require adds a condition to a transaction: the item exists, and its attributes in same are
// unchanged since it was read.
func Require(it Item, same ...string) Write {
	condition, names, values := unchanged(it, same)
	return Write{ConditionCheck: &types.ConditionCheck{
		Key: NewItem(it.Key()), ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}}
}

// RequireAbsent adds a condition to a transaction: there is no item with the key.
func RequireAbsent(k keys.Key) Write {
	return Write{ConditionCheck: &types.ConditionCheck{
		Key: NewItem(k), ConditionExpression: aws.String("attribute_not_exists(" + keys.PK + ")"),
	}}
}

func unchanged(read Item, same []string) (condition string, names map[string]string, values Item) {
	condition = "attribute_exists(#" + keys.PK + ")"
	names, values = map[string]string{"#" + keys.PK: keys.PK}, Item{}
	for _, name := range same {
		names["#"+name] = name
		if read[name] == nil {
			condition += " AND attribute_not_exists(#" + name + ")"
		} else {
			condition += " AND #" + name + " = :was" + name
			values[":was"+name] = read[name]
		}
	}
	return condition, names, values
}

// Update changes or creates an item if all conditions hold. It suits items that are not read first,
// such as counters and leases; otherwise use Change. It panics if the update is empty.
func Update(k keys.Key, update expression.UpdateBuilder, conditions ...expression.ConditionBuilder) Write {
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
	return Write{Update: &types.Update{
		Key: NewItem(k), UpdateExpression: e.Update(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
	}}
}

// Refusal lists the writes with a failed condition.
type Refusal struct {
	Of []Refused // one for each write
	// Lost reports that an earlier answer was lost: the write may have succeeded, and other
	// requests may have written since. It is false for transactions, because DynamoDB recognizes a
	// retry by its token.
	Lost bool
}

// Refused reports whether the condition of a write failed, and the present item, nil if there is
// none.
type Refused struct {
	Refused bool
	There   Item
}

// By reports whether our own write succeeded and only its answer was lost: the present item has the
// mark.
func (r *Refusal) By(mark string) bool {
	for _, result := range r.Of {
		if result.There.WrittenBy(mark) {
			return true
		}
	}
	return false
}

// Write executes all writes or none: a single write, or a transaction of at most MaxWrites. It
// returns a Refusal, and writes nothing, if a condition fails. After an error the items may or may
// not be written.
func (t *Table) Write(ctx context.Context, writes ...Write) (refused *Refusal, err error) {
	if len(writes) == 1 {
		_, refused, err = t.WriteOne(ctx, writes[0], types.ReturnValueNone)
		return refused, err
	}
	reserved, err := beginWrite(ctx, writes)
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		t.complete(w)
	}
	_, err = t.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes, ReturnConsumedCapacity: consumed})
	if err == nil {
		return nil, nil
	}
	if isPassing(err) || reason(err, "ConditionalCheckFailed") < 0 {
		return nil, Fail(ctx, err)
	}
	refused = &Refusal{Of: make([]Refused, len(writes))}
	for i, r := range cancellation(err) {
		refused.Of[i] = Refused{aws.ToString(r.Code) == "ConditionalCheckFailed", r.Item}
	}
	countRefused(ctx, writes, refused, reserved)
	return refused, nil
}

// Reserve reserves the units of calls of Write, all or none, before the first of them. It returns
// the errors of collab.Usage.Reserve.
func (t *Table) Reserve(ctx context.Context, calls ...[]Write) error {
	usage, units, largest := collab.UsageOf(ctx), 0.0, 0.0
	if !usage.Limited() {
		return nil
	}
	for _, writes := range calls {
		all, one := writeUnits(ctx, writes)
		units, largest = units+all, max(largest, one)
	}
	return usage.Reserve(units, largest)
}

// Rewriting returns a write for Reserve in place of one that changes a small part of an item.
func Rewriting(k keys.Key) Write { return Write{Update: &types.Update{Key: NewItem(k)}} }

// beginWrite admits a call of Write: see collab.Usage.BeginWrite. It returns its units.
func beginWrite(ctx context.Context, writes []Write) (units float64, err error) {
	usage := collab.UsageOf(ctx)
	if !usage.Limited() {
		return 0, nil
	}
	units, largest := writeUnits(ctx, writes)
	return units, usage.BeginWrite(units, largest)
}

// writeUnits returns the units of a call of Write, and those of its largest item, by the size of
// each item, read or written. It leaves out indexes.
func writeUnits(ctx context.Context, writes []Write) (units, largest float64) {
	times := 1.0
	if len(writes) > 1 {
		times = 2
	}
	for _, w := range writes {
		k := keyOf(w)
		if w.ConditionCheck != nil {
			k = Item(w.ConditionCheck.Key).Key()
		}
		size, _ := collab.UsageOf(ctx).Size(k.String())
		if w.Put != nil {
			size = max(size, SizeOf(w))
		} else {
			size += SizeOf(w)
		}
		charged := times * itemUnits(size)
		units, largest = units+charged, max(largest, charged)
	}
	return units, largest
}

func itemUnits(bytes int) float64 { return math.Ceil(float64(max(bytes, 1)) / 1024) }

// complete sets the table name, and requests the present item in case a condition fails.
func (t *Table) complete(w Write) {
	const returned = types.ReturnValuesOnConditionCheckFailureAllOld
	switch {
	case w.Put != nil:
		w.Put.TableName, w.Put.ReturnValuesOnConditionCheckFailure = &t.name, returned
	case w.Delete != nil:
		w.Delete.TableName, w.Delete.ReturnValuesOnConditionCheckFailure = &t.name, returned
	case w.ConditionCheck != nil:
		w.ConditionCheck.TableName, w.ConditionCheck.ReturnValuesOnConditionCheckFailure = &t.name, returned
	default:
		w.Update.TableName, w.Update.ReturnValuesOnConditionCheckFailure = &t.name, returned
	}
}

// WriteOne executes one write and returns the item before or after it, depending on values.
func (t *Table) WriteOne(ctx context.Context, w Write, values types.ReturnValue) (it Item, refused *Refusal, err error) {
	reserved, err := beginWrite(ctx, []Write{w})
	if err != nil {
		return nil, nil, err
	}
	t.complete(w)
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
		countRefused(ctx, []Write{w}, refused, reserved)
		return nil, refused, nil
	}
	return it, nil, Fail(ctx, err)
}

// countRefused counts the capacity of a refused write, which DynamoDB does not report. A write
// consumes the size of the larger of the two items, twice that in a transaction, and nothing for
// indexes. reserved are the units that beginWrite admitted.
func countRefused(ctx context.Context, writes []Write, refused *Refusal, reserved float64) {
	units := 0.0
	for i, w := range writes {
		size := refused.Of[i].There.Size()
		saw(ctx, keyOf(w), refused.Of[i].There)
		if w.Put != nil {
			size = max(size, Item(w.Put.Item).Size())
		}
		units += itemUnits(size)
	}
	if len(writes) > 1 {
		units *= 2
	}
	collab.UsageOf(ctx).Lost(units, reserved)
}

func (t *Table) Put(ctx context.Context, it Item) error {
	_, err := t.Write(ctx, Put(it))
	return err
}

// Create executes Create. It returns the existing item, or nil if the write succeeded.
func (t *Table) Create(ctx context.Context, it Item) (existing Item, err error) {
	refused, err := t.Write(ctx, Create(it))
	if err != nil || refused == nil {
		return nil, err
	}
	return refused.Of[0].There, nil
}

func (t *Table) Delete(ctx context.Context, k keys.Key) error {
	_, err := t.Write(ctx, Delete(k))
	return err
}
