package store

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/collab"
	"collabdata/shared/keys"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is a stored item by attribute name. Most items are structs with dynamodbav tags.
type Item map[string]types.AttributeValue

// NewItem returns an item that has only a key.
func NewItem(k keys.Key) Item {
	return Item{keys.PK: Text(k.PK), keys.SK: Text(k.SK)}
}

// ItemOf returns an item with a key and the attributes of a struct. It panics if the type cannot be
// stored.
func ItemOf(k keys.Key, v any) Item {
	it, err := attributevalue.MarshalMapWithOptions(v, func(o *attributevalue.EncoderOptions) { o.UseEncodingMarshalers = true })
	if err != nil {
		panic(err)
	}
	it[keys.PK], it[keys.SK] = Text(k.PK), Text(k.SK)
	return it
}

// Decode reads the attributes into a struct. It ignores attributes unknown to the struct.
func (it Item) Decode(v any) error {
	err := attributevalue.UnmarshalMapWithOptions(it, v, func(o *attributevalue.DecoderOptions) { o.UseEncodingUnmarshalers = true })
	if err != nil {
		return Unreadable(it.Key(), err)
	}
	return nil
}

func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// WithoutTexts returns a copy of a list or a map. Its lists, at any depth, lack the texts for which
// drop is true. Other values are returned unchanged.
func WithoutTexts(v types.AttributeValue, drop func(text string) bool) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		after := make(Item, len(v.Value))
		for name, e := range v.Value {
			after[name] = WithoutTexts(e, drop)
		}
		return &types.AttributeValueMemberM{Value: after}
	case *types.AttributeValueMemberL:
		list := make([]types.AttributeValue, 0, len(v.Value))
		for _, e := range v.Value {
			if s, ok := e.(*types.AttributeValueMemberS); !ok || !drop(s.Value) {
				list = append(list, WithoutTexts(e, drop))
			}
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	return v
}

// Text returns a string attribute, "" if it is absent.
func (it Item) Text(name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// WrittenBy reports whether the request with the mark is among the item's last writers.
func (it Item) WrittenBy(mark string) bool {
	return slices.Contains(strings.Fields(it.Text(keys.Writer)), mark)
}

// Writers returns the marks of the last writers, newest first, with mark in front.
func (it Item) Writers(mark string) string {
	list := append([]string{mark}, strings.Fields(it.Text(keys.Writer))...)
	return strings.Join(list[:min(len(list), writersKept)], " ")
}

// Number returns a number attribute, 0 if it is absent.
func (it Item) Number(name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	return 0
}

func (it Item) Key() keys.Key { return keys.Key{PK: it.Text(keys.PK), SK: it.Text(keys.SK)} }

// Size returns the item's size as DynamoDB counts it, in bytes: names and values.
func (it Item) Size() int {
	n := 0
	for name, v := range it {
		n += len(name) + AttributeSize(v)
	}
	return n
}

// SizeOf returns the bytes of the attributes that a write sends.
func SizeOf(w Write) int {
	if w.Put != nil {
		return Item(w.Put.Item).Size()
	}
	if w.Update != nil {
		return Item(w.Update.ExpressionAttributeValues).Size()
	}
	return 0
}

// AttributeSize returns the size of a value as DynamoDB counts it, in bytes.
func AttributeSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberSS:
		n := 0
		for _, s := range v.Value {
			n += len(s)
		}
		return n
	case *types.AttributeValueMemberL:
		n := 3
		for _, e := range v.Value {
			n += 1 + AttributeSize(e)
		}
		return n
	case *types.AttributeValueMemberM:
		n := 3
		for k, e := range v.Value {
			n += 1 + len(k) + AttributeSize(e)
		}
		return n
	}
	return 1
}

// Encoded is a value that is stored as JSON text.
type Encoded[T any] struct{ Value T }

func (e Encoded[T]) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	text, err := collab.EncodeJSON(e.Value)
	return Text(string(text)), err
}

func (e *Encoded[T]) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return json.Unmarshal([]byte(s.Value), &e.Value)
	}
	return nil
}
